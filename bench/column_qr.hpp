// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "aperture/core/array.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "libdense/cpu/block_copy.hpp"

namespace aperture::bench {

using core::index_t;
using dense::tall::MatrixView;

/// Householder QR of a tall matrix on a CPU, one reflector I - tau v v^T after the other over whole
/// columns (Golub & Van Loan 2013, algorithm 5.2.1): two passes over the trailing matrix each,
/// limited by memory bandwidth (BLAS2). The baseline of dense::TallQr.
template <class T>
class ColumnQr {
  public:
    ColumnQr(core::Cpu& cpu, index_t rows, index_t columns)
        : cpu_(cpu),
          rows_(rows),
          padded_(core::round_up(rows, core::lanes<T>)),
          v_({columns, padded_}),
          tau_(static_cast<std::size_t>(columns)),
          diagonal_(static_cast<std::size_t>(columns)),
          slices_((rows + slice_rows - 1) / slice_rows),
          sums_({slices_, columns}),
          products_(static_cast<std::size_t>(columns)) {}

    void factor(MatrixView<const T> a, MatrixView<T> r) {
        const auto copy_slice = [&](index_t slice, std::byte* /*scratch*/) {
            const index_t row = slice * slice_rows;
            dense::tall::load_columns(a, row, std::min(slice_rows, rows_ - row), padded_,
                                      v_.data() + row);
        };
        core::for_each_task(cpu_, slices_, 0, copy_slice);
        const index_t n = a.extent[1];
        for (index_t j = 0; j < n; ++j) {
            make_reflector(j);
            reflect(j, column(v_, j + 1), n - j - 1);
        }
        for (index_t i = 0; i < n; ++i) {
            for (index_t j = 0; j < n; ++j) r(i, j) = j < i ? T(0) : r_of(i, j);
        }
    }

    /// Q of the last `factor`.
    void form_q(MatrixView<T> q) {
        core::Array<T, 2> turned(v_.extent());
        const index_t n = v_.extent()[0];
        std::fill(turned.begin(), turned.end(), T(0));
        for (index_t j = 0; j < n; ++j) turned(j, j) = 1;
        for (index_t j = n; j-- > 0;) reflect(j, turned.data(), n);
        dense::tall::store_columns<T>(turned.data(), padded_, 0, rows_, q);
    }

  private:
    /// Rows per task, over all columns; partial sums are added in a fixed order.
    static constexpr index_t slice_rows = 8192;

    T* column(core::Array<T, 2>& columns, index_t j) { return columns.data() + j * padded_; }
    T r_of(index_t i, index_t j) const { return i == j ? diagonal_[std::size_t(i)] : v_(j, i); }

    /// Replaces column j of v_, from the diagonal on, by v with a leading one.
    void make_reflector(index_t j) {
        T* const x = column(v_, j);
        T largest = 0;
        for (index_t i = j; i < rows_; ++i) largest = std::max(largest, std::abs(x[i]));
        // Scaled by its largest element, so that squares neither overflow nor underflow.
        const T unit = largest > 0 && std::isfinite(largest)
                           ? std::ldexp(T(1), std::max(std::ilogb(largest), smallest_exponent))
                           : T(1);
        for (index_t i = j; i < rows_; ++i) x[i] /= unit;
        const T alpha = x[j];
        const auto length = static_cast<T>(std::sqrt(product(x, x, j, rows_)));
        const T beta = alpha >= 0 ? -length : length;
        const bool there = length != 0;
        tau_[std::size_t(j)] = there ? (beta - alpha) / beta : T(0);
        diagonal_[std::size_t(j)] = beta * unit;
        const T divisor = there ? alpha - beta : T(1);
        for (index_t i = j + 1; i < rows_; ++i) x[i] /= divisor;
        x[j] = 1;
    }

    static double product(const T* a, const T* b, index_t begin, index_t end) {
        constexpr int lanes = core::lanes<T>;
        // Longer fp32 sums would limit the accuracy of the reflectors.
        constexpr index_t together = 32 * lanes;
        double total = 0;
        index_t i = begin;
        while (i + lanes <= end) {
            const index_t last = std::min(i + together, end);
            core::Pack<T> sum{};
            for (; i + lanes <= last; i += lanes) sum += core::load(a + i) * core::load(b + i);
            for (int l = 0; l < lanes; ++l) total += static_cast<double>(sum[l]);
        }
        for (; i < end; ++i) total += static_cast<double>(a[i]) * static_cast<double>(b[i]);
        return total;
    }

    /// Applies reflector j to the columns, from row j on.
    void reflect(index_t j, T* columns, index_t count) {
        const T* const v = column(v_, j);
        const auto rows_of = [&](index_t slice) {
            return std::pair{std::max(slice * slice_rows, j),
                             std::min((slice + 1) * slice_rows, rows_)};
        };
        const auto sum_slice = [&](index_t slice, std::byte* /*scratch*/) {
            const auto rows = rows_of(slice);
            for (index_t c = 0; c < count; ++c) {
                sums_(slice, c) = product(v, columns + c * padded_, rows.first, rows.second);
            }
        };
        const auto update_slice = [&](index_t slice, std::byte* /*scratch*/) {
            const auto rows = rows_of(slice);
            for (index_t c = 0; c < count; ++c) {
                T* const x = columns + c * padded_;
                const T product = products_[std::size_t(c)];
#pragma omp simd
                for (index_t i = rows.first; i < rows.second; ++i) x[i] -= product * v[i];
            }
        };
        core::for_each_task(cpu_, slices_, 0, sum_slice);
        for (index_t c = 0; c < count; ++c) {
            double sum = 0;
            for (index_t slice = 0; slice < slices_; ++slice) sum += sums_(slice, c);
            products_[std::size_t(c)] = static_cast<T>(tau_[std::size_t(j)] * sum);
        }
        core::for_each_task(cpu_, slices_, 0, update_slice);
    }

    static constexpr int smallest_exponent = std::numeric_limits<T>::min_exponent;

    core::Cpu& cpu_;
    index_t rows_;
    index_t padded_;       ///< rows rounded up to whole packs
    core::Array<T, 2> v_;  ///< [column][row]: R above the diagonal, v from it on
    std::vector<T> tau_;
    std::vector<T> diagonal_;  ///< of R
    index_t slices_;
    core::Array<double, 2> sums_;  ///< [slice][column]
    std::vector<T> products_;
};

}  // namespace aperture::bench
