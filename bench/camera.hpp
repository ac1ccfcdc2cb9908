// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aperture/core/resident.hpp"
#include "aperture/core/timing.hpp"
#include "aperture/rpca/camera_motion.hpp"
#include "bench/program.hpp"

namespace aperture::bench {

using core::index_t;

/// How far the camera moves, in pixels: the root of the mean squared shift.
inline constexpr double camera_reach = 4;

/// Frames of waves with noise before a camera that shakes.
inline core::Array<float, 4> shaken_frames(core::Extents<4> extent) {
    constexpr int waves = 6;
    std::mt19937 generator(6);
    std::normal_distribution<float> noise(0, 2);
    core::Array<float, 4> frames(extent);
    const auto [count, channels, rows, columns] = extent;
    const auto profile = [](index_t pixels, double shift, double start) {
        core::Array<float, 2> values({waves, pixels});
        for (int i = 0; i < waves; ++i) {
            for (index_t p = 0; p < pixels; ++p) {
                const double at = static_cast<double>(p) - shift;
                values(i, p) =
                    static_cast<float>(5 * std::sin(0.6 * std::pow(0.7, i) * at + (i + 1) * start));
            }
        }
        return values;
    };
    for (index_t f = 0; f < count; ++f) {
        const auto t = static_cast<double>(f);
        const auto down = profile(rows, camera_reach * std::sin(2.7 * t), 1);
        const auto across = profile(columns, camera_reach * std::cos(4.1 * t), 2);
        for (index_t c = 0; c < channels; ++c) {
            for (index_t y = 0; y < rows; ++y) {
                for (index_t x = 0; x < columns; ++x) {
                    float value = 120 + noise(generator);
                    for (int i = 0; i < waves; ++i) value += down(i, y) * across(i, x);
                    frames(f, c, y, x) = value;
                }
            }
        }
    }
    return frames;
}

/// The motion of a camera, its frames in the common one and back: the seconds are those of all
/// three. Frames must come back as they were.
template <class Executor>
void run_camera(benchmark::State& state, Executor& executor, core::Extents<4> extent,
                const std::string& name) {
    using Space = typename Executor::Space;
    const core::Array<float, 4> frames = shaken_frames(extent);
    const auto there = core::to_executor(executor, shaken_frames(extent));
    core::Array<float, 4, Space> common, back(extent);
    const double best = measure(state, name, [&] {
        const core::Stopwatch watch;
        const rpca::CameraMotion camera(executor, there.view(), rpca::Stabilise::automatic);
        if (!camera.moves() || camera.lost() > 0 ||
            std::abs(camera.shake() - camera_reach) > 0.1 * camera_reach) {
            fail(state, "another motion");
            return watch.seconds();
        }
        common.reshape({extent[0], extent[1], camera.extent()[0], camera.extent()[1]});
        camera.to_common(there.view(), common.view());
        camera.from_common(std::as_const(common).view(), there.view(), back.view());
        executor.synchronize();
        return watch.seconds();
    });
    state.counters["us_a_frame"] = 1e6 * best / static_cast<double>(extent[0]);
    core::Array<float, 4> found(extent);
    if constexpr (std::is_same_v<Space, core::Host>) {
        found = std::move(back);
    } else {
        core::copy(executor, std::as_const(back).view(), found.view());
        executor.synchronize();
    }
    double sum = 0;
    for (index_t i = 0; i < found.size(); ++i) {
        sum += static_cast<double>(std::abs(found.data()[i] - frames.data()[i]));
    }
    // Interpolation twice leaves less than the noise.
    if (!(sum < 2 * static_cast<double>(found.size()))) fail(state, "other frames");
}

/// Registers "PREFIXcamera/WIDTHxHEIGHT" for executors that make() returns.
template <class Make>
void add_camera(const std::string& prefix, const Make& make) {
    using Extents = core::Extents<4>;
    for (const Extents& extent :
         smoke ? std::vector<Extents>{{12, 1, 48, 64}}
               : std::vector<Extents>{{100, 1, 240, 320}, {100, 1, 480, 640}}) {
        const std::string name =
            prefix + "camera/" + std::to_string(extent[3]) + "x" + std::to_string(extent[2]);
        add_measured(name, [extent, make](benchmark::State& state, const std::string& of_name) {
            auto executor = make();
            run_camera(state, executor, extent, of_name);
        });
    }
}

}  // namespace aperture::bench
