// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cholesky solves in registers with rolled loops. A fully unrolled solve of order 18 is 60 KB of
// straight-line code, and its warps wait for instructions more than for anything else. Here a step
// moves every row one register up: row k is always register 0, the loop over pivots stays rolled,
// and only the number of rows shrinks, every few pivots.
//
// A = U^H D U: sub-warps of `lanes` threads eliminate, columns dealt out as in register_solve.cuh,
// and leave U (unit diagonal, which holds 1 / D instead) in shared memory. Then every thread of the
// block takes a column of its own, a steering vector or a snapshot, with U broadcast from shared
// memory.
// Source: Anderson 2014, ch. 4 and 6.3; Higham 2002, ch. 10.

#include "libstap/gpu/weights.cuh"

namespace aperture::stap::gpu {

namespace detail {

/// Pivots that share one piece of code.
inline constexpr int pivots_of_segment = 6;

/// End of the segment that begins at pivot `first`: it holds pivots of one slot only.
APERTURE_HD constexpr int segment_end(int first, int lanes, int order) {
    int end = first + pivots_of_segment;
    if (first / lanes != (end - 1) / lanes) end = (first / lanes + 1) * lanes;
    return end < order ? end : order;
}

}  // namespace detail

template <class Real, int order_, int lanes>
class RollingSolver {
  public:
    static constexpr bool square = false;
    static constexpr int slots = (order_ + lanes - 1) / lanes;

    /// As RegisterSolver::solve. `space` holds columns [matrix][row][columns], columns >= vectors.
    template <class Store, class Report>
    __device__ __forceinline__ void solve(const CovarianceGroup<Real>& group,
                                          const SteeringVectors& steering,
                                          const SolverSpace<Real>& space, Store store,
                                          Report report) {
        const int first_matrix = core::warp_rank() * (core::warp_size / lanes);
        if (first_matrix < group.count) factorise(group, report);
        __syncthreads();
        for (int i = core::thread_rank(); i < group.count * steering.count;
             i += core::block_threads()) {
            const int q = i / steering.count;
            const int d = i % steering.count;
            Complex<Real> column[order_];
            APERTURE_UNROLL
            for (int row = 0; row < order_; ++row) column[row] = widen<Real>(steering(row, d));
            Complex<Real>* saved = space.right_hand_sides + q * order_ * space.columns + d;
            forward<0>(column, factor(group, q), [&](int k, Complex<Real> value, Real reciprocal) {
                saved[k * space.columns] = value * reciprocal;
            });
            APERTURE_UNROLL
            for (int row = 0; row < order_; ++row) column[row] = saved[row * space.columns];
            const bool solved = succeeded(factor(group, q));
            backward<order_>(column, factor(group, q), [&](int k, Complex<Real> value) {
                store(q, k, d, solved ? value : Complex<Real>(Real(0)));
            });
        }
    }

    /// As RegisterSolver::quadratic_forms; a thread a cell.
    template <class Snapshot, class Store>
    __device__ __forceinline__ void quadratic_forms(const CovarianceGroup<Real>& group,
                                                    const SolverSpace<Real>&, Snapshot snapshot,
                                                    int begin, int end, Store store) {
        const int cells = end - begin;
        for (int i = core::thread_rank(); i < group.count * cells; i += core::block_threads()) {
            const int q = i / cells;
            const int cell = begin + i % cells;
            Complex<Real> column[order_];
            APERTURE_UNROLL
            for (int row = 0; row < order_; ++row) {
                column[row] = widen<Real>(snapshot(q, row, cell));
            }
            Real sum = Real(0);
            forward<0>(column, factor(group, q), [&](int, Complex<Real> value, Real reciprocal) {
                sum += reciprocal * core::norm(value);
            });
            store(q, cell, sum);
        }
    }

  private:
    // Row k of U at k * order_; in the place of the matrix it comes from.
    __device__ __forceinline__ static Complex<Real>* factor(const CovarianceGroup<Real>& group,
                                                            int q) {
        return group.triangle(q).data;
    }
    // `factorise` marks a failure in the imaginary part of the last reciprocal.
    __device__ __forceinline__ static bool succeeded(const Complex<Real>* u) {
        return u[order_ * order_ - 1].im == Real(0);
    }

    template <class Report>
    __device__ __forceinline__ static void factorise(const CovarianceGroup<Real>& group,
                                                     Report report) {
        const int wanted = core::thread_rank() / lanes;
        const bool exists = wanted < group.count;
        const int lane = core::thread_rank() % lanes;
        Complex<Real> columns[slots][order_];
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int wanted_column = slot * lanes + lane;
            const int column = wanted_column < order_ ? wanted_column : 0;
            APERTURE_UNROLL
            for (int row = 0; row < order_; ++row) {
                const bool lower = row >= column;
                const Complex<Real> entry =
                    exists ? group(wanted, lower ? row : column, lower ? column : row)
                           : Complex<Real>(Real(0));
                columns[slot][row] = lower ? entry : core::conj(entry);
            }
        }
        __syncwarp();
        dense::Pivots<Real> pivots;
        eliminate<0>(columns, lane, exists, factor(group, wanted), pivots);
        if (exists && lane == 0) {
            factor(group, wanted)[order_ * order_ - 1].im = pivots.info == 0 ? Real(0) : Real(1);
            report(wanted, pivots);
        }
    }

    template <int first>
    __device__ __forceinline__ static void eliminate(Complex<Real> (&columns)[slots][order_],
                                                     int lane, bool exists, Complex<Real>* u,
                                                     dense::Pivots<Real>& pivots) {
        constexpr int end = detail::segment_end(first, lanes, order_);
        constexpr int pivot_slot = first / lanes;
        APERTURE_NO_UNROLL
        for (int k = first; k < end; ++k) {
            const int owner = k - pivot_slot * lanes;
            const Real reciprocal =
                pivots.take(k, core::broadcast<lanes>(columns[pivot_slot][0].re, owner));
            Complex<Real> pivot_row[slots];
            APERTURE_UNROLL
            for (int slot = pivot_slot; slot < slots; ++slot) {
                const Complex<Real> scaled = columns[slot][0] * reciprocal;
                const int column = slot * lanes + lane;
                if (exists && column >= k && column < order_) {
                    u[k * order_ + column] = column == k ? Complex<Real>(reciprocal) : scaled;
                }
                pivot_row[slot] = -scaled;
            }
            APERTURE_UNROLL
            for (int row = 1; row < order_ - first; ++row) {
                const Complex<Real> multiplier =
                    core::broadcast<lanes>(columns[pivot_slot][row], owner);
                APERTURE_UNROLL
                for (int slot = pivot_slot; slot < slots; ++slot) {
                    columns[slot][row - 1] =
                        core::multiply_add(columns[slot][row], multiplier, pivot_row[slot]);
                }
            }
            __syncwarp();
        }
        if constexpr (end < order_) eliminate<end>(columns, lane, exists, u, pivots);
    }

    // Visits (U^-H column)_k and 1 / d_k. Rows beyond the last are numbers nobody reads.
    template <int first, class Visit>
    __device__ __forceinline__ static void forward(Complex<Real> (&column)[order_],
                                                   const Complex<Real>* u, Visit visit) {
        constexpr int end = detail::segment_end(first, order_, order_);
        APERTURE_NO_UNROLL
        for (int k = first; k < end; ++k) {
            const Complex<Real>* row_of_u = u + k * order_ + k;
            const Complex<Real> value = column[0];
            visit(k, value, row_of_u[0].re);
            APERTURE_UNROLL
            for (int row = 1; row < order_ - first; ++row) {
                column[row - 1] = core::multiply_add_conj(column[row], -value, row_of_u[row]);
            }
        }
        if constexpr (end < order_) forward<end>(column, u, visit);
    }

    // Visits (U^-1 column)_k from the last row up; row k is always the last register.
    template <int end, class Visit>
    __device__ __forceinline__ static void backward(Complex<Real> (&column)[order_],
                                                    const Complex<Real>* u, Visit visit) {
        constexpr int first = end > detail::pivots_of_segment ? end - detail::pivots_of_segment : 0;
        APERTURE_NO_UNROLL
        for (int k = end - 1; k >= first; --k) {
            const Complex<Real>* column_of_u = u + k - order_ * (order_ - 1 - k);
            const Complex<Real> value = column[order_ - 1];
            visit(k, value);
            APERTURE_UNROLL
            for (int row = order_ - 1; row > order_ - end; --row) {
                column[row] =
                    core::multiply_add(column[row - 1], -value, column_of_u[(row - 1) * order_]);
            }
        }
        if constexpr (first > 0) backward<first>(column, u, visit);
    }
};

}  // namespace aperture::stap::gpu
