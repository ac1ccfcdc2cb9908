// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/simulation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "aperture/stap/steering.hpp"
#include "tests/same_bytes.hpp"
#include "tests/stap/oracle.hpp"

namespace aperture::stap {
namespace {

using core::Cpu;
using oracle::Complex;
using oracle::Matrix;
using std::numbers::pi;
using tests::same_bytes;

ClutterScene scene() {
    ClutterScene s;
    s.shape = {3, 8, 4000, Domain::pulse};
    s.cnr_db = 25;
    s.beta = 0.8;
    s.motion_std = 0.02;
    s.patches = 61;
    s.jammers = {{35, 20}, {-50, 15}};
    return s;
}

Matrix as_matrix(core::View<const Complex, 2, core::Host> view) {
    Matrix matrix(view.extent[0], view.extent[1]);
    for (index_t i = 0; i < view.extent[0]; ++i)
        for (index_t j = 0; j < view.extent[1]; ++j) matrix(i, j) = view(i, j);
    return matrix;
}

/// Expects a mean over `cells` outer products near its expectation R. Whitened by R, the
/// eigenvalues of n x n means of unit noise are within 1 +- 2 sqrt(n / cells) (Marchenko & Pastur
/// 1967); with margin the bound is 3 sqrt(n / cells).
void expect_covariance(const Matrix& estimate, const Matrix& truth, index_t cells) {
    const Matrix inverse_root = oracle::inverse_root(truth);
    const std::vector<double> values = oracle::eigenvalues(inverse_root * estimate * inverse_root);
    const double largest = std::max(values.back() - 1, 1 - values.front());
    EXPECT_LT(largest, 3 * std::sqrt(double(truth.rows()) / double(cells)));
}

TEST(Perfect, SizesAreThePublishedOnes) {
    const PerfectSize large = perfect_size("large");
    EXPECT_EQ(large.shape, (CubeShape{8, 128, 4096, Domain::pulse}));
    EXPECT_EQ(large.doppler_bins, 256);
    EXPECT_EQ(large.training_block, 64);
    EXPECT_EQ(large.temporal_taps, 3);
    EXPECT_EQ(large.steering_vectors, 16);
    EXPECT_EQ(perfect_size("medium").shape, (CubeShape{6, 128, 1024, Domain::pulse}));
    EXPECT_EQ(perfect_size("small").shape, (CubeShape{4, 128, 512, Domain::pulse}));
    EXPECT_EQ(perfect_size("small").training_block, 32);
    EXPECT_THROW(perfect_size("huge"), core::InvalidArgument);
}

/// The first numbers of rand() in a new MATLAB session, and of any 53-bit Mersenne Twister.
TEST(Perfect, CubeIsTheDefaultStream) {
    const core::Array<cfloat, 3> cube = perfect_cube({1, 1, 3, Domain::pulse});
    EXPECT_FLOAT_EQ(cube(0, 0, 0).real(), 814723.686393179f);
    EXPECT_FLOAT_EQ(cube(0, 0, 1).real(), 905791.937075619f);
    EXPECT_FLOAT_EQ(cube(0, 0, 2).real(), 126986.816293506f);
    EXPECT_FLOAT_EQ(cube(0, 0, 0).imag(), 913375.856139019f);
    EXPECT_FLOAT_EQ(cube(0, 0, 1).imag(), 632359.246225410f);
    EXPECT_FLOAT_EQ(cube(0, 0, 2).imag(), 97540.4049994095f);
}

TEST(Simulation, SameSeedSameBitsWhateverTheThreads) {
    ClutterScene s = scene();
    s.shape.range_cells = 37;
    s.targets = {{5, 0.2, 10, 3}};
    Cpu one(1);
    Cpu three(3);
    const auto a = simulate(one, s);
    const auto b = simulate(three, s);
    EXPECT_TRUE(same_bytes(a, b));
    s.seed = 2;
    const auto c = simulate(one, s);
    EXPECT_FALSE(same_bytes(a, c));
}

TEST(Simulation, CubeHasTheTrueCovariance) {
    const ClutterScene s = scene();
    Cpu cpu;
    const auto cube = simulate(cpu, s);
    const index_t n = s.shape.channels * s.shape.pulses;
    Matrix mean = Matrix::Zero(n, n);
    for (index_t r = 0; r < s.shape.range_cells; ++r) {
        oracle::Vector x(n);
        for (index_t i = 0; i < n; ++i)
            x(i) = Complex(cube(i / s.shape.pulses, i % s.shape.pulses, r));
        mean += x * x.adjoint();
    }
    mean /= double(s.shape.range_cells);
    expect_covariance(mean, as_matrix(true_covariance(s)), s.shape.range_cells);
}

TEST(Simulation, CovarianceIsNoiseClutterAndJammers) {
    ClutterScene s = scene();
    const Matrix r = as_matrix(true_covariance(s));
    const double power = 1 + std::pow(10, 2.5) + std::pow(10, 2.0) + std::pow(10, 1.5);
    for (index_t i = 0; i < r.rows(); ++i) EXPECT_NEAR(r(i, i).real(), power, 1e-9 * power);
    EXPECT_LT((r - r.adjoint()).norm(), 1e-12 * r.norm());
    s.cnr_db = -std::numeric_limits<double>::infinity();
    s.jammers.clear();
    EXPECT_LT((as_matrix(true_covariance(s)) - Matrix::Identity(r.rows(), r.rows())).norm(), 1e-14);
}

/// Brennan's rule: side-looking clutter without motion has rank close to L + beta (P - 1).
TEST(Simulation, ClutterRankFollowsBrennan) {
    ClutterScene s;
    s.shape = {8, 10, 1, Domain::pulse};
    s.cnr_db = 40;
    s.beta = 1;
    const Matrix r = as_matrix(true_covariance(s));
    const std::vector<double> values = oracle::eigenvalues(r);
    const auto above_noise = std::ranges::count_if(values, [](double value) { return value > 2; });
    EXPECT_NEAR(static_cast<double>(above_noise), 8 + 9, 1);
}

TEST(Simulation, TargetIsATone) {
    ClutterScene with;
    with.shape = {4, 16, 3, Domain::pulse};
    with.cnr_db = -std::numeric_limits<double>::infinity();
    ClutterScene without = with;
    with.targets = {{1, -0.3, 25, 12}};
    Cpu cpu;
    const auto a = simulate(cpu, with);
    const auto b = simulate(cpu, without);
    const auto space = spatial_steering(4, 0.5, 25);
    const Complex start = Complex(a(0, 0, 1)) - Complex(b(0, 0, 1));
    EXPECT_NEAR(std::norm(start), std::pow(10, 1.2), 1e-3);
    for (index_t c = 0; c < 4; ++c)
        for (index_t p = 0; p < 16; ++p) {
            const Complex expected =
                start * space[std::size_t(c)] * std::polar(1.0, 2 * pi * -0.3 * double(p));
            EXPECT_LT(std::abs(Complex(a(c, p, 1)) - Complex(b(c, p, 1)) - expected), 1e-5);
            EXPECT_EQ(a(c, p, 0), b(c, p, 0));
            EXPECT_EQ(a(c, p, 2), b(c, p, 2));
        }
}

TEST(Simulation, ImpossibleScenesAreRefused) {
    Cpu cpu;
    const auto refused = [&](void (*spoil)(ClutterScene&)) {
        ClutterScene s = scene();
        s.shape.range_cells = 4;
        spoil(s);
        EXPECT_THROW(simulate(cpu, s), core::InvalidArgument);
        EXPECT_THROW(true_covariance(s), core::InvalidArgument);
    };
    refused([](ClutterScene& s) { s.shape.channels = 0; });
    refused([](ClutterScene& s) { s.shape.domain = Domain::doppler; });
    refused([](ClutterScene& s) { s.patches = 0; });
    refused([](ClutterScene& s) { s.motion_std = -1; });
    refused([](ClutterScene& s) { s.beta = NAN; });
    refused([](ClutterScene& s) { s.cnr_db = NAN; });
    refused([](ClutterScene& s) { s.targets = {{4, 0, 0, 0}}; });
    refused([](ClutterScene& s) { s.targets = {{0, 0.6, 0, 0}}; });
    refused([](ClutterScene& s) { s.targets = {{0, 0, 100, 0}}; });
    refused([](ClutterScene& s) { s.jammers = {{0, INFINITY}}; });
    refused([](ClutterScene& s) { s.targets = {{0, 0, 91, 0}}; });
    refused([](ClutterScene& s) { s.jammers = {{-91, 0}}; });
    refused([](ClutterScene& s) { s.jammers = {{NAN, 0}}; });
    for (const double spacing : {0.0, -0.5, double(NAN)}) {
        ClutterScene clutter = scene();
        clutter.jammers.clear();
        clutter.spacing_wavelengths = spacing;
        EXPECT_THROW(simulate(cpu, clutter), core::InvalidArgument) << spacing;
        EXPECT_THROW(true_covariance(clutter), core::InvalidArgument) << spacing;
    }
}

}  // namespace
}  // namespace aperture::stap
