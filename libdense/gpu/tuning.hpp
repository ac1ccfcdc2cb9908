// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Launch parameters of libdense's kernels, by scalar type and order.
namespace aperture::dense::tuning {

/// Largest number of rows of a matrix whose columns are distributed over registers, but for QR of
/// fp32.
inline constexpr int largest_columns_rows = 32;

/// What kernels in columns do, as far as it decides how many lanes share a matrix.
enum class ColumnsWork { qr, lu, solve };

/// Registers for the columns of a lane and a further one. Factors are fastest with few of them, so
/// that many warps hide latencies; substitutions with few shuffles. H100, percent of the bound with
/// 2 and 4 lanes: fp64 of order 8 LU with pivoting 84 91, inverse 93 97, solve 77 67; QR fp32 of
/// order 16 with 4 and 8 lanes 80 70; with 8, 16 and 32: fp64 of order 24 69 55 48, complex fp32 52
/// 34 -, of order 32 - 47 39, complex fp64 of order 16 70 60 -, of 24 - 42 31.
template <class T>
constexpr int columns_registers(ColumnsWork work, int rows) {
    if (work == ColumnsWork::qr) {
        if (rows > 8 && sizeof(T) == 16) return 288;
        return sizeof(T) == 8 && rows > 16 ? 192 : 96;
    }
    if (work == ColumnsWork::lu && rows <= 8) return 64;
    return rows <= 16 ? 128 : 176;
}

/// Threads for a problem of `rows` x `columns` in registers (in_columns.cuh, qr_in_columns.cuh),
/// the fewest with which its columns and a further one fit; 0 if none do.
template <class T>
constexpr int columns_lanes(ColumnsWork work, int rows, int columns) {
    // H100, percent of the bound of QR so and by blocks: order 36 35 18, 48 37 23, 56 38 24, 64 42
    // 25.
    if (work == ColumnsWork::qr && sizeof(T) == 4 && rows > 32 && rows <= 64 && columns > 32 &&
        columns <= 64) {
        return 32;
    }
    if (rows < 1 || rows > largest_columns_rows) return 0;
    constexpr int words = static_cast<int>(sizeof(T)) / 4;
    int registers = 0;
    for (int lanes = 1; lanes <= 32; lanes *= 2) {
        registers = ((columns + lanes - 1) / lanes + 1) * rows * words;
        if (registers <= (lanes == 1 ? 80 : columns_registers<T>(work, rows))) return lanes;
    }
    constexpr int most = 176;
    return registers <= most ? 32 : 0;
}

/// The same for least squares of so many right-hand sides: as many threads as for the factors,
/// which leave few of them without a column, or more where the columns do not fit.
template <class T>
constexpr int least_squares_lanes(int rows, int columns, int sides) {
    constexpr int words = static_cast<int>(sizeof(T)) / 4;
    constexpr int most = sizeof(T) == 16 ? 200 : 176;
    int lanes = columns_lanes<T>(ColumnsWork::qr, rows, columns);
    if (lanes == 0) return 0;
    const auto fits = [&] { return (columns + sides + lanes - 1) / lanes * rows * words <= most; };
    while (lanes < 32 && !fits()) lanes *= 2;
    return fits() ? lanes : 0;
}

/// Numbers of right-hand sides that kernels are compiled for.
constexpr int compiled_sides(long long sides) { return sides <= 1 ? 1 : sides <= 4 ? 4 : 16; }
inline constexpr int most_sides = 16;

/// Threads for Gauss-Jordan elimination in registers (solve_in_registers.cuh), and columns of
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

/// The most lanes among which rows of a matrix are distributed; 0 if it has too many.
constexpr int most_row_lanes(int order) {
    if (order < 1 || order > 64) return 0;
    int lanes = 2;
    while (lanes < order && lanes < 32) lanes *= 2;
    return lanes;
}

/// What kernels in rows do, as far as it decides how many lanes share a matrix.
enum class RowsWork { factors, pivoted_factors, solution, inverse };

/// Registers for the rows of a lane. H100, percent of the bound: LU with pivoting of order 16 with
/// 4 and 8 lanes fp32 67 62, fp64 63 69; of order 32 with 16 and 32 fp64 50 44, complex fp32 44 49;
/// without pivoting with 8 and 16 fp32 88 98, with 16 and 32 fp64 70 58, complex fp32 59 48.
/// Inverses of order 16 with 4 and 8 lanes fp32 75 79, fp64 76 80, complex fp32 61 68; of order 32
/// with 8, 16 and 32 fp32 51 56 -, fp64 - 52 47, complex fp32 - 39 43. Solutions of order 16 with 4
/// and 8 lanes fp32 65 61, fp64 58 69, complex fp32 48 58, of order 24 with 8, 16 and 32 fp64 42 37
/// 36, complex fp32 33 28 29, of order 32 fp32 43 42 -, fp64 - 35 40, complex fp32 - 27 33.
/// Microseconds of 256 MiB of order 48 in rows and in blocks: solutions fp32 356 582, fp64 345 552,
/// complex fp32 487 636, inverses fp64 539 1356, complex fp32 752 1609.
template <class T>
constexpr int rows_registers(RowsWork work, int order) {
    const bool is_small = sizeof(T) == 4;
    const bool is_double = sizeof(T) == 8 && !core::is_complex<T>;
    if (order > 32) return is_small ? 136 : 200;
    switch (work) {
        case RowsWork::factors:
            return is_small ? 104 : 128;
        case RowsWork::pivoted_factors:
            return core::is_complex<T> ? 72 : is_double && order > 24 ? 128 : 96;
        case RowsWork::solution:
            return is_small ? 136 : sizeof(T) == 8 && order > 16 && order <= 24 ? 150 : 96;
        case RowsWork::inverse:
            break;
    }
    if (order <= 16) return is_small ? 32 : 64;
    return is_double ? 128 : 72;
}

/// Lanes for a problem with rows in registers (in_rows.cuh), the fewest with which they fit; 0 if
/// there are too many rows, or factors of them, for which blocks are as fast.
template <class T>
constexpr int rows_lanes(RowsWork work, int order, int columns) {
    const int most = most_row_lanes(order);
    const int words = columns * static_cast<int>(sizeof(T)) / 4;
    const int registers = rows_registers<T>(work, order);
    int lanes = most < 4 ? most : 4;
    while (lanes < most && (order + lanes - 1) / lanes * words > registers) lanes *= 2;
    if (order <= 32) return lanes;
    const bool factors = work == RowsWork::factors || work == RowsWork::pivoted_factors;
    return factors || 2 * words > registers ? 0 : lanes;
}

/// The same for a triangle (cholesky_in_rows.cuh); 0 where it would not fit, either. H100, order
/// 32, percent of the bound with 8 and 16 lanes: Cholesky fp32 79 80, solve 41 34; with 16 and 32:
/// Cholesky fp64 83 81, complex fp32 82 72, solve fp64 39 31.
template <class T>
constexpr int triangle_lanes(int order) {
    const int most = most_row_lanes(order);
    const int words = static_cast<int>(sizeof(T)) / 4;
    const int most_registers = order <= 16 ? 64 : sizeof(T) == 4 && order <= 32 ? 80 : 96;
    int lanes = order > 16 ? 4 : 1;
    const auto registers = [&] {
        return (order + lanes - 1) / lanes * (order + lanes) / 2 * words;
    };
    while (lanes < most && registers() > most_registers) lanes *= 2;
    return most == 0 || registers() > 128 ? 0 : lanes;
}

/// Lanes for a problem whose factors, of rows x columns, are applied to vectors
/// (apply_factors.cuh): the fewest with which a warp's are not too large; 0 if they are with all.
/// H200, percent of the bound of substitution by LU factors of one right-hand side: fp32 of order 8
/// with 1 and 2 lanes 89 71, 13 with 2 and 4 81 96, 16 with 2, 4 and 8 50 83 85, 32 with 8, 16 and
/// 32 72 87 75, fp64 of 8 with 1 and 2 90 85, 16 with 4 and 8 87 92, complex fp64 of 8 with 2 and 4
/// 91 93, 16 with 8 and 16 86 89.
template <class T>
constexpr int apply_lanes(int rows, int columns) {
    const int bytes = rows * columns * static_cast<int>(sizeof(T));
    const int most = (columns <= 8 ? 16 : 8) * 1024;
    if (bytes > 16 * 1024) return 0;
    // Columns that share code are in one slot of the lanes.
    int lanes = columns > 16 ? 8 : 1;
    while (lanes < 32 && 32 / lanes * bytes > most) lanes *= 2;
    return lanes;
}
/// The same for the columns of Q, which are in registers beside a few of the factors'.
template <class T>
constexpr int form_q_lanes(int rows, int columns) {
    const int lanes = apply_lanes<T>(rows, columns);
    if (lanes == 0) return 0;
    constexpr int words = static_cast<int>(sizeof(T)) / 4;
    const int of_factors = rows <= 16 || words == 4 ? 4 : 2;
    constexpr int most = 208;
    return ((columns + lanes - 1) / lanes * words + of_factors) * rows <= most ? lanes : 0;
}

/// Largest order of general matrices whose columns are distributed, where both are possible. H100,
/// fp32, percent of the bound by columns and by rows: order 16 LU with pivoting 68 78, inverse 74
/// 70 (fp64 61 79), solve 68 65; order 8 85 82, 99 85, 96 87 (fp64 90 86, complex fp64 62 78).
inline constexpr int largest_columns_order = 8;
template <class T>
inline constexpr int largest_columns_order_of_solve = sizeof(T) == 4   ? 16
                                                      : sizeof(T) == 8 ? 8
                                                                       : 4;

/// Bytes of a matrix that a block works on for each of its threads: as few warps as keep a
/// multiprocessor busy, for all wait while one factors a panel. Where others have work meanwhile,
/// or each panel changes the whole matrix, more are of use. H100, microseconds for 1000 problems
/// with 32, 64 and 128 threads: LU with pivoting fp32 of order 64 31, 45, -, of 96 121, 117, 140,
/// of 128 299, 241, 224, fp64 of 72 121, 124, 186, of 96 316, 233, 286, of 112 603, 420, 376,
/// complex fp32 of 72 150, 136, 167, of 96 407, 305, 278; inverse fp64 of 64 191, 157, 179, of 96
/// 1162, 765, 635.
template <class T>
inline constexpr std::size_t lu_bytes_per_thread = sizeof(T) == 4        ? 512
                                                   : core::is_complex<T> ? 576
                                                                         : 768;
/// The same of the panels of Cholesky's triangle. H100, microseconds for 1000 with 32, 64, 128 and
/// 256 threads: fp32 of order 96 54, 47, 62, -, of 128 124, 105, 103, -; fp64 of 64 37, 37, 52, -,
/// of 96 132, 108, 113, -, of 128 419, 295, 250, 382; complex fp64 of 96 -, 370, 287, 432, of 112
/// -, 1121, 684, 609, of 128 -, 1432, 809, 735.
inline constexpr std::size_t cholesky_bytes_per_thread = 448;
/// And where each panel changes the whole matrix. H100, microseconds for 1000 with 128 and 256
/// threads: LU fp64 of order 112 261 360, of 120 467 400, of 128 519 446, complex fp32 of 120 556
/// 485, of 128 625 547, complex fp64 of 80 293 423, of 96 666 564; inverse fp64 of 96 628 921, of
/// 128 1775 1553, complex fp64 of 96 1759 1579, of 128 4968 3785; QR fp64 of 112 506 788, of 128
/// 1078 953, complex fp32 of 128 1483 1311, complex fp64 of 96 1338 1231, of 128 4165 3218.
inline constexpr std::size_t right_looking_bytes = 432;

/// Largest order for which blocks look left for LU factors. H100, microseconds for 1000, left and
/// right, without pivoting: fp32 of order 96 75 98, of 128 158 170; fp64 of 96 172 185, of 104 275
/// 220, of 128 565 446; complex fp32 of 88 193 204, of 96 260 231, of 128 748 544; complex fp64 of
/// 64 170 176, of 96 783 564.
template <class T>
inline constexpr int largest_left_looking_order = sizeof(T) == 4    ? 128
                                                  : sizeof(T) == 16 ? 64
                                                                    : 96;
template <>
inline constexpr int largest_left_looking_order<core::Complex<float>> = 88;

/// QR of a matrix of which two do not fit in shared memory, in the registers of a block: 32 heights
/// rows, slots columns of each warp. H100, complex fp32, 1,056 of 240 x 66: 1288 us in shared
/// memory, 1108 with 8 warps of 9 columns, 872 so.
struct QrInWarps {
    static constexpr int heights = 8, slots = 6, warps = 11;
};
template <class T>
inline constexpr bool has_qr_in_warps = core::is_complex<T> && sizeof(T) == 8;

/// Bytes of shared memory that a block can have on every GPU of compute capability 8.0 or more.
inline constexpr int least_shared_memory = 99 * 1024;

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

/// Tiles of C for batched products (product_tiles.cuh): their rows and columns, how many of them a
/// block has at most in each direction, the depth of the slices in shared memory, and blocks whose
/// registers a multiprocessor must have.
struct ProductShape {
    int rows, columns;
    int most_rows, most_columns;
    int depth;
    int blocks;
};
/// Where C has no more rows or columns: enough to be as fast as the memory.
template <class T>
inline constexpr int largest_small_product = sizeof(T) == 16 ? 8 : 32;
template <class T>
inline constexpr ProductShape small_product{4, 4,  16,
                                            8, 32, sizeof(T) == 4 ? 7 : sizeof(T) == 8 ? 5 : 3};
/// Of fp32, where parts of C of a fixed size would not fill blocks. Four loads of 16 bytes from
/// shared memory give 64 multiply-adds.
inline constexpr ProductShape large_tiles{8, 8, 16, 8, 32, 3};
/// From this number of columns on, threads store their entries of C where they belong, and read
/// rows of A along the depth. H100, fp32, milliseconds of order 8 to 32 without and with: 0.288
/// 0.321, 0.272 0.299, 0.309 0.297, 0.296 0.274.
inline constexpr int least_direct_columns = 17;
/// Parts of C that a block has of larger products (products_in_blocks.cuh), the depth of the slices
/// of A and B that it has in shared memory, how many of these, the tiles of a thread or, in fp64, a
/// warp, and blocks whose registers a multiprocessor must have.
template <int its_rows, int its_columns, int its_depth, int its_stages, int its_tile_rows,
          int its_tile_columns, int its_blocks>
struct BlockProduct {
    static constexpr int rows = its_rows, columns = its_columns, depth = its_depth;
    static constexpr int stages = its_stages;
    static constexpr int tile_rows = its_tile_rows, tile_columns = its_tile_columns;
    static constexpr int blocks = its_blocks;
};
/// The parts of larger products, and others that have less beyond the edges of some. H100, complex
/// fp32, milliseconds of order 33, 48 and 96 with 48 x 48 and 48 x 32: .85 .89, .41 .46, .69 .61.
template <class T>
struct LargeProduct;
template <>
struct LargeProduct<float> : BlockProduct<64, 64, 8, 3, 8, 8, 6> {};
template <>
struct LargeProduct<core::Complex<float>> : BlockProduct<64, 64, 8, 3, 8, 4, 3> {};
template <>
struct LargeProduct<double> : BlockProduct<64, 64, 16, 3, 32, 32, 3> {};
template <>
struct LargeProduct<core::Complex<double>> : BlockProduct<32, 32, 16, 3, 16, 16, 4> {};
template <class T>
struct OtherProduct;
template <>
struct OtherProduct<core::Complex<float>> : BlockProduct<48, 32, 8, 3, 6, 4, 6> {};
template <>
struct OtherProduct<double> : BlockProduct<48, 48, 16, 3, 48, 24, 4> {};
template <>
struct OtherProduct<core::Complex<double>> : BlockProduct<16, 16, 16, 2, 16, 8, 8> {};

/// Of types of 8 bytes where C has at most 32 rows and columns, but more than 28 of both. H100,
/// milliseconds of order 32 in tiles of 4 x 4 and in these blocks: fp64 .279 .273, complex fp32
/// .311 .285.
inline constexpr int largest_product_in_tiles = 28;
template <class T>
struct SmallBlockProduct;
template <>
struct SmallBlockProduct<core::Complex<float>> : BlockProduct<32, 32, 8, 4, 4, 4, 10> {};
template <>
struct SmallBlockProduct<double> : BlockProduct<32, 32, 16, 2, 16, 16, 6> {};

/// Chunks of a row from which on a thread of products_of_four_rows loads two at once of each, past
/// the first-level cache. H200, terabytes a second of matrices of 1 GiB, one at once and two: fp32
/// of order 32 4.31 4.21, 56 4.15 3.38, 64 4.30 4.34, 80 4.14 4.36, 128 4.37 4.53, fp64 of 28 4.13
/// 3.37, 32 4.35 4.31, 64 4.31 4.33, 128 4.35 4.51, complex fp64 of 8 4.40 4.31, 16 4.40 4.37, 28
/// 3.58 4.29, 64 4.18 4.32, 128 4.20 4.47.
inline constexpr core::index_t least_chunks_for_two = 16;

/// Bytes of a block's matrices and vectors in products_of_runs, the most with which it has whole
/// lines of memory, and the most. H200, mean of orders 1 to 64, terabytes a second of blocks of 16,
/// 24 and 32 KB: 4.24 4.29 4.24; parts of lines instead of whole ones cost 7 %.
inline constexpr core::index_t vector_run_bytes = 24 * 1024;
inline constexpr core::index_t most_vector_line_bytes = 40 * 1024;
inline constexpr core::index_t most_vector_run_bytes = 64 * 1024;

/// Bytes of a block's matrices in small_products, or up to a quarter more where these are whole
/// lines of memory. H200, percent of a copy with 16, 24, 32 and 48 KB: fp64 of order 4 92 92 100
/// 99, 7 92 92 103 102, complex fp32 of 4 77 78 99 99, 9 91 91 91 79, 11 65 65 65 77, 12 77 77 78
/// 88, 16 80 68 68 86; rank-k updates, which have two matrices and fewer threads at work, fp32 of 6
/// 69 81 90 82, fp64 of 5 62 74 82 88, 8 62 62 72 78, complex fp64 of 4 67 71 81 88.
template <class T>
constexpr int small_run_bytes(int order) {
    return (core::is_complex<T> && sizeof(T) == 8 && order > 10 ? 48 : 32) * 1024;
}
template <class T>
inline constexpr int rank_k_run_bytes = (sizeof(T) == 4 ? 32 : 48) * 1024;
/// Bytes of a matrix up to which a thread has whole problems.
inline constexpr int most_thread_matrix_bytes = 144;
/// Largest depth, and orders, of small_products: of real numbers also where rows are no whole
/// chunks. H200, percent of a copy in tiles of chunks and so: fp32 of order 17 48 69, 18 52 73, 20
/// 91 82, 24 78 68, fp64 of 17 57 92, complex fp32 of 17 53 60, 18 70 62.
inline constexpr int most_small_depth = 32;
template <class T>
constexpr int largest_product_of_runs(bool whole_chunks) {
    return whole_chunks || core::is_complex<T> ? 16 : 28;
}
inline constexpr int largest_rank_k_of_runs = 16;
/// Largest order of interleaved_products. H200, percent of a copy in tiles and so: fp32 of order 2
/// 33 57, 4 41 58, 8 40 45, fp64 of 3 80 91, 4 89 70, complex fp32 of 3 64 87, 4 78 65, complex
/// fp64 of 4 64 90, 5 58 62.
template <class T>
inline constexpr int largest_interleaved_product = sizeof(T) == 8 ? 3 : 4;

/// Registers of a thread of tridiagonalise, of a column of so many: the fewest without spills.
/// H100, fp32, milliseconds of 256 MiB of order 32 and 64: 1.9 and 2.8 with 103 and 142
/// registers, 1.4 and 2.0 with 96 and 128, and reflectors loaded twice.
template <class T>
constexpr int tridiagonal_registers(int words) {
    const bool is_largest = sizeof(T) == 16;
    if (words <= 16) return is_largest ? 80 : 64;
    if (words <= 32) return is_largest ? 112 : 96;
    if (is_largest) return 248;
    return words <= 64 && sizeof(core::RealOf<T>) == 4 ? 128 : 168;
}

/// Scratch memory for eigenvectors: the rotations of some ten thousand problems of order 64, whose
/// values a thread finds for each, which takes as long for few as for many.
inline constexpr long long eigen_scratch_bytes = 512ll << 20;
/// Columns from which on singular vectors start from the eigenvectors of A^H A.
inline constexpr int least_svd_order_with_basis = 9;

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
