// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/stap/adaptive_cases.hpp"
#include "tests/stap/simt_run.hpp"

namespace aperture::stap::kernel_cases {
namespace {

class SimtAdaptive : public testing::TestWithParam<Case> {};

TEST_P(SimtAdaptive, AgreesWithTheOracle) {
    const Problem problem = GetParam().problem();
    const auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    expect_oracle(problem, cube, steering, run_simt(problem, cube, steering));
}

INSTANTIATE_TEST_SUITE_P(Shapes, SimtAdaptive, testing::ValuesIn(shapes_cases()));

INSTANTIATE_TEST_SUITE_P(Options, SimtAdaptive, testing::ValuesIn(options_cases()));

INSTANTIATE_TEST_SUITE_P(Windows, SimtAdaptive, testing::ValuesIn(windows_cases()));

INSTANTIATE_TEST_SUITE_P(Detectors, SimtAdaptive, testing::ValuesIn(detectors_cases()));

TEST(SimtFailure, StaysInItsTrainingSet) {
    for (const Case& c :
         {Case{.channels = 4, .range_cells = 64, .training_block = 32},
          Case{.range_cells = 64, .training_block = 32, .solver = gauss_jordan},
          Case{.range_cells = 64, .training_block = 32, .implementation = staged}}) {
        SCOPED_TRACE(testing::PrintToString(c));
        const Problem problem = c.problem();
        auto cube = noise_cube(problem);
        const auto steering = random_steering(problem);
        const HostResults good = run_simt(problem, cube, steering);
        cube(1, 3, 40) = cfloat(std::numeric_limits<float>::quiet_NaN());
        const HostResults given = run_simt(problem, cube, steering);
        for (index_t k = 0; k < problem.doppler_bins; ++k) {
            for (index_t r = 0; r < problem.shape.range_cells; ++r) {
                const bool failed = r >= 32 && k >= 2 && k <= 4;
                ASSERT_EQ(given.info(k, r / 32) > 0, failed) << k << ", " << r;
                for (index_t d = 0; d < problem.steering_vectors; ++d) {
                    ASSERT_EQ(given.output(d, k, r), failed ? cfloat(0) : good.output(d, k, r));
                }
            }
        }
    }
}

TEST(SimtAdaptiveBits, DoNotDependOnTheOrderOfLanes) {
    for (const Case& c :
         {Case{.channels = 4,
         .range_cells = 50,
         .training_block = 32,
         .vectors = 7,
         .detector = Detector::amf},
          Case{.detector = Detector::ace, .solver = gauss_jordan},
          Case{.training = Training::all, .guard = 2, .detector = Detector::glrt},
          Case{.training = Training::sliding, .implementation = staged, .precision = mixed}}) {
        SCOPED_TRACE(testing::PrintToString(c));
        const Problem problem = c.problem();
        const auto cube = noise_cube(problem);
        const auto steering = random_steering(problem);
        const HostResults forward = run_simt(problem, cube, steering);
        expect_same_bits(forward, run_simt(problem, cube, steering, core::LaneOrder::reverse));
        expect_same_bits(forward, run_simt(problem, cube, steering, core::LaneOrder::random));
    }
}

}  // namespace
}  // namespace aperture::stap::kernel_cases
