// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/dense/tall_qr.hpp"
#include "libdense/cpu/block_copy.hpp"

namespace aperture::dense::tall {

/// A QR method for matrices of one shape. Arguments have been validated.
template <class T>
class TallFactors {
  public:
    virtual ~TallFactors() = default;
    /// With `keep`, Q can be applied afterwards.
    virtual void factor(core::Cpu& cpu, MatrixView<const T> a, MatrixView<T> r, bool keep) = 0;
    /// Whether the last matrix had to be factored by a tree instead.
    virtual bool fell_back() const { return false; }
    virtual void apply_transposed(core::Cpu& cpu, MatrixView<const T> c, MatrixView<T> x) = 0;
    virtual void apply(core::Cpu& cpu, MatrixView<const T> x, MatrixView<T> c) = 0;
};

/// Each with the bytes that `factor` without `keep` allocates, the scratch memory of `threads`
/// threads included.
template <class T>
std::unique_ptr<TallFactors<T>> make_tree_factors(index_t rows, index_t columns);
template <class T>
index_t tree_factors_bytes(index_t rows, index_t columns, int threads);
template <class T>
std::unique_ptr<TallFactors<T>> make_cholesky_factors(index_t rows, index_t columns);
template <class T>
index_t cholesky_factors_bytes(index_t rows, index_t columns, int threads);

}  // namespace aperture::dense::tall
