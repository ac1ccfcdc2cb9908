// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "aperture/compose/plan.hpp"
#include "libcompose/kernels/arguments.hpp"

namespace aperture::compose {

/// For what the kernels of a plan are compiled.
enum class Target {
    cpu,     ///< functions `strips_N` and `finish_N` of strips, N a kernel's number
    device,  ///< __global__ functions `elements_N` and `finish_N`
};

/// Whether a kernel has a text: it neither exchanges memory nor calls a library's function.
bool is_generated(const Kernel& kernel);

/// The text of those kernels of a plan: a struct for each (see kernels/elements.cuh, rows.cuh and
/// problems.cuh there), and the functions that walk over its elements, rows or problems, in the
/// namespace aperture::compose::generated. On a CPU, finish_N must run after strips_N; on a device,
/// after elements_N if has_finish(kernel).
std::string kernel_text(const Plan& plan, Target target);

/// The files that this text may include.
std::vector<std::span<const core::KernelText>> included_texts(const Plan& plan);

/// Whether a call of the kernel adds all entries up.
bool has_sums(const Kernel& kernel);
/// Whether one adds rows or columns up.
bool is_of_rows(const Kernel& kernel);
/// Of each call, whether it needs the total of its row, or what does.
std::vector<bool> reads_totals(const Kernel& kernel);
/// Whether one does: rows are read a second time.
bool is_in_parts(const Kernel& kernel);
bool has_finish(const Kernel& kernel);

/// Whether the kernel computes problems of batches.
inline bool is_of_batches(const Kernel& kernel) { return kernel.elements.kind == Kind::batch; }

/// Numbers of KernelArguments::sums.
index_t sums_of(const Kernel& kernel, Target target);

/// Blocks and threads of a device.
struct LaunchShape {
    unsigned grid_x = 1, grid_y = 1;
    unsigned block_x = 32, block_y = 8;
    index_t shared_bytes = 0;
};
/// Of `elements_N`, and of `finish_N`.
LaunchShape launch_of(const Kernel& kernel);
LaunchShape finish_of(const Kernel& kernel);

/// The rows over which a kernel of these elements walks; problems of batches are those of a vector.
kernels::Walk walk_over(const Type& elements);

}  // namespace aperture::compose
