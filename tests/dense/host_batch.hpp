// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "libdense/batch_checks.hpp"
#include "tests/dense/oracle.hpp"
#include "tests/same_bytes.hpp"

namespace aperture::dense::oracle {

/// The layouts of batches.
inline constexpr std::array<Order, 3> layouts{Order::columns, Order::problems, Order::rows};

/// A batch on the host. The `gap` elements after every line of its fastest dimension, and after
/// every matrix or row of lines, are not part of it and must not be touched.
template <Scalar T>
class HostBatch {
  public:
    using View = MatrixBatch<T, core::Host>;
    using ConstView = MatrixBatch<const T, core::Host>;

    HostBatch(core::index_t problems, core::index_t rows, core::index_t columns,
              Order layout = Order::columns, core::index_t gap = 0);
    HostBatch(const HostBatch& other) : store_(other.store_), view_(other.view_) {
        view_.data = store_.data();
    }
    HostBatch& operator=(const HostBatch&) = delete;

    View view() { return view_; }
    ConstView view() const { return view_; }

    /// Matrix `problem`, or its transpose, since right-hand sides are stored as the rows of x.
    Matrix matrix(core::index_t problem) const;
    Matrix columns(core::index_t problem) const { return matrix(problem).transpose(); }

    void set(core::index_t problem, const Matrix& m);
    void set_columns(core::index_t problem, const Matrix& m) { set(problem, m.transpose()); }

    void spoil_upper_triangle();

    /// Compares every byte, gaps included.
    bool same_bits(const HostBatch& other) const { return tests::same_bytes(store_, other.store_); }
    bool same_bits(core::index_t problem, const HostBatch& other, core::index_t its) const;
    /// Expects unchanged gaps.
    void expect_gaps_untouched() const;

  private:
    static bool same_bits(const T& a, const T& b) {
        return tests::same_bytes(std::span(&a, 1), std::span(&b, 1));
    }
    static T foreign() { return T(Real<T>(-7654321)); }

    std::vector<T> store_;
    View view_;
};

}  // namespace aperture::dense::oracle
