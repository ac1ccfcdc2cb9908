// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Blur, resize and their sequence are one operation: every output row and column is a weighted sum
// over a window of input rows and columns. This file computes the windows of one axis, borders
// included, for the CPU and for kernels.

#include <cmath>

#include "aperture/core/portable.hpp"
#include "aperture/signal/resample.hpp"
#include "libsignal/bicubic_sample.hpp"

namespace aperture::signal {

using core::index_t;

enum class Sampling { none, bilinear, bicubic };

/// Filtering along one axis.
struct AxisFilter {
    index_t from;
    index_t to;
    Sampling sampling;
    double sigma;  ///< of the blur before sampling

    APERTURE_HD index_t radius() const { return static_cast<index_t>(std::ceil(3 * sigma)); }
    /// Samples before the pixel at or below the sampled position, and number of samples.
    APERTURE_HD int before() const { return sampling == Sampling::bicubic ? 1 : 0; }
    APERTURE_HD int samples() const {
        return sampling == Sampling::none ? 1 : sampling == Sampling::bilinear ? 2 : 4;
    }
    /// Elements of every window: at most the whole axis.
    APERTURE_HD index_t taps() const {
        const index_t reach = 2 * radius() + samples();
        return from < reach ? from : reach;
    }
};

/// Filtering along the rows and the columns of an image.
struct ImageFilter {
    AxisFilter rows;
    AxisFilter columns;
};
inline ImageFilter blur_filter(const core::Extents<2>& extent, double sigma) {
    return {{extent[0], extent[0], Sampling::none, sigma},
            {extent[1], extent[1], Sampling::none, sigma}};
}
inline ImageFilter resize_filter(const core::Extents<2>& from, const core::Extents<2>& to,
                                 Interpolation interpolation) {
    const bool bicubic = interpolation == Interpolation::bicubic;
    const Sampling sampling = bicubic ? Sampling::bicubic : Sampling::bilinear;
    return {{from[0], to[0], sampling, 0}, {from[1], to[1], sampling, 0}};
}
/// Bicubic, after an anti-aliasing blur along an axis that shrinks.
inline ImageFilter pyramid_filter(const core::Extents<2>& from, const core::Extents<2>& to) {
    ImageFilter filter = resize_filter(from, to, Interpolation::bicubic);
    for (AxisFilter* axis : {&filter.rows, &filter.columns}) {
        if (axis->to >= axis->from) continue;
        const double ratio = static_cast<double>(axis->from) / static_cast<double>(axis->to);
        axis->sigma = 0.6 * std::sqrt(ratio * ratio - 1);
    }
    return filter;
}

/// The pixels that output i samples, from `begin` on (some may be outside the image), and their
/// weights.
struct SampledPixels {
    index_t begin;
    double weights[4];
};
APERTURE_HD SampledPixels sampled_pixels(const AxisFilter& axis, index_t i) {
    const double at = (static_cast<double>(i) + 0.5) * static_cast<double>(axis.from) /
                          static_cast<double>(axis.to) -
                      0.5;
    const double floor = std::floor(at);
    const double t = at - floor;
    const index_t begin = static_cast<index_t>(floor) - axis.before();
    switch (axis.sampling) {
        case Sampling::none:
            return {begin, {1, 0, 0, 0}};
        case Sampling::bilinear:
            return {begin, {1 - t, t, 0, 0}};
        case Sampling::bicubic:
            break;
    }
    const CubicWeights<double> weights(t);
    return {begin, {weights.of[0], weights.of[1], weights.of[2], weights.of[3]}};
}

/// Half of a normalised Gaussian: kernel[0] is its centre.
APERTURE_HD void gaussian(double sigma, index_t radius, double* kernel) {
    kernel[0] = 1;
    double sum = 1;
    for (index_t k = 1; k <= radius; ++k) {
        const double distance = static_cast<double>(k) / sigma;
        kernel[k] = std::exp(-0.5 * distance * distance);
        sum += 2 * kernel[k];
    }
    for (index_t k = 0; k <= radius; ++k) kernel[k] /= sum;
}

/// Weight of a pixel in a window around `middle`, both in the image: its own and, at an end of the
/// image, those of all pixels beyond.
APERTURE_HD double blur_weight(const double* kernel, index_t radius, index_t extent, index_t middle,
                               index_t pixel) {
    const index_t first = pixel == 0 ? -radius : pixel - middle;
    const index_t last = pixel == extent - 1 ? radius : pixel - middle;
    if (first > radius || last < -radius) return 0;
    double sum = 0;
    for (index_t k = first < -radius ? -radius : first; k <= (last > radius ? radius : last); ++k) {
        sum += kernel[k < 0 ? -k : k];
    }
    return sum;
}

/// Stores the taps() weights of output i and returns the start of its window, which lies in the
/// input. The rounded weights sum to one: the largest one compensates for the others' rounding.
APERTURE_HD index_t window_weights(const AxisFilter& axis, const double* kernel, index_t i,
                                   float* weights) {
    const SampledPixels sampled = sampled_pixels(axis, i);
    const index_t radius = axis.radius();
    const index_t taps = axis.taps();
    const index_t last = axis.from - 1;
    const auto in_image = [last](index_t pixel) {
        return pixel < 0 ? index_t(0) : pixel > last ? last : pixel;
    };
    index_t first = sampled.begin - radius;
    first = first < 0 ? 0 : first > axis.from - taps ? axis.from - taps : first;
    index_t largest = 0;
    double largest_weight = 0;
    for (index_t t = 0; t < taps; ++t) {
        double weight = 0;
        for (int s = 0; s < axis.samples(); ++s) {
            weight += sampled.weights[s] * blur_weight(kernel, radius, axis.from,
                                                       in_image(sampled.begin + s), first + t);
        }
        weights[t] = static_cast<float>(weight);
        if (t == 0 || weight > largest_weight) {
            largest = t;
            largest_weight = weight;
        }
    }
    double others = 0;
    for (index_t t = 0; t < taps; ++t) {
        if (t != largest) others += weights[t];
    }
    weights[largest] = static_cast<float>(1 - others);
    return first;
}

}  // namespace aperture::signal
