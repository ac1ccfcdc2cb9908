// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Communication-avoiding CG with its basis in memory, which flow_bench compares.
#include "bench/four_kernel_cg.cuh"
#include "tests/flow/simt_solver_cases.hpp"

namespace aperture::flow {
namespace {

using FourKernelRun = HostRun<core::Simt, bench::FourKernelCg<core::Simt>>;

std::vector<Case> four_kernel_cases() {
    std::vector<Case> chosen;
    for (const Case& c : all_gpu_cases()) {
        if (c.solver == Solver::cacg) chosen.push_back(c);
    }
    return chosen;
}

class SimtFourKernelCg : public testing::TestWithParam<Case> {};

TEST_P(SimtFourKernelCg, DoesWhatTheCpuDoes) {
    expect_cpus_result<FourKernelRun>(GetParam(), {37, 67}, 5);
}

INSTANTIATE_TEST_SUITE_P(Cases, SimtFourKernelCg, testing::ValuesIn(four_kernel_cases()),
                         [](const auto& given) { return name_of(given.param); });

constexpr Case usual{Solver::cacg, replicate, Stencil::five};

TEST(SimtFourKernels, TakeViewsOfAnyRowStride) { expect_any_row_stride<FourKernelRun>(usual); }

TEST(SimtFourKernels, StartFromTheFlowTheyAreGiven) {
    expect_start_to_be_used<FourKernelRun>(usual);
}

TEST(SimtFourKernels, RecordTheResidualsTheyReach) {
    expect_recorded_residuals<FourKernelRun>(usual);
}

TEST(SimtFourKernels, AllocateNothingTheSecondTime) {
    expect_no_allocation_in_a_second_run<FourKernelRun>(usual);
}

TEST(SimtFourKernels, GiveTheSameBitsInAnyOrderOfLanes) {
    expect_same_bits_in_any_order<FourKernelRun>(usual, {19, 45});
}

TEST(SimtFourKernels, FallBackToFewerStepsWhereTheirBasisBreaksDown) {
    expect_fall_back_to_fewer_steps<FourKernelRun>({9, 15}, 16);
}

}  // namespace
}  // namespace aperture::flow
