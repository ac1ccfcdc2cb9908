// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace aperture::core {

/// A kernel file embedded in the library: the name by which it is included, and its contents.
struct KernelText {
    const char* name;
    const char* text;
};

/// The kernel files of this library; `aperture_embed_kernels` makes the function of the same name
/// of every other library that has kernels to specialise.
std::span<const KernelText> kernel_texts();

/// Where a kernel is found: the file that defines it, and all files that file may include. One name
/// stands for one text.
struct KernelSource {
    std::string root;
    std::vector<std::span<const KernelText>> texts;
};

/// A kernel as machine code for one architecture, with its name there.
struct CompiledKernel {
    std::string name;
    std::string cubin;
    bool from_cache = false;
};

/// Compiles the kernel that `expression` names ("aperture::dense::solve_kernel<float, 20, 16>") for
/// `compute_capability` (90 for sm_90) with NVRTC; needs no GPU. Results are kept on disk in
/// $XDG_CACHE_HOME/aperture or ~/.cache/aperture unless APERTURE_CACHE is "off"; a file there that
/// cannot be read or has been damaged is replaced. Nothing where NVRTC is not installed, not whole,
/// or older than the architecture, and where APERTURE_NVRTC is "off". Throws DeviceError with the
/// compiler's words. Thread-safe.
std::optional<CompiledKernel> compile_kernel(const KernelSource& source,
                                             const std::string& expression, int compute_capability);

}  // namespace aperture::core
