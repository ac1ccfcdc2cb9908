// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/host_batch.hpp"

#include <algorithm>
#include <limits>

namespace aperture::dense::oracle {

template <Scalar T, class Layout>
HostBatch<T, Layout>::HostBatch(core::index_t problems, core::index_t rows, core::index_t columns,
                                core::index_t gap) {
    const core::Extents<3> extents{problems, rows, columns};
    if constexpr (std::same_as<Layout, core::Interleaved>) {
        const core::index_t element = problems + gap;
        const core::index_t row = columns * element + gap;
        view_ = View(nullptr, extents, {1, row, element});
        store_.assign(static_cast<std::size_t>(rows * row + gap), foreign());
    } else {
        const core::index_t row = columns + gap;
        const core::index_t matrix = rows * row + gap;
        view_ = View(nullptr, extents, {matrix, row, 1});
        store_.assign(static_cast<std::size_t>(problems * matrix + gap), foreign());
    }
    view_.data = store_.data();
}

template <Scalar T, class Layout>
Matrix HostBatch<T, Layout>::matrix(core::index_t problem) const {
    Matrix m(view_.extent[1], view_.extent[2]);
    for (Eigen::Index i = 0; i < m.rows(); ++i) {
        for (Eigen::Index j = 0; j < m.cols(); ++j) m(i, j) = Complex(view_(problem, i, j));
    }
    return m;
}

template <Scalar T, class Layout>
void HostBatch<T, Layout>::set(core::index_t problem, const Matrix& m) {
    for (Eigen::Index i = 0; i < m.rows(); ++i) {
        for (Eigen::Index j = 0; j < m.cols(); ++j) view_(problem, i, j) = rounded<T>(m(i, j));
    }
}

template <Scalar T, class Layout>
void HostBatch<T, Layout>::spoil_upper_triangle() {
    for (core::index_t p = 0; p < view_.extent[0]; ++p) {
        for (core::index_t i = 0; i < view_.extent[1]; ++i) {
            for (core::index_t j = i + 1; j < view_.extent[2]; ++j) {
                view_(p, i, j) = std::numeric_limits<Real<T>>::quiet_NaN();
            }
        }
    }
}

template <Scalar T, class Layout>
bool HostBatch<T, Layout>::same_bits(core::index_t problem, const HostBatch& other,
                                     core::index_t its) const {
    for (core::index_t i = 0; i < view_.extent[1]; ++i) {
        for (core::index_t j = 0; j < view_.extent[2]; ++j) {
            if (!same_bits(view_(problem, i, j), other.view_(its, i, j))) return false;
        }
    }
    return true;
}

template <Scalar T, class Layout>
void HostBatch<T, Layout>::expect_gaps_untouched() const {
    HostBatch blank(*this);
    std::fill(blank.store_.begin(), blank.store_.end(), foreign());
    for (core::index_t p = 0; p < view_.extent[0]; ++p) blank.set(p, matrix(p));
    for (std::size_t i = 0; i < store_.size(); ++i) {
        ASSERT_TRUE(same_bits(blank.store_[i], store_[i]) ||
                    Complex(store_[i]) != Complex(store_[i]))
            << "foreign element " << i << " was written";
    }
}

template class HostBatch<float, core::Concatenated>;
template class HostBatch<float, core::Interleaved>;
template class HostBatch<double, core::Concatenated>;
template class HostBatch<double, core::Interleaved>;
template class HostBatch<std::complex<float>, core::Concatenated>;
template class HostBatch<std::complex<float>, core::Interleaved>;
template class HostBatch<std::complex<double>, core::Concatenated>;
template class HostBatch<std::complex<double>, core::Interleaved>;

}  // namespace aperture::dense::oracle
