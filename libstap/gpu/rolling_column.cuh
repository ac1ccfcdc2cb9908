// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Substitution with the factors of RollingSolver: one column in a thread's registers.

#include "libstap/gpu/rolling_triangle.cuh"

namespace aperture::stap::gpu::detail {

/// A column of `order` rows: the `head` rows that a pair of matrices has in common, then the rest.
/// The factor of the head begins at `head_of_u`, the factor of the column's matrix at `u`.
template <class Real, int order, int head>
struct RollingColumn {
    static constexpr int tail = order - head;
    static constexpr RollingFactor layout{order, head};
    using Head = RollingTriangle<Real, head>;
    using Tail = RollingTriangle<Real, tail>;

    typename Head::Column head_rows;
    typename Tail::Column tail_rows;

    template <class Value>
    __device__ __forceinline__ void fill(Value value) {
        APERTURE_UNROLL
        for (int row = 0; row < head; ++row) head_rows[row] = value(row);
        APERTURE_UNROLL
        for (int row = 0; row < tail; ++row) tail_rows[row] = value(head + row);
    }

    /// Visits (U^-H column)_k and 1 / d_k.
    template <class Visit>
    __device__ __forceinline__ void forward(const Complex<Real>* head_of_u, const Complex<Real>* u,
                                            Visit visit) {
        forward_head<0>(head_of_u, u, visit);
        forward_tail<0>(u, visit);
    }

    /// Visits (U^-1 column)_k from the last row up.
    template <class Visit>
    __device__ __forceinline__ void backward(const Complex<Real>* head_of_u, const Complex<Real>* u,
                                             Visit visit) {
        Tail::template backward<tail>(tail_rows, u + layout.tail, [&](int j, Complex<Real> value) {
            visit(head + j, value);
            const Complex<Real>* border = u + j;
            APERTURE_UNROLL
            for (int row = 0; row < head; ++row) {
                head_rows[row] =
                    core::multiply_add(head_rows[row], -value, border[row * layout.tail_stride]);
            }
        });
        Head::template backward<head>(head_rows, head_of_u, visit);
    }

  private:
    template <int first, class Visit>
    __device__ __forceinline__ void forward_head(const Complex<Real>* head_of_u,
                                                 const Complex<Real>* u, Visit& visit) {
        if constexpr (first < head) {
            constexpr int end = Head::end_of_segment(first);
            APERTURE_NO_UNROLL
            for (int k = first; k < end; ++k) {
                const Complex<Real>* row = head_of_u + k * layout.head_stride;
                const Complex<Real> value = head_rows[0];
                visit(k, value, row->re);
                Head::template add_pivot_row<first>(head_rows, -value, row);
                Tail::add_row(tail_rows, -value, u + k * layout.tail_stride);
            }
            forward_head<end>(head_of_u, u, visit);
        }
    }
    template <int first, class Visit>
    __device__ __forceinline__ void forward_tail(const Complex<Real>* u, Visit& visit) {
        if constexpr (first < tail) {
            constexpr int end = Tail::end_of_segment(first);
            APERTURE_NO_UNROLL
            for (int j = first; j < end; ++j) {
                const Complex<Real>* row = u + layout.tail + j * layout.tail_stride;
                const Complex<Real> value = tail_rows[0];
                visit(head + j, value, row->re);
                Tail::template add_pivot_row<first>(tail_rows, -value, row);
            }
            forward_tail<end>(u, visit);
        }
    }
};

}  // namespace aperture::stap::gpu::detail
