// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/dense/oracle.hpp"
#include "tests/same_bytes.hpp"

namespace aperture::dense::oracle {

/// A batch on the host with `gap` foreign elements after every row and every matrix (of an
/// interleaved batch: after every row of problems), which nobody may touch.
template <Scalar T, class Layout>
class HostBatch {
  public:
    using View = MatrixBatch<T, core::Host, Layout>;
    using ConstView = MatrixBatch<const T, core::Host, Layout>;

    HostBatch(core::index_t problems, core::index_t rows, core::index_t columns,
              core::index_t gap = 0) {
        const std::array<core::index_t, 3> extents{problems, rows, columns};
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
    HostBatch(const HostBatch& other) : store_(other.store_), view_(other.view_) {
        view_.data = store_.data();
    }
    HostBatch& operator=(const HostBatch&) = delete;

    View view() { return view_; }
    ConstView view() const { return view_; }

    /// Matrix `problem`, or its transpose: right-hand sides are the rows of x.
    Matrix matrix(core::index_t problem) const {
        Matrix m(view_.extent[1], view_.extent[2]);
        for (Eigen::Index i = 0; i < m.rows(); ++i) {
            for (Eigen::Index j = 0; j < m.cols(); ++j) m(i, j) = Complex(view_(problem, i, j));
        }
        return m;
    }
    Matrix columns(core::index_t problem) const { return matrix(problem).transpose(); }

    void set(core::index_t problem, const Matrix& m) {
        for (Eigen::Index i = 0; i < m.rows(); ++i) {
            for (Eigen::Index j = 0; j < m.cols(); ++j) view_(problem, i, j) = rounded<T>(m(i, j));
        }
    }
    void set_columns(core::index_t problem, const Matrix& m) { set(problem, m.transpose()); }

    void spoil_upper_triangle() {
        for (core::index_t p = 0; p < view_.extent[0]; ++p) {
            for (core::index_t i = 0; i < view_.extent[1]; ++i) {
                for (core::index_t j = i + 1; j < view_.extent[2]; ++j) {
                    view_(p, i, j) = std::numeric_limits<Real<T>>::quiet_NaN();
                }
            }
        }
    }

    /// Every byte, gaps included.
    bool same_bits(const HostBatch& other) const { return tests::same_bytes(store_, other.store_); }
    bool same_bits(core::index_t problem, const HostBatch& other, core::index_t its) const {
        for (core::index_t i = 0; i < view_.extent[1]; ++i) {
            for (core::index_t j = 0; j < view_.extent[2]; ++j) {
                if (!same_bits(view_(problem, i, j), other.view_(its, i, j))) return false;
            }
        }
        return true;
    }
    /// The gaps hold what they held.
    void expect_gaps_untouched() const {
        HostBatch blank(*this);
        std::fill(blank.store_.begin(), blank.store_.end(), foreign());
        for (core::index_t p = 0; p < view_.extent[0]; ++p) blank.set(p, matrix(p));
        for (std::size_t i = 0; i < store_.size(); ++i) {
            ASSERT_TRUE(same_bits(blank.store_[i], store_[i]) ||
                        Complex(store_[i]) != Complex(store_[i]))
                << "foreign element " << i << " was written";
        }
    }

  private:
    static bool same_bits(const T& a, const T& b) {
        return tests::same_bytes(std::span(&a, 1), std::span(&b, 1));
    }
    static T foreign() { return T(Real<T>(-7654321)); }

    std::vector<T> store_;
    View view_;
};

}  // namespace aperture::dense::oracle
