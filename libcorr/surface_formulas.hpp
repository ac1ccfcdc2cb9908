// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Formulas of SurfaceEstimator for one pixel of a plane or one entry of a surface, for the CPU and
// for kernels.

#include <cmath>
#include <cstdint>

#include "aperture/corr/lags.hpp"

namespace aperture::corr {

/// Pixels [plane][row][column] or entries [plane][dy][dx], the last extent contiguous.
template <class T>
using PlaneEntries = core::View<T, 3, core::Kernel, core::Concatenated>;
/// The same of one plane.
template <class T>
using Entries = core::View<T, 2, core::Kernel, core::Concatenated>;

/// A formula for all planes of an entry, in order.
template <class Formula>
struct Step {
    index_t planes;
    Formula formula;
};

/// A pixel counts if there is no mask or its mask is not zero.
APERTURE_HD bool is_chosen(const Entries<const float>& mask, index_t y, index_t x) {
    return mask.data == nullptr || mask(y, x) != 0;
}

/// A plane without its mean; zero where the mask is zero, whatever is there.
struct Centre {
    PlaneEntries<const float> image;
    Entries<const float> mask;
    const float* means;  ///< of each plane; null: nothing is subtracted
    PlaneEntries<float> centred;

    APERTURE_HD void operator()(index_t p, index_t y, index_t x) const {
        const float mean = means == nullptr ? 0.0F : means[p];
        centred(p, y, x) = is_chosen(mask, y, x) ? image(p, y, x) - mean : 0.0F;
    }
};

struct Square {
    PlaneEntries<const float> plane;
    PlaneEntries<float> squares;

    APERTURE_HD void operator()(index_t p, index_t y, index_t x) const {
        squares(p, y, x) = plane(p, y, x) * plane(p, y, x);
    }
};

/// The mask, 0 or 1, for every plane.
struct RepeatMask {
    Entries<const float> mask;
    PlaneEntries<float> planes;

    APERTURE_HD void operator()(index_t p, index_t y, index_t x) const {
        planes(p, y, x) = is_chosen(mask, y, x) ? 1.0F : 0.0F;
    }
};

/// The number of pixels that overlap.
struct CountPixels {
    Shape image;
    Lags lags;
    Entries<double> counts;

    APERTURE_HD void operator()(index_t, index_t i, index_t j) const {
        counts(i, j) = static_cast<double>(overlap(image.rows, lags.first_row() + i) *
                                           overlap(image.columns, lags.first_column() + j));
    }
};

/// The number of pixels whose masks overlap, from sums of products of masks.
struct CountMasks {
    PlaneEntries<const double> products;
    double masks_in_sum;
    Entries<double> counts;

    APERTURE_HD void operator()(index_t, index_t i, index_t j) const {
        const double count = std::round(products(0, i, j) / masks_in_sum);
        counts(i, j) = count > 0 ? count : 0;
    }
};

struct StoreCounts {
    Entries<const double> counts;
    Entries<std::int64_t> to;

    APERTURE_HD void operator()(index_t, index_t i, index_t j) const {
        to(i, j) = static_cast<std::int64_t>(counts(i, j));
    }
};

/// Sums of an image's planes, and of their squares, over the pixels that overlap the other image:
/// [plane][dy][dx].
struct OverlapMoments {
    PlaneEntries<const double> sums;
    PlaneEntries<const double> squares;
};

/// What the formulas of results access. Where nothing overlaps, sums are rounding noise.
struct SurfaceEntries {
    Entries<const double> counts;
    /// Sums of products before, contributions of planes afterwards: [planes or 1][dy][dx]. May be
    /// the memory of `surface`.
    PlaneEntries<double> sums;
    Entries<double> surface;
};

/// Estimator::raw and Estimator::unbiased.
struct ScaleSums {
    SurfaceEntries to;
    bool unbiased;

    APERTURE_HD void operator()(index_t s, index_t i, index_t j) const {
        const double count = to.counts(i, j);
        const double pixels = count < 1 ? 1.0 : count;
        const double scale = unbiased ? 1 / pixels : 1.0;
        const double sum = to.sums(s, i, j) * (count > 0 ? scale : 0.0);
        to.sums(s, i, j) = sum;
        to.surface(i, j) = (s == 0 ? 0.0 : to.surface(i, j)) + sum;
    }
};

/// Estimator::pearson, all planes at once.
struct FindPearson {
    SurfaceEntries to;
    OverlapMoments a;
    OverlapMoments b;

    APERTURE_HD void operator()(index_t, index_t i, index_t j) const {
        const index_t planes = a.sums.extent[0];
        const index_t surfaces = to.sums.extent[0];
        const double count = to.counts(i, j);
        const double inverse = count > 0 ? 1 / count : 0;
        double variance_a = 0;
        double variance_b = 0;
        double energy_a = 0;
        double energy_b = 0;
        for (index_t p = 0; p < planes; ++p) {
            const double of_a = a.sums(p, i, j);
            const double of_b = b.sums(p, i, j);
            to.sums(surfaces == 1 ? 0 : p, i, j) -= inverse * of_a * of_b;
            variance_a += a.squares(p, i, j) - inverse * of_a * of_a;
            variance_b += b.squares(p, i, j) - inverse * of_b * of_b;
            energy_a += a.squares(p, i, j);
            energy_b += b.squares(p, i, j);
        }
        // A variance at rounding level counts as zero.
        constexpr double rounding = 1e-6;
        const bool varies =
            count > 0 && variance_a > rounding * energy_a && variance_b > rounding * energy_b;
        const double scale = varies ? 1 / std::sqrt(variance_a * variance_b) : 0;
        double sum = 0;
        for (index_t s = 0; s < surfaces; ++s) {
            to.sums(s, i, j) *= scale;
            sum += to.sums(s, i, j);
        }
        // Sums of products and energies round differently.
        const double r = sum < -1 ? -1.0 : sum > 1 ? 1.0 : sum;
        for (index_t s = 0; r != sum && s < surfaces; ++s) to.sums(s, i, j) *= r / sum;
        to.surface(i, j) = r;
    }
};

}  // namespace aperture::corr
