// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/corr/lags.hpp"

namespace aperture::corr {

// A surface is [dy][dx] with the displacements of its Lags; the functions here throw
// core::InvalidArgument where its extents are others. Entries that are not numbers are no peaks,
// and end no correlation length.

using SurfaceView = core::View<const double, 2, core::Host>;

/// How far along an axis an image remains like itself, in pixels.
struct CorrelationLengths {
    std::optional<double> x;
    std::optional<double> y;
};

/// A displacement that is more likely than those around it, in pixels.
struct Peak {
    double dy = 0;
    double dx = 0;
    double value = 0;
};

/// Along each axis how far from `from`, (0, 0) or a peak, the surface falls below 1/e of the value
/// there, towards larger displacements and linear between entries. Nothing where it never does, or
/// where the value is not positive. Throws core::InvalidArgument where the surface has no entry at
/// `from`.
CorrelationLengths correlation_lengths(SurfaceView surface, const Lags& lags, const Peak& from);
/// From (0, 0).
CorrelationLengths correlation_lengths(SurfaceView surface, const Lags& lags);

/// Whether displacement (0, 0) can be a peak: of an image with itself it always is one.
enum class Centre { counts, excluded };

/// The largest of the local maxima, entries above all of their up to eight neighbours; nothing
/// where there is none. Entries of the largest displacements, next to which the surface might go on
/// rising, are left out unless the surface has no others along that axis. The place between entries
/// and the value there are those of a parabola along each axis through the entry and its two
/// neighbours, where both are there.
std::optional<Peak> strongest_peak(SurfaceView surface, const Lags& lags, Centre centre);

/// The largest entry of a surface of two images, where it is positive and lies on the border of the
/// displacements that were searched: beyond it the surface may go on rising, and the true peak be.
/// With one sign displacements of 0 are border, too; an axis of one displacement has none.
std::optional<Peak> largest_on_border(SurfaceView surface, const Lags& lags);

/// Means over displacements of one length, whatever their direction.
struct RadialAverage {
    std::vector<double> mean;          ///< of displacements at least r - 0.5, below r + 0.5 long
    std::vector<std::int64_t> counts;  ///< entries of the surface that were averaged
};
RadialAverage radial_average(SurfaceView surface, const Lags& lags);

/// Mean and standard deviation over surfaces that come one after the other (Welford 1962).
class EnsembleStatistics {
  public:
    /// Surfaces are of one extent, that of the first; their columns are contiguous.
    void add(SurfaceView surface);

    index_t count() const { return count_; }
    const core::Array<double, 2>& mean() const { return mean_; }
    /// Of the population that the surfaces are a sample of (divisor count - 1); 0 for a single one.
    core::Array<double, 2> deviation() const;

  private:
    index_t count_ = 0;
    core::Array<double, 2> mean_;
    core::Array<double, 2> squares_;  ///< of differences from the mean, summed
};

}  // namespace aperture::corr
