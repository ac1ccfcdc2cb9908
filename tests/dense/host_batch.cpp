// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/host_batch.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace aperture::dense::oracle {

template <Scalar T>
HostBatch<T>::HostBatch(core::index_t problems, core::index_t rows, core::index_t columns,
                        Order layout, core::index_t gap) {
    // Dimensions from the fastest to the slowest.
    const std::array<int, 3> nesting = layout == Order::problems ? std::array{0, 2, 1}
                                       : layout == Order::rows   ? std::array{1, 2, 0}
                                                                 : std::array{2, 1, 0};
    view_.extent = {problems, rows, columns};
    core::index_t stride = 1;
    for (int d : nesting) {
        view_.stride[d] = stride;
        stride = stride * view_.extent[d] + gap;
    }
    store_.assign(static_cast<std::size_t>(stride), foreign());
    view_.data = store_.data();
}

template <Scalar T>
Matrix HostBatch<T>::matrix(core::index_t problem) const {
    Matrix m(view_.extent[1], view_.extent[2]);
    for (Eigen::Index i = 0; i < m.rows(); ++i) {
        for (Eigen::Index j = 0; j < m.cols(); ++j) m(i, j) = Complex(view_(problem, i, j));
    }
    return m;
}

template <Scalar T>
void HostBatch<T>::set(core::index_t problem, const Matrix& m) {
    for (Eigen::Index i = 0; i < m.rows(); ++i) {
        for (Eigen::Index j = 0; j < m.cols(); ++j) view_(problem, i, j) = rounded<T>(m(i, j));
    }
}

template <Scalar T>
void HostBatch<T>::spoil_upper_triangle() {
    for (core::index_t p = 0; p < view_.extent[0]; ++p) {
        for (core::index_t i = 0; i < view_.extent[1]; ++i) {
            for (core::index_t j = i + 1; j < view_.extent[2]; ++j) {
                view_(p, i, j) = std::numeric_limits<Real<T>>::quiet_NaN();
            }
        }
    }
}

template <Scalar T>
bool HostBatch<T>::same_bits(core::index_t problem, const HostBatch& other,
                             core::index_t its) const {
    for (core::index_t i = 0; i < view_.extent[1]; ++i) {
        for (core::index_t j = 0; j < view_.extent[2]; ++j) {
            if (!same_bits(view_(problem, i, j), other.view_(its, i, j))) return false;
        }
    }
    return true;
}

template <Scalar T>
void HostBatch<T>::expect_gaps_untouched() const {
    HostBatch blank(*this);
    std::fill(blank.store_.begin(), blank.store_.end(), foreign());
    for (core::index_t p = 0; p < view_.extent[0]; ++p) blank.set(p, matrix(p));
    for (std::size_t i = 0; i < store_.size(); ++i) {
        ASSERT_TRUE(same_bits(blank.store_[i], store_[i]) ||
                    Complex(store_[i]) != Complex(store_[i]))
            << "foreign element " << i << " was written";
    }
}

template class HostBatch<float>;
template class HostBatch<double>;
template class HostBatch<std::complex<float>>;
template class HostBatch<std::complex<double>>;

}  // namespace aperture::dense::oracle
