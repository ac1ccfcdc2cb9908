// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "libdense/gpu/solve.cuh"

namespace aperture::dense {
namespace {

void expect_compiles(const core::KernelSource& source, const std::string& expression) {
    setenv("APERTURE_CACHE", "off", 1);
    const auto compiled = core::compile_kernel(source, expression, 90);
    ASSERT_TRUE(compiled) << expression;
    EXPECT_FALSE(compiled->cubin.empty()) << expression;
}
void expect_compiles(const std::string& file, const std::string& expression) {
    expect_compiles({"libdense/gpu/" + file, {core::kernel_texts(), kernel_texts()}}, expression);
}

// The solve compiles these kernels at run time because the library does not contain them.
TEST(DenseRunTimeCompilation, RegisterSolveOfAnOrderNotPrecompiled) {
    using E = core::Complex<float>;
    for (int order : {3, 7, 20}) {
        const auto policy = tuning::register_solve<E>(order, 16);
        expect_compiles(
            detail::register_solve_source(),
            detail::register_solve_expression<E>(order, policy, Elimination::above_and_below));
    }
}

TEST(DenseRunTimeCompilation, EveryKernelFile) {
    expect_compiles("solve_in_block.cuh",
                    "aperture::dense::solve_in_block<double, 1, 2, "
                    "aperture::dense::Elimination::below>");
    expect_compiles("solve_in_shared.cuh",
                    "aperture::dense::solve_in_shared<aperture::core::Complex<double>, 5>");
    expect_compiles("change_layout.cuh", "aperture::dense::transpose_batch<float, true>");
    expect_compiles("hermitian_rank_k.cuh",
                    "aperture::dense::hermitian_rank_k_blocks<aperture::core::Complex<float>>");
}

}  // namespace
}  // namespace aperture::dense
