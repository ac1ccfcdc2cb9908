// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cholesky solves in registers with rolled loops. A fully unrolled solve of order 18 is 60 KB of
// straight-line code, and its warps mostly stall on instruction fetches. Here every step moves each
// row one register up: row k is always register 0, the loop over pivots stays rolled, and only the
// number of rows shrinks, every few pivots.
//
// Registers hold the terms still to be subtracted from each column; a row of A is loaded when it
// becomes the pivot row. Sums that begin with zero round less than differences that begin with A,
// by 4 to 9 dB in the solutions if neighbouring rows are similar.
//
// Neighbouring Doppler bins k and k + 1 share T - 1 of their T taps. With these rows first, their
// matrices begin with the same block, and so do their factors: one sub-warp eliminates it once and
// continues with the last L rows of both matrices side by side, in L lanes each. An order is split
// into `head` rows, common to a pair of matrices (0 if matrices are not paired), and `tail` rows.
//
// A = U^H D U: sub-warps of `lanes` threads, each with a column, eliminate and leave U in shared
// memory, with 1 / D in place of its unit diagonal. Each matrix has its border (the head's rows in
// the tail's columns), row k at k * tail_stride; the head, row k from its diagonal entry on at k *
// head_stride; and the tail, stored like the head. Such rows are the multipliers of a step, two
// entries per load. Then every thread solves one column, a steering vector or a snapshot, with U
// broadcast from shared memory.
//
// Source: Anderson 2014, ch. 4 and 6.3; Higham 2002, ch. 10.

#include "libstap/gpu/rolling_elimination.cuh"
#include "libstap/gpu/rolling_entries.cuh"

namespace aperture::stap::gpu {

/// `head`: rows common to the matrices of bins 2 i and 2 i + 1, T - 1 of their T taps; 0 if a
/// sub-warp processes one matrix at a time.
template <class Real, int order_, int lanes, int taps, int head>
class RollingSolver {
  public:
    static_assert(order_ <= lanes);
    static_assert(head == 0 || (head == order_ - order_ / taps && order_ + order_ / taps <= lanes &&
                                lanes == core::warp_size));
    static constexpr bool square = false;
    static constexpr bool computes_forms = true;
    static constexpr bool paired = head > 0;
    static constexpr bool by_warp = paired;
    using Group = typename core::Conditional<paired, BandGroup<Real>, CovarianceGroup<Real>>::Type;

    /// As RegisterSolver::solve, but store(q, tile_row, vector, weight) counts rows tap by tap.
    /// Also calls form(q, vector, v^H R^-1 v), 0 for a matrix that is not positive definite.
    /// `space` holds columns [matrix][row][columns], columns >= vectors.
    template <class Store, class Report, class Form>
    __device__ __forceinline__ void solve(const Group& group, const SteeringVectors& steering,
                                          const SolverSpace<Real>& space, Store store,
                                          Report report, Form form) {
        factorise(group, space, report);
        wait_for_factors(space);
        for_each_column(group.count, steering.count, [&](int q, int d) {
            Column column;
            column.fill([&](int row) { return widen<Real>(steering(row_of(q, row), d)); });
            Complex<Real>* saved = space.right_hand_sides + q * order_ * space.columns;
            // The weights use the same memory: a thread overwrites only what it saved itself.
            const auto place = [&](int row) { return row * space.columns + swizzled(row, d); };
            const Complex<Real>* u = space.factor(q);
            const Complex<Real>* u_of_head = head_factor(group, space, q);
            Real sum = Real(0);
            column.forward(u_of_head, u, [&](int k, Complex<Real> value, Real reciprocal) {
                const Complex<Real> scaled = value * reciprocal;
                saved[place(k)] = scaled;
                sum += scaled.re * value.re + scaled.im * value.im;
            });
            const bool solved = succeeded(u);
            form(q, d, solved ? sum : Real(0));
            column.fill([&](int row) { return saved[place(row)]; });
            column.backward(u_of_head, u, [&](int k, Complex<Real> value) {
                store(q, tile_row_of(q, k), d, solved ? value : Complex<Real>(Real(0)));
            });
        });
    }

    /// As RegisterSolver::quadratic_forms, one cell per thread.
    template <class Rows, class Store>
    __device__ __forceinline__ void quadratic_forms(const Group& group,
                                                    const SolverSpace<Real>& space,
                                                    const Rows& rows, int begin, int end,
                                                    Store store) {
        for_each_column(group.count, end - begin, [&](int q, int i) {
            const int cell = begin + i;
            Column column;
            column.fill([&](int row) {
                return widen<Real>(load_cell(rows.tile_row(q, tile_row_of(q, row)) + cell));
            });
            Real sum = Real(0);
            column.forward(head_factor(group, space, q), space.factor(q),
                           [&](int, Complex<Real> value, Real reciprocal) {
                               sum += reciprocal * core::norm(value);
                           });
            store(q, cell, sum);
        });
    }

  private:
    static constexpr int tail = order_ - head;
    static constexpr int channels = order_ / taps;
    static constexpr RollingFactor layout{order_, head};
    using Column = detail::RollingColumn<Real, order_, head>;
    using Lane = detail::EliminatingLane<Real, lanes, order_, head>;

    // Row k in elimination order. A pair's common taps come first: the last taps of the first
    // matrix. Unpaired matrices keep their order.
    __device__ __forceinline__ static int tile_row_of(int q, int k) {
        if constexpr (!paired) {
            return k % taps * channels + k / taps;
        } else {
            if (q % 2 != 0) return k;
            return k < head ? k + tail : k - head;
        }
    }
    __device__ __forceinline__ static int row_of(int q, int k) {
        if constexpr (!paired) {
            return k;
        } else {
            const int first = q % 2 == 0 ? 1 : 0;
            return k < head ? k % tail * taps + k / tail + first
                            : (k - head) * taps + (first != 0 ? 0 : taps - 1);
        }
    }

    __device__ __forceinline__ static void wait_for_factors(const SolverSpace<Real>& space) {
        if (by_warp && space.apart) {
            __syncwarp();
        } else {
            __syncthreads();
        }
    }

    // Calls visit(q, i) for the columns i of the matrices.
    template <class Visit>
    __device__ __forceinline__ static void for_each_column(int matrices, int columns, Visit visit) {
        const MatricesOfWarp own(by_warp, matrices);
        const int first = by_warp ? core::lane_rank() : core::thread_rank();
        const int count = by_warp ? own.end - own.begin : matrices;
        APERTURE_NO_UNROLL
        for (int i = first; i < count * columns;
             i += by_warp ? core::warp_size : core::block_threads()) {
            const int q = i / columns;
            visit(by_warp ? own.begin + q : q, i - q * columns);
        }
    }

    // Neighbours with the same normalisation share the first one's head.
    __device__ __forceinline__ static const Complex<Real>* head_factor(
        const Group& group, const SolverSpace<Real>& space, int q) {
        return space.factor(group.alike ? q & ~1 : q) + layout.head;
    }

    // `factorise` marks failure in the imaginary part of the last reciprocal.
    __device__ __forceinline__ static Complex<Real>& last_reciprocal(Complex<Real>* u) {
        return u[layout.tail + (tail - 1) * layout.tail_stride];
    }
    __device__ __forceinline__ static bool succeeded(const Complex<Real>* u) {
        return u[layout.tail + (tail - 1) * layout.tail_stride].im == Real(0);
    }

    template <class Report>
    __device__ __forceinline__ static void factorise(const Group& group,
                                                     const SolverSpace<Real>& space,
                                                     Report report) {
        const int members = group.alike ? 2 : 1;
        const int at_a_time = core::warp_size / lanes * members;
        const MatricesOfWarp own(by_warp, group.count);
        const int lane = core::thread_rank() % lanes;
        const bool second = members == 2 && lane >= order_;
        const int base_of_warp = by_warp ? own.begin : core::warp_rank() * at_a_time;
        const int end = by_warp ? own.end : group.count;
        APERTURE_NO_UNROLL
        for (int base = base_of_warp; base < end;
             base += by_warp ? at_a_time : core::block_threads() / lanes) {
            const int first = base + core::lane_rank() / lanes * members;
            const int wanted = first + (second ? 1 : 0);
            const bool exists = wanted < group.count;
            const int q = exists ? wanted : base;
            Lane me;
            me.tail_lift = second ? tail : 0;
            me.column = lane - me.tail_lift;
            me.holds_column = exists && me.column < order_;
            me.u = space.factor(q);
            me.head_of_u = space.factor(second ? first : q) + layout.head;
            me.eliminate(entries(group, q, me.column));
            const auto report_matrix = [&](int matrix, bool counts) {
                const dense::Pivots<Real> pivots = combine(me.column, counts, me.own_pivot);
                if (matrix < group.count && lane == 0) {
                    last_reciprocal(space.factor(matrix)).im = pivots.info == 0 ? Real(0) : Real(1);
                    report(matrix, pivots);
                }
            };
            report_matrix(first, lane < order_);
            if (members == 2)
                report_matrix(first + 1, lane < head || (second && me.column < order_));
        }
    }

    // Combines the pivots of a sub-warp's matrix, one per lane.
    __device__ __forceinline__ static dense::Pivots<Real> combine(int column, bool counts,
                                                                  Real pivot) {
        dense::Pivots<Real> pivots;
        if (counts) pivots.add(column, pivot);
        constexpr int none = order_ + 1;
        const int failed = core::warp_reduce<lanes>(counts && pivots.info != 0 ? pivots.info : none,
                                                    core::Minimum{});
        pivots.info = failed == none ? 0 : failed;
        pivots.smallest = core::warp_reduce<lanes>(pivots.smallest, core::Minimum{});
        pivots.largest = core::warp_reduce<lanes>(pivots.largest, core::Maximum{});
        return pivots;
    }

    __device__ __forceinline__ static auto entries(const CovarianceGroup<Real>& group, int q,
                                                   int column) {
        return detail::TriangleEntries<Real, order_>(group, q, column);
    }
    __device__ __forceinline__ static auto entries(const BandGroup<Real>& group, int q,
                                                   int column) {
        return detail::BandEntries<Real, order_, taps, head>(group, q, column);
    }
};

}  // namespace aperture::stap::gpu
