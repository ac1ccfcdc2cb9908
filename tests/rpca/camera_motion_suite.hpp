// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "aperture/core/array.hpp"
#include "aperture/core/error.hpp"
#include "aperture/rpca/camera_motion.hpp"

/// Cameras that shake, on every executor.
///
/// A Runner runs the library on host views and copies data if its executor has memory of its own:
///     std::string why_not();               // not empty: the reason to skip the suite
///     CameraPath find(const Clip&, Stabilise);
///     Clip to_common(const Clip&);         // by the camera found last
///     Clip from_common(const Clip& common, const Clip& frames);
namespace aperture::rpca {

using core::index_t;
using Clip = core::Array<float, 4>;

inline constexpr index_t rows = 60;
inline constexpr index_t columns = 80;

/// Waves of 7 to 70 pixels in all directions: known between pixels.
inline float scene(double y, double x) {
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
inline Shift shake(index_t i, double reach) {
    const auto t = static_cast<double>(i);
    return {reach * std::sin(2.7 * t), reach * std::cos(4.1 * t)};
}

/// Two channels, of which one is darker.
inline Clip clip_of(index_t frames, double reach, core::Extents<2> size = {rows, columns}) {
    std::mt19937 random(1);
    std::normal_distribution<float> noise(0, 1);
    Clip clip({frames, 2, size[0], size[1]});
    for (index_t i = 0; i < frames; ++i) {
        const Shift by = shake(i, reach);
        for (index_t y = 0; y < size[0]; ++y) {
            for (index_t x = 0; x < size[1]; ++x) {
                const float value =
                    scene(static_cast<double>(y) - by.y, static_cast<double>(x) - by.x);
                clip(i, 0, y, x) = value + noise(random);
                clip(i, 1, y, x) = 0.5F * value + noise(random);
            }
        }
    }
    return clip;
}

/// The frames of a clip in the common one of a path.
inline Clip common_of(const Clip& clip, const CameraPath& path) {
    return Clip({clip.extent()[0], clip.extent()[1], path.extent()[0], path.extent()[1]});
}

/// An executor whose memory is the host's.
template <class Executor>
struct HostCamera {
    Executor executor;
    std::optional<CameraMotion<Executor>> camera;

    static std::string why_not() { return {}; }
    CameraPath find(const Clip& clip, Stabilise how) {
        camera.emplace(executor, clip, how);
        return *camera;
    }
    Clip to_common(const Clip& clip) {
        Clip common = common_of(clip, *camera);
        camera->to_common(clip, common);
        return common;
    }
    Clip from_common(const Clip& common, const Clip& frames) {
        Clip backgrounds(frames.extent());
        camera->from_common(common, frames, backgrounds);
        return backgrounds;
    }
};

template <class Runner>
class CameraMotionSuite : public testing::Test {
  protected:
    Runner runner;

    void SetUp() override {
        const std::string reason = runner.why_not();
        if (!reason.empty()) GTEST_SKIP() << reason;
    }
};

TYPED_TEST_SUITE_P(CameraMotionSuite);

TYPED_TEST_P(CameraMotionSuite, OfAStillCameraIsNone) {
    EXPECT_FALSE(this->runner.find(clip_of(12, 0), Stabilise::automatic).moves());
    const CameraPath asked = this->runner.find(clip_of(12, 0), Stabilise::shift);
    EXPECT_TRUE(asked.moves());
    EXPECT_LT(asked.shake(), 0.1);
}

// Half of their size decides.
TYPED_TEST_P(CameraMotionSuite, OfLargeFramesIsSeenFromAThirdOfAPixelOn) {
    const auto path = [&](double reach) {
        return this->runner.find(clip_of(8, reach, {128, 136}), Stabilise::automatic);
    };
    EXPECT_FALSE(path(0.2).moves());
    const CameraPath moving = path(0.6);
    ASSERT_TRUE(moving.moves());
    EXPECT_NEAR(moving.shake(), 0.6, 0.1);
}

TYPED_TEST_P(CameraMotionSuite, BringsFramesToOneAndBackgroundsBack) {
    constexpr index_t frames = 20;
    const Clip clip = clip_of(frames, 3.4);
    for (const Stabilise how :
         {Stabilise::automatic, Stabilise::shift, Stabilise::affine, Stabilise::homography}) {
        SCOPED_TRACE(core::choice_name(stabilise_choices, how));
        const CameraPath camera = this->runner.find(clip, how);
        ASSERT_TRUE(camera.moves());
        EXPECT_EQ(camera.lost(), 0);
        EXPECT_NEAR(camera.shake(), 3.4, 0.5);
        EXPECT_GE(camera.extent()[0], rows + 6);
        EXPECT_LE(camera.extent()[0], rows + 10);
        const Clip common = this->runner.to_common(clip);
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
        const Clip back = this->runner.from_common(common, clip);
        squares = 0;
        for (index_t p = 0; p < clip.size(); ++p) {
            const float difference = back.data()[p] - clip.data()[p];
            squares += static_cast<double>(difference * difference);
        }
        EXPECT_LT(std::sqrt(squares / static_cast<double>(clip.size())), 1.5);
    }
}

TYPED_TEST_P(CameraMotionSuite, KeepsWhatHasNoMotion) {
    Clip clip = clip_of(16, 3);
    std::fill_n(&clip(5, 0, 0, 0), 2 * rows * columns, 0.0F);
    const CameraPath camera = this->runner.find(clip, Stabilise::automatic);
    ASSERT_TRUE(camera.moves());
    EXPECT_EQ(camera.lost(), 1);
    const Clip common = this->runner.to_common(clip);
    const Clip back = this->runner.from_common(common, clip);
    EXPECT_TRUE(std::equal(&back(5, 0, 0, 0), &back(6, 0, 0, 0), &clip(5, 0, 0, 0)));
    // Instead of it there is background.
    for (index_t x = 20; x < 60; ++x) {
        EXPECT_NEAR(common(5, 0, 30, x), common(6, 0, 30, x), 6);
    }
}

TYPED_TEST_P(CameraMotionSuite, TakesWhatCamerasGive) {
    const auto expect_taken = [&](const Clip& clip) {
        for (const auto& [name, how] : stabilise_choices) {
            if (how == Stabilise::off) continue;
            SCOPED_TRACE(std::string(name));
            const CameraPath camera = this->runner.find(clip, how);
            if (!camera.moves()) continue;
            const Clip common = this->runner.to_common(clip);
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

TYPED_TEST_P(CameraMotionSuite, RefusesWhatItIsNotFor) {
    EXPECT_THROW(this->runner.find(clip_of(2, 0), Stabilise::off), core::InvalidArgument);
    EXPECT_THROW(this->runner.find(Clip({0, 1, rows, columns}), Stabilise::shift),
                 core::InvalidArgument);
    const Clip small({3, 1, 15, 40});
    EXPECT_THROW(this->runner.find(small, Stabilise::shift), core::InvalidArgument);
    EXPECT_FALSE(this->runner.find(small, Stabilise::automatic).moves());
}

TYPED_TEST_P(CameraMotionSuite, IsThatOfTheCpu) {
    HostCamera<core::Cpu> cpu{core::Cpu(2), {}};
    // Waves rise by up to 14 grey levels a pixel.
    const auto expect_near = [](const Clip& found, const Clip& expected) {
        ASSERT_EQ(found.extent(), expected.extent());
        for (index_t i = 0; i < found.size(); ++i) {
            ASSERT_NEAR(found.data()[i], expected.data()[i], 0.1) << i;
        }
    };
    for (const index_t frames : {7, 40}) {
        Clip clip = clip_of(frames, 2.6);
        std::fill_n(&clip(5, 0, 0, 0), 2 * rows * columns, 0.0F);
        const CameraPath expected = cpu.find(clip, Stabilise::automatic);
        const CameraPath found = this->runner.find(clip, Stabilise::automatic);
        ASSERT_TRUE(expected.moves());
        ASSERT_TRUE(found.moves());
        ASSERT_EQ(found.extent(), expected.extent());
        ASSERT_EQ(found.lost(), 1);
        EXPECT_NEAR(found.shake(), expected.shake(), 1e-3);
        for (std::size_t i = 0; i < found.shifts().size(); ++i) {
            ASSERT_EQ(found.shifts()[i].has_value(), expected.shifts()[i].has_value());
            if (!found.shifts()[i]) continue;
            EXPECT_NEAR((*found.shifts()[i])[0], (*expected.shifts()[i])[0], 1e-3);
            EXPECT_NEAR((*found.shifts()[i])[1], (*expected.shifts()[i])[1], 1e-3);
        }
        const Clip common = cpu.to_common(clip);
        expect_near(this->runner.to_common(clip), common);
        expect_near(this->runner.from_common(common, clip), cpu.from_common(common, clip));
    }
}

REGISTER_TYPED_TEST_SUITE_P(CameraMotionSuite, OfAStillCameraIsNone,
                            OfLargeFramesIsSeenFromAThirdOfAPixelOn,
                            BringsFramesToOneAndBackgroundsBack, KeepsWhatHasNoMotion,
                            TakesWhatCamerasGive, RefusesWhatItIsNotFor, IsThatOfTheCpu);

}  // namespace aperture::rpca
