// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/corr/correlator.hpp"
#include "aperture/signal/summed_area.hpp"
#include "libcorr/cpu/plane_rows.hpp"

namespace aperture::corr {

/// The means that are subtracted from an image's planes before correlation: those that are a large
/// part of the values.
class Ground {
  public:
    Ground() = default;
    Ground(index_t planes, index_t rows)
        : of_planes_(static_cast<std::size_t>(planes)),
          contrasts_(static_cast<std::size_t>(planes)),
          of_rows_({planes, rows, 2}) {}

    void find(core::Cpu& cpu, PlanesView<core::Host> image);

    /// Zero if the mean costs no accuracy. Ten bits: subtracting it from most values is exact.
    double of(index_t plane) const { return of_planes_[static_cast<std::size_t>(plane)]; }
    /// Root mean square of the remainder.
    double contrast(index_t plane) const { return contrasts_[static_cast<std::size_t>(plane)]; }

  private:
    std::vector<double> of_planes_;
    std::vector<double> contrasts_;
    core::Array<double, 3> of_rows_;  ///< [plane][row]: sum, sum of squares
};

/// The planes of an image, and the grounds to subtract from them.
struct GroundedPlanes {
    PlanesView<core::Host> planes;
    const Ground& ground;

    bool same_as(const GroundedPlanes& other) const { return &ground == &other.ground; }
};

/// Contribution of the grounds to sums of products. With A = A' + g and B = B' + h, sum A B is sum
/// A' B' + g sum B' + h sum A' + N g h.
class GroundSums {
  public:
    /// Adds the last three terms to `sums`, [planes or 1][dy][dx], in double precision.
    void add(core::Cpu& cpu, const Problem& problem, const GroundedPlanes& a,
             const GroundedPlanes& b, core::View<double, 3, core::Host> sums);

  private:
    /// Adds the other image's ground times the sum of this image's plane without its own.
    void add_side(core::Cpu& cpu, const Problem& problem, const GroundedPlanes& image, Side side,
                  const Ground& other, core::View<double, 3, core::Host> sums);

    signal::SummedAreas areas_;
};

}  // namespace aperture::corr
