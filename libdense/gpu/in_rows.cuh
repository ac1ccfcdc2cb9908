// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels with a row of a general matrix in the registers of each lane:
//
//     row[column] of lane g is entry (g, column) of [A | B],
//
// with a group of `lanes` = 2, 4, ... 32 >= order lanes a problem, unrolled to the last index. Rows
// are not exchanged: a lane knows where its row would be. A step broadcasts the pivot's row by
// shuffles, one for each multiply-add; few registers keep many warps on a multiprocessor.
//
// Block: 4 warps, each with 32 / lanes problems and without barriers. Grid: ceil(problems / (128 /
// lanes)) on x. Shared: a BatchTile of T for the problems of each warp, and one for right-hand
// sides. Bytes and flops per problem as in lu_in_block.cuh.
// Source: Anderson 2014, ch. 4.5 (one-dimensional row layout); Ha et al. 2013, section III-E.4
// (contiguous groups without barriers).

#include "libdense/gpu/factor_arguments.cuh"
#include "libdense/gpu/general_columns.cuh"

namespace aperture::dense {

inline constexpr int rows_threads = 128;

/// The problems of a warp, and this lane's.
template <int lanes>
struct RowsPosition {
    static constexpr int problems = core::warp_size / lanes;

    index_t first;
    int valid;
    int local;
    int lane;

    __device__ __forceinline__ explicit RowsPosition(index_t all_problems)
        : first((static_cast<index_t>(blockIdx.x) * (rows_threads / core::warp_size) +
                 core::warp_rank()) *
                problems),
          valid(all_problems - first < problems
                    ? (all_problems > first ? static_cast<int>(all_problems - first) : 0)
                    : problems),
          local(core::lane_rank() / lanes),
          lane(core::lane_rank() % lanes) {}

    __device__ __forceinline__ bool exists() const { return local < valid; }
    __device__ __forceinline__ index_t problem() const { return first + local; }
};

/// Bytes of shared memory for a matrix of `order` and `sides` right-hand sides.
template <class T>
APERTURE_HD constexpr int rows_shared_bytes(int order, int sides, int lanes) {
    const int matrix = batch_tile_problem_stride(order, order, lanes);
    const int vectors = sides > 0 ? batch_tile_problem_stride(sides, order, lanes) : 0;
    return rows_threads / lanes * (matrix + vectors) * static_cast<int>(sizeof(T));
}

/// Matrices of a warp's problems between global and shared memory.
template <class T, int rows, int columns, int lanes>
struct WarpTile {
    using Tile = BatchTile<T, core::warp_size / lanes, rows, columns, lanes>;
    static constexpr int elements = Tile::problems * Tile::problem_stride;
    T* tile;

    __device__ __forceinline__ T* own(const RowsPosition<lanes>& at) const {
        return tile + at.local * Tile::problem_stride;
    }
    /// Loads the first `count` rows; zeros beyond.
    template <class U>
    __device__ __forceinline__ void load(const KernelView<U, 3>& batch,
                                         const RowsPosition<lanes>& at, int count = rows) const {
        if (count >= rows && gapless<Tile>(batch)) {
            load_gapless<Tile>(tile, batch.data + at.first * batch.stride[0], at.valid,
                               core::lane_rank(), core::warp_size);
        } else {
            for_each(batch, at, count, [&](T& entry, int problem, int row, int column, bool is) {
                entry = is ? batch(at.first + problem, row, column) : T(RealOf<T>(0));
            });
        }
        __syncwarp();
    }
    /// Copies the lane's row, or for lanes without one the last.
    template <int length>
    __device__ __forceinline__ void load_row(T (&row)[length],
                                             const RowsPosition<lanes>& at) const {
        const T* const from = own(at) + (at.lane < rows ? at.lane : rows - 1) * Tile::row_stride;
        APERTURE_UNROLL
        for (int j = 0; j < columns; ++j) row[j] = from[j];
    }
    __device__ __forceinline__ void store(const KernelView<T, 3>& batch,
                                          const RowsPosition<lanes>& at, int count = rows) const {
        __syncwarp();
        if (count >= rows && gapless<Tile>(batch)) {
            store_gapless<Tile>(tile, batch.data + at.first * batch.stride[0], at.valid,
                                core::lane_rank(), core::warp_size);
        } else {
            for_each(batch, at, count, [&](T& entry, int problem, int row, int column, bool is) {
                if (is) batch(at.first + problem, row, column) = entry;
            });
        }
    }

  private:
    template <class U, class Visit>
    __device__ __forceinline__ void for_each(const KernelView<U, 3>& batch,
                                             const RowsPosition<lanes>& at, int count,
                                             Visit visit) const {
        constexpr int matrix = rows * columns;
        const bool by_problems = interleaved(batch);
        APERTURE_UNROLL_BY(4)
        for (int i = core::lane_rank(); i < Tile::problems * matrix; i += core::warp_size) {
            const int problem = by_problems ? i % Tile::problems : i / matrix;
            const int entry = by_problems ? i / Tile::problems : i % matrix;
            const int row = entry / columns;
            visit(tile[problem * Tile::problem_stride + row * Tile::row_stride + entry % columns],
                  problem, row, entry % columns, problem < at.valid && row < count);
        }
    }
};

/// Chooses the pivot of step k: the lane with the largest entry of column k, the first of several
/// by position, the same in all lanes of the group. A NaN counts as the largest in the row at k and
/// as the smallest elsewhere.
template <int lanes, int order, class T>
__device__ __forceinline__ int choose_pivot(T entry, int k, int lane, int position) {
    using R = RealOf<T>;
    R size = magnitude(entry);
    if (size != size) size = position == k ? R(2) * largest_finite<R> : R(-1);
    if (position < k || lane >= order) size = R(-2);
    int best = position * core::warp_size + lane;
    APERTURE_UNROLL
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        const R its_size = core::exchange_xor<lanes>(size, distance);
        const int its_best = core::exchange_xor<lanes>(best, distance);
        const bool its = its_size > size || (its_size == size && its_best < best);
        size = its ? its_size : size;
        best = its ? its_best : best;
    }
    return best % core::warp_size;
}

/// The pivot of a step, the same in all lanes of the group.
struct RowPivot {
    int lane;
    int row;  ///< where its row was before it came to row k
};

/// Chooses the pivot of step k, and exchanges its row with row k: `position` is that of the lane's
/// row.
template <bool exchange, int lanes, int order, class T>
__device__ __forceinline__ RowPivot exchange_pivot(T entry, int k, int lane, int& position) {
    RowPivot pivot{k, k};
    if (exchange) {
        pivot.lane = choose_pivot<lanes, order>(entry, k, lane, position);
        pivot.row = core::broadcast<lanes>(position, pivot.lane);
        position = lane == pivot.lane ? k : position == k ? pivot.row : position;
    }
    return pivot;
}

/// Eliminates below the pivots: factors of L replace the entries that they clear. Calls
/// record(k, pivot). Columns from `order` on are right-hand
/// sides. `position` becomes that of the lane's row.
template <bool exchange, int lanes, int order, int columns, class T, class Record>
__device__ __forceinline__ void eliminate_rows(T (&row)[columns], int lane, int& position,
                                               int& info, Record record) {
    const T zero = T(RealOf<T>(0));
    position = lane;
    APERTURE_UNROLL
    for (int k = 0; k < order; ++k) {
        const RowPivot chosen = exchange_pivot<exchange, lanes, order>(row[k], k, lane, position);
        record(k, chosen);
        const T pivot = core::broadcast<lanes>(row[k], chosen.lane);
        const PivotReciprocal<T> reciprocal = accept_general_pivot(pivot, k, info);
        const bool active = position > k && lane < order;
        const T factor = active ? reciprocal.times(row[k]) : zero;
        row[k] = active ? factor : row[k];
        APERTURE_UNROLL
        for (int j = k + 1; j < columns; ++j) {
            row[j] =
                core::multiply_add(row[j], -factor, core::broadcast<lanes>(row[j], chosen.lane));
        }
    }
}

/// P A = L U, the determinant, or both.
template <class T, int order, int lanes, bool exchange>
__global__ void __launch_bounds__(rows_threads) lu_in_rows(LuArguments<T> p) {
    using Matrix = WarpTile<T, order, order, lanes>;
    const RowsPosition<lanes> at(p.a.extent[0]);
    const Matrix matrix{core::shared<T>() + core::warp_rank() * Matrix::elements};
    matrix.load(p.a, at);
    T* const own = matrix.own(at);
    T row[order];
    matrix.load_row(row, at);
    __syncwarp();
    int info = 0;
    int position = 0;
    bool odd = false;
    const bool reports = at.exists() && at.lane == 0;
    eliminate_rows<exchange, lanes, order>(row, at.lane, position, info,
                                           [&](int k, RowPivot pivot) {
                                               odd = odd != (pivot.row != k);
                                               if (reports && !p.pivots.empty())
                                                   p.pivots(at.problem(), k) = pivot.row;
                                           });
    if (at.lane < order) {
        APERTURE_UNROLL
        for (int j = 0; j < order; ++j) own[position * Matrix::Tile::row_stride + j] = row[j];
    }
    if (!p.determinant.empty()) {
        __syncwarp();
        T product = T(RealOf<T>(odd ? -1 : 1));
        APERTURE_UNROLL
        for (int k = 0; k < order; ++k) product = product * own[k * Matrix::Tile::row_stride + k];
        if (reports) p.determinant(at.problem()) = product;
    }
    if (!p.lu.empty()) matrix.store(p.lu, at);
    if (reports && !p.info.empty()) p.info(at.problem()) = info;
}

/// Solves A X = B for up to `sides` right-hand sides.
template <class T, int order, int sides, int lanes, bool exchange>
__global__ void __launch_bounds__(rows_threads) solve_in_rows(LuArguments<T> p) {
    using Matrix = WarpTile<T, order, order, lanes>;
    using Sides = WarpTile<T, sides, order, lanes>;
    const RowsPosition<lanes> at(p.a.extent[0]);
    T* const tiles = core::shared<T>() + core::warp_rank() * (Matrix::elements + Sides::elements);
    const Matrix matrix{tiles};
    const Sides vectors{tiles + Matrix::elements};
    const auto count = static_cast<int>(p.x.extent[1]);
    matrix.load(p.a, at);
    vectors.load(p.x, at, count);
    T row[order + sides];
    T* const own_sides = vectors.own(at);
    matrix.load_row(row, at);
    APERTURE_UNROLL
    for (int r = 0; r < sides; ++r) {
        const int entry = at.lane < order ? at.lane : order - 1;
        row[order + r] = own_sides[r * Sides::Tile::row_stride + entry];
    }
    int info = 0;
    int position = 0;
    int lane_of_position = at.lane;
    eliminate_rows<exchange, lanes, order>(row, at.lane, position, info,
                                           [&](int k, RowPivot pivot) {
                                               if (at.lane == k) lane_of_position = pivot.lane;
                                           });
    if (exchange) {
        // From here on lane k has row k of U.
        APERTURE_UNROLL
        for (int j = 0; j < order + sides; ++j) {
            row[j] = core::broadcast<lanes>(row[j], lane_of_position);
        }
    }
    const T zero = T(RealOf<T>(0));
    APERTURE_UNROLL
    for (int k = order - 1; k >= 0; --k) {
        int unused = 0;
        const PivotReciprocal<T> reciprocal =
            accept_general_pivot(core::broadcast<lanes>(row[k], k), k, unused);
        const T factor = at.lane < k ? row[k] : zero;
        APERTURE_UNROLL
        for (int r = 0; r < sides; ++r) {
            const T solved = reciprocal.times(core::broadcast<lanes>(row[order + r], k));
            row[order + r] =
                at.lane == k ? solved : core::multiply_add(row[order + r], -factor, solved);
        }
    }
    __syncwarp();
    if (at.lane < order) {
        APERTURE_UNROLL
        for (int r = 0; r < sides; ++r) {
            own_sides[r * Sides::Tile::row_stride + at.lane] = info == 0 ? row[order + r] : zero;
        }
    }
    vectors.store(p.x, at, count);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

/// A^-1 by Gauss-Jordan elimination with partial pivoting, in place.
template <class T, int order, int lanes>
__global__ void __launch_bounds__(rows_threads) inverse_in_rows(LuArguments<T> p) {
    using Matrix = WarpTile<T, order, order, lanes>;
    const RowsPosition<lanes> at(p.a.extent[0]);
    const Matrix matrix{core::shared<T>() + core::warp_rank() * Matrix::elements};
    matrix.load(p.a, at);
    T* const own = matrix.own(at);
    T row[order];
    matrix.load_row(row, at);
    const T zero = T(RealOf<T>(0));
    int info = 0;
    int position = at.lane;
    int lane_of_position = at.lane;
    APERTURE_UNROLL
    for (int k = 0; k < order; ++k) {
        const RowPivot chosen = exchange_pivot<true, lanes, order>(row[k], k, at.lane, position);
        const bool pivots = at.lane == chosen.lane;
        if (at.lane == k) lane_of_position = chosen.lane;
        const T pivot = core::broadcast<lanes>(row[k], chosen.lane);
        const PivotReciprocal<T> reciprocal = accept_general_pivot(pivot, k, info);
        const T factor = pivots ? zero : -row[k];
        // The pivot's column becomes that of the inverse.
        row[k] = pivots ? T(RealOf<T>(1)) : zero;
        APERTURE_UNROLL
        for (int j = 0; j < order; ++j) {
            const T scaled = reciprocal.times(core::broadcast<lanes>(row[j], chosen.lane));
            row[j] = pivots ? scaled : core::multiply_add(row[j], factor, scaled);
        }
    }
    __syncwarp();
    // Column j belongs to the row that was pivot j.
    APERTURE_UNROLL
    for (int j = 0; j < order; ++j) {
        const int column = core::broadcast<lanes>(lane_of_position, j);
        if (at.lane < order) {
            own[position * Matrix::Tile::row_stride + column] = info == 0 ? row[j] : zero;
        }
    }
    matrix.store(p.inverse, at);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

}  // namespace aperture::dense
