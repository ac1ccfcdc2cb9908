// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "aperture/core/executor.hpp"
#include "aperture/core/timing.hpp"

namespace aperture::bench {

/// One of the two schemes: 32 tasks one after another, or interleaved in one launch.
struct SchemeTimes {
    std::string name;                 ///< "naive" or "interleaved"
    double ms = 0;                    ///< from host memory to host memory
    std::vector<core::Stage> stages;  ///< of another run, in which events are recorded, too
    double error = 0;                 ///< the largest of a result, of the largest value
};

enum class SweepProgram { network, shortest_paths, joint_histogram, gaussian };

/// The best of `repetitions` runs of both schemes. `size`: rows of an image, vertices, slices of
/// 512 x 512 voxels. Results are checked for the first and the last task.
std::vector<SchemeTimes> measure_sweep(core::Gpu& gpu, SweepProgram program, core::index_t size,
                                       int repetitions);

}  // namespace aperture::bench
