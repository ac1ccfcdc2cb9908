// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Registration as all executors share it: the formulas of a frequency, and what the host decides
// between passes over images and spectra.

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <optional>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/signal/registration.hpp"
#include "libcore/gpu/complex.cuh"
#include "libsignal/bicubic_sample.hpp"

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
enum RowSum { re, im, x_im, x_re, xx_re, im_im, x_im_im, xx_im_im, row_sums };

/// The sums' terms of a frequency, or of a pack of them. `c` is C times the row's factor, and
/// `wave` the column's.
template <class T>
APERTURE_HD void add_row_terms(T c_re, T c_im, T wave_re, T wave_im, T kx, T (&sums)[row_sums]) {
    const T e_re = c_re * wave_re - c_im * wave_im;
    const T e_im = c_re * wave_im + c_im * wave_re;
    const T k_re = kx * e_re;
    const T k_im = kx * e_im;
    sums[re] += e_re;
    sums[im] += e_im;
    sums[x_im] += k_im;
    sums[x_re] += k_re;
    sums[xx_re] += kx * k_re;
    sums[im_im] += e_im * e_im;
    sums[x_im_im] += k_im * e_im;
    sums[xx_im_im] += k_im * k_im;
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

/// Radians a pixel of the i-th frequency of a transform of length n.
inline double frequency(index_t i, index_t n) {
    return 2 * std::numbers::pi * static_cast<double>(2 * i > n ? i - n : i) /
           static_cast<double>(n);
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
    /// The sum of the products of a's weights; b's is the same up to sampling.
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

/// Half the size, by the executor's `downsample`, and the executor's `warp`.
template <class Executor, class Image, class Half>
void halve(Executor& executor, const Image& from, const Half& to);
template <class Executor, class Image, class Moved>
void move(Executor& executor, const Image& from, const PixelMap& map, float outside,
          const Moved& to);

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
            const index_t n = passes.padded()[d];
            return static_cast<double>(2 * peak[d] > n ? peak[d] - n : peak[d]) *
                   static_cast<double>(extent_[d]) / static_cast<double>(shrunk[d]);
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
        const OverlapTapers tapers(image, shift);
        double sums[2] = {};
        add_rows(passes.taper_sums(a, b, tapers), sums, [](index_t) { return 1.0; });
        const double means[] = {sums[0] / tapers.total(false), sums[1] / tapers.total(true)};
        mean_b_ = means[1];
        passes.transform(a, b, tapers, means[0], means[1]);
        powers_[0] = powers_[1] = 0;
        add_rows(passes.cross(), powers_, row_weight);
        // More than rounding leaves of a constant image.
        constexpr double least_contrast = 1e-6;
        const double samples = static_cast<double>(passes.padded()[0]) *
                               static_cast<double>(passes.padded()[1]) * overlap_.y * overlap_.x;
        const auto has_contrast = [&](int i) {
            const double noise = least_contrast * means[i];
            return powers_[i] > samples * noise * noise && std::isfinite(powers_[i]);
        };
        return has_contrast(0) && has_contrast(1);
    }

    template <class Rows, std::size_t count, class Weight>
    static void add_rows(const Rows& rows, double (&sums)[count], const Weight& weight) {
        for (index_t row = 0; row < rows.extent[0]; ++row) {
            for (std::size_t i = 0; i < count; ++i) {
                sums[i] += weight(row) * rows(row, static_cast<index_t>(i));
            }
        }
    }

    Sums score(Pixels at, double cutoff) {
        const auto rows = whole_.score(waves(whole_.padded(), at, cutoff));
        Sums sums;
        for (index_t row = 0; row < rows.extent[0]; ++row) {
            const double weight = row_weight(row);
            const double ky = frequency(row, whole_.padded()[0]);
            const auto of = [&](RowSum sum) { return weight * rows(row, sum); };
            sums.re += of(re);
            sums.y_im += ky * of(im);
            sums.x_im += of(x_im);
            sums.yy_re += ky * ky * of(re);
            sums.yx_re += ky * of(x_re);
            sums.xx_re += of(xx_re);
            sums.yy_var += ky * ky * of(im_im);
            sums.yx_var += ky * of(x_im_im);
            sums.xx_var += of(xx_im_im);
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

/// A similarity in complex numbers x + j y: v becomes shift + turn v.
struct ComplexSimilarity {
    std::complex<double> shift = 0;
    std::complex<double> turn = 1;

    explicit ComplexSimilarity(const Alignment& alignment)
        : shift(alignment.dx, alignment.dy),
          turn(std::polar(alignment.scale, -alignment.rotation * std::numbers::pi / 180)) {}
    /// After a change of v to `by` + (1 + `turned`) v.
    void follow(std::complex<double> by, std::complex<double> turned) {
        shift += turn * by;
        turn *= 1.0 + turned;
    }
    void store(Alignment& alignment) const {
        alignment.dy = shift.imag();
        alignment.dx = shift.real();
        alignment.rotation = -std::arg(turn) * 180 / std::numbers::pi;
        alignment.scale = std::abs(turn);
    }
};

/// Finds similarities.
template <class Executor>
class SimilaritySearch {
    using Space = typename Executor::Space;

  public:
    using Image = typename Registration<Executor>::Image;

    SimilaritySearch(Executor& executor, const core::Extents<2>& image)
        : executor_(executor),
          extent_(image),
          block_{std::max(image[0] / 4, least_block), std::max(image[1] / 4, least_block)},
          whole_(executor, image),
          of_block_(executor, block_),
          of_polar_(executor, polar_),
          polar_a_(polar_),
          polar_b_(polar_),
          moved_(image) {}

    Alignment run(const Image& a, const Image& b) {
        Alignment found = find_turn(a, b);
        if (!found.found) return {};
        const auto outside = static_cast<float>(whole_.mean_b());
        move(executor_, b, pixel_map(found, extent_), outside, moved_.view());
        const Alignment rest = whole_.run(a, std::as_const(moved_).view());
        if (!rest.found) return {};
        ComplexSimilarity similarity(found);
        similarity.follow({rest.dx, rest.dy}, 0);
        similarity.store(found);
        constexpr int most_steps = 3;
        for (int step = 0; step < most_steps && found.found; ++step) {
            move(executor_, b, pixel_map(found, extent_), outside, moved_.view());
            if (refine(a, found)) break;
        }
        return found;
    }

  private:
    static constexpr index_t least_block = 32;
    static constexpr int positions = 5;  ///< of blocks along an axis
    static constexpr core::Extents<2> polar_{polar_angles, polar_radii};

    /// Rotation and scale, to half a pixel of the polar coordinates.
    Alignment find_turn(const Image& a, const Image& b) {
        if (!whole_.polar_sizes(a, b, polar_a_.view(), polar_b_.view())) return {};
        const OverlapTapers tapers = OverlapTapers::of_round_rows(polar_);
        const auto of_a = std::as_const(polar_a_).view();
        const auto of_b = std::as_const(polar_b_).view();
        double sums[2] = {};
        const auto rows = of_polar_.taper_sums(of_a, of_b, tapers);
        for (index_t row = 0; row < polar_angles; ++row) {
            for (int i = 0; i < 2; ++i) sums[i] += rows(row, i);
        }
        of_polar_.transform(of_a, of_b, tapers, sums[0] / tapers.total(false),
                            sums[1] / tapers.total(true));
        of_polar_.cross();
        const core::Extents<2> peak = of_polar_.phase_peak(waves(of_polar_.padded(), {}, 0.6));
        const auto distance = [&](int d) {
            return static_cast<double>(2 * peak[d] > polar_[d] ? peak[d] - polar_[d] : peak[d]);
        };
        Alignment found;
        found.rotation = -180 * distance(0) / polar_angles;
        found.scale = std::pow(highest_radius / lowest_radius, -distance(1) / (polar_radii - 1));
        found.found = true;
        return found;
    }

    /// A block's place, and how far the moved b lies from a there: from the centre, in x + j y.
    struct BlockShift {
        std::complex<double> at, by;
        double variance;  ///< of both parts
        double correlation;
    };

    std::vector<BlockShift> block_shifts(const Image& a, const PixelMap& map) {
        std::vector<BlockShift> shifts;
        for (int j = 0; j < positions; ++j) {
            for (int i = 0; i < positions; ++i) {
                const index_t y = j * (extent_[0] - block_[0]) / (positions - 1);
                const index_t x = i * (extent_[1] - block_[1]) / (positions - 1);
                if (!is_inside(map, y, x)) continue;
                const auto part = [&](const Image& image) {
                    return Image(image.data + y * image.stride[0] + x, block_, image.stride);
                };
                const Alignment shift = of_block_.run(part(a), part(std::as_const(moved_).view()));
                if (!shift.found || std::hypot(shift.dy, shift.dx) > farthest_block) continue;
                const auto centre = [](index_t first, index_t count, index_t all) {
                    return static_cast<double>(first) + 0.5 * static_cast<double>(count - all);
                };
                // What blocks have beside noise, e.g. of interpolation.
                constexpr double least_variance = 0.002 * 0.002;
                shifts.push_back(
                    {{centre(x, block_[1], extent_[1]), centre(y, block_[0], extent_[0])},
                     {shift.dx, shift.dy},
                     least_variance + 0.5 * (shift.dy_deviation * shift.dy_deviation +
                                             shift.dx_deviation * shift.dx_deviation),
                     shift.correlation});
            }
        }
        return shifts;
    }

    /// Whether a block's corners come from within b.
    bool is_inside(const PixelMap& map, index_t y, index_t x) const {
        Place place;
        for (const index_t row : {y, y + block_[0] - 1}) {
            for (const index_t column : {x, x + block_[1] - 1}) {
                if (!maps_inside(map, static_cast<double>(row), static_cast<double>(column),
                                 extent_, place)) {
                    return false;
                }
            }
        }
        return true;
    }

    /// Changes the alignment by the similarity that the blocks' shifts have, by least squares,
    /// with less weight for blocks that move on their own. Returns whether it hardly changed.
    bool refine(const Image& a, Alignment& found) {
        using Complex = std::complex<double>;
        const std::vector<BlockShift> shifts = block_shifts(a, pixel_map(found, extent_));
        constexpr std::size_t least_blocks = 3;
        if (shifts.size() < least_blocks) {
            found = {};
            return true;
        }
        Complex by = 0;
        Complex turned = 0;
        Complex centre = 0;
        double weights = 0;
        double moment = 0;
        double misfit = 0;
        double correlation = 0;
        constexpr int rounds = 4;
        for (int round = 0; round < rounds; ++round) {
            const auto weight_of = [&](const BlockShift& shift) {
                constexpr double usual = 2;
                const double away =
                    std::abs(shift.by - by - turned * shift.at) / std::sqrt(shift.variance);
                return (round > 0 && away > usual ? usual / away : 1) / shift.variance;
            };
            std::vector<double> weight;
            for (const BlockShift& shift : shifts) weight.push_back(weight_of(shift));
            const auto mean = [&](const auto& value_of) {
                decltype(value_of(shifts[0])) sum = 0;
                weights = 0;
                for (std::size_t i = 0; i < shifts.size(); ++i) {
                    sum += weight[i] * value_of(shifts[i]);
                    weights += weight[i];
                }
                return sum / weights;
            };
            centre = mean([](const BlockShift& shift) { return shift.at; });
            const Complex moved = mean([](const BlockShift& shift) { return shift.by; });
            moment = mean([&](const BlockShift& shift) { return std::norm(shift.at - centre); });
            turned = mean([&](const BlockShift& shift) {
                         return std::conj(shift.at - centre) * (shift.by - moved);
                     }) /
                     moment;
            by = moved - turned * centre;
            misfit = mean([&](const BlockShift& shift) {
                return std::norm(shift.by - by - turned * shift.at);
            });
            correlation = mean([](const BlockShift& shift) { return shift.correlation; });
        }
        ComplexSimilarity similarity(found);
        similarity.follow(by, turned);
        similarity.store(found);
        // Of one part of a shift, as weights say, or as the blocks scatter if that is more.
        const auto freedoms = static_cast<double>(2 * shifts.size() - 4);
        const double scatter = std::max(1.0, misfit * weights / freedoms);
        const double turn_variance = scatter / (weights * moment);
        const double shift_variance = scatter / weights + std::norm(centre) * turn_variance;
        found.dy_deviation = found.dx_deviation = found.scale * std::sqrt(shift_variance);
        found.rotation_deviation = std::sqrt(turn_variance) * 180 / std::numbers::pi;
        found.scale_deviation = found.scale * std::sqrt(turn_variance);
        found.correlation = correlation;
        constexpr double near = 0.02;
        const double reach =
            0.5 * std::hypot(static_cast<double>(extent_[0]), static_cast<double>(extent_[1]));
        return std::abs(by) + std::abs(turned) * reach < near;
    }

    static constexpr double farthest_block = 8;

    Executor& executor_;
    core::Extents<2> extent_;
    core::Extents<2> block_;
    ShiftSearch<Executor> whole_;
    ShiftSearch<Executor> of_block_;
    SpectrumPasses<Executor> of_polar_;
    core::Array<float, 2, Space> polar_a_, polar_b_, moved_;
};

template <class Executor>
class Registration<Executor>::State {
  public:
    State(Executor& executor, const core::Extents<2>& extent, Motion motion) : extent_(extent) {
        const index_t least = motion == Motion::shift ? 8 : 64;
        core::expects(extent[0] >= least && extent[1] >= least, "registration: images of ",
                      core::extents_text(extent), " pixels, at least ", least, " x ", least,
                      " are required");
        if (motion == Motion::shift) {
            shift_.emplace(executor, extent);
        } else {
            similarity_.emplace(executor, extent);
        }
    }

    Alignment run(const Image& a, const Image& b) {
        core::expects_shape("registration: image a", a, extent_, core::Strides::unit_last);
        core::expects_shape("registration: image b", b, extent_, core::Strides::unit_last);
        return shift_ ? shift_->run(a, b) : similarity_->run(a, b);
    }

  private:
    core::Extents<2> extent_;
    std::optional<ShiftSearch<Executor>> shift_;
    std::optional<SimilaritySearch<Executor>> similarity_;
};

template <class Executor>
Registration<Executor>::Registration(Executor& executor, core::Extents<2> extent, Motion motion)
    : state_(core::owned(std::make_unique<State>(executor, extent, motion))) {}

template <class Executor>
Alignment Registration<Executor>::run(Image a, Image b) {
    return state_->run(a, b);
}

}  // namespace aperture::signal
