// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "libdense/gpu/solve.cuh"
#include "tests/usable_gpu.hpp"

namespace aperture::dense {
namespace {

template <class E>
class GpuRegisterKernels : public tests::GpuTest {};
using Scalars = testing::Types<float, double, core::Complex<float>, core::Complex<double>>;
TYPED_TEST_SUITE(GpuRegisterKernels, Scalars);

// They are compiled at run time, so that the build's report on spills does not list them.
TYPED_TEST(GpuRegisterKernels, KeepTheirMatricesInRegisters) {
    using E = TypeParam;
    core::Gpu gpu;
    for (const int order : {4, 8, 12, 16, 18, 24, 32}) {
        for (const long long right_hand_sides : {1, 1 << 20}) {
            const auto policy = tuning::register_solve<E>(order, right_hand_sides);
            if (policy.lanes == 0) continue;
            for (const auto elimination : {Elimination::below, Elimination::above_and_below}) {
                const std::string name =
                    detail::register_solve_expression<E>(order, policy, elimination);
                SCOPED_TRACE(name);
                const auto compiled = core::specialise<void(SolveArguments<E>)>(
                    gpu, detail::register_solve_source(), name);
                ASSERT_TRUE(compiled);
                cudaFuncAttributes attributes{};
                ASSERT_EQ(cudaFuncGetAttributes(&attributes, compiled.kernel), cudaSuccess);
                EXPECT_EQ(attributes.localSizeBytes, 0u);
            }
        }
    }
}

}  // namespace
}  // namespace aperture::dense
