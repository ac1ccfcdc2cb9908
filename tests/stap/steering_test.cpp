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
    EXPECT_THROW(temporal_response({}, 8, 7, 3), core::InvalidArgument);
    EXPECT_THROW(temporal_response({}, 8, 8, 2), core::InvalidArgument);
    EXPECT_THROW(default_azimuths(0), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::stap
