// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/colour_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace aperture::signal {
namespace {

double to_srgb(double linear) {
    return linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
}

// OKLab to linear sRGB: Ottosson's matrices (2020).
std::array<double, 3> linear_rgb(double lightness, double a, double b) {
    const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
            -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
            -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

}  // namespace

Colour colour_at(double position) {
    const double p = std::clamp(position, 0.0, 1.0);
    const double lightness = 0.24 + 0.70 * p;
    // From violet through blue and green to yellow; the chroma always stays inside sRGB.
    const double hue = (300 - 195 * p) * std::numbers::pi / 180;
    const double chroma = 0.097 - 0.06 * p + 0.128 * p * p;
    const auto linear = linear_rgb(lightness, chroma * std::cos(hue), chroma * std::sin(hue));
    Colour colour;
    for (std::size_t c = 0; c < 3; ++c) {
        colour[c] =
            static_cast<std::uint8_t>(std::lround(255 * to_srgb(std::clamp(linear[c], 0.0, 1.0))));
    }
    return colour;
}

}  // namespace aperture::signal
