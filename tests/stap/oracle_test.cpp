// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/stap/oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>

// The oracle compared with numbers computed by hand.

namespace aperture::stap {
namespace {

using oracle::Complex;

/// One channel, one Doppler bin, one tap: matrices are numbers.
Problem scalar_problem(index_t cells, Training training, int block, int guard, Detector detector) {
    Parameters parameters;
    parameters.training = training;
    parameters.training_block = block;
    parameters.guard = guard;
    parameters.temporal_taps = 1;
    parameters.detector = detector;
    return make_problem({1, 1, cells, Domain::doppler}, parameters, 1);
}

core::Array<cfloat, 3> row(std::initializer_list<cfloat> samples) {
    core::Array<cfloat, 3> cube({1, 1, static_cast<index_t>(samples.size())});
    std::copy(samples.begin(), samples.end(), cube.begin());
    return cube;
}

core::Array<cfloat, 2> two() {
    core::Array<cfloat, 2> steering({1, 1});
    steering(0, 0) = 2;
    return steering;
}

TEST(Oracle, BlockOfScalars) {
    const Problem problem = scalar_problem(4, Training::block, 2, 0, Detector::amf);
    const auto cube = oracle::widen(row({1, cfloat(0, 2), 3, 1}));
    const oracle::Adapted result = oracle::adapt(problem, cube, two());
    // R = (1 + 4) / 2, w = 2 / R, gamma = 1 / (2 w), y = x / 2
    EXPECT_EQ(result.covariance(0, 0, 0, 0), Complex(2.5));
    EXPECT_EQ(result.covariance(0, 1, 0, 0), Complex(5));
    EXPECT_DOUBLE_EQ(result.weights(0, 0, 0, 0).real(), 0.8);
    EXPECT_DOUBLE_EQ(result.output(0, 0, 1).imag(), 1);
    // Only the other cell of the block remains: J = 1, AMF = |x|^2 / |other|^2.
    EXPECT_DOUBLE_EQ(result.statistic(0, 0, 0), 0.25);
    EXPECT_DOUBLE_EQ(result.statistic(0, 0, 1), 4);
    EXPECT_DOUBLE_EQ(result.statistic(0, 0, 2), 9);
}

TEST(Oracle, ShortLastBlockAndLoading) {
    Problem problem = scalar_problem(3, Training::block, 2, 0, Detector::none);
    problem.parameters.loading = {0.5, true};
    const auto cube = oracle::widen(row({1, 1, 3}));
    const oracle::Adapted result = oracle::adapt(problem, cube, two());
    EXPECT_EQ(result.covariance(0, 0, 0, 0), Complex(1.5));
    EXPECT_EQ(result.covariance(0, 1, 0, 0), Complex(7.5));
}

TEST(Oracle, AllWithoutGuardCells) {
    const Problem problem = scalar_problem(5, Training::all, 1, 1, Detector::glrt);
    const auto cube = oracle::widen(row({1, 2, 3, 4, 5}));
    const oracle::Adapted result = oracle::adapt(problem, cube, two());
    EXPECT_EQ(result.covariance(0, 0, 0, 0), Complex(11));
    // Cell 2 trains on cells 0 and 4: M = 26, a = 4/26, b = 6/26, c = 9/26.
    EXPECT_DOUBLE_EQ(result.statistic(0, 0, 2), 36.0 / 26 / 26 / (4.0 / 26 * (1 + 9.0 / 26)));
    // Cell 0 trains on cells 2 to 4: M = 50.
    EXPECT_DOUBLE_EQ(result.statistic(0, 0, 0), 4.0 / 50 / 50 / (4.0 / 50 * (1 + 1.0 / 50)));
}

TEST(Oracle, DependentElementsAreSingularToRounding) {
    oracle::Matrix cells(3, 40);
    cells.setRandom();
    const oracle::Vector x = oracle::Vector::Ones(3);
    const auto amf = [&] {
        return oracle::statistic(Detector::amf, {cells * cells.adjoint(), 40}, x, x);
    };
    EXPECT_GT(amf(), 0);
    cells.row(2) = 0.3 * cells.row(0) - Complex(0.1, 0.7) * cells.row(1);
    EXPECT_EQ(amf(), 0);
    cells.row(1) *= 1e6;
    EXPECT_EQ(amf(), 0);
    cells(2, 7) += 1e-3;
    EXPECT_GT(amf(), 0);
}

TEST(Oracle, SlidingWindowAndCfar) {
    const Problem problem = scalar_problem(7, Training::sliding, 2, 1, Detector::cfar);
    const auto cube = oracle::widen(row({1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(oracle::window_cells(problem, 3), (std::vector<index_t>{1, 5}));
    EXPECT_EQ(oracle::window_cells(problem, 0), (std::vector<index_t>{2, 3, 4}));
    const oracle::Adapted result = oracle::adapt(problem, cube, two());
    EXPECT_EQ(result.covariance(0, 3, 0, 0), Complex(20));
    EXPECT_DOUBLE_EQ(result.statistic(0, 0, 3), 16.0 / 20);
}

TEST(Oracle, SnapshotWrapsAroundDoppler) {
    Parameters parameters;
    parameters.temporal_taps = 3;
    parameters.training_block = 1;
    parameters.loading.value = 1;
    const Problem problem = make_problem({2, 4, 1, Domain::doppler}, parameters, 1);
    oracle::Cube cube({2, 4, 1});
    for (index_t c = 0; c < 2; ++c)
        for (index_t k = 0; k < 4; ++k) cube(c, k, 0) = Complex(double(10 * c + k));
    const oracle::Vector s = oracle::snapshot(problem, cube, 0, 0);
    const double expected[] = {3, 0, 1, 13, 10, 11};
    for (index_t i = 0; i < 6; ++i) EXPECT_EQ(s(i), Complex(expected[i]));
}

/// The bins of a transform without padding are orthogonal, those of one padded to twice are not.
TEST(Oracle, SnapshotsOfNoise) {
    ClutterScene noise;
    noise.shape = {2, 4, 1, Domain::pulse};
    noise.cnr_db = -INFINITY;
    const auto covariances = oracle::snapshot_covariances(noise, 4, 3);
    ASSERT_EQ(covariances.size(), 4u);
    EXPECT_LT((covariances[3] - 4 * oracle::Matrix::Identity(6, 6)).norm(), 1e-12);
    // 1 + w + w^2 + w^3 with w = exp(j pi / 4)
    const Complex neighbours(1, 1 + std::sqrt(2.0));
    EXPECT_LT(std::abs(oracle::snapshot_covariances(noise, 8, 3)[5](0, 1) - neighbours), 1e-12);
    EXPECT_LT(std::abs(oracle::snapshot_covariances(noise, 8, 3)[5](0, 3)), 1e-12);
}

TEST(Oracle, DopplerOfATone) {
    core::Array<cfloat, 3> pulses({1, 4, 1});
    for (index_t p = 0; p < 4; ++p) pulses(0, p, 0) = p % 2 == 0 ? 1.0f : -1.0f;
    const oracle::Cube cube = oracle::doppler(pulses, {1, 1, 1, 1}, 8);
    EXPECT_LT(std::abs(cube(0, 4, 0) - Complex(4)), 1e-12);
    EXPECT_LT(std::abs(cube(0, 0, 0)), 1e-12);
    const oracle::Cube tapered = oracle::doppler(pulses, {0, 1, 1, 0}, 4);
    EXPECT_LT(std::abs(tapered(0, 2, 0) - Complex(2)), 1e-12);
}

}  // namespace
}  // namespace aperture::stap
