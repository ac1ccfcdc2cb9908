// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/tall_qr.hpp"

#include <cmath>

#include "aperture/core/error.hpp"
#include "libdense/cpu/tall_factors.hpp"

namespace aperture::dense {

using core::index_t;

namespace {

template <class T>
std::unique_ptr<tall::TallFactors<T>> factors_of(QrMethod method, index_t rows, index_t columns) {
    core::expects(columns > 0 && rows >= columns,
                  "QR requires at least 1 column and as many rows, has ", rows, " x ", columns);
    if (method == QrMethod::cholesky2) return tall::make_cholesky_factors<T>(rows, columns);
    return tall::make_tree_factors<T>(rows, columns);
}

template <class T>
void expects_extents(const char* what, const core::View<T, 2, core::Host>& view, index_t rows,
                     index_t columns) {
    core::expects(view.extent[0] == rows && view.extent[1] == columns, what, " must be ", rows,
                  " x ", columns, ", is ", view.extent[0], " x ", view.extent[1]);
}

}  // namespace

template <std::floating_point T, class Executor>
struct TallQr<T, Executor>::State {
    core::Cpu& cpu;
    index_t rows;
    index_t columns;
    std::unique_ptr<tall::TallFactors<T>> factors;
    core::Array<T, 2> identity = {};
    bool kept = false;

    void factor(Matrix<const T> a, Matrix<T> r, bool keep) {
        expects_extents("A", a, rows, columns);
        expects_extents("R", r, columns, columns);
        factors->factor(cpu, a, r, keep);
        kept = keep;
    }
    void expects_q() const { core::expects(kept, "Q is not stored"); }
};

template <std::floating_point T, class Executor>
TallQr<T, Executor>::TallQr(Executor& executor, QrMethod method, index_t rows, index_t columns)
    : state_(std::make_unique<State>(
          State{executor, rows, columns, factors_of<T>(method, rows, columns)})) {}
template <std::floating_point T, class Executor>
TallQr<T, Executor>::~TallQr() = default;
template <std::floating_point T, class Executor>
TallQr<T, Executor>::TallQr(TallQr&&) noexcept = default;
template <std::floating_point T, class Executor>
TallQr<T, Executor>& TallQr<T, Executor>::operator=(TallQr&&) noexcept = default;

template <std::floating_point T, class Executor>
void TallQr<T, Executor>::factor(Matrix<const T> a, Matrix<T> r) {
    state_->factor(a, r, true);
}

template <std::floating_point T, class Executor>
void TallQr<T, Executor>::find_r(Matrix<const T> a, Matrix<T> r) {
    state_->factor(a, r, false);
}

template <std::floating_point T, class Executor>
index_t TallQr<T, Executor>::find_r_bytes(Executor& executor, QrMethod method, index_t rows,
                                          index_t columns) {
    return method == QrMethod::cholesky2
               ? tall::cholesky_factors_bytes<T>(rows, columns, executor.threads())
               : tall::tree_factors_bytes<T>(rows, columns, executor.threads());
}

template <std::floating_point T, class Executor>
bool TallQr<T, Executor>::fell_back() const {
    return state_->factors->fell_back();
}

template <std::floating_point T, class Executor>
void TallQr<T, Executor>::form_q(Matrix<T> q) {
    core::Array<T, 2>& identity = state_->identity;
    if (identity.size() == 0) {
        identity = core::Array<T, 2>({state_->columns, state_->columns});
        std::fill(identity.begin(), identity.end(), T(0));
        for (index_t i = 0; i < state_->columns; ++i) identity(i, i) = 1;
    }
    apply_q(identity, q);
}

template <std::floating_point T, class Executor>
void TallQr<T, Executor>::apply_q_transposed(Matrix<const T> c, Matrix<T> x) {
    state_->expects_q();
    expects_extents("C", c, state_->rows, x.extent[1]);
    expects_extents("X", x, state_->columns, x.extent[1]);
    state_->factors->apply_transposed(state_->cpu, c, x);
}

template <std::floating_point T, class Executor>
void TallQr<T, Executor>::apply_q(Matrix<const T> x, Matrix<T> c) {
    state_->expects_q();
    expects_extents("X", x, state_->columns, c.extent[1]);
    expects_extents("C", c, state_->rows, c.extent[1]);
    state_->factors->apply(state_->cpu, x, c);
}

template class TallQr<float, core::Cpu>;
template class TallQr<double, core::Cpu>;

}  // namespace aperture::dense
