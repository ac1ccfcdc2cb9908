// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "aperture/stap/detection.hpp"
#include "tests/stap/false_alarm_rate.hpp"

namespace aperture::stap {
namespace {

constexpr double white = -std::numeric_limits<double>::infinity();

struct RateCase {
    const char* name;
    Training training;
    int channels, taps;
    int cells, guard;
    double cnr_db;
    index_t range_cells = 12800;
};

void PrintTo(const RateCase& c, std::ostream* stream) { *stream << c.name; }

class CfarRate : public testing::TestWithParam<RateCase> {};

TEST_P(CfarRate, IsWithinTenPerCentOfTheOneAskedFor) {
    const RateCase& c = GetParam();
    const false_alarms::Case measured{.cnr_db = c.cnr_db,
                                      .channels = c.channels,
                                      .taps = c.taps,
                                      .training_block = c.cells,
                                      .detector = Detector::cfar,
                                      .training = c.training,
                                      .guard = c.guard};
    core::Cpu cpu;
    // Clutter, which neighbouring Doppler bins share, takes twice as many.
    const index_t cells = c.cnr_db == white ? 8 * 12800 : 16 * 12800;
    const auto seeds = static_cast<int>(cells / c.range_cells);
    const auto rates = false_alarms::measure(cpu, false_alarms::on_cpu(cpu), measured, {1e-2, 1e-3},
                                             seeds, c.range_cells);
    for (const false_alarms::Rate& rate : rates) {
        EXPECT_NEAR(rate.ratio, 1, 0.1) << rate.pfa << " +- " << rate.error;
        EXPECT_LT(rate.error, 0.045) << rate.pfa;
    }
}

std::vector<RateCase> rate_cases() {
    using enum Training;
    return {{"block_twice_the_order", block, 4, 3, 24, 0, white},
            {"block_off_grid", block, 10, 1, 33, 3, white},
            {"block_far_references", block, 6, 1, 20, 12, white},
            {"sliding", sliding, 4, 1, 16, 0, white},
            {"sliding_off_grid", sliding, 10, 1, 33, 3, white},
            {"sliding_clutter", sliding, 3, 1, 13, 2, 30},
            {"sliding_mostly_ends", sliding, 10, 1, 20, 10, white, 100},
            {"all_short", all, 6, 1, 16, 1, white, 25}};
}

INSTANTIATE_TEST_SUITE_P(Cfar, CfarRate, testing::ValuesIn(rate_cases()),
                         [](const auto& tested) { return tested.param.name; });

Problem cfar_problem(const CubeShape& shape, Training training, int cells, int guard) {
    Parameters parameters;
    parameters.detector = Detector::cfar;
    parameters.training = training;
    parameters.training_block = cells;
    parameters.guard = guard;
    parameters.temporal_taps = 1;
    return make_problem(shape, parameters, 1);
}

double middle_threshold(const Problem& problem, double pfa) {
    return detection_thresholds(problem,
                                pfa)[static_cast<std::size_t>(problem.shape.range_cells / 2)];
}

TEST(CfarThreshold, OfOrderOneIsTheClosedForm) {
    for (const Training training : {Training::block, Training::sliding, Training::all}) {
        const Problem problem = cfar_problem({1, 8, 4096, Domain::doppler}, training, 32, 2);
        EXPECT_NEAR(middle_threshold(problem, 1e-4), 32 * (std::pow(1e-4, -1.0 / 32) - 1), 1e-11);
    }
}

/// With many cells the weights are those of the true covariance, and |y|^2 is exponential.
TEST(CfarThreshold, OfManyCellsIsThatOfTheExponential) {
    for (const Training training : {Training::block, Training::sliding, Training::all}) {
        const Problem problem = cfar_problem({4, 8, 400000, Domain::doppler}, training, 100000, 0);
        EXPECT_NEAR(middle_threshold(problem, 1e-6), -std::log(1e-6), 2e-3);
    }
}

/// Cells on, between and beyond the grid points, and at the ends of the range extent.
TEST(CfarThreshold, RisesAsTheRateFalls) {
    for (const Training training : {Training::block, Training::sliding, Training::all})
        for (const int cells : {48, 53, 64, 290, 1000})
            for (const int guard : {0, 3, 40}) {
                const Problem problem =
                    cfar_problem({24, 8, 1200, Domain::doppler}, training, cells, guard);
                std::vector<double> last(1200, 0.0);
                for (const double pfa : {0.9, 0.1, 1e-3, 1e-5, 1e-7, 1e-10, 1e-14}) {
                    const std::vector<double> thresholds = detection_thresholds(problem, pfa);
                    for (std::size_t r = 0; r < last.size(); ++r)
                        ASSERT_GT(thresholds[r], last[r]) << cells << " cells at " << pfa;
                    last = thresholds;
                }
            }
}

TEST(CfarThreshold, FromFewerCellsThanTwiceTheOrderIsRefusedWithAdvice) {
    const Problem problem = cfar_problem({24, 8, 4096, Domain::doppler}, Training::block, 47, 0);
    EXPECT_THAT([&] { detection_thresholds(problem, 1e-3); },
                testing::ThrowsMessage<core::InvalidArgument>(
                    testing::AllOf(testing::HasSubstr("47 reference cells for order 24"),
                                   testing::HasSubstr("training block of 48"))));
    EXPECT_NO_THROW(detection_thresholds(
        cfar_problem({24, 8, 4096, Domain::doppler}, Training::block, 48, 0), 1e-3));
}

TEST(CfarThreshold, NeedsAProbability) {
    const Problem problem = cfar_problem({4, 8, 100, Domain::doppler}, Training::block, 16, 0);
    for (const double pfa : {0.0, 1.0, -0.1, double(NAN)})
        EXPECT_THROW(detection_thresholds(problem, pfa), core::InvalidArgument) << pfa;
}

}  // namespace
}  // namespace aperture::stap
