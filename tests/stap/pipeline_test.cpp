// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "aperture/core/timing.hpp"
#include "tests/stap/kernel_cases.hpp"
#include "tests/stap/random_input.hpp"

namespace aperture::stap::kernel_cases {
namespace {

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
    const Problem problem = GetParam().problem();
    const Parameters& p = problem.parameters;
    const CubeShape& shape = problem.shape;
    const auto cube = random_normal<3>({shape.channels, shape.pulses, shape.range_cells}, 7);
    const auto steering = random_normal<2>({problem.steering_vectors, problem.order}, 8);
    const auto expected = oracle::adapt(problem, doppler_cube_of(problem, cube), steering);
    const HostResults results = run_cpu(problem, cube, steering);

    // White input: cond(R) is below 1e3, so the chain's error is below 1e3 unit roundoffs.
    const double tolerance = p.precision == Precision::mixed ? 2e-6 : 1e-4;
    EXPECT_THAT(std::vector<int>(results.info.begin(), results.info.end()), testing::Each(0));
    EXPECT_LT(relative_error(results.output, expected.output), tolerance);
    EXPECT_LT(relative_error(results.covariance, expected.covariance), 2e-6);
    if (p.training != Training::all) {
        EXPECT_LT(relative_error(results.weights, expected.weights), tolerance);
    }
    if (p.detector != Detector::none) {
        EXPECT_LT(relative_error(results.statistic, expected.statistic), 3 * tolerance);
    }
    for (float ratio : results.pivot_ratio) EXPECT_GE(ratio, 1.0f);
}

Case of(Training training, Implementation implementation, int block, int guard, int taps,
        Detector detector, int vectors, DiagonalLoading loading = {}) {
    return {.channels = 3,
            .taps = taps,
            .doppler_bins = 8,
            .range_cells = 77,
            .training_block = block,
            .vectors = vectors,
            .training = training,
            .guard = guard,
            .detector = detector,
            .loading = loading,
            .implementation = implementation,
            .pulses = 6};
}

Case without_pulses(Case c) {
    c.pulses = 0;
    return c;
}

std::vector<Case> cases() {
    using enum Training;
    using enum Implementation;
    using enum Detector;
    const DiagonalLoading absolute{0.25, false};
    const DiagonalLoading relative{0.1, true};
    std::vector<Case> list;
    for (Case c : {of(block, fused, 20, 0, 3, amf, 3), of(block, staged, 20, 0, 3, amf, 3),
                   of(sliding, fused, 20, 2, 3, amf, 3), of(all, fused, 20, 2, 3, amf, 3)}) {
        list.push_back(c);
        c.precision = Precision::mixed;
        list.push_back(c);
    }
    for (const Implementation implementation : {fused, staged}) {
        list.push_back(without_pulses(of(block, implementation, 33, 0, 1, glrt, 5, absolute)));
        list.push_back(of(block, implementation, 40, 0, 3, ace, 1, relative));
        list.push_back(of(block, implementation, 25, 3, 3, cfar, 2));
        list.push_back(of(block, implementation, 77, 0, 5, none, 17));
    }
    list.push_back(of(sliding, fused, 31, 0, 1, glrt, 2));
    list.push_back(of(sliding, staged, 24, 5, 3, ace, 2, relative));
    list.push_back(of(sliding, fused, 1, 1, 1, none, 2, absolute));
    list.push_back(of(sliding, fused, 70, 3, 1, cfar, 2));  // the whole cube
    list.push_back(of(all, fused, 20, 0, 3, glrt, 2));
    list.push_back(without_pulses(of(all, staged, 20, 6, 3, ace, 2, relative)));
    list.push_back(of(all, fused, 20, 30, 1, amf, 2, absolute));
    list.push_back(of(all, fused, 16, 1, 3, cfar, 64));
    // In passes.
    for (const Training training : {block, sliding, all}) {
        list.push_back(of(training, fused, 20, 0, 3, amf, 67));
    }
    list.push_back(of(block, staged, 20, 0, 1, glrt, 65));
    Case scalar = of(block, staged, 8, 0, 1, amf, 1);
    scalar.channels = 1;
    scalar.doppler_bins = 4;
    scalar.pulses = 4;
    scalar.range_cells = 20;
    list.push_back(scalar);
    return list;
}

INSTANTIATE_TEST_SUITE_P(Pipeline, PipelineAgainstOracle, testing::ValuesIn(cases()));

TEST(Pipeline, RunsWithAnotherLoading) {
    for (Case c : {of(Training::block, Implementation::fused, 16, 0, 3, Detector::amf, 3),
                   of(Training::block, Implementation::staged, 16, 0, 3, Detector::none, 3),
                   of(Training::sliding, Implementation::fused, 16, 1, 3, Detector::glrt, 3),
                   of(Training::all, Implementation::fused, 16, 1, 3, Detector::ace, 3),
                   // In passes.
                   of(Training::block, Implementation::fused, 20, 0, 3, Detector::amf, 67)}) {
        SCOPED_TRACE(testing::Message() << c);
        c.precision = Precision::automatic;
        const core::Array<cfloat, 3> cube = noise_cube(c.problem());
        const core::Array<cfloat, 2> steering = random_steering(c.problem());
        core::Cpu cpu(2);
        Pipeline<core::Cpu> pipeline(cpu, c.problem(), steering);
        for (const DiagonalLoading loading : {DiagonalLoading{0.5}, DiagonalLoading{0.1, true}}) {
            c.loading = loading;
            pipeline.set_loading(loading);
            HostResults results(c.problem());
            pipeline.run(cube, results.views(c.problem()), nullptr);
            expect_same_bits(run_cpu(c.problem(), cube, steering), results);
        }
        EXPECT_THROW(pipeline.set_loading({-1}), core::InvalidArgument);
        HostResults results(c.problem());
        pipeline.run(cube, results.views(c.problem()), nullptr);
        expect_same_bits(run_cpu(c.problem(), cube, steering), results);
    }
}

TEST(Pipeline, TimesItsStages) {
    const auto stages_of = [](const Case& c) {
        const Problem problem = c.problem();
        core::Cpu cpu(1);
        core::Timeline timeline;
        timeline.begin_run();
        HostResults results(problem);
        const core::Array<cfloat, 3> cube = noise_cube(problem);
        const core::Array<cfloat, 2> steering = random_steering(problem);
        Pipeline<core::Cpu>(cpu, problem, steering).run(cube, results.views(problem), &timeline);
        std::vector<std::string> names;
        for (const core::Stage& stage : timeline.stages()) {
            names.push_back(stage.name);
            EXPECT_GT(stage.ms, 0) << stage.name;
        }
        return names;
    };
    Case c{.detector = Detector::cfar, .precision = Precision::automatic, .pulses = 5};
    EXPECT_THAT(stages_of(c), testing::ElementsAre("doppler", "adaptive", "repeat", "detect"));
    c.implementation = Implementation::staged;
    c.precision = Precision::fp32;
    c.detector = Detector::amf;
    EXPECT_THAT(stages_of(c),
                testing::ElementsAre("doppler", "covariance", "weights", "weighting", "detect"));
    c.training = Training::sliding;
    EXPECT_THAT(stages_of(c), testing::ElementsAre("doppler", "adaptive"));
}

}  // namespace
}  // namespace aperture::stap::kernel_cases
