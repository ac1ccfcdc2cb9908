// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cholesky solves in registers with rolled loops. A fully unrolled solve of order 18 is 60 KB of
// straight-line code, and its warps wait for instructions more than for anything else. Here a step
// moves every row one register up: row k is always register 0, the loop over pivots stays rolled,
// and only the number of rows shrinks, every few pivots.
//
// The registers hold what a column is to be relieved of, and a row of A is taken when its turn
// comes: sums that begin with zero round less than differences that begin with A, by 4 to 9 dB in
// the solutions where neighbouring rows are alike.
//
// A = U^H D U: sub-warps of `lanes` threads, each with a column of A, eliminate and leave U (unit
// diagonal, which holds 1 / D instead) in shared memory, row k from its diagonal entry on at k *
// row_stride: the multipliers of a step are that row, two of them a load. Then every thread of the
// block takes a column of its own, a steering vector or a snapshot, with U broadcast from shared
// memory.
// Source: Anderson 2014, ch. 4 and 6.3; Higham 2002, ch. 10.

#include "libstap/gpu/weights.cuh"

namespace aperture::stap::gpu {

/// Entries from one row of U to the next, even.
APERTURE_HD constexpr int rolling_row_stride(int order) { return order + order % 2; }

namespace detail {

/// Pivots that share one piece of code.
inline constexpr int pivots_of_segment = 6;

struct Ignore {
    template <class... Values>
    __device__ __forceinline__ void operator()(Values...) const {}
};

}  // namespace detail

/// Entries of a factor: its last row is read as far as the first of its segment, in vain, and other
/// matrices must not be written there.
APERTURE_HD constexpr int rolling_factor_size(int order) {
    const int segment = (order - 1) % detail::pivots_of_segment + 1;
    return (order - 1) * rolling_row_stride(order) + segment + segment % 2;
}

template <class Real, int order_, int lanes>
class RollingSolver {
  public:
    static_assert(order_ <= lanes);
    static constexpr bool square = false;
    static constexpr bool gives_forms = true;
    static constexpr int row_stride = rolling_row_stride(order_);

    /// As RegisterSolver::solve, and calls form(q, vector, v^H R^-1 v), 0 for a matrix that is not
    /// positive definite. `space` holds columns [matrix][row][columns], columns >= vectors.
    template <class Store, class Report, class Form = detail::Ignore>
    __device__ __forceinline__ void solve(const CovarianceGroup<Real>& group,
                                          const SteeringVectors& steering,
                                          const SolverSpace<Real>& space, Store store,
                                          Report report, Form form = {}) {
        const int first_matrix = core::warp_rank() * (core::warp_size / lanes);
        if (first_matrix < group.count) factorise(group, space, first_matrix, report);
        __syncthreads();
        APERTURE_NO_UNROLL
        for (int i = core::thread_rank(); i < group.count * steering.count;
             i += core::block_threads()) {
            const int q = i / steering.count;
            const int d = i % steering.count;
            Complex<Real> column[order_];
            APERTURE_UNROLL
            for (int row = 0; row < order_; ++row) column[row] = widen<Real>(steering(row, d));
            Complex<Real>* saved = space.right_hand_sides + q * order_ * space.columns;
            // Where the weights lie, too: what a thread saves here it alone overwrites.
            const auto place = [&](int row) { return row * space.columns + swizzled(row, d); };
            Real sum = Real(0);
            forward<0>(column, space.factor(q), [&](int k, Complex<Real> value, Real reciprocal) {
                const Complex<Real> scaled = value * reciprocal;
                saved[place(k)] = scaled;
                sum += scaled.re * value.re + scaled.im * value.im;
            });
            const bool solved = succeeded(space.factor(q));
            form(q, d, solved ? sum : Real(0));
            APERTURE_UNROLL
            for (int row = 0; row < order_; ++row) column[row] = saved[place(row)];
            backward<order_>(column, space.factor(q), [&](int k, Complex<Real> value) {
                store(q, k, d, solved ? value : Complex<Real>(Real(0)));
            });
        }
    }

    /// As RegisterSolver::quadratic_forms; a thread a cell.
    template <class Snapshot, class Store>
    __device__ __forceinline__ void quadratic_forms(const CovarianceGroup<Real>& group,
                                                    const SolverSpace<Real>& space,
                                                    Snapshot snapshot, int begin, int end,
                                                    Store store) {
        const int cells = end - begin;
        APERTURE_NO_UNROLL
        for (int i = core::thread_rank(); i < group.count * cells; i += core::block_threads()) {
            const int q = i / cells;
            const int cell = begin + i % cells;
            Complex<Real> column[order_];
            APERTURE_UNROLL
            for (int row = 0; row < order_; ++row) {
                column[row] = widen<Real>(snapshot(q, row, cell));
            }
            Real sum = Real(0);
            forward<0>(column, space.factor(q), [&](int, Complex<Real> value, Real reciprocal) {
                sum += reciprocal * core::norm(value);
            });
            store(q, cell, sum);
        }
    }

  private:
    struct alignas(16) EntryPair {
        Complex<Real> first, second;
    };

    // `factorise` marks a failure in the imaginary part of the last reciprocal.
    __device__ __forceinline__ static Complex<Real>& last_reciprocal(Complex<Real>* u) {
        return u[(order_ - 1) * row_stride];
    }
    __device__ __forceinline__ static bool succeeded(Complex<Real>* u) {
        return last_reciprocal(u).im == Real(0);
    }

    template <class Report>
    __device__ __forceinline__ static void factorise(const CovarianceGroup<Real>& group,
                                                     const SolverSpace<Real>& space,
                                                     int first_matrix, Report report) {
        const int wanted = core::thread_rank() / lanes;
        const bool exists = wanted < group.count;
        const int q = exists ? wanted : first_matrix;
        const int lane = core::thread_rank() % lanes;
        const bool holds_column = exists && lane < order_;
        const int column_of_lane = lane < order_ ? lane : 0;
        // Above the diagonal the mirror of the lower triangle; below it numbers nobody uses.
        const Complex<Real>* mirror = &group.triangle(q)(column_of_lane, 0);
        const Normalisation<Real> normalisation = group.normalisations[q];
        const auto entry = [&](int row) {
            return core::conj(normalisation(mirror[row], row == lane));
        };
        Complex<Real> sums[order_];
        APERTURE_UNROLL
        for (int row = 0; row < order_; ++row) sums[row] = Complex<Real>(Real(0));
        Complex<Real>* u = space.factor(q);
        Real own_pivot = Real(1);
        eliminate<0>(sums, entry, lane, holds_column, u, own_pivot);
        const dense::Pivots<Real> pivots = judge(lane, own_pivot);
        if (exists && lane == 0) {
            last_reciprocal(u).im = pivots.info == 0 ? Real(0) : Real(1);
            report(q, pivots);
        }
    }

    // What the pivots of a sub-warp's matrix, one a lane, said.
    __device__ __forceinline__ static dense::Pivots<Real> judge(int lane, Real pivot) {
        dense::Pivots<Real> pivots;
        const bool counts = lane < order_;
        if (counts) pivots.take(lane, pivot);
        constexpr int none = order_ + 1;
        const int failed = core::warp_reduce<lanes>(counts && pivots.info != 0 ? pivots.info : none,
                                                    core::Minimum{});
        pivots.info = failed == none ? 0 : failed;
        pivots.smallest = core::warp_reduce<lanes>(pivots.smallest, core::Minimum{});
        pivots.largest = core::warp_reduce<lanes>(pivots.largest, core::Maximum{});
        return pivots;
    }

    // Adds multiples of a pivot row to the rows below and moves them up: column[row - 1] becomes
    // column[row] + conj(U[k][k + row]) value. Rows beyond the last are numbers nobody reads.
    template <int first>
    __device__ __forceinline__ static void add_pivot_row(Complex<Real> (&column)[order_],
                                                         Complex<Real> value,
                                                         const Complex<Real>* row_of_u) {
        APERTURE_UNROLL
        for (int row = 0; row < order_ - first; row += 2) {
            const EntryPair u = *reinterpret_cast<const EntryPair*>(row_of_u + row);
            if (row > 0) column[row - 1] = core::multiply_add_conj(column[row], value, u.first);
            if (row + 1 < order_ - first) {
                column[row] = core::multiply_add_conj(column[row + 1], value, u.second);
            }
        }
    }

    template <int first, class Entry>
    __device__ __forceinline__ static void eliminate(Complex<Real> (&sums)[order_], Entry entry,
                                                     int lane, bool holds_column, Complex<Real>* u,
                                                     Real& own_pivot) {
        constexpr int end =
            first + detail::pivots_of_segment < order_ ? first + detail::pivots_of_segment : order_;
        APERTURE_NO_UNROLL
        for (int k = first; k < end; ++k) {
            const Complex<Real> value = entry(k) - sums[0];
            const Real pivot = core::broadcast<lanes>(value.re, k);
            const Real reciprocal = Real(1) / pivot;
            Complex<Real>* row_of_u = u + k * row_stride;
            Complex<Real> scaled = value * reciprocal;
            if (lane == k) {
                own_pivot = pivot;
                scaled = Complex<Real>(reciprocal);
            }
            if (holds_column && lane >= k) row_of_u[lane - k] = scaled;
            __syncwarp();
            add_pivot_row<first>(sums, value, row_of_u);
        }
        if constexpr (end < order_) eliminate<end>(sums, entry, lane, holds_column, u, own_pivot);
    }

    // Visits (U^-H column)_k and 1 / d_k.
    template <int first, class Visit>
    __device__ __forceinline__ static void forward(Complex<Real> (&column)[order_],
                                                   const Complex<Real>* u, Visit visit) {
        constexpr int end =
            first + detail::pivots_of_segment < order_ ? first + detail::pivots_of_segment : order_;
        APERTURE_NO_UNROLL
        for (int k = first; k < end; ++k) {
            const Complex<Real>* row_of_u = u + k * row_stride;
            visit(k, column[0], row_of_u[0].re);
            add_pivot_row<first>(column, -column[0], row_of_u);
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
            // Entry `row` of column k, counted as the registers are.
            const Complex<Real>* column_of_u = u + k - (order_ - k) * (row_stride - 1);
            const Complex<Real> value = column[order_ - 1];
            visit(k, value);
            APERTURE_UNROLL
            for (int row = order_ - 1; row > order_ - end; --row) {
                column[row] = core::multiply_add(column[row - 1], -value,
                                                 column_of_u[row * (row_stride - 1)]);
            }
        }
        if constexpr (first > 0) backward<first>(column, u, visit);
    }
};

}  // namespace aperture::stap::gpu
