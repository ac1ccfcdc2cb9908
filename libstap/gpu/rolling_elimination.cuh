// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cholesky factorisation of RollingSolver: a sub-warp with a column in the registers of each lane.

#include "libstap/gpu/rolling_column.cuh"

namespace aperture::stap::gpu::detail {

/// A lane with a column of the head, or of the tail of a matrix.
template <class Real, int lanes, int order, int head>
struct EliminatingLane {
    using Column = RollingColumn<Real, order, head>;
    using Head = typename Column::Head;
    using Tail = typename Column::Tail;
    static constexpr int tail = Column::tail;
    static constexpr RollingFactor layout = Column::layout;

    int column;  ///< as eliminated
    bool holds_column;
    int tail_lift;     ///< lanes from a pivot's row number to the lane with its column
    Complex<Real>* u;  ///< of the lane's matrix
    Complex<Real>* head_of_u;
    Real own_pivot = Real(1);

    /// Entry: entry(k) of the lane's column is that of row k, for k = 0, 1, ...
    template <class Entry>
    __device__ __forceinline__ void eliminate(Entry entry) {
        Column sums;
        sums.fill([](int) { return Complex<Real>(Real(0)); });
        eliminate_head<0>(sums, entry);
        eliminate_tail<0>(sums, entry);
    }

  private:
    // Entry of a row of U from row k of A minus the contributions of earlier rows; lane `source`
    // holds the pivot.
    __device__ __forceinline__ Complex<Real> divide_by_pivot(int k, int source,
                                                             Complex<Real> value) {
        const Real pivot = core::broadcast<lanes>(value.re, source);
        const Real reciprocal = Real(1) / pivot;
        if (column != k) return value * reciprocal;
        own_pivot = pivot;
        return Complex<Real>(reciprocal);
    }

    // Eliminates the head from its row `first` on, segment by segment.
    template <int first, class Entry>
    __device__ __forceinline__ void eliminate_head(Column& sums, Entry& entry) {
        if constexpr (first < head) {
            constexpr int end = Head::end_of_segment(first);
            APERTURE_NO_UNROLL
            for (int k = first; k < end; ++k) {
                const Complex<Real> value = entry(k) - sums.head_rows[0];
                const Complex<Real> scaled = divide_by_pivot(k, k, value);
                Complex<Real>* row = head_of_u + k * layout.head_stride;
                Complex<Real>* border = u + k * layout.tail_stride;
                Complex<Real>* to = column < head ? row - k : border - head;
                if (holds_column && column >= k) to[column] = scaled;
                __syncwarp();
                Head::template add_pivot_row<first>(sums.head_rows, value, row);
                Tail::add_row(sums.tail_rows, value, border);
            }
            eliminate_head<end>(sums, entry);
        }
    }

    // The same for the tail.
    template <int first, class Entry>
    __device__ __forceinline__ void eliminate_tail(Column& sums, Entry& entry) {
        if constexpr (first < tail) {
            constexpr int end = Tail::end_of_segment(first);
            APERTURE_NO_UNROLL
            for (int j = first; j < end; ++j) {
                const int k = head + j;
                const Complex<Real> value = entry(k) - sums.tail_rows[0];
                const Complex<Real> scaled = divide_by_pivot(k, k + tail_lift, value);
                Complex<Real>* row = u + layout.tail + j * layout.tail_stride;
                if (holds_column && column >= k) row[column - k] = scaled;
                __syncwarp();
                Tail::template add_pivot_row<first>(sums.tail_rows, value, row);
            }
            eliminate_tail<end>(sums, entry);
        }
    }
};

}  // namespace aperture::stap::gpu::detail
