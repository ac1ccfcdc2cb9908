// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/clip_background.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "aperture/core/error.hpp"
#include "tests/rpca/moving_clip.hpp"
#include "tests/rpca/standing_man.hpp"

namespace aperture::rpca {
namespace {

using core::Array;

class ClipBackgrounds : public testing::Test {
  protected:
    ClipBackground found(const Array<float, 4>& first, const Array<float, 4>& sampled) {
        return clip_background(cpu_, first.view(), sampled.view());
    }
    core::Cpu cpu_{2};
};

TEST_F(ClipBackgrounds, IsWithoutAManWhoStandsForMostOfTheClip) {
    StandingMan::expect_ground(
        found(StandingMan::frames(20, 0, 0), StandingMan::frames(20, 4, 20)).ground.view());
}

TEST_F(ClipBackgrounds, IsWithoutAManWhoStandsInTheFirstFrames) {
    const ClipBackground clip =
        found(StandingMan::frames(20, 0, 18), StandingMan::frames(20, 0, 3));
    StandingMan::expect_ground(clip.ground.view());
    // Of the noise, not of the man.
    for (const float scale : clip.scales) EXPECT_LT(scale, 4);
}

TEST_F(ClipBackgrounds, AllowsForOtherLight) {
    StandingMan::expect_ground(
        found(StandingMan::frames(20, 0, 18), StandingMan::frames(20, 0, 3, 0.7F)).ground.view());
}

TEST_F(ClipBackgrounds, CorrectsWindowsInWhichAManStands) {
    const ClipBackground clip =
        found(StandingMan::frames(20, 0, 0), StandingMan::frames(20, 4, 20));
    for (const float light : {1.0F, 0.8F}) {
        Array<float, 4> backgrounds = StandingMan::frames(5, 0, 5, light);
        correct_backgrounds(cpu_, clip, backgrounds.view());
        for (index_t f = 0; f < 5; ++f) {
            for (index_t row = 14; row < 36; ++row) {
                for (index_t column = 20; column < 30; ++column) {
                    ASSERT_NEAR(backgrounds(f, 0, row, column),
                                light * StandingMan::ground(row, column), 3);
                }
            }
        }
    }
}

TEST_F(ClipBackgrounds, KeepsWindowsWithoutObjects) {
    // The clip's has the man.
    const ClipBackground clip =
        found(StandingMan::frames(20, 0, 20), StandingMan::frames(20, 0, 20));
    Array<float, 4> backgrounds = StandingMan::frames(5, 0, 0);
    const Array<float, 4> before = StandingMan::frames(5, 0, 0);
    correct_backgrounds(cpu_, clip, backgrounds.view());
    EXPECT_TRUE(std::equal(before.begin(), before.end(), backgrounds.begin()));
}

TEST_F(ClipBackgrounds, OfAMovingCameraCorrectsWindowsInWhichAManStands) {
    MovingClipCase{0, 0, true}.expect_ground(cpu_);
    MovingClipCase{3, 20, true}.expect_ground(cpu_);
    MovingClipCase{0, 5, true, 0.8F}.expect_ground(cpu_);
}

TEST_F(ClipBackgrounds, OfAMovingCameraKeepsWindowsWithoutObjects) {
    MovingClipCase{0, 0, false}.expect_ground(cpu_);
    MovingClipCase{0, 20, false}.expect_ground(cpu_);
}

TEST_F(ClipBackgrounds, OfAMovingCameraKeepsWindowsOfAnotherScene) {
    const Array<float, 4> first = MovingClipCase::frames(20, 0, 0, 0);
    const MovingClip<core::Cpu> clip(cpu_, cpu_, first.view(), first.view(), Stabilise::affine);
    Array<float, 4> other = MovingClipCase::frames(12, 40, 0, 0);
    const CameraMotion<core::Cpu> camera(cpu_, std::as_const(other).view(), Stabilise::affine);
    Clip common = common_of(other, camera);
    camera.to_common(std::as_const(other).view(), common.view());
    Clip before = common_of(other, camera);
    std::copy(common.begin(), common.end(), before.begin());
    clip.correct(camera, common.view());
    EXPECT_TRUE(std::equal(before.begin(), before.end(), common.begin()));
}

TEST_F(ClipBackgrounds, RefusesWrongShapes) {
    const Array<float, 4> some = StandingMan::frames(3, 0, 0);
    const Array<float, 4> none({0, 1, StandingMan::rows, StandingMan::columns});
    const Array<float, 4> narrow({3, 1, StandingMan::rows, StandingMan::columns - 1});
    EXPECT_THROW(found(some, none), core::InvalidArgument);
    EXPECT_THROW(found(none, some), core::InvalidArgument);
    EXPECT_THROW(found(some, narrow), core::InvalidArgument);
    Array<float, 4> backgrounds({2, 2, StandingMan::rows, StandingMan::columns});
    EXPECT_THROW(correct_backgrounds(cpu_, found(some, some), backgrounds.view()),
                 core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::rpca
