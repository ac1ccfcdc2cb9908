// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Adaptive weights R w = v for all steering vectors of a few training sets at once, and the
// quadratic forms x^H R^-1 x of their cells. Two solvers with one interface: in registers for
// orders known at compile time, and by the whole block in shared memory for any order.
//
// A solver is constructed by all threads of a block and keeps its factor: call `solve`, then, for
// detectors, `quadratic_forms` once per tile. Barriers are required before and after each call.
// Source: Anderson 2014, ch. 4 and 6.3; Higham 2002, ch. 10 and 14.4.

#include "libdense/gpu/register_solve.cuh"
#include "libstap/gpu/covariance.cuh"

namespace aperture::stap::gpu {

/// Steering vectors [n][D], D = count.
struct SteeringVectors {
    const Complex<float>* data;
    int count;

    __device__ __forceinline__ Complex<float> operator()(int row, int vector) const {
        return data[row * count + vector];
    }
};

/// Position of column `column` in row `row` of a multiple of 16 complex numbers: four neighbouring
/// rows of four neighbouring columns have no bank conflict.
__device__ __forceinline__ int swizzled(int row, int column) { return column ^ ((row & 3) << 2); }

/// A warp's share of a block's matrices, q = begin, begin + step, ... A solver that works `by_warp`
/// processes 2 w and 2 w + 1, and then needs no barrier.
struct MatricesOfWarp {
    int begin, end, step;

    __device__ __forceinline__ MatricesOfWarp(bool by_warp, int count) {
        const int first = by_warp ? 2 * core::warp_rank() : core::warp_rank();
        begin = first < count ? first : count;
        end = by_warp && begin + 2 < count ? begin + 2 : count;
        step = by_warp ? 1 : core::block_threads() / core::warp_size;
    }
};

/// Shared-memory workspace of a solver: right-hand sides [row][column]; for RollingSolver
/// [matrix][row][swizzled column], which may overlap the sums of outer products, and its factors.
template <class Real>
struct SolverSpace {
    Complex<Real>* right_hand_sides;
    int columns;
    Complex<Real>* factors;
    int factor_stride;
    bool apart;  ///< the right-hand sides do not overlap the sums

    __device__ __forceinline__ Complex<Real>* factor(int q) const {
        return factors + q * factor_stride;
    }
};

/// Gauss-Jordan elimination of one matrix of order `order_` in the registers of `lanes` threads,
/// see register_solve.cuh; the block solves its matrices side by side. All 32 lanes of a warp with
/// a matrix must participate.
template <class Real, int order_, int lanes, int slots>
class RegisterSolver {
  public:
    static constexpr bool by_warp = false;
    using Group = CovarianceGroup<Real>;
    static constexpr bool square = false;
    static constexpr bool computes_forms = false;
    static constexpr int right_hand_sides_of_pass = lanes * slots - order_;

    /// Calls store(q, row, vector, weight), with zeros if matrix q is not positive definite, and
    /// report(q, pivots) once per matrix.
    template <class Store, class Report>
    __device__ __forceinline__ void solve(const CovarianceGroup<Real>& group,
                                          const SteeringVectors& steering, SolverSpace<Real>,
                                          Store store, Report report) {
        if (!has_matrix(group.count)) return;
        const int q = matrix(group.count);
        const bool exists = core::thread_rank() / lanes < group.count;
        const int lane = core::thread_rank() % lanes;
        const auto zero = [](int, int) { return Complex<Real>(Real(0)); };
        dense::fill_columns<lanes>(
            columns_, lane, [&](int row, int column) { return group(q, row, column); }, zero);
        dense::Pivots<Real> pivots;
        APERTURE_NO_UNROLL
        for (int begin = 0; begin < steering.count; begin += right_hand_sides_of_pass) {
            const int count = steering.count - begin;
            dense::refill_right_hand_sides<lanes>(columns_, lane, [&](int row, int r) {
                return r < count ? widen<Real>(steering(row, begin + r)) : zero(row, r);
            });
            if (begin == 0) {
                dense::eliminate<kind, lanes, true>(columns_, lane, pivots);
            } else {
                dense::eliminate_again<kind, lanes>(columns_, lane);
            }
            const bool solved = pivots.info == 0;
            dense::for_each_solution<lanes>(
                columns_, lane, [&](int row, int r, Complex<Real> weight) {
                    if (!exists || r >= count) return;
                    store(q, row, begin + r, solved ? weight : Complex<Real>(Real(0)));
                });
        }
        if (exists && lane == 0) report(q, pivots);
    }

    /// Calls store(q, cell, x^H R^-1 x) for the snapshots x of cells [begin, end).
    template <class Rows, class Store>
    __device__ __forceinline__ void quadratic_forms(const CovarianceGroup<Real>& group,
                                                    SolverSpace<Real>, const Rows& rows, int begin,
                                                    int end, Store store) {
        if (!has_matrix(group.count)) return;
        const int q = matrix(group.count);
        const bool exists = core::thread_rank() / lanes < group.count;
        const int lane = core::thread_rank() % lanes;
        APERTURE_NO_UNROLL
        for (int first = begin; first < end; first += right_hand_sides_of_pass) {
            const auto cell_of = [&](int r) { return first + r < end ? first + r : first; };
            dense::refill_right_hand_sides<lanes>(columns_, lane, [&](int row, int r) {
                return widen<Real>(load_cell(rows.row(q, row) + cell_of(r)));
            });
            dense::eliminate_again<kind, lanes>(columns_, lane);
            Real sums[slots];
            APERTURE_UNROLL
            for (int slot = 0; slot < slots; ++slot) sums[slot] = Real(0);
            APERTURE_UNROLL
            for (int row = 0; row < order_; ++row) {
                APERTURE_UNROLL
                for (int slot = order_ / lanes; slot < slots; ++slot) {
                    const int r = slot * lanes + lane - order_;
                    const auto x =
                        widen<Real>(load_cell(rows.row(q, row) + cell_of(r > 0 ? r : 0)));
                    sums[slot] += (core::conj(x) * columns_[slot][row]).re;
                }
            }
            APERTURE_UNROLL
            for (int slot = order_ / lanes; slot < slots; ++slot) {
                const int r = slot * lanes + lane - order_;
                if (r >= 0 && exists && first + r < end) store(q, first + r, sums[slot]);
            }
        }
    }

  private:
    static constexpr auto kind = dense::Elimination::above_and_below;

    __device__ __forceinline__ static bool has_matrix(int matrices) {
        return core::warp_rank() * (core::warp_size / lanes) < matrices;
    }
    __device__ __forceinline__ static int matrix(int matrices) {
        const int q = core::thread_rank() / lanes;
        return q < matrices ? q : matrices - 1;
    }

    Complex<Real> columns_[slots][order_];
};

/// Factors one matrix after another, of any order, in place in shared memory, with all threads of
/// the block. The multipliers stay below the pivots for further right-hand sides. Two barriers per
/// pivot.
template <class Real, dense::Elimination elimination>
class BlockSolver {
  public:
    static constexpr bool by_warp = false;
    using Group = CovarianceGroup<Real>;
    static constexpr bool square = elimination == dense::Elimination::above_and_below;
    static constexpr bool computes_forms = false;

    template <class Store, class Report>
    __device__ void solve(const CovarianceGroup<Real>& group, const SteeringVectors& steering,
                          SolverSpace<Real> space, Store store, Report report) {
        for (int q = 0; q < group.count; ++q) {
            normalise(group, q);
            const LowerTriangle<Real> a = group.triangle(q);
            dense::Pivots<Real> pivots = factorise(a, group.order);
            for (int begin = 0; begin < steering.count; begin += space.columns) {
                const int count = steering.count - begin;
                fill(space, group.order, [&](int row, int r) {
                    return r < count ? widen<Real>(steering(row, begin + r))
                                     : Complex<Real>(Real(0));
                });
                forward(a, group.order, space);
                if constexpr (elimination == dense::Elimination::below) {
                    backward(a, group.order, space);
                }
                for_each(space, group.order, [&](int row, int r, Complex<Real> weight) {
                    if (r >= count) return;
                    store(q, row, begin + r, pivots.info == 0 ? weight : Complex<Real>(Real(0)));
                });
                __syncthreads();
            }
            if (core::thread_rank() == 0) report(q, pivots);
        }
    }

    template <class Rows, class Store>
    __device__ void quadratic_forms(const CovarianceGroup<Real>& group, SolverSpace<Real> space,
                                    const Rows& rows, int begin, int end, Store store) {
        for (int q = 0; q < group.count; ++q) {
            const LowerTriangle<Real> a = group.triangle(q);
            for (int first = begin; first < end; first += space.columns) {
                const int count = end - first;
                fill(space, group.order, [&](int row, int r) {
                    return widen<Real>(load_cell(rows.row(q, row) + first + (r < count ? r : 0)));
                });
                forward(a, group.order, space);
                for (int r = core::thread_rank(); r < space.columns; r += core::block_threads()) {
                    Real sum = Real(0);
                    for (int row = 0; row < group.order; ++row) {
                        const Complex<Real> value = entry(space, row, r);
                        if constexpr (elimination == dense::Elimination::below) {
                            sum += a(row, row).re * core::norm(value);
                        } else {
                            const Complex<Real> x = widen<Real>(
                                load_cell(rows.row(q, row) + first + (r < count ? r : 0)));
                            sum += (core::conj(x) * value).re;
                        }
                    }
                    if (r < count) store(q, first + r, sum);
                }
                __syncthreads();
            }
        }
    }

  private:
    __device__ static Complex<Real>& entry(const SolverSpace<Real>& space, int row, int column) {
        return space.right_hand_sides[row * space.columns + column];
    }
    template <class Visit>
    __device__ static void for_each(const SolverSpace<Real>& space, int order, Visit visit) {
        for (int i = core::thread_rank(); i < order * space.columns; i += core::block_threads()) {
            visit(i / space.columns, i % space.columns, space.right_hand_sides[i]);
        }
    }
    template <class Value>
    __device__ static void fill(const SolverSpace<Real>& space, int order, Value value) {
        for (int i = core::thread_rank(); i < order * space.columns; i += core::block_threads()) {
            space.right_hand_sides[i] = value(i / space.columns, i % space.columns);
        }
        __syncthreads();
    }

    // Normalises the sum to the covariance, in place; Gauss-Jordan also needs the upper half.
    __device__ static void normalise(const CovarianceGroup<Real>& group, int q) {
        const LowerTriangle<Real> a = group.triangle(q);
        for (int row = core::warp_rank(); row < group.order;
             row += core::block_threads() / core::warp_size) {
            for (int column = core::lane_rank(); column <= row; column += core::warp_size) {
                const Complex<Real> value = group(q, row, column);
                a(row, column) = value;
                if (square && column < row) a(column, row) = core::conj(value);
            }
        }
        __syncthreads();
    }

    // Every thread validates every pivot, so that all know of a failure.
    __device__ static dense::Pivots<Real> factorise(const LowerTriangle<Real>& a, int order) {
        if constexpr (square) {
            return eliminate_rows(a, order);
        } else {
            return sum_columns(a, order);
        }
    }

    // Column k of L D from the columns before it: a_ik minus the sum of l_ij d_j conj(l_kj). The
    // sum begins with zero and so rounds less than updating a_ik column by column. Eight lanes per
    // row.
    __device__ static dense::Pivots<Real> sum_columns(const LowerTriangle<Real>& a, int order) {
        constexpr int lanes = 8;
        dense::Pivots<Real> pivots;
        const int rows = core::block_threads() / lanes;
        const int lane = core::thread_rank() % lanes;
        for (int k = 0; k < order; ++k) {
            for (int first = k; first < order; first += rows) {
                const int row = first + core::thread_rank() / lanes;
                Complex<Real> sum(Real(0));
                if (row < order) {
                    for (int j = lane; j < k; j += lanes) {
                        const Complex<Real> multiplier = a(k, j) * (Real(1) / a(j, j).re);
                        sum = core::multiply_add_conj(sum, a(row, j), multiplier);
                    }
                }
                sum = {core::warp_reduce<lanes>(sum.re), core::warp_reduce<lanes>(sum.im)};
                if (row < order && lane == 0) a(row, k) -= sum;
            }
            __syncthreads();
            pivots.add(k, a(k, k).re);
        }
        return pivots;
    }

    // Subtracts l_ik times row k from row i, right of column k, l_ik = a_ik / pivot.
    __device__ static dense::Pivots<Real> eliminate_rows(const LowerTriangle<Real>& a, int order) {
        dense::Pivots<Real> pivots;
        const int warps = core::block_threads() / core::warp_size;
        for (int k = 0; k < order; ++k) {
            const Complex<Real> reciprocal =
                dense::pivot_reciprocal(a(k, k), pivots.add(k, a(k, k).re));
            for (int row = core::warp_rank(); row < order; row += warps) {
                if (row == k) continue;
                const Complex<Real> multiplier = -(a(row, k) * reciprocal);
                for (int column = k + 1 + core::lane_rank(); column < order;
                     column += core::warp_size) {
                    a(row, column) = core::multiply_add(a(row, column), multiplier, a(k, column));
                }
            }
            __syncthreads();
        }
        return pivots;
    }

    __device__ static Complex<Real> reciprocal_of(const LowerTriangle<Real>& a, int k) {
        const Complex<Real> pivot = a(k, k);
        if constexpr (square) return dense::pivot_reciprocal(pivot, Real(1) / pivot.re);
        return {Real(1) / pivot.re, Real(0)};
    }

    // X := D^-1 L^-1 X; with elimination above the pivots, X := R^-1 X.
    __device__ static void forward(const LowerTriangle<Real>& a, int order,
                                   const SolverSpace<Real>& space) {
        for (int k = 0; k < order; ++k) {
            const Complex<Real> reciprocal = reciprocal_of(a, k);
            const int first = square ? 0 : k + 1;
            const int items = (order - first) * space.columns;
            for (int i = core::thread_rank(); i < items; i += core::block_threads()) {
                const int row = first + i / space.columns;
                const int r = i % space.columns;
                if (row == k) continue;
                entry(space, row, r) = core::multiply_add(
                    entry(space, row, r), -(a(row, k) * reciprocal), entry(space, k, r));
            }
            __syncthreads();
        }
        for_each(space, order, [&](int row, int r, Complex<Real> value) {
            entry(space, row, r) = value * reciprocal_of(a, row);
        });
        __syncthreads();
    }

    // Back-substitution, X := L^-H X.
    __device__ static void backward(const LowerTriangle<Real>& a, int order,
                                    const SolverSpace<Real>& space) {
        for (int k = order - 1; k > 0; --k) {
            for (int i = core::thread_rank(); i < k * space.columns; i += core::block_threads()) {
                const int row = i / space.columns;
                const int r = i % space.columns;
                const Complex<Real> factor = core::conj(a(k, row)) * (Real(1) / a(row, row).re);
                entry(space, row, r) =
                    core::multiply_add(entry(space, row, r), -factor, entry(space, k, r));
            }
            __syncthreads();
        }
    }
};

}  // namespace aperture::stap::gpu
