// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/timing.hpp"
#include "aperture/rpca/mask.hpp"
#include "bench/program.hpp"

namespace aperture::bench {

using core::index_t;

/// Frames with noise, objects and their shadows in front of a background.
struct MaskProblem {
    core::Array<float, 4> frames;
    core::Array<float, 4> backgrounds;

    explicit MaskProblem(core::Extents<4> extent) : frames(extent), backgrounds(extent) {
        std::mt19937 generator(5);
        std::normal_distribution<float> noise(0, 3);
        std::uniform_real_distribution<float> level(60, 200);
        const auto [count, channels, rows, columns] = extent;
        for (index_t c = 0; c < channels; ++c) {
            for (index_t y = 0; y < rows; ++y) {
                for (index_t x = 0; x < columns; ++x) {
                    const float ground = level(generator);
                    for (index_t f = 0; f < count; ++f) {
                        const index_t across = (x + 3 * f) % (columns / 2);
                        const bool low = y % (rows / 3) < rows / 12;
                        const bool moves = low && across < columns / 8;
                        const bool shaded = low && across < columns / 5;
                        const float seen = moves ? 240 - ground : shaded ? 0.6F * ground : ground;
                        frames(f, c, y, x) = seen + noise(generator);
                        backgrounds(f, c, y, x) = ground;
                    }
                }
            }
        }
    }
};

/// Arrays in the executor's memory for the masks of a problem.
template <class Executor>
class MaskArrays {
    using Space = typename Executor::Space;
    static constexpr bool on_host = std::is_same_v<Space, core::Host>;

  public:
    MaskArrays(Executor& executor, const MaskProblem& problem)
        : executor_(executor),
          extent_(problem.frames.extent()),
          frames_(there(problem.frames)),
          backgrounds_(there(problem.backgrounds)),
          differences_(extent_),
          scales_({extent_[2], extent_[3]}),
          masks_({extent_[0], extent_[2], extent_[3]}) {}

    void find() {
        const core::Extents<2> all{extent_[0], extent_[1] * extent_[2] * extent_[3]};
        rpca::subtract_backgrounds(executor_, {frames_.data(), all}, {backgrounds_.data(), all},
                                   {differences_.data(), all});
        const auto differences = std::as_const(differences_).view();
        rpca::pixel_scales(executor_, differences, scales_.view());
        rpca::find_masks(executor_,
                         {differences, std::as_const(scales_).view(), std::as_const(frames_).view(),
                          std::as_const(backgrounds_).view()},
                         {}, masks_.view());
        executor_.synchronize();
    }
    core::Array<std::uint8_t, 3> masks() const {
        core::Array<std::uint8_t, 3> copy(masks_.extent());
        if constexpr (on_host) {
            std::copy(masks_.begin(), masks_.end(), copy.begin());
        } else {
            core::copy<std::uint8_t, 3, core::Strided>(executor_, masks_.view(), copy.view());
            executor_.synchronize();
        }
        return copy;
    }

  private:
    core::Array<float, 4, Space> there(const core::Array<float, 4>& from) {
        core::Array<float, 4, Space> copy(from.extent());
        if constexpr (on_host) {
            std::copy(from.begin(), from.end(), copy.begin());
        } else {
            core::copy<float, 4, core::Strided>(executor_, from.view(), copy.view());
        }
        return copy;
    }

    Executor& executor_;
    core::Extents<4> extent_;
    core::Array<float, 4, Space> frames_;
    core::Array<float, 4, Space> backgrounds_;
    core::Array<float, 4, Space> differences_;
    core::Array<float, 2, Space> scales_;
    core::Array<std::uint8_t, 3, Space> masks_;
};

/// Masks of the default parameters; all executors' are those of one thread.
template <class Executor>
void run_masks(benchmark::State& state, Executor& executor, core::Extents<4> extent,
               const std::string& name) {
    const MaskProblem problem(extent);
    MaskArrays<Executor> arrays(executor, problem);
    const double best = measure(state, name, [&] {
        const core::Stopwatch watch;
        arrays.find();
        return watch.seconds();
    });
    state.counters["us_a_frame"] = 1e6 * best / static_cast<double>(extent[0]);
    core::Cpu one_thread(1);
    MaskArrays<core::Cpu> expected(one_thread, problem);
    expected.find();
    const core::Array<std::uint8_t, 3> masks = arrays.masks();
    const core::Array<std::uint8_t, 3> wanted = expected.masks();
    if (!std::equal(masks.begin(), masks.end(), wanted.begin())) fail(state, "other masks");
    if (std::count(masks.begin(), masks.end(), std::uint8_t{255}) == 0) fail(state, "no mask");
}

/// Registers "PREFIXmasks/WIDTHxHEIGHT" for executors that make() returns.
template <class Make>
void add_masks(const std::string& prefix, const Make& make) {
    using Extents = core::Extents<4>;
    for (const Extents& extent :
         smoke ? std::vector<Extents>{{12, 1, 24, 48}}
               : std::vector<Extents>{{100, 1, 240, 320}, {100, 1, 480, 640}}) {
        const std::string name =
            prefix + "masks/" + std::to_string(extent[3]) + "x" + std::to_string(extent[2]);
        add_measured(name, [extent, make](benchmark::State& state, const std::string& of_name) {
            auto executor = make();
            run_masks(state, executor, extent, of_name);
        });
    }
}

}  // namespace aperture::bench
