// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Triangular factors in shared memory and rolled columns in registers: columns move up a row per
// pivot, so that the loop over pivots stays rolled. Building blocks of RollingSolver.

#include "libcore/gpu/complex.cuh"
#include "libcore/gpu/kernel.cuh"

namespace aperture::stap::gpu {

using core::Complex;

namespace detail {

/// Pivots per segment of the unrolled code.
inline constexpr int pivots_of_segment = 4;

APERTURE_HD constexpr int even(int count) { return count + count % 2; }

/// One triangle of a factor and a column in registers, both rolled. Row k of the triangle begins
/// with its diagonal entry at k * stride.
template <class Real, int order_>
struct RollingTriangle {
    static constexpr int order = order_;
    static constexpr int stride = even(order_);
    static constexpr int registers = order_ > 0 ? order_ : 1;
    using Column = Complex<Real>[registers];

    struct alignas(16) EntryPair {
        Complex<Real> first, second;
    };

    APERTURE_HD static constexpr int end_of_segment(int first) {
        return first + pivots_of_segment < order ? first + pivots_of_segment : order;
    }

    /// Adds multiples of a pivot row to the rows below and moves them up: column[row - 1] becomes
    /// column[row] + conj(U[k][k + row]) value. Rows beyond the last hold garbage.
    template <int first>
    __device__ __forceinline__ static void add_pivot_row(Column& column, Complex<Real> value,
                                                         const Complex<Real>* row_of_u) {
        APERTURE_UNROLL
        for (int row = 0; row < order - first; row += 2) {
            const EntryPair u = *reinterpret_cast<const EntryPair*>(row_of_u + row);
            if (row > 0) column[row - 1] = core::multiply_add_conj(column[row], value, u.first);
            if (row + 1 < order - first) {
                column[row] = core::multiply_add_conj(column[row + 1], value, u.second);
            }
        }
    }

    /// Adds conj(row[i]) value to column[i].
    __device__ __forceinline__ static void add_row(Column& column, Complex<Real> value,
                                                   const Complex<Real>* row) {
        APERTURE_UNROLL
        for (int i = 0; i < order; i += 2) {
            const EntryPair u = *reinterpret_cast<const EntryPair*>(row + i);
            column[i] = core::multiply_add_conj(column[i], value, u.first);
            if (i + 1 < order)
                column[i + 1] = core::multiply_add_conj(column[i + 1], value, u.second);
        }
    }

    /// Visits (U^-1 column)_k from the last row up; row k is always in the last register. May read,
    /// without using them, up to pivots_of_segment - 1 rows before the first.
    template <int end, class Visit>
    __device__ __forceinline__ static void backward(Column& column, const Complex<Real>* u,
                                                    Visit visit) {
        if constexpr (end > 0) {
            constexpr int first = (end - 1) / pivots_of_segment * pivots_of_segment;
            APERTURE_NO_UNROLL
            for (int k = end - 1; k >= first; --k) {
                // Entry `row` of column k, numbered like the registers.
                const Complex<Real>* column_of_u = u + k - (order - k) * (stride - 1);
                const Complex<Real> value = column[order - 1];
                visit(k, value);
                APERTURE_UNROLL
                for (int row = order - 1; row > order - end; --row) {
                    column[row] = core::multiply_add(column[row - 1], -value,
                                                     column_of_u[row * (stride - 1)]);
                }
            }
            backward<first>(column, u, visit);
        }
    }
};

}  // namespace detail

/// Offsets of the parts of a factor, in entries. Reads of a triangle's last row extend to the first
/// of its segment, and reads of its first rows start a few rows earlier; the values are unused.
/// Before the head lies its matrix's border, which no other warp writes; without a head, `unread`
/// entries must precede the first factor.
struct RollingFactor {
    int head_stride, tail_stride;
    int head, tail;
    int size;

    APERTURE_HD constexpr RollingFactor(int order, int head_rows)
        : head_stride(detail::even(head_rows)),
          tail_stride(detail::even(order - head_rows)),
          head(head_rows * tail_stride),
          tail(head + head_rows * head_stride),
          size(tail + (order - head_rows) * tail_stride) {}

    APERTURE_HD constexpr int unread() const {
        return head_stride > 0 ? 0 : (detail::pivots_of_segment - 1) * tail_stride;
    }
};

}  // namespace aperture::stap::gpu
