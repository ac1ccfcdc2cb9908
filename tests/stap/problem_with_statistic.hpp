// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "aperture/stap/targets.hpp"
#include "tests/stap/owned_results.hpp"
#include "tests/stap/random_input.hpp"

namespace aperture::stap {

/// A problem whose statistic a test sets.
struct ProblemWithStatistic {
    Problem problem;
    DirectionGrid grid{uniform_line(2, 0.5), {}, 4};
    core::Array<cfloat, 3> cube = random_normal<3>({2, 8, 30}, 1);
    core::Array<cfloat, 2> steering;
    OwnedResults results;
    core::Cpu cpu{1};

    static Problem made_problem() {
        Parameters parameters;
        parameters.temporal_taps = 1;
        parameters.training_block = 10;
        parameters.detector = Detector::amf;
        return make_problem({2, 8, 30, Domain::doppler}, parameters, 12);
    }
    ProblemWithStatistic() : problem(made_problem()), results(problem) {
        for (const double elevation : {-20.0, 0.0, 10.0})
            for (const double azimuth : {-30.0, -10.0, 0.0, 20.0})
                grid.directions.push_back({azimuth, elevation});
        steering = steering_vectors(grid.elements, grid.directions, {1.0});
        std::fill(results.attempt.begin(), results.attempt.end(), 0);
        std::fill(results.statistic.begin(), results.statistic.end(), 1.0f);
    }
    /// The target of one detection, and of no neighbours.
    EstimatedTarget target(int d, int k, index_t r) {
        const auto merged = merge({{d, k, r, results.statistic(d, k, r), 1}});
        EXPECT_EQ(merged.targets.size(), 1u);
        return merged.targets.at(0);
    }
    MergedDetections merge(const std::vector<Detection>& detections) {
        return merge_detections(cpu, problem, steering, grid, cube, results.views(), detections);
    }
};

}  // namespace aperture::stap
