// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/core/owned.hpp"

namespace aperture::rpca::cpu {

using core::index_t;

/// The small matrices of alternating projections, in fp64. Given [U Y] K, with U and Y tall and of
/// `width` columns and a column of K per frame, computes its best approximation U' C of a given
/// rank, C = S V^T, without access to U and Y.
class Subspace {
  public:
    Subspace(index_t frames, index_t rank, index_t width);

    /// Bytes of such matrices and of what `truncate` allocates meanwhile.
    static index_t bytes(index_t frames, index_t rank, index_t width);

    /// K: U's rows, then Y's.
    core::View<double, 2, core::Host> k() { return k_.view(); }
    core::View<const double, 2, core::Host> k() const { return k_.view(); }

    /// Truncated SVD of [U Y] K; `gram` is [U Y]^T [U Y]. Singular values below `least` times the
    /// largest count as 0.
    void truncate(core::View<const double, 2, core::Host> gram, double least);
    /// Sets K = [C + B - (B V) V^T; V^T] with B = U^T R. With Y = R V, [U Y] K is then L plus the
    /// projection of R onto the tangent space at L (Cai, Cai & Wei 2019, equation 9).
    void add_tangent(core::View<const double, 2, core::Host> cross);

    /// Of the approximation; at most the requested rank.
    index_t rank() const { return rank_; }
    /// The i-th largest one of [U Y] K, 0 behind the last.
    double singular_value(index_t i) const;
    double basis(index_t row, index_t column) const;  ///< U' = [U Y] basis
    double coefficient(index_t row, index_t frame) const;
    double direction(index_t frame, index_t column) const;  ///< V

  private:
    struct State;
    core::Array<double, 2> k_;
    index_t rank_ = 0;
    core::Owned<State> state_;
};

}  // namespace aperture::rpca::cpu
