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

#include "libstap/gpu/rolling_triangle.cuh"
#include "libstap/gpu/weights.cuh"

namespace aperture::stap::gpu {

namespace detail {

struct Ignore {
    template <class... Values>
    __device__ __forceinline__ void operator()(Values...) const {}
};

}  // namespace detail

/// `head`: rows common to the matrices of bins 2 i and 2 i + 1, T - 1 of their T taps; 0 if a
/// sub-warp processes one matrix at a time.
template <class Real, int order_, int lanes, int taps, int head>
class RollingSolver {
  public:
    static_assert(order_ <= lanes);
    static_assert(head == 0 || (head == order_ - order_ / taps && order_ + order_ / taps <= lanes &&
                                lanes == core::warp_size));
    static constexpr bool square = false;
    static constexpr bool gives_forms = true;
    static constexpr bool paired = head > 0;
    static constexpr bool by_warp = paired;
    using Group = typename core::Conditional<paired, BandGroup<Real>, CovarianceGroup<Real>>::Type;

    /// As RegisterSolver::solve, but store(q, tile_row, vector, weight) counts rows tap by tap.
    /// Also calls form(q, vector, v^H R^-1 v), 0 for a matrix that is not positive definite.
    /// `space` holds columns [matrix][row][columns], columns >= vectors.
    template <class Store, class Report, class Form = detail::Ignore>
    __device__ __forceinline__ void solve(const Group& group, const SteeringVectors& steering,
                                          const SolverSpace<Real>& space, Store store,
                                          Report report, Form form = {}) {
        factorise(group, space, report);
        wait_for_factors(space);
        for_each_column(group.count, steering.count, [&](int q, int d) {
            Parts column;
            column.fill([&](int row) { return widen<Real>(steering(row_of(q, row), d)); });
            Complex<Real>* saved = space.right_hand_sides + q * order_ * space.columns;
            // The weights use the same memory: a thread overwrites only what it saved itself.
            const auto place = [&](int row) { return row * space.columns + swizzled(row, d); };
            const Complex<Real>* u = space.factor(q);
            const Complex<Real>* u_of_head = head_factor(group, space, q);
            Real sum = Real(0);
            forward(column, u_of_head, u, [&](int k, Complex<Real> value, Real reciprocal) {
                const Complex<Real> scaled = value * reciprocal;
                saved[place(k)] = scaled;
                sum += scaled.re * value.re + scaled.im * value.im;
            });
            const bool solved = succeeded(u);
            form(q, d, solved ? sum : Real(0));
            column.fill([&](int row) { return saved[place(row)]; });
            backward(column, u_of_head, u, [&](int k, Complex<Real> value) {
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
            Parts column;
            column.fill([&](int row) {
                return widen<Real>(load_cell(rows.tile_row(q, tile_row_of(q, row)) + cell));
            });
            Real sum = Real(0);
            forward(column, head_factor(group, space, q), space.factor(q),
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
    using Head = detail::RollingTriangle<Real, head>;
    using Tail = detail::RollingTriangle<Real, tail>;

    struct Parts {
        typename Head::Column head_rows;
        typename Tail::Column tail_rows;

        template <class Value>
        __device__ __forceinline__ void fill(Value value) {
            APERTURE_UNROLL
            for (int row = 0; row < head; ++row) head_rows[row] = value(row);
            APERTURE_UNROLL
            for (int row = 0; row < tail; ++row) tail_rows[row] = value(head + row);
        }
    };

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
    __device__ __forceinline__ static bool together(const CovarianceGroup<Real>&) { return false; }
    __device__ __forceinline__ static bool together(const BandGroup<Real>& group) {
        return group.alike;
    }
    __device__ __forceinline__ static const Complex<Real>* head_factor(
        const Group& group, const SolverSpace<Real>& space, int q) {
        return space.factor(together(group) ? q & ~1 : q) + layout.head;
    }

    // `factorise` marks failure in the imaginary part of the last reciprocal.
    __device__ __forceinline__ static Complex<Real>& last_reciprocal(Complex<Real>* u) {
        return u[layout.tail + (tail - 1) * layout.tail_stride];
    }
    __device__ __forceinline__ static bool succeeded(const Complex<Real>* u) {
        return u[layout.tail + (tail - 1) * layout.tail_stride].im == Real(0);
    }

    // A column of the head, or of the tail of matrix q.
    struct Lane {
        int column;  // as eliminated
        int q;
        bool holds_column;
        int tail_lift;     // lanes from a pivot's row number to the lane with its column
        Complex<Real>* u;  // of matrix q
        Complex<Real>* head_of_u;
    };

    template <class Report>
    __device__ __forceinline__ static void factorise(const Group& group,
                                                     const SolverSpace<Real>& space,
                                                     Report report) {
        const int members = together(group) ? 2 : 1;
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
            Lane me;
            me.q = exists ? wanted : base;
            me.tail_lift = second ? tail : 0;
            me.column = lane - me.tail_lift;
            me.holds_column = exists && me.column < order_;
            me.u = space.factor(me.q);
            me.head_of_u = space.factor(second ? first : me.q) + layout.head;
            Real own_pivot = Real(1);
            eliminate(group, me, own_pivot);
            const auto tell = [&](int q, bool counts) {
                const dense::Pivots<Real> pivots = judge(me.column, counts, own_pivot);
                if (q < group.count && lane == 0) {
                    last_reciprocal(space.factor(q)).im = pivots.info == 0 ? Real(0) : Real(1);
                    report(q, pivots);
                }
            };
            tell(first, lane < order_);
            if (members == 2) tell(first + 1, lane < head || (second && me.column < order_));
        }
    }

    // Combines the pivots of a sub-warp's matrix, one per lane.
    __device__ __forceinline__ static dense::Pivots<Real> judge(int column, bool counts,
                                                                Real pivot) {
        dense::Pivots<Real> pivots;
        if (counts) pivots.take(column, pivot);
        constexpr int none = order_ + 1;
        const int failed = core::warp_reduce<lanes>(counts && pivots.info != 0 ? pivots.info : none,
                                                    core::Minimum{});
        pivots.info = failed == none ? 0 : failed;
        pivots.smallest = core::warp_reduce<lanes>(pivots.smallest, core::Minimum{});
        pivots.largest = core::warp_reduce<lanes>(pivots.largest, core::Maximum{});
        return pivots;
    }

    // The lane's entries of successive pivot rows. Above the diagonal they mirror the lower
    // triangle; below it they are garbage.
    class TriangleEntries {
      public:
        __device__ __forceinline__ TriangleEntries(const CovarianceGroup<Real>& group,
                                                   const Lane& me)
            : mirror_(&group.triangle(me.q)(me.column < order_ ? me.column : 0, 0)),
              normalisation_(group.normalisations[me.q]),
              column_(me.column) {}
        __device__ __forceinline__ Complex<Real> operator()(int k) const {
            return core::conj(normalisation_(mirror_[k], k == column_));
        }

      private:
        const Complex<Real>* mirror_;
        Normalisation<Real> normalisation_;
        int column_;
    };

    class BandEntries {
      public:
        __device__ __forceinline__ BandEntries(const BandGroup<Real>& group, const Lane& me)
            : band_(group.band), normalisation_(group.normalisations[me.q]), column_(me.column) {
            const int column = me.column < order_ ? me.column : 0;
            bin_ = (me.q & ~1) + 1 + column / tail;
            channel_ = column % tail;
            if (column >= head) bin_ = me.q % 2 == 0 ? me.q : me.q + taps - 1;
            row_bin_ = (me.q & ~1) + 1;
            begin_tap();
        }
        __device__ __forceinline__ Complex<Real> operator()(int k) {
            Complex<Real> sum = *next_;
            next_ += step_;
            if (step_ == 1) sum.im = -sum.im;
            if (++row_channel_ == tail) {
                row_bin_ = k + 1 < head ? row_bin_ + 1 : bin_;
                begin_tap();
            }
            return normalisation_(sum, k == column_);
        }

      private:
        // Row (c, u) of a column (c', v): entry (c, c') of block (u, v), or if v is the lower bin,
        // the conjugate of entry (c', c) of block (v, u).
        __device__ __forceinline__ void begin_tap() {
            row_channel_ = 0;
            if (bin_ == row_bin_) {
                next_ = band_.block(bin_, bin_) + band_.in_triangle(channel_, 0);
                step_ = 1;
            } else if (bin_ < row_bin_) {
                next_ = band_.block(bin_, row_bin_) + channel_ * tail;
                step_ = 1;
            } else {
                next_ = band_.block(row_bin_, bin_) + channel_;
                step_ = tail;
            }
        }

        ProductBand<Real> band_;
        Normalisation<Real> normalisation_;
        const Complex<Real>* next_;
        int column_, bin_, channel_, row_bin_, row_channel_, step_;
    };

    __device__ __forceinline__ static TriangleEntries entries(const CovarianceGroup<Real>& group,
                                                              const Lane& me) {
        return {group, me};
    }
    __device__ __forceinline__ static BandEntries entries(const BandGroup<Real>& group,
                                                          const Lane& me) {
        return {group, me};
    }

    // Entry of a row of U from row k of A minus the contributions of earlier rows; lane `source`
    // holds the pivot.
    __device__ __forceinline__ static Complex<Real> divide_by_pivot(const Lane& me, int k,
                                                                    int source, Complex<Real> value,
                                                                    Real& own_pivot) {
        const Real pivot = core::broadcast<lanes>(value.re, source);
        const Real reciprocal = Real(1) / pivot;
        if (me.column != k) return value * reciprocal;
        own_pivot = pivot;
        return Complex<Real>(reciprocal);
    }

    // Eliminates the head from its row `first` on, segment by segment.
    template <int first, class Entry>
    __device__ __forceinline__ static void eliminate_head(Parts& sums, Entry& entry, const Lane& me,
                                                          Real& own_pivot) {
        if constexpr (first < head) {
            constexpr int end = Head::end_of_segment(first);
            APERTURE_NO_UNROLL
            for (int k = first; k < end; ++k) {
                const Complex<Real> value = entry(k) - sums.head_rows[0];
                const Complex<Real> scaled = divide_by_pivot(me, k, k, value, own_pivot);
                Complex<Real>* row = me.head_of_u + k * layout.head_stride;
                Complex<Real>* border = me.u + k * layout.tail_stride;
                Complex<Real>* to = me.column < head ? row - k : border - head;
                if (me.holds_column && me.column >= k) to[me.column] = scaled;
                __syncwarp();
                Head::template add_pivot_row<first>(sums.head_rows, value, row);
                Tail::add_row(sums.tail_rows, value, border);
            }
            eliminate_head<end>(sums, entry, me, own_pivot);
        }
    }

    // The same for the tail.
    template <int first, class Entry>
    __device__ __forceinline__ static void eliminate_tail(Parts& sums, Entry& entry, const Lane& me,
                                                          Real& own_pivot) {
        if constexpr (first < tail) {
            constexpr int end = Tail::end_of_segment(first);
            APERTURE_NO_UNROLL
            for (int j = first; j < end; ++j) {
                const int k = head + j;
                const Complex<Real> value = entry(k) - sums.tail_rows[0];
                const Complex<Real> scaled =
                    divide_by_pivot(me, k, k + me.tail_lift, value, own_pivot);
                Complex<Real>* row = me.u + layout.tail + j * layout.tail_stride;
                if (me.holds_column && me.column >= k) row[me.column - k] = scaled;
                __syncwarp();
                Tail::template add_pivot_row<first>(sums.tail_rows, value, row);
            }
            eliminate_tail<end>(sums, entry, me, own_pivot);
        }
    }

    __device__ __forceinline__ static void eliminate(const Group& group, const Lane& me,
                                                     Real& own_pivot) {
        auto entry = entries(group, me);
        Parts sums;
        sums.fill([](int) { return Complex<Real>(Real(0)); });
        eliminate_head<0>(sums, entry, me, own_pivot);
        eliminate_tail<0>(sums, entry, me, own_pivot);
    }

    template <int first, class Visit>
    __device__ __forceinline__ static void forward_head(Parts& column,
                                                        const Complex<Real>* head_of_u,
                                                        const Complex<Real>* u, Visit& visit) {
        if constexpr (first < head) {
            constexpr int end = Head::end_of_segment(first);
            APERTURE_NO_UNROLL
            for (int k = first; k < end; ++k) {
                const Complex<Real>* row = head_of_u + k * layout.head_stride;
                const Complex<Real> value = column.head_rows[0];
                visit(k, value, row->re);
                Head::template add_pivot_row<first>(column.head_rows, -value, row);
                Tail::add_row(column.tail_rows, -value, u + k * layout.tail_stride);
            }
            forward_head<end>(column, head_of_u, u, visit);
        }
    }
    template <int first, class Visit>
    __device__ __forceinline__ static void forward_tail(Parts& column, const Complex<Real>* u,
                                                        Visit& visit) {
        if constexpr (first < tail) {
            constexpr int end = Tail::end_of_segment(first);
            APERTURE_NO_UNROLL
            for (int j = first; j < end; ++j) {
                const Complex<Real>* row = u + layout.tail + j * layout.tail_stride;
                const Complex<Real> value = column.tail_rows[0];
                visit(head + j, value, row->re);
                Tail::template add_pivot_row<first>(column.tail_rows, -value, row);
            }
            forward_tail<end>(column, u, visit);
        }
    }

    // Visits (U^-H column)_k and 1 / d_k.
    template <class Visit>
    __device__ __forceinline__ static void forward(Parts& column, const Complex<Real>* head_of_u,
                                                   const Complex<Real>* u, Visit visit) {
        forward_head<0>(column, head_of_u, u, visit);
        forward_tail<0>(column, u, visit);
    }

    // Visits (U^-1 column)_k from the last row up.
    template <class Visit>
    __device__ __forceinline__ static void backward(Parts& column, const Complex<Real>* head_of_u,
                                                    const Complex<Real>* u, Visit visit) {
        Tail::template backward<tail>(
            column.tail_rows, u + layout.tail, [&](int j, Complex<Real> value) {
                visit(head + j, value);
                const Complex<Real>* border = u + j;
                APERTURE_UNROLL
                for (int row = 0; row < head; ++row) {
                    column.head_rows[row] = core::multiply_add(column.head_rows[row], -value,
                                                               border[row * layout.tail_stride]);
                }
            });
        Head::template backward<head>(column.head_rows, head_of_u, visit);
    }
};

}  // namespace aperture::stap::gpu
