// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/core/array.hpp"

namespace aperture::rpca::cpu {

using core::index_t;

/// The small matrices of alternating projections, in fp64: of a sum [U Y] K, where U and Y are
/// tall and of `width` columns and K has a column for each frame, the nearest matrix U' C of a
/// given rank, C = S V^T, without touching U and Y.
class Subspace {
  public:
    Subspace(index_t frames, index_t rank, index_t width);
    ~Subspace();
    Subspace(Subspace&&) noexcept;
    Subspace& operator=(Subspace&&) noexcept;

    /// K: U's rows, then Y's.
    core::View<double, 2, core::Host> k() { return k_.view(); }
    core::View<const double, 2, core::Host> k() const { return k_.view(); }

    /// Finds what follows by the singular value decomposition of [U Y] K, of which `gram` is
    /// [U Y]^T [U Y]. Singular values below `least` times the largest count as 0.
    void truncate(core::View<const double, 2, core::Host> gram, double least);
    /// K = [C + B - (B V) V^T; V^T], so that for Y = R V and B = U^T R the sum is L and the
    /// projection of R onto the tangent space of L's rank at L (Cai, Cai & Wei 2019, equation 9).
    void add_tangent(core::View<const double, 2, core::Host> cross);

    /// Of the nearest matrix; at most the rank asked for.
    index_t rank() const { return rank_; }
    /// The i-th largest of the sum, 0 behind the last one.
    double singular_value(index_t i) const;
    double basis(index_t row, index_t column) const;  ///< U' = [U Y] basis
    double coefficient(index_t row, index_t frame) const;
    double direction(index_t frame, index_t column) const;  ///< V

  private:
    struct State;
    core::Array<double, 2> k_;
    index_t rank_ = 0;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::rpca::cpu
