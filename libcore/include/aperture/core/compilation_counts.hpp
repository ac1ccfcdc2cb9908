// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::core {

/// Kernels made at run time, for GPUs and for CPUs.
struct CompilationCounts {
    long long compiled = 0;
    long long from_cache = 0;  ///< read from the disk instead
    double ms = 0;             ///< that compiling and reading took, summed over threads
};

/// Those of this process so far. A kernel that the process has already counts no more. Thread-safe.
CompilationCounts compilation_counts();

}  // namespace aperture::core
