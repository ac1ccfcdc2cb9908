// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/clip_background.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "aperture/core/error.hpp"

namespace aperture::rpca {
namespace {

using core::Array;

/// A man before a ground of waves, with noise, in light that differs from frame to frame.
class Clip {
  public:
    static constexpr index_t rows = 48;
    static constexpr index_t columns = 64;

    static float ground(index_t row, index_t column) {
        return static_cast<float>(110 + 30 * ((row / 12 + column / 16) % 2));
    }
    static bool in_man(index_t row, index_t column) {
        return row >= 14 && row < 36 && column >= 20 && column < 30;
    }
    /// The man stands in the frames from `comes` to `goes` - 1.
    static Array<float, 4> frames(index_t count, index_t comes, index_t goes, float light = 1) {
        std::mt19937 generator(7);
        std::normal_distribution<float> noise(0, 2);
        Array<float, 4> frames({count, 1, rows, columns});
        for (index_t f = 0; f < count; ++f) {
            for (index_t row = 0; row < rows; ++row) {
                for (index_t column = 0; column < columns; ++column) {
                    const bool man = f >= comes && f < goes && in_man(row, column);
                    frames(f, 0, row, column) =
                        light * (man ? 60 : ground(row, column)) + noise(generator);
                }
            }
        }
        return frames;
    }
    static void expect_ground(core::View<const float, 3, core::Host> found, float light = 1) {
        for (index_t row = 0; row < rows; ++row) {
            for (index_t column = 0; column < columns; ++column) {
                ASSERT_NEAR(found(0, row, column), light * ground(row, column), 4)
                    << row << ", " << column;
            }
        }
    }
};

class ClipBackgrounds : public testing::Test {
  protected:
    ClipBackground found(const Array<float, 4>& first, const Array<float, 4>& sampled) {
        return clip_background(cpu_, first.view(), sampled.view());
    }
    core::Cpu cpu_{2};
};

TEST_F(ClipBackgrounds, IsWithoutAManWhoStandsForMostOfTheClip) {
    Clip::expect_ground(found(Clip::frames(20, 0, 0), Clip::frames(20, 4, 20)).ground.view());
}

TEST_F(ClipBackgrounds, IsWithoutAManWhoStandsInTheFirstFrames) {
    const ClipBackground clip = found(Clip::frames(20, 0, 18), Clip::frames(20, 0, 3));
    Clip::expect_ground(clip.ground.view());
    // Of the noise, not of the man.
    for (const float scale : clip.scales) EXPECT_LT(scale, 4);
}

TEST_F(ClipBackgrounds, AllowsForOtherLight) {
    Clip::expect_ground(found(Clip::frames(20, 0, 18), Clip::frames(20, 0, 3, 0.7F)).ground.view());
}

TEST_F(ClipBackgrounds, CorrectsWindowsInWhichAManStands) {
    const ClipBackground clip = found(Clip::frames(20, 0, 0), Clip::frames(20, 4, 20));
    for (const float light : {1.0F, 0.8F}) {
        Array<float, 4> backgrounds = Clip::frames(5, 0, 5, light);
        correct_backgrounds(cpu_, clip, backgrounds.view());
        for (index_t f = 0; f < 5; ++f) {
            for (index_t row = 14; row < 36; ++row) {
                for (index_t column = 20; column < 30; ++column) {
                    ASSERT_NEAR(backgrounds(f, 0, row, column), light * Clip::ground(row, column),
                                3);
                }
            }
        }
    }
}

TEST_F(ClipBackgrounds, KeepsWindowsWithoutObjects) {
    // The clip's has the man.
    const ClipBackground clip = found(Clip::frames(20, 0, 20), Clip::frames(20, 0, 20));
    Array<float, 4> backgrounds = Clip::frames(5, 0, 0);
    const Array<float, 4> before = Clip::frames(5, 0, 0);
    correct_backgrounds(cpu_, clip, backgrounds.view());
    EXPECT_TRUE(std::equal(before.begin(), before.end(), backgrounds.begin()));
}

TEST_F(ClipBackgrounds, RefusesWrongShapes) {
    const Array<float, 4> some = Clip::frames(3, 0, 0);
    const Array<float, 4> none({0, 1, Clip::rows, Clip::columns});
    const Array<float, 4> narrow({3, 1, Clip::rows, Clip::columns - 1});
    EXPECT_THROW(found(some, none), core::InvalidArgument);
    EXPECT_THROW(found(none, some), core::InvalidArgument);
    EXPECT_THROW(found(some, narrow), core::InvalidArgument);
    Array<float, 4> backgrounds({2, 2, Clip::rows, Clip::columns});
    EXPECT_THROW(correct_backgrounds(cpu_, found(some, some), backgrounds.view()),
                 core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::rpca
