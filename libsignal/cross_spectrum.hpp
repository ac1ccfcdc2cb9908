// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cross-spectrum of two images as all executors share it: the formulas of a frequency, and what
// the host gives to passes over images and spectra.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/signal/registration.hpp"
#include "libcore/gpu/complex.cuh"

namespace aperture::signal {

using core::Complex;
using core::index_t;

/// The spectrum C = B conj(A) of a cross-correlation at a frequency, and the powers of A and B.
struct CrossTerm {
    Complex<float> cross;
    float power_a, power_b;
};
/// Z is the transform of a + i b for real a and b: z = Z(k), mirror = Z(-k).
APERTURE_HD CrossTerm cross_term(Complex<float> z, Complex<float> mirror) {
    // A = (x + i y) / 2, B = (u - i v) / 2.
    const float x = z.re + mirror.re;
    const float y = z.im - mirror.im;
    const float u = z.im + mirror.im;
    const float v = z.re - mirror.re;
    return {{0.25F * (u * x - v * y), -0.25F * (u * y + v * x)},
            0.25F * (x * x + y * y),
            0.25F * (u * u + v * v)};
}

/// A frequency of a phase correlation, conjugate, so that a forward transform is the inverse one.
APERTURE_HD Complex<float> phase_term(Complex<float> cross, float weight) {
    const float power = cross.re * cross.re + cross.im * cross.im;
    if (!(power > 0.0F)) return {0.0F, 0.0F};
    const float scale = weight / sqrtf(power);
    return {scale * cross.re, -scale * cross.im};
}

/// Sums over a row of frequencies of E = C(k) exp(j (ky dy + kx dx)) and powers of kx.
enum RowSum {
    sum_re,
    sum_im,
    sum_x_im,
    sum_x_re,
    sum_xx_re,
    sum_im_im,
    sum_x_im_im,
    sum_xx_im_im,
    row_sums
};

/// The sums' terms of a frequency, or of a pack of them. `c` is C times the row's factor, and
/// `wave` the column's.
template <class T>
APERTURE_HD void add_row_terms(T c_re, T c_im, T wave_re, T wave_im, T kx, T (&sums)[row_sums]) {
    const T e_re = c_re * wave_re - c_im * wave_im;
    const T e_im = c_re * wave_im + c_im * wave_re;
    const T k_re = kx * e_re;
    const T k_im = kx * e_im;
    sums[sum_re] += e_re;
    sums[sum_im] += e_im;
    sums[sum_x_im] += k_im;
    sums[sum_x_re] += k_re;
    sums[sum_xx_re] += kx * k_re;
    sums[sum_im_im] += e_im * e_im;
    sums[sum_x_im_im] += k_im * e_im;
    sums[sum_xx_im_im] += k_im * k_im;
}

/// The highest frequency of an even length has no sign, and no part in sums.
APERTURE_HD bool is_highest(index_t i, index_t n) { return 2 * i == n; }

/// Sizes of spectra in logarithmic polar coordinates: angles from 0 to 180 degrees, and frequencies
/// in cycles a pixel, between the border's and the noise's.
inline constexpr int polar_angles = 256;
inline constexpr int polar_radii = 256;
inline constexpr double lowest_radius = 0.05;
inline constexpr double highest_radius = 0.35;

/// The sizes of A and B, times the frequency, with which those of scenes fall. z(row, column) is a
/// transform of rows x columns.
template <class Transform>
APERTURE_HD void polar_size(const Transform& z, int rows, int columns, int angle, int radius,
                            float& of_a, float& of_b) {
    const double f = lowest_radius * std::pow(highest_radius / lowest_radius,
                                              static_cast<double>(radius) / (polar_radii - 1));
    const double turn = 3.14159265358979323846 * angle / polar_angles;
    const double y = f * std::sin(turn) * rows;
    const double x = f * std::cos(turn) * columns;
    const double floor_y = std::floor(y);
    const double floor_x = std::floor(x);
    const auto wrapped = [](int i, int n) { return i < 0 ? i + n : i >= n ? i - n : i; };
    float power_a = 0;
    float power_b = 0;
    for (int j = 0; j < 2; ++j) {
        for (int i = 0; i < 2; ++i) {
            const int row = wrapped(static_cast<int>(floor_y) + j, rows);
            const int column = wrapped(static_cast<int>(floor_x) + i, columns);
            const CrossTerm term =
                cross_term(z(row, column), z(wrapped(-row, rows), wrapped(-column, columns)));
            const auto weight = static_cast<float>((j == 0 ? 1 - (y - floor_y) : y - floor_y) *
                                                   (i == 0 ? 1 - (x - floor_x) : x - floor_x));
            power_a += weight * term.power_a;
            power_b += weight * term.power_b;
        }
    }
    of_a = static_cast<float>(f) * std::sqrt(power_a);
    of_b = static_cast<float>(f) * std::sqrt(power_b);
}

/// What index i of n stands for where indices go round: the upper half is negative.
inline double signed_index(index_t i, index_t n) {
    return static_cast<double>(2 * i > n ? i - n : i);
}
/// Radians a pixel of the i-th frequency of a transform of length n.
inline double frequency(index_t i, index_t n) {
    return 2 * std::numbers::pi * signed_index(i, n) / static_cast<double>(n);
}

/// Rows of a half spectrum of real images, and how often each occurs in the whole one.
inline index_t half_rows(index_t rows) { return rows / 2 + 1; }
inline double row_weight(index_t row) { return row == 0 ? 1 : 2; }

/// A displacement, or the extents of a window, in pixels.
struct Pixels {
    double y = 0;
    double x = 0;
};

/// Hann windows over what two images have in common if `shift` lies between them, as factors of
/// rows and columns, zero elsewhere.
class OverlapTapers {
  public:
    OverlapTapers(const core::Extents<2>& image, Pixels shift) : image_(image) {
        for (const bool second : {false, true}) append(image[0], shift.y, second);
        for (const bool second : {false, true}) append(image[1], shift.x, second);
    }
    /// Of images whose rows go round: along columns only.
    static OverlapTapers of_round_rows(const core::Extents<2>& image) {
        OverlapTapers tapers(image, {});
        std::fill_n(tapers.weights_.begin(), first_column(image), 1.0F);
        return tapers;
    }

    /// Rows of a, rows of b, columns of a, columns of b.
    const std::vector<float>& weights() const { return weights_; }
    /// Where the columns' weights of a begin; those of b follow.
    static index_t first_column(const core::Extents<2>& image) { return 2 * image[0]; }
    /// The sum over a's pixels, or those of b, of the products of their weights.
    double total(bool second) const {
        const auto sum = [&](index_t first, index_t count) {
            double all = 0;
            for (index_t i = 0; i < count; ++i) {
                all += static_cast<double>(weights_[static_cast<std::size_t>(first + i)]);
            }
            return all;
        };
        return sum(second ? image_[0] : 0, image_[0]) *
               sum(first_column(image_) + (second ? image_[1] : 0), image_[1]);
    }

  private:
    void append(index_t count, double shift, bool second) {
        const double width = static_cast<double>(count) - std::abs(shift);
        const double begin = std::max(second ? shift : -shift, 0.0);
        for (index_t i = 0; i < count; ++i) {
            const double at = (static_cast<double>(i) + 0.5 - begin) / width;
            const bool inside = at > 0 && at < 1;
            weights_.push_back(
                inside ? static_cast<float>(0.5 - 0.5 * std::cos(2 * std::numbers::pi * at)) : 0);
        }
    }

    core::Extents<2> image_;
    std::vector<float> weights_;
};

/// exp(j k shift) for the rows of the half spectrum, then for all columns of the padded image,
/// times a Gaussian of standard deviation `cutoff` in radians a pixel; 0: without.
inline std::vector<Complex<float>> waves(const core::Extents<2>& padded, Pixels shift,
                                         double cutoff) {
    std::vector<Complex<float>> all;
    const auto append = [&](index_t count, index_t length, double distance) {
        for (index_t i = 0; i < count; ++i) {
            const double k = frequency(i, length);
            const double size = cutoff > 0 ? std::exp(-k * k / (2 * cutoff * cutoff)) : 1;
            all.emplace_back(static_cast<float>(size * std::cos(k * distance)),
                             static_cast<float>(size * std::sin(k * distance)));
        }
    };
    append(half_rows(padded[0]), padded[0], shift.y);
    append(padded[1], padded[1], shift.x);
    return all;
}

/// Passes over two images and their spectra, on one executor. Rows of values are the host's, [row
/// of the half spectrum][value], and valid until the next pass.
///
///     SpectrumPasses(Executor&, Extents<2> image)
///     Extents<2> padded()             of the transforms
///     auto taper_sums(a, b, tapers)   [row of the image][2]: sums of a and b times their tapers
///     void transform(a, b, tapers, mean_a, mean_b)
///     auto cross()                    makes C of the transform; [row][2]: powers of a and b
///     auto score(waves)               [row][row_sums]
///     Extents<2> phase_peak(waves)    row and column of the phase correlation's maximum
///     void polar_sizes(of_a, of_b)    of the transform, [polar_angles][polar_radii]
template <class Executor>
class SpectrumPasses;

/// Transforms both images times their tapers, less their tapered means, which it returns.
template <class Passes, class Image>
std::array<double, 2> transform_images(Passes& passes, const Image& a, const Image& b,
                                       const OverlapTapers& tapers) {
    std::array<double, 2> means{};
    const auto rows = passes.taper_sums(a, b, tapers);
    for (index_t row = 0; row < rows.extent[0]; ++row) {
        means[0] += rows(row, 0);
        means[1] += rows(row, 1);
    }
    means[0] /= tapers.total(false);
    means[1] /= tapers.total(true);
    passes.transform(a, b, tapers, means[0], means[1]);
    return means;
}

/// Half the size, by the executor's `downsample`, and the executor's `warp`.
template <class Executor, class Image, class Half>
void halve(Executor& executor, const Image& from, const Half& to);
template <class Executor, class Image, class Moved>
void move(Executor& executor, const Image& from, const PixelMap& map, float outside,
          const Moved& to);

}  // namespace aperture::signal
