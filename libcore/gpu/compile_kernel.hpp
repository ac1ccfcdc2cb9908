// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/core/kernel_text.hpp"

namespace aperture::core {

/// The kernel files of this library; `aperture_embed_kernels` generates the function of the same
/// name for every other library with kernels to specialise.
std::span<const KernelText> kernel_texts();

namespace simt {
/// What these include where the host's compiler compiles them for the SIMT host executor.
std::span<const KernelText> kernel_texts();
}  // namespace simt

/// Source of kernels: the file that defines them, and all files that it may include. Each name must
/// stand for one text, but for that of a root that is made at run time, which comes with its text.
struct KernelSource {
    std::string root;
    std::vector<std::span<const KernelText>> texts;
    std::string root_text{};
    /// Of the compiler, beside those that all kernels have: "--fmad=false".
    std::vector<std::string> options{};
};

/// Kernels as machine code for one architecture, with their names there.
struct CompiledKernels {
    std::vector<std::string> names;
    std::string cubin;
    bool from_cache = false;
};

/// The compiler refuses a kernel.
class CompileError : public DeviceError {
  public:
    CompileError(const std::string& expressions, std::string log)
        : DeviceError(text("compiling ", expressions, " failed:\n", log)), log_(std::move(log)) {}
    /// The compiler's message.
    const std::string& log() const { return log_; }

  private:
    std::string log_;
};

/// Compiles the kernels named by `expressions` ("aperture::dense::solve_kernel<float, 20, 16>")
/// together for `compute_capability` (90 for sm_90) with NVRTC; needs no GPU. Names are in the
/// order of the expressions. Results are kept in the CacheFolder and counted in
/// compilation_counts(). Empty if NVRTC is not installed, incomplete, older than the architecture
/// or does not know an option, or if APERTURE_NVRTC is "off". Throws CompileError. Thread-safe;
/// calls compile at the same time.
std::optional<CompiledKernels> compile_kernels(const KernelSource& source,
                                               const std::vector<std::string>& expressions,
                                               int compute_capability);

}  // namespace aperture::core
