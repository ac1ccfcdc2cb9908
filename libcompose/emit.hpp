// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "aperture/compose/plan.hpp"
#include "libcompose/kernels/arguments.hpp"
#include "libcompose/line_calls.hpp"

namespace aperture::compose {

/// For what the kernels of a plan are compiled.
enum class Target {
    cpu,     ///< functions `strips` and `finish` of strips
    device,  ///< __global__ functions `elements` and `finish`
};

/// Whether a kernel has a text: it neither exchanges memory nor calls a library's function.
bool is_generated(const Kernel& kernel);

/// The text of a kernel: a struct (see kernels/elements.cuh, rows.cuh and problems.cuh there), and
/// the functions that walk over its elements, rows or problems. On a CPU, `finish` must run after
/// `strips`; on a device, after `elements` if has_finish(kernel). Kernels with equal texts have the
/// same machine code.
struct GeneratedKernel {
    std::set<std::string> headers, definitions;  ///< that it needs
    std::string text;
    std::vector<const char*> functions;  ///< that compilers make
};
GeneratedKernel generate(const Program& program, const Kernel& kernel, Target target);
/// The struct alone; what it needs is added to `generated`.
std::string struct_of(const Program& program, const Kernel& kernel, Target target,
                      GeneratedKernel& generated);

/// What compilers read: kernel i is in the namespace aperture::compose::generated::kernel_i.
std::string text_of(std::span<const GeneratedKernel> kernels, Target target);
/// The name of a function of that kernel.
std::string function_name(const char* function, std::size_t kernel);

/// The library's own files that texts may include.
std::span<const core::KernelText> kernel_texts();
/// The files that texts of a plan's kernels may include.
std::vector<std::span<const core::KernelText>> included_texts(const Plan& plan);

/// Whether a call of the kernel adds all entries up.
bool has_sums(const Kernel& kernel);
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
/// Columns of elements that a block of a device computes at a time.
int columns_of_block(const Kernel& kernel);
/// Of `elements`, and of `finish`.
LaunchShape launch_of(const Kernel& kernel);
LaunchShape finish_of(const Kernel& kernel);

/// The rows over which a kernel of these elements walks; problems of batches are those of a vector.
kernels::Walk walk_over(const Type& elements);

}  // namespace aperture::compose
