// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/compose/plan.hpp"
#include "libcompose/kernels/arguments.hpp"

/// How the kernels of a plan go over their elements, rows or problems.
namespace aperture::compose {

/// For what the kernels of a plan are compiled.
enum class Target {
    cpu,     ///< functions `strips` and `finish` of strips
    device,  ///< __global__ functions `elements` and `finish`
};

/// Whether a call of the kernel adds all entries up.
bool has_sums(const Kernel& kernel);
bool has_finish(const Kernel& kernel);

/// Whether the kernel computes problems of batches.
inline bool is_of_batches(const Kernel& kernel) { return kernel.elements.kind == Kind::batch; }

/// The rows over which a kernel of these elements walks; problems of batches are those of a vector.
kernels::Walk walk_over(const Type& elements);

/// Numbers of KernelArguments::sums.
index_t sums_of(const Kernel& kernel, Target target);

/// Columns of elements that a block of a device computes at a time.
int columns_of_block(const Kernel& kernel);

/// Of a kernel that reads rows a second time: a block has a row on chip, each of at most 32 warps
/// so many pieces of it.
index_t pieces_of_warp(const Kernel& kernel);
/// Whether threads need not ask which columns there are.
bool has_whole_pieces(const Kernel& kernel);
/// Strips of rows whose columns a block of a device adds up. Two save memory where blocks are
/// enough for a device.
index_t strips_of_block(const Kernel& kernel);

/// Blocks and threads of a device.
struct LaunchShape {
    unsigned grid_x = 1, grid_y = 1;
    unsigned block_x = 32, block_y = 8;
    index_t shared_bytes = 0;
};
/// Of `elements`, and of `finish`.
LaunchShape launch_of(const Kernel& kernel);
LaunchShape finish_of(const Kernel& kernel);

}  // namespace aperture::compose
