// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/colour_map.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace aperture::signal {
namespace {

double luminance(const Colour& colour) {
    const auto linear = [](std::uint8_t value) {
        const double v = value / 255.0;
        return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2]);
}

// Lightness must rise evenly: CIE L* of neighbouring colours differ by about the same everywhere.
TEST(ColourMap, IsMonotonicAndEven) {
    const auto lightness = [](double position) {
        return 116 * std::cbrt(luminance(colour_at(position))) - 16;
    };
    const double mean = (lightness(1) - lightness(0.1)) / 9;
    for (int i = 1; i < 10; ++i) {
        EXPECT_NEAR(lightness(i / 10.0 + 0.1) - lightness(i / 10.0), mean, 0.35 * mean) << i;
    }
    for (int i = 0; i < 64; ++i) EXPECT_GT(lightness((i + 1) / 64.0), lightness(i / 64.0)) << i;
    EXPECT_EQ(colour_at(-1), colour_at(0));
    EXPECT_EQ(colour_at(2), colour_at(1));
}

}  // namespace
}  // namespace aperture::signal
