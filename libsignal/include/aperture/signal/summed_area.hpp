// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"

namespace aperture::signal {

/// Summed-area table: sums over any rectangle of an image from four entries (Crow 1984), in double.
class SummedAreas {
  public:
    using index_t = core::index_t;

    /// Computes the table of a plane [row][column], with `ground` subtracted from each value;
    /// columns must be contiguous. Allocates only if no earlier plane was as large.
    void compute(core::Cpu& cpu, core::View<const float, 2, core::Host> plane, double ground = 0);
    /// Computes the table of the squares of a plane's values.
    void compute_squares(core::Cpu& cpu, core::View<const float, 2, core::Host> plane);

    /// Over rows top .. bottom-1 and columns left .. right-1.
    double sum(index_t top, index_t bottom, index_t left, index_t right) const {
        return (above_(bottom, right) - above_(top, right)) -
               (above_(bottom, left) - above_(top, left));
    }

  private:
    template <class Value>
    void sum_values(core::Cpu& cpu, core::View<const float, 2, core::Host> plane,
                    const Value& value);

    core::Array<double, 2> above_;  ///< sums of all pixels above and left of a corner
};

}  // namespace aperture::signal
