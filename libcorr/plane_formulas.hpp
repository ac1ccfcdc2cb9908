// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pixel-wise formulas of an image's planes, for the CPU and for kernels. Roots and powers are
// polynomials instead of calls, so that loops over pixels vectorise and every executor computes the
// same.

#include <cmath>

#include "aperture/core/portable.hpp"
#include "libsignal/axis_filter.hpp"

namespace aperture::corr {

/// Reach of the derivative filter in pixels, and of the blur of the tensor where it is computed
/// together with it: up to a sigma of a third of that.
inline constexpr int derivative_reach = 2;
inline constexpr int tensor_reach = 6;
inline constexpr bool blurs_within_reach(double sigma) { return 3 * sigma <= tensor_reach; }

/// Approximates value^exponent of a positive value: a float's bits approximate its logarithm.
/// `shift` is chosen for the exponent.
APERTURE_HD float rough_power(float value, float exponent, float shift) {
    constexpr float one = 127.0F * (1 << 23);
    const auto bits = static_cast<float>(__builtin_bit_cast(int, value));
    const float power = bits * exponent + (1 - exponent) * one - shift * (1 << 23);
    return __builtin_bit_cast(float, static_cast<int>(power));
}

/// The cube root of a positive number. With h = 1 - value s^3, an approximation s of value^(-1/3)
/// is refined to s (1 - h)^(-1/3), and the root is value s^2 (1 - h)^(-2/3), both by series in h.
/// Error 2e-7.
APERTURE_HD float cube_root(float value) {
    float s = rough_power(value, -1.0F / 3, 0.065F);
    float h = 1 - value * s * s * s;
    s += s * h * (1.0F / 3 + 2.0F / 9 * h);
    const float root = value * (s * s);
    h = 1 - root * s;
    return root + root * h * (2.0F / 3 + 5.0F / 9 * h);
}

/// sRGB to linear light, IEC 61966-2-1, 0..255 to 0..1; other values are clamped. u^2.4 = (u s)^3
/// with s = u^(-1/5), computed as in cube_root. Error 5e-7.
APERTURE_HD float linear_light(float value) {
    constexpr float linear_end = 0.04045F * 255;
    constexpr float scale = 1.4740006e-6F;  // (255 * 1.055)^-2.4
    const float inside = value < 0 ? 0.0F : value > 255 ? 255.0F : value;
    const float u = inside + 0.055F * 255;
    float s = rough_power(u, -1.0F / 5, 0.065F);
    float square = s * s;
    float h = 1 - u * s * (square * square);
    s += s * h * (1.0F / 5 + 3.0F / 25 * h);
    square = s * s;
    const float product = u * s;
    h = 1 - product * (square * square);
    const float power = scale * product * product * product;
    const float curve = power + power * h * (3.0F / 5 + 12.0F / 25 * h);
    const float line = inside * (1 / (12.92F * 255));
    return inside > linear_end ? curve : line;
}

/// CIE 15, equation 8.6, for X / X_n, Y / Y_n and Z / Z_n.
APERTURE_HD float lab_root(float ratio) {
    constexpr float linear_end = 216.0F / 24389;
    const float root = cube_root(ratio);
    const float line = 24389.0F / 27 / 116 * ratio + 16.0F / 116;
    return ratio > linear_end ? root : line;
}

struct Lab {
    float lightness, a, b;
};

/// L*a*b* of sRGB values; white is 255 in all channels. Rows of IEC 61966-2-1's matrix over its
/// X_n, Y_n and Z_n sum to 1, so that differences from green are enough. Equal values have exactly
/// zero a and b: rounding would differ between compilers.
APERTURE_HD Lab lab_of(float red, float green, float blue) {
    const float light = linear_light(green);
    const float from_red = linear_light(red) - light;
    const float from_blue = linear_light(blue) - light;
    const float x = light + 0.4124F / 0.9505F * from_red + 0.1805F / 0.9505F * from_blue;
    const float y = light + 0.2126F * from_red + 0.0722F * from_blue;
    const float z = light + 0.0193F / 1.0890F * from_red + 0.9505F / 1.0890F * from_blue;
    const float root = lab_root(y);
    const bool grey = red == green && blue == green;
    const float a = 500 * (lab_root(x) - root);
    const float b = 200 * (root - lab_root(z));
    return {116 * root - 16, grey ? 0 : a, grey ? 0 : b};
}

/// Luma of Rec. BT.601 from differences to green, so that grey pixels stay exact.
APERTURE_HD float luma(float red, float green, float blue) {
    return green + 0.299F * (red - green) + 0.114F * (blue - green);
}

/// From the values two and one pixels before, one and two behind. Real is float or a pack of
/// floats.
template <class Real>
APERTURE_HD Real derivative(Real before2, Real before1, Real behind1, Real behind2) {
    return (8.0F * (behind1 - before1) - (behind2 - before2)) * (1.0F / 12);
}

/// Half of the Gaussian that blurs the tensor, its centre first, cut off as signal::gaussian_blur
/// does. The rounded weights sum to one.
struct TensorWeights {
    float at[tensor_reach + 1];
};
inline TensorWeights tensor_weights(double sigma) {
    double kernel[tensor_reach + 1] = {};
    signal::gaussian(sigma, static_cast<core::index_t>(std::ceil(3 * sigma)), kernel);
    TensorWeights weights{};
    double others = 0;
    for (int i = 1; i <= tensor_reach; ++i) {
        weights.at[i] = static_cast<float>(kernel[i]);
        others += 2 * static_cast<double>(weights.at[i]);
    }
    weights.at[0] = static_cast<float>(1 - others);
    return weights;
}

template <class Real>
struct Orientation {
    Real cosine, sine;
};

/// From a blurred structure tensor.
template <class Real>
APERTURE_HD Orientation<Real> orientation_of(Real xx, Real xy, Real yy) {
    constexpr float least_slope_squared = 0.25F;  // (L* a pixel)^2
    const Real scale = 1.0F / (xx + yy + least_slope_squared);
    return {scale * (xx - yy), scale * 2.0F * xy};
}

/// Moments of a part of a plane: number of pixels, their sum, and the sum of squared differences
/// from the part's mean.
struct Moments {
    double pixels, sum, deviation;
};

/// The sum of squared differences from `mean`, the mean over more than this part.
APERTURE_HD double deviation_from(const Moments& part, double mean) {
    if (part.pixels == 0) return 0;
    const double difference = part.sum / part.pixels - mean;
    return part.deviation + part.pixels * difference * difference;
}

/// Normalizes a plane to zero mean and unit energy.
struct Normalizer {
    double mean, scale;

    APERTURE_HD float operator()(float value) const {
        return static_cast<float>(scale * (static_cast<double>(value) - mean));
    }
};

/// `deviation`: sum of squared differences from the mean. The scale is zero if it is rounding
/// noise.
APERTURE_HD Normalizer normalizer_of(double pixels, double mean, double deviation) {
    constexpr double no_contrast = 1e-6;
    const double energy = deviation + pixels * mean * mean;
    const bool constant = !(deviation > no_contrast * no_contrast * energy);
    return {mean, constant ? 0 : 1 / std::sqrt(deviation)};
}

}  // namespace aperture::corr
