// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aperture/core/error.hpp"

namespace aperture::core {

/// A kernel file embedded in the library: its name in #include directives, and its contents.
struct KernelText {
    const char* name;
    const char* text;
};

/// The kernel files of this library; `aperture_embed_kernels` generates the function of the same
/// name for every other library with kernels to specialise.
std::span<const KernelText> kernel_texts();

/// Source of a kernel: the file that defines it, and all files that it may include. Each name must
/// stand for one text, but for that of a root that is made at run time, which comes with its text.
struct KernelSource {
    std::string root;
    std::vector<std::span<const KernelText>> texts;
    std::string root_text{};
};

/// A kernel as machine code for one architecture, with its name there.
struct CompiledKernel {
    std::string name;
    std::string cubin;
    bool from_cache = false;
};

/// The compiler refuses a kernel.
class CompileError : public DeviceError {
  public:
    CompileError(const std::string& expression, std::string log)
        : DeviceError(text("compiling ", expression, " failed:\n", log)), log_(std::move(log)) {}
    /// The compiler's message.
    const std::string& log() const { return log_; }

  private:
    std::string log_;
};

/// Compiles the kernel named by `expression` ("aperture::dense::solve_kernel<float, 20, 16>") for
/// `compute_capability` (90 for sm_90) with NVRTC; needs no GPU. Results are cached on disk in
/// $XDG_CACHE_HOME/aperture or ~/.cache/aperture unless APERTURE_CACHE is "off"; cache files that
/// are unreadable, damaged, or of another expression or text, are replaced. Empty if NVRTC is not
/// installed, incomplete or older than the architecture, or if APERTURE_NVRTC is "off". Throws
/// CompileError. Thread-safe.
std::optional<CompiledKernel> compile_kernel(const KernelSource& source,
                                             const std::string& expression, int compute_capability);

}  // namespace aperture::core
