// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/tall_qr.cuh"

namespace aperture::dense {

template <>
struct TallQr<float, core::Gpu>::State {
    gpu::DeviceTallQr<float, core::Gpu> qr;
};
template <>
struct TallQr<double, core::Gpu>::State {
    gpu::DeviceTallQr<double, core::Gpu> qr;
};

template <std::floating_point T, class Executor>
TallQr<T, Executor>::TallQr(Executor& executor, QrMethod method, core::index_t rows,
                            core::index_t columns)
    : state_(new State{gpu::DeviceTallQr<T, Executor>(executor, method, rows, columns)}) {}
template <std::floating_point T, class Executor>
TallQr<T, Executor>::~TallQr() = default;
template <std::floating_point T, class Executor>
TallQr<T, Executor>::TallQr(TallQr&&) noexcept = default;
template <std::floating_point T, class Executor>
TallQr<T, Executor>& TallQr<T, Executor>::operator=(TallQr&&) noexcept = default;

template <std::floating_point T, class Executor>
void TallQr<T, Executor>::factor(Matrix<const T> a, Matrix<T> r) {
    state_->qr.factor(a, r, true);
}
template <std::floating_point T, class Executor>
void TallQr<T, Executor>::find_r(Matrix<const T> a, Matrix<T> r) {
    state_->qr.factor(a, r, false);
}
template <std::floating_point T, class Executor>
core::index_t TallQr<T, Executor>::find_r_bytes(Executor& executor, QrMethod method,
                                                core::index_t rows, core::index_t columns) {
    return gpu::DeviceTallQr<T, Executor>(executor, method, rows, columns).find_r_bytes();
}
template <std::floating_point T, class Executor>
bool TallQr<T, Executor>::fell_back() const {
    return state_->qr.fell_back();
}
template <std::floating_point T, class Executor>
void TallQr<T, Executor>::form_q(Matrix<T> q) {
    state_->qr.form_q(q);
}
template <std::floating_point T, class Executor>
void TallQr<T, Executor>::apply_q_transposed(Matrix<const T> c, Matrix<T> x) {
    state_->qr.apply_q_transposed(c, x);
}
template <std::floating_point T, class Executor>
void TallQr<T, Executor>::apply_q(Matrix<const T> x, Matrix<T> c) {
    state_->qr.apply_q(x, c);
}

template class TallQr<float, core::Gpu>;
template class TallQr<double, core::Gpu>;

}  // namespace aperture::dense
