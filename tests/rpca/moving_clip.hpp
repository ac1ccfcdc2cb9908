// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "aperture/core/resident.hpp"
#include "aperture/rpca/clip_background.hpp"
#include "tests/rpca/camera_motion_suite.hpp"

namespace aperture::rpca {

/// A man who stands before a camera that shakes.
struct MovingClipCase {
    index_t comes, goes;  ///< the sampled frames in which he stands, of 20
    bool stands;          ///< in all frames of the window
    float light = 1;      ///< of the window

    static bool in_man(double y, double x) { return y >= 20 && y < 42 && x >= 30 && x < 42; }

    static Clip frames(index_t count, double offset, index_t comes, index_t goes, float light = 1) {
        std::mt19937 random(3);
        std::normal_distribution<float> noise(0, 1);
        Clip clip({count, 1, rows, columns});
        for (index_t i = 0; i < count; ++i) {
            const Shift by = shake(i, 2.5);
            for (index_t y = 0; y < rows; ++y) {
                for (index_t x = 0; x < columns; ++x) {
                    const double at_y = static_cast<double>(y) - by.y - offset;
                    const double at_x = static_cast<double>(x) - by.x + offset;
                    const bool man = i >= comes && i < goes && in_man(at_y, at_x);
                    clip(i, 0, y, x) = light * (man ? 20 : scene(at_y, at_x)) + noise(random);
                }
            }
        }
        return clip;
    }

    static constexpr index_t window_frames = 12;
    static constexpr double window_offset = 1.3;

    /// The backgrounds of a window, in which the man is as long as he stands, as its frames see
    /// them after their correction.
    template <class Executor>
    Clip corrected(Executor& executor) const {
        core::Cpu cpu(2);
        const Clip first = frames(20, 0, 0, 0);
        const Clip sampled = frames(20, 0.4, comes, goes);
        const Clip window =
            frames(window_frames, window_offset, 0, stands ? window_frames : 0, light);
        const MovingClip<Executor> clip(executor, cpu, first.view(), sampled.view(),
                                        Stabilise::affine);
        EXPECT_TRUE(clip.moves());
        core::Resident<Executor, const float, 4> there(executor, window.view());
        there.load(window.view());
        const CameraMotion<Executor> camera(executor, there.view(), Stabilise::affine);
        Clip common = common_of(window, camera);
        Clip backgrounds(window.extent());
        core::Resident<Executor, float, 4> moved(executor, common.view());
        core::Resident<Executor, float, 4> seen(executor, backgrounds.view());
        camera.to_common(there.view(), moved.view());
        clip.correct(camera, moved.view());
        camera.from_common(moved.view(), there.view(), seen.view());
        seen.store();
        executor.synchronize();
        return backgrounds;
    }

    /// The root of the mean squared difference of two clips.
    static double distance(const Clip& a, const Clip& b) {
        double squares = 0;
        for (index_t i = 0; i < a.size(); ++i) {
            const float difference = a.data()[i] - b.data()[i];
            squares += static_cast<double>(difference * difference);
        }
        return std::sqrt(squares / static_cast<double>(a.size()));
    }

    template <class Executor>
    void expect_ground(Executor& executor) const {
        const Clip ground = frames(window_frames, window_offset, 0, 0, light);
        const Clip man = frames(window_frames, window_offset, 0, window_frames, light);
        EXPECT_GT(distance(man, ground), 16);
        // Of an object its border is left, a pixel that is neither.
        EXPECT_LT(distance(corrected(executor), ground), stands ? 6 : 3);
    }
};

}  // namespace aperture::rpca
