// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "aperture/stap/detection.hpp"
#include "aperture/stap/pipeline.hpp"
#include "aperture/stap/simulation.hpp"
#include "aperture/stap/steering.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/stap/owned_results.hpp"

// What the theory of adaptive arrays promises of the whole pipeline, on simulated scenes.

namespace aperture::stap {
namespace {

using core::Cpu;
using oracle::Complex;
using oracle::Matrix;
using oracle::Vector;

ClutterScene clutter_and_jammer(const CubeShape& shape) {
    ClutterScene scene;
    scene.shape = shape;
    scene.cnr_db = 40;
    scene.patches = 61;
    scene.jammers = {{-40, 30}};
    return scene;
}

ClutterScene white(const CubeShape& shape) {
    ClutterScene scene;
    scene.shape = shape;
    scene.cnr_db = -std::numeric_limits<double>::infinity();
    return scene;
}

/// Reed, Mallett & Brennan 1974: with N_R training cells of order n, the SINR of the sample weights
/// is on average (N_R + 2 - n) / (N_R + 1) of the best.
TEST(Physics, SinrLossFollowsReedMallettBrennan) {
    const ClutterScene scene = clutter_and_jammer({4, 16, 36 * 250, Domain::pulse});
    Parameters parameters;
    parameters.doppler_bins = 16;
    parameters.training_block = 36;
    Cpu cpu;
    const auto cube = simulate(cpu, scene);
    const auto steering = steering_vectors(4, 0.5, {20}, temporal_response({}, 16, 16, 3));
    const Problem problem = make_problem(scene.shape, parameters, 1);
    OwnedResults results(problem);
    Pipeline<Cpu>(cpu, problem, steering).run(cube, results.views(), nullptr);

    const auto truth = true_snapshot_covariance(scene, {}, 16, 3);
    const Vector v = oracle::steering_vector(steering, 0);
    double sum = 0;
    double sum_of_squares = 0;
    for (index_t b = 0; b < problem.training_sets; ++b) {
        double loss = 0;
        // Bins whose snapshots share no Doppler bin.
        const std::vector<index_t> bins = {1, 4, 7, 10, 13};
        for (index_t k : bins) {
            Matrix r(problem.order, problem.order);
            Vector w(problem.order);
            for (index_t i = 0; i < problem.order; ++i) {
                w(i) = Complex(results.weights(k, b, 0, i));
                for (index_t j = 0; j < problem.order; ++j) r(i, j) = truth(k, i, j);
            }
            const double sinr = std::norm(w.dot(v)) / w.dot(r * w).real();
            const double best = v.dot(*oracle::solve(r, v)).real();
            loss += sinr / best / double(bins.size());
        }
        sum += loss;
        sum_of_squares += loss * loss;
    }
    const double blocks = double(problem.training_sets);
    const double mean = sum / blocks;
    const double error = std::sqrt((sum_of_squares / blocks - mean * mean) / blocks);
    EXPECT_LT(error, 0.01);
    EXPECT_NEAR(mean, (36.0 + 2 - 12) / (36 + 1), 4 * error);
}

struct AlarmCase {
    const char* name;
    Training training;
    Detector detector;
    int guard;
    bool clutter;
};

void PrintTo(const AlarmCase& c, std::ostream* stream) { *stream << c.name; }

class FalseAlarms : public testing::TestWithParam<AlarmCase> {};

/// The rate of cells over the threshold is the one asked for, whatever the covariance.
TEST_P(FalseAlarms, RateIsTheOneAskedFor) {
    const AlarmCase& c = GetParam();
    const CubeShape shape{4, 16, c.training == Training::block ? 8192 : 2048, Domain::pulse};
    const ClutterScene scene = c.clutter ? clutter_and_jammer(shape) : white(shape);
    Parameters parameters;
    parameters.training = c.training;
    parameters.detector = c.detector;
    parameters.guard = c.guard;
    parameters.training_block = 16;
    parameters.temporal_taps = 1;
    Cpu cpu;
    const auto cube = simulate(cpu, scene);
    const auto steering = steering_vectors(4, 0.5, {20}, {1.0});
    const Problem problem = make_problem(shape, parameters, 1);
    OwnedResults results(problem);
    Pipeline<Cpu>(cpu, problem, steering).run(cube, results.views(), nullptr);

    constexpr double pfa = 0.02;
    double alarms = 0;
    std::map<index_t, double> thresholds;
    for (index_t r = 0; r < shape.range_cells; ++r) {
        const index_t trained = independent_training_cells(problem, r);
        const auto known = thresholds.find(trained);
        const double threshold = known != thresholds.end()
                                     ? known->second
                                     : thresholds[trained] = detection_threshold(
                                           c.detector, pfa, trained, problem.order);
        for (index_t k = 0; k < problem.doppler_bins; ++k)
            alarms += results.statistic(0, k, r) > threshold;
    }
    const double cells = double(shape.range_cells) * problem.doppler_bins;
    EXPECT_NEAR(alarms, pfa * cells, 5 * std::sqrt(pfa * (1 - pfa) * cells));
}

std::vector<AlarmCase> alarm_cases() {
    using enum Training;
    using enum Detector;
    return {{"block_amf_white", block, amf, 0, false},
            {"block_amf_clutter", block, amf, 0, true},
            {"block_ace_white", block, ace, 0, false},
            {"block_ace_clutter", block, ace, 0, true},
            {"block_glrt_white", block, glrt, 0, false},
            {"block_glrt_clutter", block, glrt, 0, true},
            {"sliding_amf_clutter", sliding, amf, 2, true},
            {"sliding_glrt_white", sliding, glrt, 0, false},
            {"all_amf_clutter", all, amf, 1, true},
            {"all_cfar_clutter", all, cfar, 1, true}};
}

INSTANTIATE_TEST_SUITE_P(Physics, FalseAlarms, testing::ValuesIn(alarm_cases()),
                         [](const auto& tested) { return tested.param.name; });

/// gamma w^H v = 1, seen from outside: a cube that holds v itself in a cell that does not train
/// gives y = 1 there.
TEST(Physics, SteeringVectorPassesUndistorted) {
    const CubeShape shape{4, 16, 96, Domain::doppler};
    const ClutterScene scene = clutter_and_jammer({4, 16, 96, Domain::pulse});
    Cpu cpu;
    const auto steering = steering_vectors(4, 0.5, {-30, 10, 55}, {1.0});
    for (Training training : {Training::sliding, Training::all}) {
        Parameters parameters;
        parameters.training = training;
        parameters.training_block = 32;
        parameters.temporal_taps = 1;
        auto cube = simulate(cpu, scene);
        constexpr index_t cell = 40;
        for (index_t k = 0; k < 16; ++k)
            for (index_t c = 0; c < 4; ++c) cube(c, k, cell) = steering(k % 3, c);
        const Problem problem = make_problem(shape, parameters, 3);
        OwnedResults results(problem);
        Pipeline<Cpu>(cpu, problem, steering).run(cube, results.views(), nullptr);
        for (index_t k = 0; k < 16; ++k)
            EXPECT_LT(std::abs(results.output(k % 3, k, cell) - cfloat(1)), 1e-4f) << "bin " << k;
    }
}

TEST(Physics, PlantedTargetsAreFound) {
    ClutterScene scene = clutter_and_jammer({6, 32, 512, Domain::pulse});
    scene.targets = {
        {40, -0.3, 20, 0}, {170, 0.375, 20, 0}, {300, -0.125, 20, 3}, {500, 0.45, 20, 3}};
    constexpr double pfa = 1e-6;
    Cpu cpu;
    const auto cube = simulate(cpu, scene);
    for (Training training : {Training::block, Training::sliding, Training::all}) {
        Parameters parameters;
        parameters.training = training;
        parameters.doppler_bins = 32;
        parameters.detector = Detector::amf;
        parameters.guard = training == Training::block ? 0 : 2;
        const auto steering =
            steering_vectors(6, 0.5, {-20, 0, 20}, temporal_response({}, 32, 32, 3));
        const Problem problem = make_problem(scene.shape, parameters, 3);
        OwnedResults results(problem);
        Pipeline<Cpu>(cpu, problem, steering).run(cube, results.views(), nullptr);
        std::size_t false_alarms = 0;
        std::vector<bool> found(scene.targets.size(), false);
        for (const Detection& detection : find_detections(problem, pfa, results.statistic)) {
            bool explained = false;
            for (std::size_t i = 0; i < scene.targets.size(); ++i) {
                const Target& target = scene.targets[i];
                if (target.range_cell != detection.range_cell) continue;
                explained = true;
                const double bin = target.doppler * 32;
                const double off = std::remainder(detection.doppler_bin - bin, 32.0);
                if (std::abs(off) <= 1 && detection.steering_vector == 2) found[i] = true;
            }
            false_alarms += !explained;
        }
        EXPECT_EQ(found, std::vector<bool>(scene.targets.size(), true)) << int(training);
        // 3 x 32 x 512 cells at 1e-6: more than two false alarms in 2e5 runs only.
        EXPECT_LE(false_alarms, 2u);
    }
}

}  // namespace
}  // namespace aperture::stap
