// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/corr/lags.hpp"

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
};

}  // namespace aperture::corr
