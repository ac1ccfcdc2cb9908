// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "libcore/cpu/lane_sums.hpp"
#include "libcore/cpu/read_ahead.hpp"
#include "libcore/cpu/simd.hpp"

/// Householder reflectors that couple a few rows on top with a column-major block of rows below.
/// Lanes run along the rows of the block.
///
/// A panel of w columns is [R; B] with R the w x w triangle of the rows above. Reflector j is I -
/// tau v v^T with v = [e_j; b_j]: it changes one row of R. Their product is I - [I; V] T [I; V]^T
/// with T upper triangular (Schreiber & Van Loan 1989); V replaces B.
namespace aperture::dense::tall {

/// Columns of a panel: their sums of products with three other columns fit in registers.
template <class T>
inline constexpr int panel_columns = core::simd_bytes == 64 ? 8 : std::min(core::lanes<T>, 4);

/// The data of a panel's reflectors besides V.
template <class T>
struct PanelFactors {
    static constexpr int w = panel_columns<T>;
    std::array<T, w * w> t{};  ///< T, row by row
    std::array<T, w * w>
        top{};  ///< orthogonal factor of the top rows of a block without a triangle
};

/// A range of rows of a block.
struct Rows {
    std::ptrdiff_t begin = 0;
    std::ptrdiff_t end = 0;
};

/// Applies a panel's Q^T, or Q, to [top; c]. Columns of c are `stride` apart and use rows `rows`;
/// columns of `top` have w rows, are `top_stride` apart and have space for a whole pack.
template <class T, bool transposed>
class PanelApplication {
    static constexpr int w = panel_columns<T>;
    static constexpr int lanes = core::lanes<T>;
    /// As many columns as leave registers for the operands.
    static constexpr int together = 3;

  public:
    PanelApplication(const T* v, std::ptrdiff_t stride, Rows rows, const PanelFactors<T>& factors)
        : v_(v), stride_(stride), rows_(rows) {
        for (int k = 0; k < w; ++k) {
            for (int i = 0; i < lanes; ++i) {
                t_[k][i] =
                    i >= w ? T(0) : -(transposed ? factors.t[k * w + i] : factors.t[i * w + k]);
            }
        }
    }

    /// Prefetches `ahead` meanwhile.
    void run(T* c, std::ptrdiff_t stride, T* top, std::ptrdiff_t top_stride, std::ptrdiff_t columns,
             core::ReadAhead& ahead) const {
        std::ptrdiff_t j = 0;
        for (; j + together <= columns; j += together) {
            run_together<together>(c + j * stride, stride, top + j * top_stride, top_stride, ahead);
        }
        if (columns - j == 2) {
            run_together<2>(c + j * stride, stride, top + j * top_stride, top_stride, ahead);
        } else if (columns - j == 1) {
            run_together<1>(c + j * stride, stride, top + j * top_stride, top_stride, ahead);
        }
    }

  private:
    template <int n>
    void run_together(T* __restrict__ c, std::ptrdiff_t stride, T* top, std::ptrdiff_t top_stride,
                      core::ReadAhead& ahead) const {
        core::Pack<T> sum[n][w] = {};
        for (std::ptrdiff_t r = rows_.begin; r < rows_.end; r += lanes) {
            core::Pack<T> column[n];
#pragma GCC unroll 8
            for (int j = 0; j < n; ++j) column[j] = core::load(c + j * stride + r);
            ahead.prefetch_line();
#pragma GCC unroll 8
            for (int k = 0; k < w; ++k) {
                core::Pack<T> v = core::load(v_ + k * stride_ + r);
                core::hold(v);
#pragma GCC unroll 8
                for (int j = 0; j < n; ++j) sum[j][k] += v * column[j];
            }
        }
        core::Pack<T> x[n] = {};
        alignas(core::simd_bytes) T y[n][lanes];
#pragma GCC unroll 8
        for (int j = 0; j < n; ++j) {
            core::store(y[j], core::sums_of_lanes<T, w>(sum[j]) + core::load(top + j * top_stride));
        }
#pragma GCC unroll 8
        for (int k = 0; k < w; ++k) {
#pragma GCC unroll 8
            for (int j = 0; j < n; ++j) x[j] += t_[k] * core::broadcast(y[j][k]);
        }
        // Lanes beyond w are zero and do not change the elements below.
#pragma GCC unroll 8
        for (int j = 0; j < n; ++j) {
            core::store(top + j * top_stride, core::load(top + j * top_stride) + x[j]);
            core::store(y[j], x[j]);
        }
        core::Pack<T> factor[n][w];
#pragma GCC unroll 8
        for (int j = 0; j < n; ++j) {
#pragma GCC unroll 8
            for (int k = 0; k < w; ++k) factor[j][k] = core::broadcast(y[j][k]);
        }
        for (std::ptrdiff_t r = rows_.begin; r < rows_.end; r += lanes) {
            core::Pack<T> column[n];
#pragma GCC unroll 8
            for (int j = 0; j < n; ++j) column[j] = core::load(c + j * stride + r);
#pragma GCC unroll 8
            for (int k = 0; k < w; ++k) {
                core::Pack<T> v = core::load(v_ + k * stride_ + r);
                core::hold(v);
#pragma GCC unroll 8
                for (int j = 0; j < n; ++j) column[j] += v * factor[j][k];
            }
#pragma GCC unroll 8
            for (int j = 0; j < n; ++j) core::store(c + j * stride + r, column[j]);
        }
    }

    const T* v_;
    std::ptrdiff_t stride_;
    Rows rows_;
    core::Pack<T> t_[w];  ///< -T or its transpose, column by column
};

/// Computes a panel's reflectors. Afterwards V has replaced B, and R is the triangle of both.
template <class T>
class PanelFactorisation {
    static constexpr int w = panel_columns<T>;
    static constexpr int lanes = core::lanes<T>;

  public:
    /// `r` is the triangle, its columns at distance `r_stride`.
    PanelFactorisation(T* b, std::ptrdiff_t stride, Rows rows, T* r, std::ptrdiff_t r_stride,
                       PanelFactors<T>& factors)
        : b_(b), stride_(stride), rows_(rows), r_(r), r_stride_(r_stride), t_(factors.t) {}

    void run() {
        t_.fill(0);
        sum_products(0);
        reflect(std::make_integer_sequence<int, w>{});
    }

  private:
    template <int... j>
    void reflect(std::integer_sequence<int, j...>) {
        (reflect_column<j>(), ...);
    }

    T& r(int row, int column) { return r_[column * r_stride_ + row]; }

    /// The products of column j with all columns of the panel.
    void sum_products(int j) {
        core::Pack<T> sum[w] = {};
        for (std::ptrdiff_t row = rows_.begin; row < rows_.end; row += lanes) {
            const core::Pack<T> column = core::load(b_ + j * stride_ + row);
#pragma GCC unroll 8
            for (int k = 0; k < w; ++k) sum[k] += column * core::load(b_ + k * stride_ + row);
        }
        core::store(products_, core::sums_of_lanes<T, w>(sum));
    }

    /// Scales column j by a power of two, so that its square is far from T's limits. Returns the
    /// divisor.
    T scale_column(int j, T& alpha) {
        T largest = std::abs(alpha);
        T* const column = b_ + j * stride_;
        for (std::ptrdiff_t row = rows_.begin; row < rows_.end; ++row) {
            largest = std::max(largest, std::abs(column[row]));
        }
        if (!(largest > 0) || !std::isfinite(largest)) return 1;
        const int exponent = std::ilogb(largest);
        for (std::ptrdiff_t row = rows_.begin; row < rows_.end; ++row) {
            column[row] = std::ldexp(column[row], -exponent);
        }
        alpha = std::ldexp(alpha, -exponent);
        sum_products(j);
        return std::ldexp(T(1), exponent);
    }

    template <int j>
    void reflect_column() {
        constexpr T smallest = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
        constexpr T largest = std::numeric_limits<T>::max() * std::numeric_limits<T>::epsilon();
        T alpha = r(j, j);
        T unit = 1;
        T square = alpha * alpha + products_[j];
        if (!(square >= smallest && square <= largest)) {
            unit = scale_column(j, alpha);
            square = alpha * alpha + products_[j];
        }
        const T length = std::sqrt(square);
        const T beta = alpha >= 0 ? -length : length;
        // A zero column has no reflector; NaN propagate.
        const bool there = length != 0;
        const T tau = there ? (beta - alpha) / beta : T(0);
        const T scale = there ? 1 / (alpha - beta) : T(0);
        if (there) r(j, j) = beta * unit;

        core::Pack<T> factor[w];
#pragma GCC unroll 8
        for (int k = j + 1; k < w; ++k) {
            const T with_v = tau * (r(j, k) + scale * products_[k]);
            r(j, k) -= with_v;
            factor[k] = core::broadcast(with_v);
        }
        t_[j * w + j] = tau;
        for (int i = 0; i < j; ++i) {
            T sum = 0;
            for (int k = i; k < j; ++k) sum += t_[i * w + k] * (scale * products_[k]);
            t_[i * w + j] = -tau * sum;
        }
        update_columns<j>(core::broadcast(scale), factor);
    }

    /// Scales b_j to v_j, applies the reflector to the trailing columns, and sums the products of
    /// the next column with all columns.
    template <int j>
    void update_columns(core::Pack<T> scale, const core::Pack<T> (&factor)[w]) {
        core::Pack<T> sum[w] = {};
        for (std::ptrdiff_t row = rows_.begin; row < rows_.end; row += lanes) {
            core::Pack<T> column[w];
            column[j] = core::load(b_ + j * stride_ + row) * scale;
            core::store(b_ + j * stride_ + row, column[j]);
#pragma GCC unroll 8
            for (int k = j + 1; k < w; ++k) {
                column[k] = core::load(b_ + k * stride_ + row) - factor[k] * column[j];
                core::store(b_ + k * stride_ + row, column[k]);
            }
            if constexpr (j + 1 < w) {
#pragma GCC unroll 8
                for (int k = 0; k < j; ++k) column[k] = core::load(b_ + k * stride_ + row);
#pragma GCC unroll 8
                for (int k = 0; k < w; ++k) sum[k] += column[j + 1] * column[k];
            }
        }
        if constexpr (j + 1 < w) core::store(products_, core::sums_of_lanes<T, w>(sum));
    }

    T* b_;
    std::ptrdiff_t stride_;
    Rows rows_;
    T* r_;
    std::ptrdiff_t r_stride_;
    std::array<T, w * w>& t_;
    alignas(core::simd_bytes) T products_[lanes];
};

}  // namespace aperture::dense::tall
