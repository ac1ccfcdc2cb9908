// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/corr/lags.hpp"
#include "aperture/signal/fft.hpp"

namespace aperture::corr {

/// A power spectrum averaged over rings.
struct RadialPower {
    std::vector<double> frequency;     ///< at the middle of a ring, cycles a pixel
    std::vector<double> power;         ///< mean over the ring
    std::vector<std::int64_t> counts;  ///< frequencies in the ring
};

/// Radial average of the power spectrum (periodogram, without a window) of a sequence of images:
/// the mean, over the images and over the frequencies (fy, fx) of a ring, of
///
///     sum_p |F_p(fy, fx)|^2 / (rows columns),
///     F_p(fy, fx) = sum_{y, x} A_p(y, x) exp(-j 2 pi (fy y + fx x))
///
/// at fy = k / rows and fx = l / columns, cycles a pixel, with integers k and l, and fy and fx from
/// -1/2 to 1/2. With n the larger of rows and columns, ring r has frequencies of r - 1/2 <= n |f| <
/// r + 1/2, up to |f| = 1/2; the corners beyond belong to no ring. White noise has a flat spectrum
/// equal to its variance, summed over planes. Images may have any size; results are bitwise
/// independent of the number of threads. The executor must outlive the object.
class RadialSpectrum {
  public:
    /// Throws core::InvalidArgument for empty images.
    RadialSpectrum(core::Cpu& cpu, Shape image);

    /// Adds an image, [plane][row][column] of any number of planes.
    void add(PlanesView<core::Host> planes);

    /// Throws core::InvalidArgument before the first image.
    RadialPower average() const;

  private:
    /// Calls visit(column, ring, number of frequencies that this one represents) for those
    /// frequencies of a row that lie in a ring.
    template <class Visit>
    void for_rings(index_t row, const Visit& visit) const;
    void transform_rows(PlanesView<core::Host> planes, index_t plane, float mean, index_t first,
                        std::complex<float>* pairs);
    void transform(PlanesView<core::Host> planes, index_t plane, double mean);
    void add_powers(double at_zero);

    core::Cpu& cpu_;
    Shape image_;
    signal::ForwardFft<core::Cpu> rows_;            ///< pairs of rows, a group of pairs
    signal::ForwardFft<core::Cpu> columns_;         ///< of a group of neighbours
    core::Array<std::complex<float>, 2> spectrum_;  ///< [row][column up to half], padded
    core::Array<double, 2> band_powers_;            ///< [band of rows][ring]
    std::vector<double> row_sums_;
    std::vector<double> powers_;       ///< of rings, summed over images
    std::vector<double> next_powers_;  ///< with the image that is being added
    std::vector<std::int64_t> counts_;
    index_t images_ = 0;
};

}  // namespace aperture::corr
