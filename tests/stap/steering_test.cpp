// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/steering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace aperture::stap {
namespace {

using std::numbers::pi;
using Complex = std::complex<double>;

TEST(Steering, PhaseOfAPlaneWave) {
    const auto steering = spatial_steering(3, 0.5, 30);
    ASSERT_EQ(steering.size(), 3u);
    // Half a wavelength times sin 30 degrees is a quarter turn per element.
    EXPECT_LT(std::abs(steering[0] - Complex(1, 0)), 1e-15);
    EXPECT_LT(std::abs(steering[1] - Complex(0, 1)), 1e-15);
    EXPECT_LT(std::abs(steering[2] - Complex(-1, 0)), 1e-15);
}

TEST(Steering, UnpaddedUntaperedToneHasOneTap) {
    const auto response = temporal_response({}, 16, 16, 3);
    EXPECT_LT(std::abs(response[0]), 1e-14);
    EXPECT_EQ(response[1], Complex(1));
    EXPECT_LT(std::abs(response[2]), 1e-14);
}

/// The bins around k of the transform of a tone at the centre of bin k.
TEST(Steering, ResponseIsThatOfATransformedTone) {
    constexpr int pulses = 12;
    constexpr int bins = 20;
    constexpr int taps = 5;
    constexpr int k = 7;
    const signal::Taper taper{signal::Taper::Kind::hamming};
    const std::vector<double> weights = signal::taper_weights(taper, pulses);
    std::vector<Complex> spectrum;
    for (int bin = k - 2; bin <= k + 2; ++bin) {
        Complex sum = 0;
        for (int p = 0; p < pulses; ++p)
            sum += std::polar(weights[std::size_t(p)], 2 * pi * (k - bin) * p / bins);
        spectrum.push_back(sum);
    }
    const auto response = temporal_response(taper, pulses, bins, taps);
    for (std::size_t t = 0; t < taps; ++t)
        EXPECT_LT(std::abs(response[t] - spectrum[t] / spectrum[2]), 1e-14);
}

TEST(Steering, VectorsAreSpaceTimesTime) {
    const auto response = temporal_response({}, 8, 16, 3);
    const auto vectors = steering_vectors(2, 0.4, {0, -50}, response);
    ASSERT_EQ(vectors.extent(), (core::Extents<2>{2, 6}));
    const auto space = spatial_steering(2, 0.4, -50);
    for (int c = 0; c < 2; ++c)
        for (int t = 0; t < 3; ++t) {
            EXPECT_EQ(vectors(0, c * 3 + t), cfloat(response[std::size_t(t)]));
            EXPECT_EQ(vectors(1, c * 3 + t),
                      cfloat(space[std::size_t(c)] * response[std::size_t(t)]));
        }
}

TEST(Steering, LineKeepsItsPhases) {
    for (const double azimuth : {-73.0, 12.5, 40.0}) {
        const double phase = 2 * pi * 0.47 * std::sin(azimuth * pi / 180);
        const auto line = spatial_steering(9, 0.47, azimuth);
        const auto positions = spatial_steering(uniform_line(9, 0.47), {azimuth, 0});
        const auto half = spatial_steering(9, 0.5, azimuth);
        // Half wavelengths are exact: the same bits either way.
        EXPECT_EQ(spatial_steering(uniform_line(9, 0.5), {azimuth, 0}), half);
        for (std::size_t n = 0; n < 9; ++n) {
            EXPECT_EQ(line[n], std::polar(1.0, phase * static_cast<double>(n)));
            EXPECT_LT(std::abs(positions[n] - line[n]), 1e-14);
        }
    }
}

TEST(Steering, PhaseOfAnArrayInSpace) {
    const std::vector<ElementPosition> elements = {
        {0, 0, 0}, {0.5, 0, 0}, {0, 0.5, 0}, {0, 0, 0.5}, {0.3, -0.2, 0.7}};
    // The wave comes along the axis of each element in turn.
    EXPECT_LT(std::abs(spatial_steering(elements, {90, 0})[1] - Complex(-1)), 1e-15);
    EXPECT_LT(std::abs(spatial_steering(elements, {-90, 0})[1] - Complex(-1)), 1e-15);
    EXPECT_LT(std::abs(spatial_steering(elements, {20, 90})[2] - Complex(-1)), 1e-15);
    EXPECT_LT(std::abs(spatial_steering(elements, {0, 0})[3] - Complex(-1)), 1e-15);
    // 30 degrees either way: u = (sin 30 cos 30, sin 30, cos 30 cos 30).
    const auto steering = spatial_steering(elements, {30, 30});
    const double x = std::sqrt(3) / 4;
    EXPECT_LT(std::abs(steering[0] - Complex(1)), 1e-15);
    EXPECT_LT(std::abs(steering[1] - std::polar(1.0, pi * x)), 1e-15);
    EXPECT_LT(std::abs(steering[2] - Complex(0, 1)), 1e-15);
    EXPECT_LT(std::abs(steering[3] - std::polar(1.0, pi * 0.75)), 1e-15);
    EXPECT_LT(std::abs(steering[4] - std::polar(1.0, 2 * pi * (0.3 * x - 0.1 + 0.7 * 0.75))),
              1e-14);
}

TEST(Steering, VectorsOfDirections) {
    const auto response = temporal_response({}, 8, 16, 3);
    const std::vector<ElementPosition> elements = {{0, 0, 0}, {0.4, 0.1, -0.2}};
    const auto vectors = steering_vectors(elements, {{0, 0}, {-50, 20}, {10, -90}}, response);
    ASSERT_EQ(vectors.extent(), (core::Extents<2>{3, 6}));
    const auto space = spatial_steering(elements, {-50, 20});
    for (int i = 0; i < 6; ++i)
        EXPECT_EQ(vectors(1, i), cfloat(space[std::size_t(i / 3)] * response[std::size_t(i % 3)]));
    EXPECT_EQ(steering_vectors(elements, {}, response).extent(), (core::Extents<2>{0, 6}));
}

TEST(Steering, DefaultAzimuthsAreEvenlySpacedInTheSine) {
    EXPECT_THAT(default_azimuths(1), testing::ElementsAre(0));
    const std::vector<double> azimuths = default_azimuths(16);
    for (std::size_t i = 1; i < azimuths.size(); ++i)
        EXPECT_NEAR(std::sin(azimuths[i] * pi / 180) - std::sin(azimuths[i - 1] * pi / 180),
                    2.0 / 16, 1e-12);
    // The step after the last direction is the first direction, aliased by one turn.
    EXPECT_NEAR(std::sin(azimuths[0] * pi / 180) + 2 - std::sin(azimuths[15] * pi / 180), 2.0 / 16,
                1e-12);
}

TEST(Steering, ImpossibleGeometryIsRefused) {
    EXPECT_THROW(spatial_steering(0, 0.5, 0), core::InvalidArgument);
    EXPECT_THROW(spatial_steering(4, 0, 0), core::InvalidArgument);
    EXPECT_THROW(spatial_steering(4, 0.5, 91), core::InvalidArgument);
    EXPECT_THROW(spatial_steering(4, 0.5, NAN), core::InvalidArgument);
    EXPECT_THROW(spatial_steering(std::vector<ElementPosition>{}, {0, 0}), core::InvalidArgument);
    EXPECT_THROW(steering_vectors(std::vector<ElementPosition>{}, {}, {1.0}),
                 core::InvalidArgument);
    for (const Direction& direction :
         {Direction{91, 0}, Direction{0, -91}, Direction{NAN, 0}, Direction{0, NAN}})
        EXPECT_THROW(spatial_steering(uniform_line(2, 0.5), direction), core::InvalidArgument);
    for (const ElementPosition& element :
         {ElementPosition{NAN, 0, 0}, ElementPosition{0, INFINITY, 0}, ElementPosition{0, 0, NAN}})
        EXPECT_THROW(spatial_steering({{}, element}, {0, 0}), core::InvalidArgument);
    EXPECT_THROW(uniform_line(0, 0.5), core::InvalidArgument);
    EXPECT_THROW(uniform_line(2, -0.5), core::InvalidArgument);
    EXPECT_THROW(temporal_response({}, 8, 7, 3), core::InvalidArgument);
    EXPECT_THROW(temporal_response({}, 8, 8, 2), core::InvalidArgument);
    EXPECT_THROW(default_azimuths(0), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::stap
