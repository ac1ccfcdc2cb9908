// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/corr/estimator.hpp"
#include "aperture/corr/lags.hpp"

namespace aperture::corr {

// A surface is [dy][dx] with the displacements of its Lags; columns must be contiguous. The
// functions here throw core::InvalidArgument for other extents and strides. NaN entries are no
// peaks, and do not end a correlation length.

using SurfaceView = core::View<const double, 2, core::Host>;

/// Distance along an axis over which an image stays correlated with itself, in pixels.
struct CorrelationLengths {
    std::optional<double> x;
    std::optional<double> y;
};

/// A local maximum of a surface, with its displacement in pixels.
struct Peak {
    double dy = 0;
    double dx = 0;
    double value = 0;
};

/// Distance along each axis from `from`, (0, 0) or a peak, to where the surface falls below 1/e of
/// its value there, towards larger displacements and linear between entries. Empty if it never
/// does, or if the value is not positive. Throws core::InvalidArgument if the surface has no entry
/// at `from`.
CorrelationLengths correlation_lengths(SurfaceView surface, const Lags& lags, const Peak& from);
/// From (0, 0).
CorrelationLengths correlation_lengths(SurfaceView surface, const Lags& lags);

/// Whether displacement (0, 0) can be a peak: of an image with itself it always is one.
enum class Centre { counts, excluded };

/// The largest local maximum, an entry above all of its up to eight neighbours; empty if there is
/// none. Entries at the largest displacements are excluded, because the surface might go on rising
/// beyond them, unless it has no others along that axis. Position and value are interpolated by a
/// parabola along each axis through the entry and its two neighbours, if both exist.
std::optional<Peak> strongest_peak(SurfaceView surface, const Lags& lags, Centre centre);

/// The largest entry of a surface of two images, if it is positive and lies on the border of the
/// displacements searched: the surface may go on rising beyond it, to the true peak. With one sign
/// displacements of 0 are border, too; an axis of one displacement has no border.
std::optional<Peak> largest_on_border(SurfaceView surface, const Lags& lags);

/// What a surface says of its images.
struct SurfaceFindings {
    CorrelationLengths lengths;     ///< about (0, 0); for a pair, about the peak
    std::optional<Peak> peak;       ///< for one image, the strongest except (0, 0)
    std::optional<Peak> on_border;  ///< for a pair: largest_on_border
};
/// Of an image with itself, or of a pair. A peak of Pearson's r has a value of at most 1.
SurfaceFindings find_out(SurfaceView surface, const Lags& lags, Estimator estimator, bool pair);

/// Means over displacements of one length, in any direction.
struct RadialAverage {
    std::vector<double> mean;          ///< mean[r]: lengths from r - 0.5 to below r + 0.5
    std::vector<std::int64_t> counts;  ///< number of averaged entries
};
RadialAverage radial_average(SurfaceView surface, const Lags& lags);

/// Mean and standard deviation over a sequence of surfaces (Welford 1962).
class EnsembleStatistics {
  public:
    /// Adds a surface with the extent of the first one; columns must be contiguous.
    void add(SurfaceView surface);

    index_t count() const { return count_; }
    const core::Array<double, 2>& mean() const { return mean_; }
    /// Sample standard deviation (divisor count - 1); 0 for a single surface.
    core::Array<double, 2> deviation() const;

  private:
    index_t count_ = 0;
    core::Array<double, 2> mean_;
    core::Array<double, 2> squares_;  ///< of differences from the mean, summed
};

}  // namespace aperture::corr
