// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/batch_problem.hpp"

namespace aperture::bench {

/// What is measured beside the library.
enum class Peers {
    none,
    batches,  ///< the vendor's functions on batches; LAPACK in a loop on a CPU
    all,      ///< on a GPU also its functions on single problems, in a loop and over streams
};

/// Points of one figure.
struct Experiment {
    std::string figure;
    Task task;
    std::vector<int> orders;
    index_t problems = 0;      ///< 0: as many as keep the device busy
    bool interleaved = false;  ///< Measures that layout, too.
    Peers peers = Peers::all;
    std::string suffix = {};  ///< of the series' name
};

/// The library, with the time that the model predicts, and the vendor's functions: called in a
/// loop, over streams, and for the whole batch. Nothing without a GPU.
template <class T>
void add_on_gpu(const Experiment& experiment);

/// What is about kernels rather than functions: tables I and II of Ha et al.
void register_gpu_experiments();

}  // namespace aperture::bench
