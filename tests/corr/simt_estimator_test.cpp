// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/gpu/correlator.cuh"
#include "libcorr/gpu/surface_estimator.cuh"
#include "tests/corr/defined_transforms.hpp"
#include "tests/corr/estimator_suite.hpp"

namespace aperture::corr {
namespace {

struct SimtEstimators {
    using Executor = core::Simt;
    static constexpr bool slow = true;
    core::Simt simt{core::LaneOrder::random, 7};

    static std::string why_not() { return {}; }
    core::Simt& executor() { return simt; }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Simt, EstimatorSuite, SimtEstimators);

}  // namespace
}  // namespace aperture::corr
