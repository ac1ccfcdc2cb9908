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

// The run-time compiler needs no GPU.
TEST(DenseRunTimeCompilation, RegisterSolve) {
    using E = core::Complex<float>;
    for (int order : {3, 7, 20}) {
        const auto policy = tuning::register_solve<E>(order, 16);
        expect_compiles(
            detail::register_solve_source(),
            detail::register_solve_expression<E>(order, policy, Elimination::above_and_below));
    }
}

}  // namespace
}  // namespace aperture::dense
