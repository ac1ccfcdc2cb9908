// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "libcore/gpu/complex.cuh"

/// Launch parameters of libdense's kernels, by scalar type and order.
///
/// The rows of the solves have not been measured on a GPU yet; they follow from counts for compute
/// capability 9.0.
/// A multiprocessor issues 32 shuffled words and 128 fp32 (64 fp64) multiply-adds a cycle. A
/// broadcast element costs a warp 1, 2, 2, 4 cycles of shuffling (float, double, Complex<float>,
/// Complex<double>) for `slots` updates of 1/4, 1/2, 1, 2 cycles: from 4, 4, 2, 2 slots on,
/// arithmetic is the bottleneck. Registers limit the slots: slots * order * words must stay below
/// 200, as a pivot column and addresses also need room in 255.
namespace aperture::dense::tuning {

/// Up to `largest_order`: `lanes` threads a problem, with slots for one right-hand side or for
/// `right_hand_sides`, whichever suffices.
struct RegisterSolveRow {
    int largest_order;
    int lanes;
    int right_hand_sides;
};

template <class T>
inline constexpr std::array<RegisterSolveRow, 0> register_solve_rows{};
// Columns used / held at the largest order: 10 of 10, 40 of 40, 48 of 48. Slots 5, 3.
template <>
inline constexpr std::array<RegisterSolveRow, 3> register_solve_rows<float>{
    {{6, 1, 4}, {24, 8, 16}, {32, 16, 16}}};
// Columns 10 of 10, 32 of 32, 40 of 48, 48 of 64. Slots 4, 3, 2. Sixteen lanes at order 32 would
// need 3 slots (192 registers) and spill.
template <>
inline constexpr std::array<RegisterSolveRow, 4> register_solve_rows<double>{
    {{6, 1, 4}, {16, 8, 16}, {24, 16, 16}, {32, 32, 16}}};
// Columns 8 of 8, 32 of 32, 40 of 48 (34 of 48 at order 18), 48 of 64. Slots 4, 3 (144 registers at
// order 24), 2. Sixteen lanes at order 32 would need 3 slots and spill.
template <>
inline constexpr std::array<RegisterSolveRow, 4> register_solve_rows<core::Complex<float>>{
    {{4, 1, 4}, {16, 8, 16}, {24, 16, 16}, {32, 32, 16}}};
// Columns 8 of 8, 24 of 24, 32 of 32, 32 of 32. Slots 3, 2, 1. From order 17 on, two slots spill in
// one of the eliminations; one slot holds 32 - order right-hand sides a pass, limited by shuffles.
// Orders above 24 use the block kernel.
template <>
inline constexpr std::array<RegisterSolveRow, 4> register_solve_rows<core::Complex<double>>{
    {{4, 1, 4}, {8, 8, 16}, {16, 16, 16}, {24, 32, 8}}};

/// lanes = 0: the sub-warp kernel does not apply.
struct RegisterSolve {
    int lanes = 0;
    int slots = 0;
};

template <class T>
constexpr RegisterSolve register_solve(int order, long long right_hand_sides) {
    for (const RegisterSolveRow& row : register_solve_rows<T>) {
        if (order < 1 || order > row.largest_order) continue;
        const int few = (order + row.lanes) / row.lanes;
        const int many = (order + row.right_hand_sides + row.lanes - 1) / row.lanes;
        const bool few_suffice = order + right_hand_sides <= few * row.lanes;
        return {row.lanes, few_suffice ? few : many};
    }
    return {};
}

/// Largest number of rows of a matrix whose columns are distributed over registers.
inline constexpr int largest_columns_rows = 32;

/// What the kernels of in_columns.cuh do, as far as it decides how many lanes share a matrix.
enum class ColumnsWork { factor, factor_with_exchanges, solve };

/// Registers for the columns of a lane and a further one. Factors are fastest with few of them, so
/// that many warps hide latencies; exchanges and substitutions with few shuffles. H100, percent of
/// the bound with 64 and with 128 (orders up to 16) or 176 registers: Cholesky fp32 of order 16, 32
/// 61 and 54, 43 and 35; fp64 of order 16 71 and 59; QR fp32 of order 32 34 and 18; LU with
/// pivoting fp64 of order 8, 16 97 and 91, 56 and 61; solve fp64 of order 16 21 and 36.
constexpr int columns_registers(ColumnsWork work, int rows) {
    if (work == ColumnsWork::factor) return 64;
    if (work == ColumnsWork::factor_with_exchanges && rows <= 8) return 64;
    return rows <= 16 ? 128 : 176;
}

/// Threads for a problem of `rows` x `columns` in registers (in_columns.cuh), the fewest with which
/// its columns and a further one fit; 0 if none do.
template <class T>
constexpr int columns_lanes(ColumnsWork work, int rows, int columns) {
    if (rows < 1 || rows > largest_columns_rows) return 0;
    constexpr int words = static_cast<int>(sizeof(T)) / 4;
    int registers = 0;
    for (int lanes = 1; lanes <= 32; lanes *= 2) {
        registers = ((columns + lanes - 1) / lanes + 1) * rows * words;
        if (registers <= (lanes == 1 ? 80 : columns_registers(work, rows))) return lanes;
    }
    constexpr int most = 176;
    return registers <= most ? 32 : 0;
}

/// Lanes for a problem with a row each (in_rows.cuh); 0 if there are too many rows.
constexpr int rows_lanes(int order) {
    if (order < 1 || order > 32) return 0;
    int lanes = 2;
    while (lanes < order) lanes *= 2;
    return lanes;
}

/// Largest order of general matrices whose columns are distributed, where both are possible. H100,
/// fp32, percent of the bound by columns and by rows at orders 8, 16, 32: LU 79 75, 59 73, 37 62;
/// with pivoting 77 53, 54 49, 12 40; solve 79 31, 42 26, 16 21; inverse 89 53, 62 42, 13 26.
inline constexpr int largest_columns_order = 16;
inline constexpr int largest_columns_order_of_lu = 8;

/// Threads per block of the rank-k update, and bytes of shared memory for its panels: four blocks
/// fit a multiprocessor with 227 KiB.
inline constexpr int rank_k_threads = 256;
inline constexpr int rank_k_panel_bytes = 48 * 1024;
/// More problems in a block would leave too few samples in a panel.
inline constexpr int rank_k_most_problems = 64;
/// log2 of the samples in a panel, if they fit.
inline constexpr int rank_k_most_panel_bits = 6;
/// Lanes that split the samples of each of a problem's `blocks` 4 x 4 blocks: the most for which
/// one round suffices. Complex<float>, 64 samples, H200, 4 lanes against 1: 2.8 times as fast at
/// order 4, 1.1 at 12, 18 and 24, the same at 32. From order 41 on a block has enough work for all
/// threads, and rounding errors average over 800 entries and more.
constexpr int rank_k_splits(int blocks) {
    return 4 * blocks <= rank_k_threads ? 4 : 2 * blocks <= rank_k_threads ? 2 : 1;
}

/// Groups of 32 rows in a block of tall QR's trees. H100, fp32, 192 columns, percent of the bound
/// with 5, 7, 11 and 15 groups (tall_qr_bench gpu/tree_of): 1,000 rows .17 .22 .19 .10, 10,000
/// 1.3 1.5 1.2 .9, 50,000 3.8 4.7 3.7 3.4, 100,000 5.8 7.0 5.7 5.1, 500,000 9.3 11.2 11.7 8.1,
/// 1,000,000 10.1 12.3 13.2 9.0; 100,000 x 100 2.0 2.2 1.5 1.4.
inline constexpr int tall_groups = 7;
inline constexpr int large_tall_groups = 11;
inline constexpr long long large_tall_rows = 400'000;
/// Fits blocks with 99 KiB of shared memory; not measured.
template <class T>
inline constexpr int small_tall_groups = sizeof(T) == 4 ? tall_groups : 4;
/// Leaves of a panel's tree: the resident blocks of factor_panel_kernel.
inline constexpr int tall_leaves_per_multiprocessor = 2;

}  // namespace aperture::dense::tuning
