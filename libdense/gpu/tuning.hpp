// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Launch parameters of libdense's kernels, by scalar type and order.
namespace aperture::dense::tuning {

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

/// Numbers of right-hand sides that kernels are compiled for.
constexpr int compiled_sides(long long sides) { return sides <= 1 ? 1 : sides <= 4 ? 4 : 16; }
inline constexpr int most_sides = 16;

/// Threads for a positive definite system in registers (solve_in_registers.cuh), and columns of
/// [A | B] of each; lanes = 0: the kernel does not apply.
struct RegisterSolve {
    int lanes = 0;
    int slots = 0;
};

template <class T>
constexpr RegisterSolve register_solve(int order, long long right_hand_sides) {
    const int columns = order + compiled_sides(right_hand_sides);
    int lanes = columns_lanes<T>(ColumnsWork::solve, order, columns);
    // A warp's two columns of order 32 and the pivot's, of 8 bytes: a block would take longer.
    if (lanes == 0 && order >= 1 && order <= 32 && columns <= 64 && sizeof(T) == 8) lanes = 32;
    return {lanes, lanes > 0 ? (columns + lanes - 1) / lanes : 0};
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

/// Rows and columns of C that a thread of products_in_tiles.cuh has in registers: 4 x 4 where they
/// suffice to be as fast as the memory, otherwise as many as leave two blocks of 256 threads on a
/// multiprocessor. Four loads of 16 bytes from shared memory give float 64 multiply-adds.
struct ProductTile {
    int rows, columns;
};
inline constexpr int largest_small_product = 32;
template <class T>
inline constexpr ProductTile large_product_tile{8, 4};
template <>
inline constexpr ProductTile large_product_tile<float>{8, 8};
template <>
inline constexpr ProductTile large_product_tile<core::Complex<double>>{4, 4};

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
