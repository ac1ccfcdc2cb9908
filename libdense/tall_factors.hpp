// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/core/shape.hpp"
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

template <std::floating_point T, class Executor>
TallQr<T, Executor>::TallQr(Executor& executor, QrMethod method, index_t rows, index_t columns)
    : rows_(rows), columns_(columns) {
    core::expects(columns > 0 && rows >= columns, "QR requires 1 <= columns <= rows: rows ", rows,
                  ", columns ", columns);
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
    core::expects_shape("A", a, {rows_, columns_});
    core::expects_shape("R", r, {columns_, columns_});
    // If it fails, the reflectors are partly overwritten.
    kept_ = false;
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
    expects_q();
    core::expects_shape("Q", q, {rows_, columns_});
    factors_->form_q(q);
}
template <std::floating_point T, class Executor>
void TallQr<T, Executor>::apply_q_transposed(Matrix<const T> c, Matrix<T> x) {
    apply_in_parts(x, c,
                   [&](auto some_x, auto some_c) { factors_->apply_transposed(some_c, some_x); });
}
template <std::floating_point T, class Executor>
void TallQr<T, Executor>::apply_q(Matrix<const T> x, Matrix<T> c) {
    apply_in_parts(x, c, [&](auto some_x, auto some_c) { factors_->apply(some_x, some_c); });
}
template <std::floating_point T, class Executor>
void TallQr<T, Executor>::expects_q() const {
    core::expects(kept_, "there is no Q: call factor first");
}
template <std::floating_point T, class Executor>
template <class X, class C, class Apply>
void TallQr<T, Executor>::apply_in_parts(const X& x, const C& c, const Apply& apply) {
    expects_q();
    const index_t count = c.extent[1];
    core::expects_shape("X", x, {columns_, count});
    core::expects_shape("C", c, {rows_, count});
    for (index_t begin = 0; begin < count; begin += columns_) {
        const index_t end = std::min(begin + columns_, count);
        apply(x.slice(1, begin, end), c.slice(1, begin, end));
    }
}

}  // namespace aperture::dense
