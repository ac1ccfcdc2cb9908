// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/factor_arguments.cuh"
#include "libdense/gpu/register_solve.cuh"

namespace aperture::dense {

inline constexpr int register_solve_threads = 128;

/// Geometry of `solve_in_registers`.
template <class T, int order, int lanes, int slots>
struct RegisterSolveShape {
    static constexpr int problems = register_solve_threads / lanes;
    static constexpr int right_hand_sides = lanes * slots - order;
    static_assert(right_hand_sides >= 1);
    using MatrixTile = BatchTile<T, problems, order, order, lanes>;
    using RightHandSideTile = BatchTile<T, problems, right_hand_sides, order, lanes>;
    /// Registers of a thread: the columns, the published pivot column, and about 48 more, or 64 in
    /// other types than float; a multiprocessor has 65,536. Four blocks of four warps are enough
    /// occupancy.
    static constexpr int others = sizeof(T) > sizeof(float) ? 64 : 48;
    static constexpr int registers = (slots + 1) * order * static_cast<int>(sizeof(T)) / 4 + others;
    static constexpr int fitting_blocks = 65536 / (register_solve_threads * registers);
    static constexpr int blocks_per_multiprocessor = fitting_blocks < 1   ? 1
                                                     : fitting_blocks < 4 ? fitting_blocks
                                                                          : 4;
};

/// Bytes of shared memory of `solve_in_registers`.
template <class T>
APERTURE_HD constexpr int register_solve_shared_bytes(int order, int lanes, int slots) {
    const int right_hand_sides = lanes * slots - order;
    const int rows = order > right_hand_sides ? order : right_hand_sides;
    return register_solve_threads / lanes * batch_tile_problem_stride(rows, order, lanes) *
           static_cast<int>(sizeof(T));
}

/// Calls visit(problem, side, row, offset in the tile) for `valid` problems and up to `count`
/// sides: neighbouring threads get neighbouring entries.
template <class Tile, class Visit>
__device__ __forceinline__ void for_each_side_entry(bool by_problems, int valid, int count,
                                                    Visit visit) {
    constexpr int length = Tile::columns;
    APERTURE_NO_UNROLL
    for (int r = 0; r < (count < Tile::rows ? count : Tile::rows); ++r) {
        APERTURE_UNROLL_BY(2)
        for (int i = core::thread_rank(); i < Tile::problems * length; i += core::block_threads()) {
            const int problem = by_problems ? i % Tile::problems : i / length;
            const int row = by_problems ? i / Tile::problems : i % length;
            if (problem < valid) {
                visit(problem, r, row, problem * Tile::problem_stride + r * Tile::row_stride + row);
            }
        }
    }
}

/// Solves A X = B by Gauss-Jordan elimination with one problem in the registers of `lanes` threads
/// (see register_solve.cuh); with lanes = 1, one problem a thread.
///
/// Thread: `slots` columns of [A | B]. Warp: 32 / lanes problems. Block: 128 threads, 128 / lanes
/// problems. Grid: ceil(problems / (128 / lanes)) on x.
/// Shared: one BatchTile of T (register_solve_shared_bytes), first for the lower triangles
/// [problem][row][column], then for at most lanes * slots - order right-hand sides a pass
/// [problem][right-hand side][row]; further passes use the factor in registers. Interleaved batches
/// with lanes = 1 bypass shared memory.
/// Bytes per problem: sizeof(T) (order (order + 1) / 2 + 2 order right_hand_sides).
/// Flops per problem (times 4 if complex; useful ones): order^3 + 2 order^2 right_hand_sides.
/// Source: Anderson 2014, ch. 4 and 6.3 (one problem per thread or block in registers); Ha et al.
/// 2013, section III (layouts).
template <class T, int order, int lanes, int slots>
__global__ void __launch_bounds__(
    register_solve_threads, RegisterSolveShape<T, order, lanes, slots>::blocks_per_multiprocessor)
    solve_in_registers(CholeskyArguments<T> p) {
    using Shape = RegisterSolveShape<T, order, lanes, slots>;
    using MatrixTile = typename Shape::MatrixTile;
    using RightHandSideTile = typename Shape::RightHandSideTile;
    T* tile = core::shared<T>();
    const int local = core::thread_rank() / lanes;
    const int lane = core::thread_rank() % lanes;
    const auto right_hand_sides = static_cast<int>(p.x.extent[1]);
    const index_t first = static_cast<index_t>(blockIdx.x) * Shape::problems;
    const index_t left = p.a.extent[0] - first;
    const int valid = left < Shape::problems ? static_cast<int>(left) : Shape::problems;
    const bool exists = local < valid;
    const T zero = T(RealOf<T>(0));

    T columns[slots][order];
    const auto no_right_hand_side = [&](int, int) { return zero; };
    if (lanes == 1 && interleaved(p.a)) {
        fill_columns<lanes>(
            columns, lane,
            [&](int row, int column) { return exists ? p.a(first + local, row, column) : zero; },
            no_right_hand_side);
    } else {
        if (gapless<MatrixTile>(p.a)) {
            load_gapless<MatrixTile>(tile, p.a.data + first * p.a.stride[0], valid,
                                     core::thread_rank(), core::block_threads());
        } else {
            load_lower_triangles<MatrixTile>(tile, p.a, first, valid);
        }
        __syncthreads();
        const T* matrix = tile + local * MatrixTile::problem_stride;
        fill_columns<lanes>(
            columns, lane,
            [&](int row, int column) { return matrix[row * MatrixTile::row_stride + column]; },
            no_right_hand_side);
    }

    Pivots<RealOf<T>> pivots;
    T* solutions = tile + local * RightHandSideTile::problem_stride;
    const bool direct = lanes == 1 && interleaved(p.x);
    APERTURE_NO_UNROLL
    for (int begin = 0; begin == 0 || begin < right_hand_sides; begin += Shape::right_hand_sides) {
        const int count = right_hand_sides - begin;
        if (direct) {
            refill_right_hand_sides<lanes>(columns, lane, [&](int row, int r) {
                return exists && r < count ? p.x(first + local, begin + r, row) : zero;
            });
        } else {
            __syncthreads();
            for_each_side_entry<RightHandSideTile>(
                interleaved(p.x), valid, count, [&](int problem, int r, int row, int at) {
                    tile[at] = p.x(first + problem, begin + r, row);
                });
            __syncthreads();
            refill_right_hand_sides<lanes>(columns, lane, [&](int row, int r) {
                return exists && r < count ? solutions[r * RightHandSideTile::row_stride + row]
                                           : zero;
            });
        }
        if (begin == 0) {
            eliminate<Elimination::above_and_below, lanes, true>(columns, lane, pivots);
        } else {
            eliminate_again<Elimination::above_and_below, lanes>(columns, lane);
        }
        const bool solved = pivots.info == 0;
        if (direct) {
            for_each_solution<lanes>(columns, lane, [&](int row, int r, T value) {
                if (exists && r < count) {
                    p.x(first + local, begin + r, row) = solved ? value : zero;
                }
            });
        } else {
            for_each_solution<lanes>(columns, lane, [&](int row, int r, T value) {
                solutions[r * RightHandSideTile::row_stride + row] = solved ? value : zero;
            });
            __syncthreads();
            for_each_side_entry<RightHandSideTile>(
                interleaved(p.x), valid, count, [&](int problem, int r, int row, int at) {
                    p.x(first + problem, begin + r, row) = tile[at];
                });
        }
    }
    if (exists && lane == 0) {
        p.info(first + local) = pivots.info;
        if (!p.pivot_ratio.empty()) p.pivot_ratio(first + local) = pivots.ratio();
    }
}

}  // namespace aperture::dense
