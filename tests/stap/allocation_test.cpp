// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "aperture/stap/pipeline.hpp"
#include "tests/stap/counted_new.hpp"
#include "tests/stap/owned_results.hpp"
#include "tests/stap/random_input.hpp"

namespace aperture::stap {
namespace {

struct SteadyCase {
    const char* name;
    Training training;
    Implementation implementation;
    Precision precision;
    Detector detector;
};

void PrintTo(const SteadyCase& c, std::ostream* stream) { *stream << c.name; }

class SteadyState : public testing::TestWithParam<SteadyCase> {};

TEST_P(SteadyState, SecondRunAllocatesNothing) {
    const SteadyCase& c = GetParam();
    Parameters parameters;
    parameters.training = c.training;
    parameters.implementation = c.implementation;
    parameters.precision = c.precision;
    parameters.detector = c.detector;
    parameters.training_block = 20;
    const Problem problem = make_problem({3, 12, 90, Domain::pulse}, parameters, 4);
    const auto cube = random_normal<3>({3, 12, 90}, 1);
    const auto steering = random_normal<2>({4, 9}, 2);
    OwnedResults results(problem);
    core::Cpu cpu;
    Pipeline<core::Cpu> pipeline(cpu, problem, steering);
    pipeline.run(cube, results.views(), nullptr);
    const auto arrays = core::host_allocations();
    const long news = calls_of_new();
    pipeline.run(cube, results.views(), nullptr);
    EXPECT_EQ(calls_of_new(), news);
    EXPECT_EQ(core::host_allocations(), arrays);
}

constexpr auto fp32 = Precision::fp32;
constexpr auto mixed = Precision::mixed;

INSTANTIATE_TEST_SUITE_P(
    Pipeline, SteadyState,
    testing::Values(
        SteadyCase{"fused", Training::block, Implementation::fused, fp32, Detector::amf},
        SteadyCase{"fused_mixed", Training::block, Implementation::fused, mixed, Detector::amf},
        SteadyCase{"staged", Training::block, Implementation::staged, fp32, Detector::amf},
        SteadyCase{"staged_mixed", Training::block, Implementation::staged, mixed, Detector::ace},
        SteadyCase{"staged_cfar", Training::block, Implementation::staged, fp32, Detector::cfar},
        SteadyCase{"sliding", Training::sliding, Implementation::fused, fp32, Detector::glrt},
        SteadyCase{"sliding_mixed", Training::sliding, Implementation::fused, mixed,
                   Detector::none},
        SteadyCase{"all", Training::all, Implementation::fused, fp32, Detector::amf}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace aperture::stap
