// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/camera_motion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "aperture/core/array.hpp"
#include "aperture/core/error.hpp"

namespace aperture::rpca {
namespace {

using core::index_t;
using Clip = core::Array<float, 4>;

constexpr index_t rows = 60;
constexpr index_t columns = 80;

/// Waves of 7 to 70 pixels in all directions: known between pixels.
float scene(double y, double x) {
    double value = 110;
    for (int i = 0; i < 12; ++i) {
        const double k = 0.9 * std::pow(0.82, i);
        value += 14 * std::sin(k * (y * std::sin(2.4 * i) + x * std::cos(2.4 * i)) + 1.7 * i);
    }
    return static_cast<float>(value);
}

struct Shift {
    double y, x;
};
/// Of frame i, by up to `reach` pixels.
Shift shake(index_t i, double reach) {
    const auto t = static_cast<double>(i);
    return {reach * std::sin(2.7 * t), reach * std::cos(4.1 * t)};
}

/// Two channels, of which one is darker.
Clip clip_of(index_t frames, double reach) {
    std::mt19937 random(1);
    std::normal_distribution<float> noise(0, 1);
    Clip clip({frames, 2, rows, columns});
    for (index_t i = 0; i < frames; ++i) {
        const Shift by = shake(i, reach);
        for (index_t y = 0; y < rows; ++y) {
            for (index_t x = 0; x < columns; ++x) {
                const float value =
                    scene(static_cast<double>(y) - by.y, static_cast<double>(x) - by.x);
                clip(i, 0, y, x) = value + noise(random);
                clip(i, 1, y, x) = 0.5F * value + noise(random);
            }
        }
    }
    return clip;
}

TEST(CameraMotion, OfAStillCameraIsNone) {
    core::Cpu cpu(2);
    EXPECT_FALSE(CameraMotion(cpu, clip_of(12, 0), Stabilise::automatic).moves());
    const CameraMotion asked(cpu, clip_of(12, 0), Stabilise::shift);
    EXPECT_TRUE(asked.moves());
    EXPECT_LT(asked.shake(), 0.1);
}

TEST(CameraMotion, BringsFramesToOneAndBackgroundsBack) {
    core::Cpu cpu(2);
    constexpr index_t frames = 20;
    const Clip clip = clip_of(frames, 3.4);
    for (const Stabilise how :
         {Stabilise::automatic, Stabilise::shift, Stabilise::affine, Stabilise::homography}) {
        SCOPED_TRACE(core::choice_name(stabilise_choices, how));
        const CameraMotion camera(cpu, clip, how);
        ASSERT_TRUE(camera.moves());
        EXPECT_EQ(camera.lost(), 0);
        EXPECT_NEAR(camera.shake(), 3.4, 0.5);
        EXPECT_GE(camera.extent()[0], rows + 6);
        EXPECT_LE(camera.extent()[0], rows + 10);
        Clip common({frames, 2, camera.extent()[0], camera.extent()[1]});
        camera.to_common(clip, common.view());
        // All frames show the same, also where some of them show nothing.
        double squares = 0;
        for (index_t i = 1; i < frames; ++i) {
            for (index_t p = 0; p < common.size() / frames; ++p) {
                const float difference =
                    common.data()[i * common.size() / frames + p] - common.data()[p];
                squares += static_cast<double>(difference * difference);
            }
        }
        EXPECT_LT(std::sqrt(squares / static_cast<double>(common.size())), 3);
        Clip back(clip.extent());
        camera.from_common(std::as_const(common).view(), clip, back.view());
        squares = 0;
        for (index_t p = 0; p < clip.size(); ++p) {
            const float difference = back.data()[p] - clip.data()[p];
            squares += static_cast<double>(difference * difference);
        }
        EXPECT_LT(std::sqrt(squares / static_cast<double>(clip.size())), 1.5);
    }
}

TEST(CameraMotion, KeepsWhatHasNoMotion) {
    core::Cpu cpu(2);
    Clip clip = clip_of(16, 3);
    std::fill_n(&clip(5, 0, 0, 0), 2 * rows * columns, 0.0F);
    const CameraMotion camera(cpu, clip, Stabilise::automatic);
    ASSERT_TRUE(camera.moves());
    EXPECT_EQ(camera.lost(), 1);
    Clip common({16, 2, camera.extent()[0], camera.extent()[1]});
    camera.to_common(clip, common.view());
    Clip back(clip.extent());
    camera.from_common(std::as_const(common).view(), clip, back.view());
    EXPECT_TRUE(std::equal(&back(5, 0, 0, 0), &back(6, 0, 0, 0), &clip(5, 0, 0, 0)));
    // Instead of it there is background.
    for (index_t x = 20; x < 60; ++x) {
        EXPECT_NEAR(common(5, 0, 30, x), common(6, 0, 30, x), 6);
    }
}

TEST(CameraMotion, TakesWhatCamerasGive) {
    core::Cpu cpu(2);
    const auto expect_taken = [&](const Clip& clip) {
        for (const auto& [name, how] : stabilise_choices) {
            if (how == Stabilise::off) continue;
            SCOPED_TRACE(std::string(name));
            const CameraMotion camera(cpu, clip, how);
            if (!camera.moves()) continue;
            Clip common({clip.extent()[0], 2, camera.extent()[0], camera.extent()[1]});
            camera.to_common(clip, common.view());
            EXPECT_TRUE(std::all_of(common.begin(), common.end(),
                                    [](float value) { return std::isfinite(value); }));
            EXPECT_LE(camera.extent()[0], rows + rows / 2);
            EXPECT_LE(camera.extent()[1], columns + columns / 2);
        }
    };
    expect_taken(clip_of(1, 0));
    expect_taken(clip_of(2, 3));
    expect_taken(Clip({9, 2, rows, columns}));  // black
    Clip flash = clip_of(12, 0);
    for (index_t p = 0; p < 2 * rows * columns; ++p) (&flash(6, 0, 0, 0))[p] += 90;
    expect_taken(flash);
    Clip cut = clip_of(12, 0);
    std::reverse(&cut(6, 0, 0, 0), &cut(11, 0, 0, 0) + 2 * rows * columns);
    expect_taken(cut);
    Clip pan({10, 2, rows, columns});
    for (index_t i = 0; i < 10; ++i) {
        for (index_t y = 0; y < 2 * rows; ++y) {
            for (index_t x = 0; x < columns; ++x) {
                pan(i, y / rows, y % rows, x) =
                    scene(static_cast<double>(y % rows), static_cast<double>(x + 4 * i));
            }
        }
    }
    expect_taken(pan);
}

TEST(CameraMotion, RefusesWhatItIsNotFor) {
    core::Cpu cpu(1);
    EXPECT_THROW(CameraMotion(cpu, clip_of(2, 0), Stabilise::off), core::InvalidArgument);
    EXPECT_THROW(CameraMotion(cpu, Clip({0, 1, rows, columns}), Stabilise::shift),
                 core::InvalidArgument);
    const Clip small({3, 1, 15, 40});
    EXPECT_THROW(CameraMotion(cpu, small, Stabilise::shift), core::InvalidArgument);
    EXPECT_FALSE(CameraMotion(cpu, small, Stabilise::automatic).moves());
}

}  // namespace
}  // namespace aperture::rpca
