// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stap/oracle.hpp"
#include "tests/stap/owned_results.hpp"
#include "tests/stap/random_input.hpp"

namespace aperture::stap {
namespace {

using core::Cpu;

struct Case {
    const char* name;
    CubeShape shape;
    Parameters parameters;
    int steering_vectors;
};

void PrintTo(const Case& c, std::ostream* stream) { *stream << c.name; }

Parameters parameters(Training training, Implementation implementation, Precision precision,
                      int block, int guard, int taps, Detector detector,
                      DiagonalLoading loading = {}) {
    Parameters p;
    p.training = training;
    p.implementation = implementation;
    p.precision = precision;
    p.training_block = block;
    p.guard = guard;
    p.temporal_taps = taps;
    p.detector = detector;
    p.loading = loading;
    return p;
}

/// The maximum difference divided by the maximum reference value.
template <class Values, class References>
double relative_error(const Values& values, const References& references) {
    EXPECT_EQ(values.size(), references.size());
    double largest = 0;
    double error = 0;
    for (index_t i = 0; i < references.size(); ++i) {
        const oracle::Complex reference(references.data()[i]);
        const double difference = std::abs(oracle::Complex(values.data()[i]) - reference);
        if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, std::abs(reference));
        error = std::max(error, difference);
    }
    return largest > 0 ? error / largest : error;
}

class PipelineAgainstOracle : public testing::TestWithParam<Case> {};

TEST_P(PipelineAgainstOracle, EveryResultAgrees) {
    const Case& c = GetParam();
    const Problem problem = make_problem(c.shape, c.parameters, c.steering_vectors);
    const auto cube = random_normal<3>({c.shape.channels, c.shape.pulses, c.shape.range_cells}, 7);
    const auto steering = random_normal<2>({c.steering_vectors, problem.order}, 8);
    const oracle::Cube doppler =
        c.shape.domain == Domain::doppler
            ? oracle::widen(cube)
            : oracle::doppler(cube, signal::taper_weights(c.parameters.taper, int(c.shape.pulses)),
                              problem.doppler_bins);
    const oracle::Adapted expected = oracle::adapt(problem, doppler, steering);

    Cpu cpu;
    OwnedResults results(problem);
    Pipeline<Cpu>(cpu, problem, steering).run(cube, results.views(), nullptr);

    const bool fp64 = c.parameters.precision == Precision::mixed;
    // White input: cond(R) is below 1e3, so the chain's error is below 1e3 unit roundoffs.
    const double tolerance = fp64 ? 2e-6 : 1e-4;
    EXPECT_THAT(std::vector<int>(results.info.begin(), results.info.end()), testing::Each(0));
    EXPECT_LT(relative_error(results.output, expected.output), tolerance);
    EXPECT_LT(relative_error(results.covariance, expected.covariance), 2e-6);
    if (c.parameters.training != Training::all) {
        EXPECT_LT(relative_error(results.weights, expected.weights), tolerance);
    }
    if (c.parameters.detector != Detector::none) {
        EXPECT_LT(relative_error(results.statistic, expected.statistic), 3 * tolerance);
    }
    for (float ratio : results.pivot_ratio) EXPECT_GE(ratio, 1.0f);
}

constexpr CubeShape cube_shape{3, 6, 77, Domain::pulse};
constexpr CubeShape doppler_shape{3, 8, 77, Domain::doppler};

std::vector<Case> cases() {
    using enum Training;
    using enum Implementation;
    using enum Precision;
    const DiagonalLoading absolute{0.25, false};
    const DiagonalLoading relative{0.1, true};
    std::vector<Case> list;
    const auto add = [&](const char* name, const CubeShape& shape, Parameters p, int directions) {
        list.push_back({name, shape, p, directions});
    };
    const auto add_precisions = [&](const char* name32, const char* name64, Parameters p,
                                    int directions) {
        add(name32, cube_shape, p, directions);
        p.precision = mixed;
        add(name64, cube_shape, p, directions);
    };
    add_precisions("fused_amf", "fused_amf_mixed",
                   parameters(block, fused, fp32, 20, 0, 3, Detector::amf), 3);
    add_precisions("staged_amf", "staged_amf_mixed",
                   parameters(block, staged, fp32, 20, 0, 3, Detector::amf), 3);
    add_precisions("sliding_amf", "sliding_amf_mixed",
                   parameters(sliding, fused, fp32, 20, 2, 3, Detector::amf), 3);
    add_precisions("all_amf", "all_amf_mixed",
                   parameters(all, fused, fp32, 20, 2, 3, Detector::amf), 3);
    for (const auto& [name, implementation] :
         {std::pair{"fused_glrt_loading", fused}, std::pair{"staged_glrt_loading", staged}})
        add(name, doppler_shape,
            parameters(block, implementation, fp32, 33, 0, 1, Detector::glrt, absolute), 5);
    for (const auto& [name, implementation] :
         {std::pair{"fused_ace_relative", fused}, std::pair{"staged_ace_relative", staged}})
        add(name, cube_shape,
            parameters(block, implementation, fp32, 40, 0, 3, Detector::ace, relative), 1);
    for (const auto& [name, implementation] :
         {std::pair{"fused_cfar", fused}, std::pair{"staged_cfar", staged}})
        add(name, cube_shape, parameters(block, implementation, fp32, 25, 3, 3, Detector::cfar), 2);
    for (const auto& [name, implementation] :
         {std::pair{"fused_no_detector", fused}, std::pair{"staged_no_detector", staged}})
        add(name, cube_shape, parameters(block, implementation, fp32, 77, 0, 5, Detector::none),
            17);
    add("sliding_no_guard", cube_shape, parameters(sliding, fused, fp32, 31, 0, 1, Detector::glrt),
        2);
    add("sliding_ace_loading", cube_shape,
        parameters(sliding, staged, fp32, 24, 5, 3, Detector::ace, relative), 2);
    add("sliding_one_training_cell", cube_shape,
        parameters(sliding, fused, fp32, 1, 1, 1, Detector::none, absolute), 2);
    add("sliding_whole_cube", cube_shape,
        parameters(sliding, fused, fp32, 70, 3, 1, Detector::cfar), 2);
    add("all_no_guard", cube_shape, parameters(all, fused, fp32, 20, 0, 3, Detector::glrt), 2);
    add("all_ace_relative", doppler_shape,
        parameters(all, staged, fp32, 20, 6, 3, Detector::ace, relative), 2);
    add("all_wide_guard_absolute", cube_shape,
        parameters(all, fused, fp32, 20, 30, 1, Detector::amf, absolute), 2);
    add("all_cfar", cube_shape, parameters(all, fused, fp32, 16, 1, 3, Detector::cfar), 64);
    add("one_channel_one_tap", {1, 4, 20, Domain::pulse},
        parameters(block, staged, fp32, 8, 0, 1, Detector::amf), 1);
    return list;
}

INSTANTIATE_TEST_SUITE_P(Pipeline, PipelineAgainstOracle, testing::ValuesIn(cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace aperture::stap
