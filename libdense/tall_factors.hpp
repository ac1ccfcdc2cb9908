// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/core/error.hpp"
#include "aperture/dense/tall_qr.hpp"

namespace aperture::dense {

using core::index_t;

/// A QR method for matrices of one shape, behind TallQr's checks. Matrices that Q is applied to
/// have at most as many columns as A.
template <class T, class Space>
class TallFactors {
  public:
    template <class U>
    using Matrix = core::View<U, 2, Space>;

    TallFactors() = default;
    TallFactors(const TallFactors&) = delete;
    TallFactors& operator=(const TallFactors&) = delete;
    virtual ~TallFactors() = default;

    /// Without `keep`, Q may be discarded.
    virtual void factor(Matrix<const T> a, Matrix<T> r, bool keep) = 0;
    /// Whether the last matrix had to be factored by a tree instead.
    virtual bool fell_back() const { return false; }
    /// Bytes that `factor` without `keep` allocates, the scratch memory of a Cpu's threads
    /// included.
    virtual index_t bytes() const = 0;
    virtual void form_q(Matrix<T> q) = 0;
    virtual void apply_transposed(Matrix<const T> c, Matrix<T> x) = 0;
    virtual void apply(Matrix<const T> x, Matrix<T> c) = 0;
};

/// The factors of a method; allocates nothing of a matrix's size. For a Cpu in cpu/tall_qr.cpp, for
/// devices in gpu/tall_qr.cuh.
template <class T>
std::unique_ptr<TallFactors<T, core::Host>> make_factors(core::Cpu& cpu, QrMethod method,
                                                         index_t rows, index_t columns);
template <class T, class Executor>
std::unique_ptr<TallFactors<T, typename Executor::Space>> make_factors(Executor& executor,
                                                                       QrMethod method,
                                                                       index_t rows,
                                                                       index_t columns);

template <class T, class Space>
void expects_extents(const char* what, const core::View<T, 2, Space>& view, index_t rows,
                     index_t columns) {
    core::expects(view.extent[0] == rows && view.extent[1] == columns, what, " must be ", rows,
                  " x ", columns, ", is ", view.extent[0], " x ", view.extent[1]);
}

template <std::floating_point T, class Executor>
TallQr<T, Executor>::TallQr(Executor& executor, QrMethod method, index_t rows, index_t columns)
    : rows_(rows), columns_(columns) {
    core::expects(columns > 0 && rows >= columns,
                  "QR requires at least 1 column and as many rows, has ", rows, " x ", columns);
    factors_ = core::owned(make_factors<T>(executor, method, rows, columns));
}

template <std::floating_point T, class Executor>
void TallQr<T, Executor>::factor(Matrix<const T> a, Matrix<T> r) {
    factor(a, r, true);
}
template <std::floating_point T, class Executor>
void TallQr<T, Executor>::find_r(Matrix<const T> a, Matrix<T> r) {
    factor(a, r, false);
}
template <std::floating_point T, class Executor>
void TallQr<T, Executor>::factor(Matrix<const T> a, Matrix<T> r, bool keep) {
    expects_extents("A", a, rows_, columns_);
    expects_extents("R", r, columns_, columns_);
    factors_->factor(a, r, keep);
    kept_ = keep;
}
template <std::floating_point T, class Executor>
index_t TallQr<T, Executor>::find_r_bytes(Executor& executor, QrMethod method, index_t rows,
                                          index_t columns) {
    return make_factors<T>(executor, method, rows, columns)->bytes();
}
template <std::floating_point T, class Executor>
bool TallQr<T, Executor>::fell_back() const {
    return factors_->fell_back();
}

template <std::floating_point T, class Executor>
void TallQr<T, Executor>::form_q(Matrix<T> q) {
    core::expects(kept_, "Q is not stored");
    expects_extents("Q", q, rows_, columns_);
    factors_->form_q(q);
}
template <std::floating_point T, class Executor>
void TallQr<T, Executor>::apply_q_transposed(Matrix<const T> c, Matrix<T> x) {
    core::expects(kept_, "Q is not stored");
    expects_extents("C", c, rows_, x.extent[1]);
    expects_extents("X", x, columns_, x.extent[1]);
    for (index_t begin = 0; begin < x.extent[1]; begin += columns_) {
        const index_t end = std::min(begin + columns_, x.extent[1]);
        factors_->apply_transposed(c.slice(1, begin, end), x.slice(1, begin, end));
    }
}
template <std::floating_point T, class Executor>
void TallQr<T, Executor>::apply_q(Matrix<const T> x, Matrix<T> c) {
    core::expects(kept_, "Q is not stored");
    expects_extents("X", x, columns_, c.extent[1]);
    expects_extents("C", c, rows_, c.extent[1]);
    for (index_t begin = 0; begin < c.extent[1]; begin += columns_) {
        const index_t end = std::min(begin + columns_, c.extent[1]);
        factors_->apply(x.slice(1, begin, end), c.slice(1, begin, end));
    }
}

}  // namespace aperture::dense
