// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/corr/estimator_suite.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::corr {
namespace {

struct GpuRunner : tests::UsableGpu {
    using Executor = core::Gpu;
    static constexpr bool slow = false;
    core::Gpu& executor() { return *gpu; }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, EstimatorSuite, GpuRunner);

}  // namespace
}  // namespace aperture::corr
