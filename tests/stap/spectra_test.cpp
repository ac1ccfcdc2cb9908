// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/spectra.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "aperture/stap/simulation.hpp"
#include "aperture/stap/steering.hpp"
#include "tests/stap/kernel_cases.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/stap/random_input.hpp"

namespace aperture::stap {
namespace {

using oracle::Matrix;
using oracle::Vector;

struct SpectraCase {
    Training training;
    int guard;
    int taps;
    Domain domain = Domain::pulse;
    DiagonalLoading loading{};
};
void PrintTo(const SpectraCase& c, std::ostream* stream) {
    *stream << "training " << static_cast<int>(c.training) << ", guard " << c.guard << ", T "
            << c.taps << ", loading " << c.loading.value;
}

class Spectra : public testing::TestWithParam<SpectraCase> {
  protected:
    static constexpr int bins = 12;
    static constexpr index_t cells = 61;

    Problem problem() const {
        Parameters parameters;
        parameters.training = GetParam().training;
        parameters.guard = GetParam().guard;
        parameters.temporal_taps = GetParam().taps;
        parameters.training_block = 22;
        parameters.loading = GetParam().loading;
        const bool pulses = GetParam().domain == Domain::pulse;
        parameters.doppler_bins = bins;
        if (pulses) parameters.taper.kind = signal::Taper::Kind::hamming;
        return make_problem({3, pulses ? 9 : bins, cells, GetParam().domain}, parameters, 2);
    }
};

INSTANTIATE_TEST_SUITE_P(
    Training, Spectra,
    testing::Values(SpectraCase{Training::block, 0, 3}, SpectraCase{Training::block, 0, 1},
                    SpectraCase{Training::sliding, 0, 3},
                    SpectraCase{Training::sliding, 4, 3, Domain::pulse, {0.5, false}},
                    SpectraCase{Training::sliding, 2, 1, Domain::doppler, {0.1, true}},
                    SpectraCase{Training::all, 0, 5}, SpectraCase{Training::all, 3, 3},
                    SpectraCase{Training::all, 2, 3, Domain::pulse, {0.3, true}},
                    SpectraCase{Training::all, 1, 3, Domain::doppler, {2, false}},
                    SpectraCase{Training::block, 0, 3, Domain::doppler, {0.3, true}}));

TEST_P(Spectra, AreTheQuadraticFormsOfTheCovariance) {
    const Problem given = problem();
    const auto cube = random_normal<3>({3, given.shape.pulses, cells}, 3);
    const auto directions = random_normal<2>({4, given.order}, 4);
    const auto filtered = kernel_cases::doppler_cube_of(given, cube);
    core::Cpu cpu(2);
    for (const index_t cell : {index_t(0), index_t(1), index_t(30), index_t(45), cells - 1}) {
        const InterferenceSpectra spectra =
            interference_spectra(cpu, given, cube, cell, directions);
        ASSERT_EQ(spectra.conventional.extent(), (core::Extents<2>{bins, 4}));
        ASSERT_EQ(spectra.minimum_variance.extent(), (core::Extents<2>{bins, 4}));
        for (index_t k = 0; k < bins; ++k) {
            const Matrix r = oracle::weight_estimate(given, filtered, k, cell).mean();
            for (index_t a = 0; a < 4; ++a) {
                const Vector v = oracle::steering_vector(directions, a);
                const double power = v.squaredNorm();
                const double conventional = v.dot(r * v).real() / power;
                const double minimum = power / v.dot(*oracle::solve(r, v)).real();
                // The cube is transformed in fp32; cond(R) is below 1e3.
                EXPECT_NEAR(spectra.conventional(k, a), conventional, 1e-5 * conventional);
                EXPECT_NEAR(spectra.minimum_variance(k, a), minimum, 1e-4 * minimum)
                    << "cell " << cell << ", bin " << k;
            }
        }
    }
}

TEST_P(Spectra, PatternIsThatOfTheWeights) {
    const Problem given = problem();
    const auto cube = random_normal<3>({3, given.shape.pulses, cells}, 5);
    const auto directions = random_normal<2>({5, given.order}, 6);
    const auto filtered = kernel_cases::doppler_cube_of(given, cube);
    const core::View<const cfloat, 1> v0 = directions.view()[2];
    core::Cpu cpu(2);
    for (const index_t cell : {index_t(2), cells - 4})
        for (const int k : {0, 7, bins - 1}) {
            const auto pattern = adapted_pattern(cpu, given, cube, cell, k, v0, directions);
            ASSERT_EQ(pattern.size(), 5u);
            const Matrix r = oracle::weight_estimate(given, filtered, k, cell).mean();
            const Vector v = oracle::steering_vector(directions, 2);
            const Vector w = *oracle::solve(r, v);
            for (index_t a = 0; a < 5; ++a) {
                const double expected =
                    std::norm(w.dot(oracle::steering_vector(directions, a)) / w.dot(v));
                EXPECT_NEAR(pattern[std::size_t(a)], expected, 1e-4 * (1 + expected));
            }
            EXPECT_NEAR(pattern[2], 1, 1e-12);
        }
}

TEST(InterferenceSpectra, OfWhiteNoiseAreFlat) {
    Parameters parameters;
    parameters.training = Training::all;
    parameters.temporal_taps = 3;
    const Problem problem = make_problem({4, 16, 6000, Domain::pulse}, parameters, 1);
    const auto cube = random_normal<3>({4, 16, 6000}, 9);
    std::vector<double> azimuths;
    for (int azimuth = -60; azimuth <= 60; azimuth += 10) azimuths.push_back(azimuth);
    const auto directions = steering_vectors(4, 0.5, azimuths, temporal_response({}, 16, 16, 3));
    core::Cpu cpu;
    const auto spectra = interference_spectra(cpu, problem, cube, 3000, directions);
    // Sixteen pulses of unit power. Both are means of J powers, so that they scatter by 1/sqrt(J).
    const double scatter = 5 * 16 / std::sqrt(6000.0);
    for (const double power : spectra.conventional) EXPECT_NEAR(power, 16, scatter);
    for (const double power : spectra.minimum_variance) EXPECT_NEAR(power, 16, scatter);

    // With nothing but loading they are the loading.
    core::Array<cfloat, 3> nothing({4, 16, 6000});
    std::fill(nothing.begin(), nothing.end(), cfloat(0));
    parameters.loading.value = 3;
    const Problem loaded = make_problem({4, 16, 6000, Domain::pulse}, parameters, 1);
    const auto of_loading = interference_spectra(cpu, loaded, nothing, 5, directions);
    // N loading over N - 1 cells that remain.
    const double expected = 3 * 6000.0 / 5999;
    for (const double power : of_loading.conventional) EXPECT_NEAR(power, expected, 1e-12);
    for (const double power : of_loading.minimum_variance) EXPECT_NEAR(power, expected, 1e-12);
}

/// A jammer of 30 dB at -40 degrees in unit noise.
struct JammedScene {
    Problem problem;
    core::Array<cfloat, 3> cube;
    core::Array<cfloat, 2> directions;
    static constexpr int jammed = 10;  // of the directions

    explicit JammedScene(core::Cpu& cpu) {
        ClutterScene scene;
        scene.shape = {8, 16, 400, Domain::pulse};
        scene.cnr_db = -INFINITY;
        scene.jammers = {{-40, 30}};
        cube = simulate(cpu, scene);
        Parameters parameters;
        parameters.training = Training::sliding;
        parameters.training_block = 120;
        parameters.guard = 2;
        problem = make_problem(scene.shape, parameters, 1);
        std::vector<double> azimuths;
        for (int azimuth = -60; azimuth <= 60; azimuth += 2) azimuths.push_back(azimuth);
        directions = steering_vectors(8, 0.5, azimuths, temporal_response({}, 16, 16, 3));
    }
};

TEST(InterferenceSpectra, ShowAJammerInEveryBin) {
    core::Cpu cpu;
    const JammedScene scene(cpu);
    const auto spectra =
        interference_spectra(cpu, scene.problem, scene.cube, 200, scene.directions);
    const index_t directions = scene.directions.extent()[0];
    for (index_t k = 0; k < 16; ++k)
        for (const auto* spectrum : {&spectra.conventional, &spectra.minimum_variance}) {
            const double* row = &(*spectrum)(k, 0);
            EXPECT_EQ(std::max_element(row, row + directions) - row, scene.jammed) << k;
            // Its power is that of the jammer plus noise over eight elements.
            EXPECT_NEAR(10 * std::log10(row[scene.jammed] / 16), 30 + 10 * std::log10(8), 3);
        }
    // Noise is what minimum variance shows elsewhere; the conventional one shows side lobes.
    EXPECT_LT(10 * std::log10(spectra.minimum_variance(3, 40) / 16), 2);
    EXPECT_GT(10 * std::log10(spectra.conventional(3, 40) / 16), 5);
}

TEST(AdaptedPattern, HasANullAtTheJammer) {
    core::Cpu cpu;
    const JammedScene scene(cpu);
    constexpr int look = 30;  // boresight
    const auto pattern = adapted_pattern(cpu, scene.problem, scene.cube, 200, 5,
                                         scene.directions.view()[look], scene.directions);
    EXPECT_NEAR(pattern[look], 1, 1e-12);
    EXPECT_LT(pattern[scene.jammed], 1e-4);
}

TEST(InterferenceSpectra, AreNotNumbersWithoutATrustedCovariance) {
    Parameters parameters;
    parameters.temporal_taps = 1;
    parameters.training_block = 20;
    const Problem problem = make_problem({3, 4, 40, Domain::doppler}, parameters, 1);
    auto cube = random_normal<3>({3, 4, 40}, 2);
    for (index_t r = 0; r < 40; ++r)
        for (index_t c = 0; c < 3; ++c) {
            cube(c, 1, r) = 0;
            // Two channels alike but for 1e-7: the condition is above what fp64 is trusted with.
            if (c == 1) cube(c, 2, r) = cube(0, 2, r) * 1.0000001f;
        }
    const auto directions = random_normal<2>({2, 3}, 3);
    core::Cpu cpu(2);
    const auto spectra = interference_spectra(cpu, problem, cube, 25, directions);
    for (index_t k = 0; k < 4; ++k)
        for (index_t a = 0; a < 2; ++a) {
            const bool known = k == 0 || k == 3;
            EXPECT_EQ(std::isfinite(spectra.conventional(k, a)), known) << k;
            EXPECT_EQ(std::isfinite(spectra.minimum_variance(k, a)), known) << k;
        }
    const auto v0 = directions.view()[0];
    EXPECT_THAT(adapted_pattern(cpu, problem, cube, 25, 1, v0, directions),
                testing::Each(testing::IsNan()));
    EXPECT_THAT(adapted_pattern(cpu, problem, cube, 25, 0, v0, directions),
                testing::Not(testing::Contains(testing::IsNan())));
}

TEST(InterferenceSpectra, DoNotDependOnThreads) {
    Parameters parameters;
    parameters.training_block = 30;
    const Problem problem = make_problem({4, 16, 90, Domain::pulse}, parameters, 1);
    const auto cube = random_normal<3>({4, 16, 90}, 2);
    const auto directions = random_normal<2>({3, 12}, 3);
    core::Cpu one(1);
    core::Cpu three(3);
    const auto a = interference_spectra(one, problem, cube, 25, directions);
    const auto b = interference_spectra(three, problem, cube, 25, directions);
    EXPECT_TRUE(std::equal(a.conventional.begin(), a.conventional.end(), b.conventional.begin()));
    EXPECT_TRUE(std::equal(a.minimum_variance.begin(), a.minimum_variance.end(),
                           b.minimum_variance.begin()));
}

TEST(InterferenceSpectra, RefuseWhatDoesNotFit) {
    Parameters parameters;
    parameters.training_block = 30;
    const Problem problem = make_problem({4, 16, 90, Domain::pulse}, parameters, 1);
    const auto cube = random_normal<3>({4, 16, 90}, 2);
    const auto directions = random_normal<2>({3, 12}, 3);
    const auto v0 = directions.view()[0];
    core::Cpu cpu(1);
    using Error = core::InvalidArgument;
    EXPECT_THROW(interference_spectra(cpu, problem, cube, 90, directions), Error);
    EXPECT_THROW(interference_spectra(cpu, problem, cube, -1, directions), Error);
    EXPECT_THROW(
        interference_spectra(cpu, problem, random_normal<3>({4, 16, 89}, 2), 5, directions), Error);
    EXPECT_THROW(interference_spectra(cpu, problem, cube, 5, random_normal<2>({3, 11}, 3)), Error);
    EXPECT_THROW(adapted_pattern(cpu, problem, cube, 5, 16, v0, directions), Error);
    EXPECT_THROW(adapted_pattern(cpu, problem, cube, 5, -1, v0, directions), Error);
    EXPECT_THROW(adapted_pattern(cpu, problem, cube, 5, 0, random_normal<1>({11}, 3), directions),
                 Error);
    EXPECT_EQ(interference_spectra(cpu, problem, cube, 5, random_normal<2>({0, 12}, 3))
                  .conventional.extent(),
              (core::Extents<2>{16, 0}));
}

}  // namespace
}  // namespace aperture::stap
