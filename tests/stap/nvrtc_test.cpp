// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "libstap/gpu/specialised.hpp"

namespace aperture::stap {
namespace {

// The run-time compiler needs no GPU.
TEST(AdaptiveKernelAtRunTime, CompilesForOrdersThatAreNotCompiledAhead) {
    using dense::Factorisation;
    for (const bool statistic : {false, true}) {
        const std::string name =
            gpu::adaptive_kernel_name(5, 5, false, Factorisation::gauss_jordan, statistic);
        EXPECT_GT(core::compile_kernels(gpu::adaptive_kernel_source(), {name}, 90)->cubin.size(),
                  1000u);
    }
    const std::string fp64 = gpu::adaptive_kernel_name(9, 3, true, Factorisation::cholesky, true);
    EXPECT_GT(core::compile_kernels(gpu::adaptive_kernel_source(), {fp64}, 80)->cubin.size(),
              1000u);
    const std::string pairs =
        gpu::adaptive_kernel_name(21, 3, false, Factorisation::cholesky, false);
    EXPECT_GT(core::compile_kernels(gpu::adaptive_kernel_source(), {pairs}, 90)->cubin.size(),
              1000u);
}

}  // namespace
}  // namespace aperture::stap
