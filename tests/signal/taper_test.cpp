// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/taper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "aperture/core/error.hpp"

namespace aperture::signal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

TEST(Taper, HandSizedWindows) {
    EXPECT_THAT(taper_weights({}, 3), ElementsAre(1, 1, 1));
    EXPECT_THAT(taper_weights({Taper::Kind::hann}, 5),
                Pointwise(testing::DoubleNear(1e-15), {0.0, 0.5, 1.0, 0.5, 0.0}));
    EXPECT_THAT(taper_weights({Taper::Kind::hamming}, 5),
                Pointwise(testing::DoubleNear(1e-15), {0.08, 0.54, 1.0, 0.54, 0.08}));
    // Degree 2: T_2(x0 cos(t/2)) = x0^2 - 1 + x0^2 cos t, so that the outer weights are x0^2 / 2
    // over x0^2 - 1.
    const double x0 = std::cosh(std::acosh(10.0) / 2);
    const double outer = x0 * x0 / 2 / (x0 * x0 - 1);
    EXPECT_THAT(taper_weights({Taper::Kind::chebyshev, 20}, 3),
                Pointwise(testing::DoubleNear(1e-14), {outer, 1.0, outer}));
}

TEST(Taper, ShortLengths) {
    for (Taper::Kind kind :
         {Taper::Kind::none, Taper::Kind::hann, Taper::Kind::hamming, Taper::Kind::chebyshev}) {
        EXPECT_THAT(taper_weights({kind, 50}, 0), testing::IsEmpty());
        EXPECT_THAT(taper_weights({kind, 50}, 1), ElementsAre(1));
        EXPECT_THAT(taper_weights({kind, 50}, 2), ElementsAre(1, 1));
    }
}

class TaperShape : public testing::TestWithParam<std::tuple<Taper, int>> {};

TEST_P(TaperShape, SymmetricWithPeakOne) {
    const auto [taper, length] = GetParam();
    std::vector<double> weights = taper_weights(taper, length);
    EXPECT_EQ(*std::max_element(weights.begin(), weights.end()), 1.0);
    std::vector<double> reversed(weights.rbegin(), weights.rend());
    EXPECT_THAT(weights, Pointwise(testing::DoubleNear(1e-12), reversed));
}

INSTANTIATE_TEST_SUITE_P(Taper, TaperShape,
                         testing::Combine(testing::Values(Taper{}, Taper{Taper::Kind::hann},
                                                          Taper{Taper::Kind::hamming},
                                                          Taper{Taper::Kind::chebyshev, 40},
                                                          Taper{Taper::Kind::chebyshev, 80}),
                                          testing::Values(3, 4, 16, 17, 128, 131)));

/// Level of the highest side lobe below the main lobe, in dB.
double side_lobe_level(const std::vector<double>& weights) {
    constexpr int samples = 1 << 14;
    std::vector<double> power;
    for (int i = 0; i <= samples / 2; ++i) {
        std::complex<double> sum = 0;
        for (std::size_t p = 0; p < weights.size(); ++p)
            sum +=
                std::polar(weights[p], 2 * std::numbers::pi * i * static_cast<double>(p) / samples);
        power.push_back(std::norm(sum));
    }
    std::size_t minimum = 1;
    while (power[minimum] < power[minimum - 1]) ++minimum;
    const double side = *std::max_element(power.begin() + long(minimum), power.end());
    return 10 * std::log10(power[0] / side);
}

TEST(Taper, SideLobesAreAsDeepAsTheLiteratureSays) {
    EXPECT_NEAR(side_lobe_level(taper_weights({}, 64)), 13.26, 0.1);
    EXPECT_NEAR(side_lobe_level(taper_weights({Taper::Kind::hann}, 64)), 31.5, 0.2);
    EXPECT_NEAR(side_lobe_level(taper_weights({Taper::Kind::hamming}, 64)), 42.5, 1.0);
    for (double depth : {30.0, 60.0, 90.0})
        for (int length : {31, 32})
            EXPECT_NEAR(side_lobe_level(taper_weights({Taper::Kind::chebyshev, depth}, length)),
                        depth, 0.01);
}

TEST(Taper, TextGoesBothWays) {
    for (const char* text : {"none", "hann", "hamming", "chebyshev:60", "chebyshev:47.5"})
        EXPECT_EQ(to_string(parse_taper(text)), text);
    EXPECT_EQ(parse_taper("chebyshev:60"), (Taper{Taper::Kind::chebyshev, 60}));
}

TEST(Taper, BadTextIsNamed) {
    for (const char* text :
         {"", "Hann", "chebyshev", "chebyshev:", "chebyshev:x", "chebyshev:60 ", "chebyshev:0",
          "chebyshev:-3", "chebyshev:nan", "chebyshev:inf", "chebyshev:1000", "blackman"}) {
        try {
            parse_taper(text);
            ADD_FAILURE() << "accepted \"" << text << '"';
        } catch (const core::InvalidArgument& error) {
            EXPECT_THAT(error.what(), HasSubstr("taper"));
        }
    }
    EXPECT_THROW(taper_weights({Taper::Kind::chebyshev, 0}, 8), core::InvalidArgument);
    EXPECT_THROW(taper_weights({}, -1), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::signal
