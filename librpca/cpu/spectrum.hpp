// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"

namespace aperture::rpca::cpu {

using core::index_t;

/// Singular values and right singular vectors of a tall matrix.
class Spectrum {
  public:
    explicit Spectrum(index_t order) : values_({order}), vectors_({order, order}) {}

    /// Bytes of a spectrum of this order and of what its decompositions allocate meanwhile.
    static index_t gram_bytes(index_t order);
    static index_t triangle_bytes(index_t order);

    /// From the matrix's Gram matrix.
    void decompose_gram(core::View<const double, 2, core::Host> gram);
    /// From the R factor of its QR.
    void decompose_triangle(core::View<const double, 2, core::Host> r);

    /// The i-th largest.
    double singular_value(index_t i) const;
    /// Component `row` of the i-th right singular vector.
    double vector(index_t row, index_t i) const;
    /// The number of larger singular values.
    index_t count_above(double threshold) const;

  private:
    core::Array<double, 1> values_;   ///< descending
    core::Array<double, 2> vectors_;  ///< [vector][component]
};

}  // namespace aperture::rpca::cpu
