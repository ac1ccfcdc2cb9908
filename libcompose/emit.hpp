// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "aperture/compose/plan.hpp"
#include "libcompose/launch_shape.hpp"

namespace aperture::compose {

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

}  // namespace aperture::compose
