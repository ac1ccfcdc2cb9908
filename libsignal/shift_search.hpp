// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "libsignal/cross_spectrum.hpp"

namespace aperture::signal {

/// Finds shifts.
template <class Executor>
class ShiftSearch {
    using Passes = SpectrumPasses<Executor>;

  public:
    using Image = typename Registration<Executor>::Image;

    ShiftSearch(Executor& on, const core::Extents<2>& image)
        : executor_(on), extent_(image), whole_(on, image) {
        if (std::min(image[0], image[1]) < least_halved) return;
        const core::Extents<2> halved{image[0] / 2, image[1] / 2};
        half_.emplace(on, halved);
        half_a_.reshape(halved);
        half_b_.reshape(halved);
    }

    Alignment run(const Image& a, const Image& b) {
        const std::optional<Pixels> coarse = find_pixel(a, b);
        if (!coarse) return {};
        Pixels at = *coarse;
        // Of low frequencies the peak has a width of two pixels, more than the coarse shift is off.
        constexpr double cutoffs[] = {0.5, 1, 0};
        if (!load(whole_, a, b, at) || !climb(at, cutoffs[0])) return {};
        if (!load(whole_, a, b, at)) return {};
        // High frequencies tell the shift better, unless they are noise.
        Alignment best;
        for (const double cutoff : cutoffs) {
            if (!climb(at, cutoff)) break;
            const Alignment shift = result(at);
            if (!best.found ||
                shift.dy_deviation + shift.dx_deviation < best.dy_deviation + best.dx_deviation) {
                best = shift;
            }
        }
        if (best.found) {
            best.correlation = score({best.dy, best.dx}, 0).re / std::sqrt(powers_[0] * powers_[1]);
        }
        return best;
    }

    /// Sizes of the spectra of a and b, [polar_angles][polar_radii]. Returns whether there are any.
    template <class Polar>
    bool polar_sizes(const Image& a, const Image& b, const Polar& of_a, const Polar& of_b) {
        if (!load(whole_, a, b, {})) return false;
        whole_.polar_sizes(of_a, of_b);
        return true;
    }
    /// The tapered mean of b in the last run.
    double mean_b() const { return mean_b_; }

  private:
    static constexpr index_t least_halved = 128;
    static constexpr double least_overlap = 8;

    /// What the score's rows add up to, for all frequencies.
    struct Sums {
        double re = 0;
        double y_im = 0, x_im = 0;                  ///< k Im E: the negative gradient of Re E
        double yy_re = 0, yx_re = 0, xx_re = 0;     ///< k k Re E: the negative Hessian
        double yy_var = 0, yx_var = 0, xx_var = 0;  ///< k k (Im E)^2
    };

    std::optional<Pixels> find_pixel(const Image& a, const Image& b) {
        if (half_) {
            halve(executor_, a, half_a_.view());
            halve(executor_, b, half_b_.view());
        }
        Passes& passes = half_ ? *half_ : whole_;
        const bool loaded =
            half_ ? load(passes, std::as_const(half_a_).view(), std::as_const(half_b_).view(), {})
                  : load(passes, a, b, {});
        if (!loaded) return std::nullopt;
        const core::Extents<2> peak = passes.phase_peak(waves(passes.padded(), {}, 1));
        const core::Extents<2>& shrunk = half_ ? half_a_.extent() : extent_;
        const auto distance = [&](int d) {
            return signed_index(peak[d], passes.padded()[d]) * static_cast<double>(extent_[d]) /
                   static_cast<double>(shrunk[d]);
        };
        return Pixels{distance(0), distance(1)};
    }

    /// Computes the cross-spectrum of what the images have in common, and their powers. Returns
    /// whether there is any.
    bool load(Passes& passes, const Image& a, const Image& b, Pixels shift) {
        const core::Extents<2>& image = a.extent;
        overlap_ = {static_cast<double>(image[0]) - std::abs(shift.y),
                    static_cast<double>(image[1]) - std::abs(shift.x)};
        if (!(overlap_.y >= least_overlap && overlap_.x >= least_overlap)) return false;
        const auto means = transform_images(passes, a, b, OverlapTapers(image, shift));
        mean_b_ = means[1];
        powers_[0] = powers_[1] = 0;
        const auto rows = passes.cross();
        for (index_t row = 0; row < rows.extent[0]; ++row) {
            for (int i = 0; i < 2; ++i) powers_[i] += row_weight(row) * rows(row, i);
        }
        // More than rounding leaves of a constant image.
        constexpr double least_contrast = 1e-6;
        const double samples = static_cast<double>(passes.padded()[0]) *
                               static_cast<double>(passes.padded()[1]) * overlap_.y * overlap_.x;
        const auto has_contrast = [&](int i) {
            const double noise = least_contrast * means[static_cast<std::size_t>(i)];
            return powers_[i] > samples * noise * noise && std::isfinite(powers_[i]);
        };
        return has_contrast(0) && has_contrast(1);
    }

    Sums score(Pixels at, double cutoff) {
        const auto rows = whole_.score(waves(whole_.padded(), at, cutoff));
        Sums sums;
        for (index_t row = 0; row < rows.extent[0]; ++row) {
            const double weight = row_weight(row);
            const double ky = frequency(row, whole_.padded()[0]);
            const auto of = [&](RowSum sum) { return weight * rows(row, sum); };
            sums.re += of(sum_re);
            sums.y_im += ky * of(sum_im);
            sums.x_im += of(sum_x_im);
            sums.yy_re += ky * ky * of(sum_re);
            sums.yx_re += ky * of(sum_x_re);
            sums.xx_re += of(sum_xx_re);
            sums.yy_var += ky * ky * of(sum_im_im);
            sums.yx_var += ky * of(sum_x_im_im);
            sums.xx_var += of(sum_xx_im_im);
        }
        return sums;
    }

    /// Newton's steps to the maximum of the low-passed cross-correlation near `at`. Returns whether
    /// there is one.
    bool climb(Pixels& at, double cutoff) {
        constexpr int most_steps = 8;
        constexpr double farthest = 4;
        constexpr double near = 1e-4;
        const Pixels start = at;
        for (int step = 0; step < most_steps; ++step) {
            last_ = score(at, cutoff);
            const double determinant = last_.yy_re * last_.xx_re - last_.yx_re * last_.yx_re;
            if (!(last_.yy_re > 0 && determinant > 0)) return false;
            const Pixels move{(last_.xx_re * last_.y_im - last_.yx_re * last_.x_im) / determinant,
                              (last_.yy_re * last_.x_im - last_.yx_re * last_.y_im) / determinant};
            at.y -= move.y;
            at.x -= move.x;
            if (!(std::hypot(at.y - start.y, at.x - start.x) < farthest)) return false;
            if (std::hypot(move.y, move.x) < near) return true;
        }
        return true;
    }

    /// The gradient at the maximum is zero only as a sum: its terms tell the variance (sandwich
    /// estimate), and the Hessian how far the maximum moves with it.
    Alignment result(Pixels at) const {
        // A frequency and its mirror have the same term. Those nearby resemble each other, since
        // the images are tapered (35 / 18: length times sum of fourth powers over square of sum of
        // squares of Hann's window) and padded.
        constexpr double taper = 35.0 / 18;
        const double resembling = taper * taper * static_cast<double>(whole_.padded()[0]) *
                                  static_cast<double>(whole_.padded()[1]) /
                                  (overlap_.y * overlap_.x);
        const double determinant = last_.yy_re * last_.xx_re - last_.yx_re * last_.yx_re;
        const double yy = last_.xx_re / determinant;
        const double yx = -last_.yx_re / determinant;
        const double xx = last_.yy_re / determinant;
        const auto deviation = [&](double y, double x) {
            return std::sqrt(
                2 * resembling *
                (y * y * last_.yy_var + 2 * y * x * last_.yx_var + x * x * last_.xx_var));
        };
        Alignment shift;
        shift.dy = at.y;
        shift.dx = at.x;
        shift.dy_deviation = deviation(yy, yx);
        shift.dx_deviation = deviation(yx, xx);
        shift.found = true;
        return shift;
    }

    Executor& executor_;
    core::Extents<2> extent_;
    Passes whole_;
    std::optional<Passes> half_;
    core::Array<float, 2, typename Executor::Space> half_a_, half_b_;
    Pixels overlap_;  ///< of the last load
    double powers_[2] = {};
    double mean_b_ = 0;
    Sums last_;
};

}  // namespace aperture::signal
