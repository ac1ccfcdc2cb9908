// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/conventional.hpp"

#include <gtest/gtest.h>

#include "aperture/stap/pipeline.hpp"
#include "aperture/stap/steering.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/stap/random_input.hpp"

namespace aperture::stap {
namespace {

constexpr double unit_roundoff = 0x1p-24;

struct MapCase {
    CubeShape shape;
    int doppler_bins;
    int taps;
};
void PrintTo(const MapCase& c, std::ostream* stream) {
    *stream << c.shape.channels << " x " << c.shape.pulses << " x " << c.shape.range_cells
            << (c.shape.domain == Domain::pulse ? " pulses" : " bins") << ", K = " << c.doppler_bins
            << ", T = " << c.taps;
}

class ConventionalMap : public testing::TestWithParam<MapCase> {};

INSTANTIATE_TEST_SUITE_P(Shapes, ConventionalMap,
                         testing::Values(MapCase{{1, 1, 1, Domain::pulse}, 1, 1},
                                         MapCase{{3, 8, 17, Domain::pulse}, 8, 1},
                                         MapCase{{3, 7, 64, Domain::pulse}, 12, 3},
                                         MapCase{{8, 16, 131, Domain::pulse}, 16, 5},
                                         MapCase{{4, 16, 63, Domain::doppler}, 16, 3}));

// y = v0^H X / (v0^H v0), v0 the middle taps, in double precision.
TEST_P(ConventionalMap, IsTheProjectionOnTheSpatialSteeringVector) {
    const auto [shape, doppler_bins, taps] = GetParam();
    Parameters parameters;
    parameters.doppler_bins = doppler_bins;
    parameters.temporal_taps = taps;
    parameters.training_block = static_cast<int>(shape.range_cells);
    parameters.loading.value = 1;
    parameters.taper.kind =
        shape.domain == Domain::pulse ? signal::Taper::Kind::hamming : signal::Taper::Kind::none;
    const Problem problem = make_problem(shape, parameters, 2);
    const auto cube = random_normal<3>({shape.channels, shape.pulses, shape.range_cells}, 7);
    const auto steering = random_normal<2>({2, problem.order}, 8);

    core::Cpu cpu(2);
    core::Array<cfloat, 2> map({doppler_bins, shape.range_cells});
    const core::View<const cfloat, 1> vector(steering.data() + problem.order, {problem.order});
    conventional_map(cpu, problem, cube, vector, map);

    const auto filtered =
        shape.domain == Domain::doppler
            ? oracle::widen(cube)
            : oracle::doppler(
                  cube, signal::taper_weights(parameters.taper, static_cast<int>(shape.pulses)),
                  doppler_bins);
    oracle::Vector v(shape.channels);
    for (index_t c = 0; c < shape.channels; ++c)
        v(c) = oracle::Complex(vector(c * taps + (taps - 1) / 2));
    for (index_t k = 0; k < doppler_bins; ++k) {
        for (index_t r = 0; r < shape.range_cells; ++r) {
            oracle::Vector x(shape.channels);
            for (index_t c = 0; c < shape.channels; ++c) x(c) = filtered(c, k, r);
            const oracle::Complex expected = v.dot(x) / v.squaredNorm();
            // Rounding of a transform of P terms and a sum of L, relative to |v| |X| / |v|^2, where
            // the transform's error is spread over all bins of a channel.
            const double scale = std::sqrt(double(doppler_bins)) * (x.norm() + 1) / v.norm();
            const double bound = 4 * unit_roundoff * double(shape.channels + shape.pulses) * scale;
            EXPECT_LE(std::abs(oracle::Complex(map(k, r)) - expected), bound) << k << ", " << r;
        }
    }
}

TEST(ConventionalMapExtents, AreChecked) {
    Parameters parameters;
    parameters.training_block = 20;
    const Problem problem = make_problem({2, 8, 20, Domain::pulse}, parameters, 1);
    const auto cube = random_normal<3>({2, 8, 20}, 1);
    const auto vector = random_normal<1>({problem.order}, 2);
    core::Cpu cpu(1);
    core::Array<cfloat, 2> map({8, 19});
    EXPECT_THROW(conventional_map(cpu, problem, cube, vector, map), core::InvalidArgument);
    map.reshape({8, 20});
    EXPECT_THROW(conventional_map(cpu, problem, cube, random_normal<1>({5}, 2), map),
                 core::InvalidArgument);
    EXPECT_NO_THROW(conventional_map(cpu, problem, cube, vector, map));
}

}  // namespace
}  // namespace aperture::stap
