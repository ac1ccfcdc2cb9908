// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/detection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "aperture/core/array.hpp"

namespace aperture::stap {
namespace {

TEST(Threshold, ClosedForms) {
    EXPECT_NEAR(detection_threshold(Detector::glrt, 1e-4, 40, 12), 1 - std::pow(1e-4, 1.0 / 29),
                1e-14);
    // Order 1 has no loss factor.
    EXPECT_NEAR(detection_threshold(Detector::amf, 1e-4, 32, 1),
                32 * (std::pow(1e-4, -1.0 / 32) - 1), 1e-11);
    // With very many cells the AMF statistic is exponential.
    EXPECT_NEAR(detection_threshold(Detector::amf, 1e-3, 10'000'000, 4), -std::log(1e-3), 1e-3);
    // Order 2: beta ~ Beta(J, 1), of density J beta^(J-1). Computes the mean by the midpoint rule.
    const double x = detection_threshold(Detector::amf, 0.02, 3, 2) / 3;
    double mean = 0;
    constexpr int steps = 100000;
    for (int i = 0; i < steps; ++i) {
        const double beta = (i + 0.5) / steps;
        mean += 3 * beta * beta / std::pow(1 + beta * x, 2) / steps;
    }
    EXPECT_NEAR(mean, 0.02, 1e-8);
    // Where a narrow range of beta counts: the roots x of 2F1(L, n-1; L+n; -x) = rate for ACE and
    // 2F1(L, L+1; L+n; -x) = rate for AMF with L = J-n+1, in 40 digits.
    const auto odds = [](double t) { return t / (1 - t); };
    EXPECT_NEAR(odds(detection_threshold(Detector::ace, 1e-6, 127, 2)), 1015998.98387, 1e-2);
    EXPECT_NEAR(odds(detection_threshold(Detector::ace, 1e-12, 300, 8)), 52.2005166136, 1e-6);
    EXPECT_NEAR(detection_threshold(Detector::amf, 1e-12, 43, 42) / 43, 30049448.3562, 1e-1);
    EXPECT_NEAR(detection_threshold(Detector::amf, 1e-6, 100'000, 128), 13.851627988995, 1e-9);
}

/// Draws the quadratic forms of a target-free cell with J training cells of order n (Kelly 1986).
/// With F the ratio of Gamma(1) to Gamma(J-n+1) and the loss factor beta, b^2/a = F / beta and 1 +
/// c - b^2/a = 1 / beta.
TEST(Threshold, FalseAlarmRateOfDrawnStatistics) {
    std::mt19937_64 generator(5);
    constexpr int draws = 400000;
    constexpr double pfa = 0.01;
    for (const auto& [cells, order] : {std::pair{24, 12}, std::pair{63, 18}, std::pair{16, 2}}) {
        std::gamma_distribution<double> numerator(1, 1);
        std::gamma_distribution<double> denominator(cells - order + 1, 1);
        std::gamma_distribution<double> first(cells - order + 2, 1);
        std::gamma_distribution<double> second(order - 1, 1);
        const double amf = detection_threshold(Detector::amf, pfa, cells, order);
        const double ace = detection_threshold(Detector::ace, pfa, cells, order);
        const double glrt = detection_threshold(Detector::glrt, pfa, cells, order);
        int amf_alarms = 0;
        int ace_alarms = 0;
        int glrt_alarms = 0;
        for (int i = 0; i < draws; ++i) {
            const double f = numerator(generator) / denominator(generator);
            const double part = first(generator);
            const double beta = part / (part + second(generator));
            const QuadraticForms<double> q{1, f / beta, f / beta + 1 / beta - 1};
            amf_alarms += detector_statistic(Detector::amf, q, double(cells)) > amf;
            ace_alarms += detector_statistic(Detector::ace, q, double(cells)) > ace;
            glrt_alarms += detector_statistic(Detector::glrt, q, double(cells)) > glrt;
        }
        const double five_sigma = 5 * std::sqrt(pfa * (1 - pfa) * draws);
        EXPECT_NEAR(amf_alarms, pfa * draws, five_sigma) << cells << " cells, order " << order;
        EXPECT_NEAR(ace_alarms, pfa * draws, five_sigma) << cells << " cells, order " << order;
        EXPECT_NEAR(glrt_alarms, pfa * draws, five_sigma) << cells << " cells, order " << order;
    }
}

TEST(Threshold, RisesAsTheRateFalls) {
    for (Detector detector : {Detector::amf, Detector::ace, Detector::glrt}) {
        double last = 0;
        for (double pfa : {0.9, 0.1, 1e-3, 1e-6, 1e-10, 1e-14}) {
            const double threshold = detection_threshold(detector, pfa, 290, 70);
            EXPECT_GT(threshold, last) << static_cast<int>(detector) << " at " << pfa;
            last = threshold;
        }
    }
    EXPECT_LT(detection_threshold(Detector::ace, 1e-12, 24, 24), 1);
}

TEST(Threshold, ImpossibleRequestsAreRefused) {
    for (double pfa : {0.0, 1.0, -0.1, 2.0, double(NAN)})
        EXPECT_THROW(detection_threshold(Detector::amf, pfa, 40, 12), core::InvalidArgument) << pfa;
    EXPECT_THROW(detection_threshold(Detector::amf, 1e-3, 11, 12), core::InvalidArgument);
    EXPECT_THROW(detection_threshold(Detector::none, 1e-3, 40, 12), core::InvalidArgument);
    EXPECT_THROW(detection_threshold(Detector::ace, 1e-3, 40, 1), core::InvalidArgument);
    // The CFAR threshold requires the whole problem.
    EXPECT_THROW(detection_threshold(Detector::cfar, 1e-3, 40, 12), core::InvalidArgument);
}

/// A problem with a low threshold: CFAR over 32 cells at this rate has the threshold 1.
Problem map_problem() {
    Parameters parameters;
    parameters.detector = Detector::cfar;
    parameters.training_block = 32;
    parameters.temporal_taps = 1;
    return make_problem({1, 8, 40, Domain::doppler}, parameters, 3);
}
const double rate_of_one = std::pow(1 + 1.0 / 32, -32);

struct Map {
    Problem problem = map_problem();
    core::Array<float, 3> statistic{{3, 8, 40}};
    Map() { std::fill(statistic.begin(), statistic.end(), 0.5f); }
    std::vector<Detection> detections() const {
        return find_detections(problem, rate_of_one, statistic);
    }
};

std::vector<core::Extents<3>> places(const std::vector<Detection>& detections) {
    std::vector<core::Extents<3>> list;
    for (const Detection& d : detections)
        list.push_back({d.steering_vector, d.doppler_bin, d.range_cell});
    return list;
}

using Places = std::vector<core::Extents<3>>;

TEST(Detections, StrongestFirstWithTheirThreshold) {
    Map map;
    map.statistic(0, 2, 5) = 3;
    map.statistic(1, 5, 39) = 7;
    map.statistic(2, 7, 20) = 0.99f;
    const std::vector<Detection> found = map.detections();
    EXPECT_EQ(places(found), (Places{{1, 5, 39}, {0, 2, 5}}));
    EXPECT_EQ(found[0].statistic, 7);
    EXPECT_NEAR(found[0].threshold, 1, 1e-9);
}

TEST(Detections, NeighboursCountOnce) {
    Map map;
    map.statistic(1, 0, 10) = 5;
    map.statistic(0, 0, 10) = 4;  // next steering vector
    map.statistic(1, 7, 11) = 4;  // next Doppler bin, cyclically
    map.statistic(1, 1, 9) = 4;
    EXPECT_EQ(places(map.detections()), (Places{{1, 0, 10}}));
    map.statistic(1, 0, 12) = 4;  // beside (1, 7, 11), which is equal and comes later
    EXPECT_EQ(places(map.detections()), (Places{{1, 0, 10}, {1, 0, 12}}));
}

TEST(Detections, EqualNeighboursCountOnce) {
    Map map;
    map.statistic(1, 3, 12) = 3;
    map.statistic(1, 3, 13) = 3;
    map.statistic(1, 4, 12) = 3;
    EXPECT_EQ(places(map.detections()), (Places{{1, 3, 12}}));
}

TEST(Detections, SteeringAndRangeDoNotWrap) {
    Map map;
    map.statistic(0, 3, 0) = 3;
    map.statistic(2, 3, 0) = 2;
    map.statistic(0, 3, 39) = 4;
    EXPECT_EQ(places(map.detections()), (Places{{0, 3, 39}, {0, 3, 0}, {2, 3, 0}}));
}

/// Twelve vectors, a grid of three rows of four.
std::vector<Detection> detections_in_grid(const Places& cells, int row_length) {
    Parameters parameters = map_problem().parameters;
    const Problem problem = make_problem({1, 8, 40, Domain::doppler}, parameters, 12);
    core::Array<float, 3> statistic({12, 8, 40});
    std::fill(statistic.begin(), statistic.end(), 0.5f);
    float value = 9;
    for (const auto& [d, k, r] : cells) statistic(d, k, r) = value--;
    return find_detections(problem, rate_of_one, statistic, row_length);
}

TEST(Detections, NeighboursInAGridOfDirections) {
    // Around vector 5 of the second row: its row, the rows above and below, and the diagonals.
    for (const index_t d : {0, 1, 2, 4, 6, 8, 9, 10})
        EXPECT_EQ(places(detections_in_grid({{5, 3, 9}, {d, 4, 10}}, 4)), (Places{{5, 3, 9}})) << d;
    for (const index_t d : {3, 7, 11})
        EXPECT_EQ(detections_in_grid({{5, 3, 9}, {d, 3, 9}}, 4).size(), 2u) << d;
    // In one row of twelve only 4 and 6 are neighbours.
    for (const index_t d : {0, 1, 2, 8, 9, 10})
        EXPECT_EQ(detections_in_grid({{5, 3, 9}, {d, 3, 9}}, 0).size(), 2u) << d;
    EXPECT_EQ(detections_in_grid({{5, 3, 9}, {4, 3, 9}, {6, 3, 9}}, 12).size(), 1u);
}

TEST(Detections, RowsOfAGridEnd) {
    // 3 ends a row, 4 begins the next; 0 is above 4, and 7 is below 3.
    EXPECT_EQ(places(detections_in_grid({{3, 3, 9}, {4, 3, 9}}, 4)),
              (Places{{3, 3, 9}, {4, 3, 9}}));
    EXPECT_EQ(detections_in_grid({{3, 3, 9}, {8, 3, 9}, {0, 3, 9}}, 4).size(), 3u);
    EXPECT_EQ(places(detections_in_grid({{3, 3, 9}, {7, 3, 9}}, 4)), (Places{{3, 3, 9}}));
    EXPECT_EQ(places(detections_in_grid({{3, 3, 9}, {4, 3, 9}}, 0)), (Places{{3, 3, 9}}));
    // Single columns are neighbours from row to row.
    EXPECT_EQ(places(detections_in_grid({{3, 3, 9}, {4, 3, 9}, {6, 3, 9}}, 1)),
              (Places{{3, 3, 9}, {6, 3, 9}}));
}

TEST(Detections, RowLengthDividesTheVectors) {
    for (const int row_length : {5, 24, -1, -4})
        EXPECT_THROW(detections_in_grid({}, row_length), core::InvalidArgument) << row_length;
}

TEST(Detections, AtASmallerRateAreAmongThoseAtALarger) {
    Map map;
    for (index_t i = 0; i < map.statistic.size(); ++i) {
        // Larger towards the last range cell.
        map.statistic.data()[i] = static_cast<float>((i * 7919 % 1000) * (i % 40)) / 1000;
    }
    const auto most = find_detections(map.problem, 0.5, map.statistic);
    std::size_t fewest = most.size();
    for (const double pfa : {0.5, 0.1, 1e-3, 1e-5, 1e-12}) {
        const auto expected = find_detections(map.problem, pfa, map.statistic);
        const auto found = detections_at(map.problem, pfa, most);
        EXPECT_EQ(places(found), places(expected));
        for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i].threshold, expected[i].threshold);
        }
        fewest = std::min(fewest, found.size());
    }
    EXPECT_LT(fewest, most.size());
}

TEST(Detections, NotANumberIsNoDetection) {
    Map map;
    map.statistic(1, 3, 12) = NAN;
    EXPECT_TRUE(map.detections().empty());
}

TEST(Detections, WrongExtentsAreRefused) {
    const core::Array<float, 3> statistic({3, 8, 39});
    EXPECT_THROW(find_detections(map_problem(), 1e-3, statistic), core::InvalidArgument);
}

TEST(NearestDopplerBin, CountsFromZeroDopplerAndWraps) {
    EXPECT_EQ(nearest_doppler_bin(0, 32), 0);
    EXPECT_EQ(nearest_doppler_bin(0.25, 32), 8);
    EXPECT_EQ(nearest_doppler_bin(-0.125, 32), 28);
    EXPECT_EQ(nearest_doppler_bin(0.5, 32), 16);
    EXPECT_EQ(nearest_doppler_bin(-0.5, 32), 16);
    // Between the bins 3 and 4, and between the last and the first.
    EXPECT_EQ(nearest_doppler_bin(3.6 / 32, 32), 4);
    EXPECT_EQ(nearest_doppler_bin(-0.6 / 32, 32), 31);
    EXPECT_EQ(nearest_doppler_bin(-0.4 / 32, 32), 0);
    EXPECT_EQ(nearest_doppler_bin(0.7, 10), 7);
    EXPECT_EQ(nearest_doppler_bin(0.5, 1), 0);
}

/// Whether a detection at a bin and a range cell belongs to a target in bin 8 and range cell 100.
bool belongs(int doppler_bin, index_t range_cell) {
    const DetectionScore score = score_detections(
        {{.doppler_bin = doppler_bin, .range_cell = range_cell}}, {{100, 0.25, 0, 0}}, 32);
    EXPECT_EQ(score.found_targets, score.found[0]);
    EXPECT_EQ(score.false_detections, !score.found[0]);
    return score.found[0];
}

TEST(ScoredDetections, BelongToTheTargetOneCellAndOneBinAway) {
    for (const int bin : {7, 8, 9}) {
        for (const index_t cell : {99, 100, 101}) EXPECT_TRUE(belongs(bin, cell));
        EXPECT_FALSE(belongs(bin, 98));
        EXPECT_FALSE(belongs(bin, 102));
    }
    EXPECT_FALSE(belongs(6, 100));
    EXPECT_FALSE(belongs(10, 100));
    EXPECT_FALSE(belongs(24, 100));
}

TEST(ScoredDetections, WrapInDopplerAndNotInRange) {
    const std::vector<Target> targets{{0, 0, 0, 0}, {5, -1.0 / 16, 0, 0}};
    const auto last_bin = score_detections({{.doppler_bin = 15, .range_cell = 0}}, targets, 16);
    EXPECT_EQ(last_bin.found, (std::vector<bool>{true, false}));
    const auto first_bin = score_detections({{.doppler_bin = 0, .range_cell = 4}}, targets, 16);
    EXPECT_EQ(first_bin.found, (std::vector<bool>{false, true}));
    const auto last_cell = score_detections({{.doppler_bin = 0, .range_cell = 63}}, targets, 16);
    EXPECT_EQ(last_cell.found, (std::vector<bool>{false, false}));
    EXPECT_EQ(last_cell.false_detections, 1);
}

TEST(ScoredDetections, CountATargetOnceAndAFalseOneEach) {
    const std::vector<Target> targets{{10, 0.25, 0, 0}, {11, 0.25, 30, 0}, {40, -0.25, 0, 0}};
    const std::vector<Detection> detections{
        {0, 4, 10, 9, 1}, {3, 4, 10, 8, 1}, {0, 5, 12, 7, 1}, {0, 9, 10, 6, 1}, {0, 9, 60, 5, 1}};
    const DetectionScore score = score_detections(detections, targets, 16);
    EXPECT_EQ(score.found, (std::vector<bool>{true, true, false}));
    EXPECT_EQ(score.found_targets, 2);
    EXPECT_EQ(score.false_detections, 2);
    EXPECT_DOUBLE_EQ(score.f_measure(), 4.0 / (4 + 1 + 2));
    EXPECT_EQ(score_detections(detections, {}, 16).false_detections, 5);
    EXPECT_TRUE(std::isnan(score_detections(detections, {}, 16).f_measure()));
    EXPECT_EQ(score_detections({}, targets, 16).f_measure(), 0);
    EXPECT_EQ(score_detections({}, targets, 16).found_targets, 0);
}

}  // namespace
}  // namespace aperture::stap
