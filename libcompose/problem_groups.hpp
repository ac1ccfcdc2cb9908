// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/compose/plan.hpp"

namespace aperture::compose {

/// How a device computes a kernel's problems: a group of threads each, several groups a block.
struct ProblemGroups {
    int threads;   ///< 1, or 8, 32 or more
    int problems;  ///< of a block
    index_t shared_bytes;
};

/// A thread a problem if what is live in the kernel alone fits registers and what is loaded and
/// stored leaves a multiprocessor several warps. Else 8 threads for results of at most 36 numbers,
/// a warp for 400, a block of 128 for more: each computes a few.
ProblemGroups problem_groups(const Kernel& kernel);

/// Whether numbers are loaded or stored. The others are in registers where a thread computes a
/// problem.
bool is_moved(const Kernel& kernel, const OnChip& numbers);

}  // namespace aperture::compose
