// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/flow/scene.hpp"
#include "tests/stap/counted_new.hpp"

namespace aperture::flow {
namespace {

class SteadyState : public testing::TestWithParam<Setup> {};

INSTANTIATE_TEST_SUITE_P(Setups, SteadyState, testing::ValuesIn(all_setups()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(SteadyState, ASecondRunAllocatesNothing) {
    const Shape shape{45, 67};
    const Pair pair(Scene(), shape, Motion::shift(1, -0.5));
    core::Cpu cpu(2);
    Estimator<core::Cpu> estimator(cpu, shape, GetParam().parameters());
    Flow flow = constant_flow(shape, 0, 0);
    estimator.run(pair.image0, pair.image1, flow, false, nullptr);
    const auto arrays = core::host_allocations();
    const long news = calls_of_new();
    estimator.run(pair.image0, pair.image1, flow, false, nullptr);
    estimator.run(pair.image0, pair.image1, flow, true, nullptr);
    EXPECT_EQ(calls_of_new(), news);
    EXPECT_EQ(core::host_allocations(), arrays);
}

}  // namespace
}  // namespace aperture::flow
