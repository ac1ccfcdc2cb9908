// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of matrices so small that a block copies many whole problems, which lie without gaps, as
// they are: an entry is found only where it is used.

#include "libdense/gpu/chunks.cuh"
#include "libdense/gpu/fast_divider.hpp"

namespace aperture::dense {

inline constexpr int small_threads = 128;
/// Blocks whose registers a multiprocessor must have.
template <class T, int side>
inline constexpr int small_blocks = side* side * sizeof(T) > 64 ? 5 : 8;

/// Matrices without gaps that begin on a chunk, [problem][line][step], and where they are in shared
/// memory.
template <class U>
struct MatrixRun {
    U* data;
    int entries;         ///< of a matrix
    int line, step;      ///< strides in a matrix
    int offset, stride;  ///< in shared memory; stride is between matrices
    /// Of a matrix that an unused chunk follows in shared memory, so that neighbouring matrices
    /// begin in different banks; otherwise more than a block has.
    FastDivider chunks;
};

/// C = alpha A B + beta C, or alpha A A^H + beta C.
template <class T>
struct SmallProductArguments {
    MatrixRun<const T> a;  ///< [problem][row of op(A)][depth]
    MatrixRun<const T> b;  ///< [problem][column of op(B)][depth]
    MatrixRun<T> c;        ///< by rows
    T alpha, beta;
    bool conjugate_a, conjugate_b;
    bool reads_c;
    index_t problems;
    int problems_per_block;
    int rows, columns, depth;
    FastDivider tiles;  ///< of a problem
    /// Columns of tiles; of a lower triangle tiles in two rows that have as many as other two.
    FastDivider tile_columns;
    int tile_rows;
    int problems_at_once;  ///< that the threads of a block compute
};

/// Starts the copy of a run by all threads of the block.
template <class T>
__device__ __forceinline__ void start_matrix_run(T* shared, const T* from,
                                                 const MatrixRun<const T>& run, int problems) {
    constexpr int width = chunk_entries<T>;
    T* const to = shared + run.offset;
    const int entries = problems * run.entries;
    const int chunks = entries / width;
    APERTURE_UNROLL_BY(4)
    for (int i = core::thread_rank(); i < chunks; i += small_threads) {
        core::copy_async<16>(to + (i + run.chunks.quotient(i)) * width, from + i * width);
    }
    const int i = chunks * width + core::thread_rank();
    if (i < entries) core::copy_async<static_cast<int>(sizeof(T))>(to + i, from + i);
}

template <class T>
__device__ __forceinline__ void store_matrix_run(const T* shared, const MatrixRun<T>& run,
                                                 index_t first, int problems) {
    constexpr int width = chunk_entries<T>;
    const T* const from = shared + run.offset;
    T* const to = run.data + first * run.entries;
    const int entries = problems * run.entries;
    const int chunks = entries / width;
    APERTURE_UNROLL_BY(4)
    for (int i = core::thread_rank(); i < chunks; i += small_threads) {
        *reinterpret_cast<Chunk<T>*>(to + i * width) =
            *reinterpret_cast<const Chunk<T>*>(from + (i + run.chunks.quotient(i)) * width);
    }
    const int i = chunks * width + core::thread_rank();
    if (i < entries) to[i] = from[i];
}

/// Copies the block's problems to shared memory, where compute(shared, problems) has C computed,
/// and C back.
template <bool has_b, class T, class Compute>
__device__ __forceinline__ void with_own_problems(const SmallProductArguments<T>& p,
                                                  const Compute& compute) {
    T* const shared = core::shared<T>();
    const index_t first = static_cast<index_t>(blockIdx.x) * p.problems_per_block;
    const int problems = static_cast<int>(min(p.problems - first, index_t(p.problems_per_block)));
    start_matrix_run(shared, p.a.data + first * p.a.entries, p.a, problems);
    if constexpr (has_b) start_matrix_run(shared, p.b.data + first * p.b.entries, p.b, problems);
    if (p.reads_c) {
        const MatrixRun<const T> c{p.c.data, p.c.entries, 0, 0, p.c.offset, 0, p.c.chunks};
        start_matrix_run(shared, c.data + first * c.entries, c, problems);
    }
    core::commit_copies();
    core::wait_for_copies();
    __syncthreads();
    compute(shared, problems);
    __syncthreads();
    store_matrix_run(shared, p.c, first, problems);
}

/// What a thread has of A, B and C: lines that are a step ahead of each other.
template <class T, int side>
struct SmallTile {
    const T* left[side];
    const T* right[side];

    /// sum += A B, or A B^H, of the next step.
    template <bool adjoint, class Step>
    __device__ __forceinline__ void add_step(T (&sum)[side][side], Step step_a, Step step_b,
                                             bool conjugate_a, bool conjugate_b) {
        T row[side], column[side];
        APERTURE_UNROLL
        for (int i = 0; i < side; ++i) {
            row[i] = *left[i];
            column[i] = *right[i];
            left[i] += step_a;
            right[i] += step_b;
            if constexpr (core::is_complex<T> && !adjoint) {
                if (conjugate_a) row[i] = core::conj(row[i]);
                if (conjugate_b) column[i] = core::conj(column[i]);
            }
        }
        APERTURE_UNROLL
        for (int i = 0; i < side; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < side; ++j) {
                sum[i][j] = adjoint ? core::multiply_add_conj(sum[i][j], row[i], column[j])
                                    : core::multiply_add(sum[i][j], row[i], column[j]);
            }
        }
    }
};

/// Of an entry on or below the diagonal of alpha A A^H + beta C.
template <class T>
__device__ __forceinline__ T scaled_hermitian(const SmallProductArguments<T>& p, T sum, T old,
                                              bool on_diagonal) {
    if (on_diagonal) sum = T(core::real_part(sum));
    T value = sum * core::real_part(p.alpha);
    if (p.reads_c) {
        if (on_diagonal) old = T(core::real_part(old));
        value = value + old * core::real_part(p.beta);
    }
    return value;
}

/// Thread: tiles of side x side entries of C, whose rows and columns are one of every other thread
/// apart. Block: whole problems. Grid: problems, on x. Shared: A, B and C of the block. Bytes and
/// flops as of products_in_tiles.
template <class T, int side>
__global__ void __launch_bounds__(small_threads, small_blocks<T, side>)
    small_products(SmallProductArguments<T> p) {
    with_own_problems<true>(p, [&](T* shared, int problems) {
        const int first = p.tiles.quotient(core::thread_rank());
        if (first >= p.problems_at_once) return;
        const int tile = core::thread_rank() - first * p.tiles.size();
        const int first_row = p.tile_columns.quotient(tile);
        const int first_column = tile - first_row * p.tile_columns.size();
        const auto row = [&](int i) { return first_row + i * p.tile_rows; };
        const auto column = [&](int j) { return first_column + j * p.tile_columns.size(); };
        int line_of_a[side], line_of_b[side];
        APERTURE_UNROLL
        for (int i = 0; i < side; ++i) {
            line_of_a[i] = p.a.offset + (row(i) < p.rows ? row(i) : first_row) * p.a.line;
            line_of_b[i] =
                p.b.offset + (column(i) < p.columns ? column(i) : first_column) * p.b.line;
        }
        APERTURE_NO_UNROLL
        for (int problem = first; problem < problems; problem += p.problems_at_once) {
            SmallTile<T, side> at;
            APERTURE_UNROLL
            for (int i = 0; i < side; ++i) {
                at.left[i] = shared + line_of_a[i] + problem * p.a.stride;
                at.right[i] = shared + line_of_b[i] + problem * p.b.stride;
            }
            T sum[side][side] = {};
            APERTURE_UNROLL_BY(2)
            for (int k = 0; k < p.depth; ++k) {
                at.template add_step<false>(sum, p.a.step, p.b.step, p.conjugate_a, p.conjugate_b);
            }
            T* const c = shared + p.c.offset + problem * p.c.stride;
            const auto for_each = [&](const auto& visit) {
                APERTURE_UNROLL
                for (int i = 0; i < side; ++i) {
                    APERTURE_UNROLL
                    for (int j = 0; j < side; ++j) {
                        T* const its = c + row(i) * p.columns + column(j);
                        if (row(i) < p.rows && column(j) < p.columns) visit(its, sum[i][j]);
                    }
                }
            };
            if (p.reads_c) {
                for_each([&](T* its, T value) { *its = p.alpha * value + p.beta * *its; });
            } else {
                for_each([&](T* its, T value) { *its = p.alpha * value; });
            }
        }
    });
}

/// alpha A A^H + beta C. Thread: tiles of the lower triangle, of neighbouring rows and columns. The
/// sums are in the order of hermitian_rank_k_blocks, of which four lanes have every fourth step.
template <class T, int side>
__global__ void __launch_bounds__(small_threads) small_rank_k(SmallProductArguments<T> p) {
    with_own_problems<false>(p, [&](T* shared, int problems) {
        const int first = p.tiles.quotient(core::thread_rank());
        if (first >= p.problems_at_once) return;
        const int tile = core::thread_rank() - first * p.tiles.size();
        // The last row of tiles, and the rows before it with those from the first on.
        const int pair = p.tile_columns.quotient(tile);
        const int in_pair = tile - pair * p.tile_columns.size();
        const int of_longer = p.tile_rows - pair;
        const bool is_longer = in_pair < of_longer;
        const int tile_row = is_longer ? of_longer - 1 : p.tile_columns.size() - of_longer - 1;
        const int tile_column = is_longer ? in_pair : in_pair - of_longer;
        const bool on_diagonal = tile_row == tile_column;
        const int first_row = tile_row * side, first_column = tile_column * side;
        APERTURE_NO_UNROLL
        for (int problem = first; problem < problems; problem += p.problems_at_once) {
            const T* const a = shared + p.a.offset + problem * p.a.stride;
            SmallTile<T, side> at;
            APERTURE_UNROLL
            for (int i = 0; i < side; ++i) {
                at.left[i] = a + min(first_row + i, p.rows - 1) * p.a.line;
                at.right[i] = a + min(first_column + i, p.rows - 1) * p.a.line;
            }
            T part[4][side][side] = {};
            const auto add = [&](int split) {
                at.template add_step<true>(part[split], p.a.step, p.a.step, false, false);
            };
            int left = p.depth;
            APERTURE_NO_UNROLL
            for (; left >= 4; left -= 4) {
                APERTURE_UNROLL
                for (int split = 0; split < 4; ++split) add(split);
            }
            APERTURE_UNROLL
            for (int split = 0; split < 3; ++split) {
                if (split < left) add(split);
            }

            T* const c = shared + p.c.offset + problem * p.c.stride;
            T* const lower = c + first_row * p.rows + first_column;
            T* const upper = c + first_column * p.rows + first_row;
            APERTURE_UNROLL
            for (int i = 0; i < side; ++i) {
                APERTURE_UNROLL
                for (int j = 0; j < side; ++j) {
                    if (first_row + i >= p.rows || (j > i && on_diagonal)) continue;
                    T* const its = lower + i * p.rows + j;
                    const T sum = (part[0][i][j] + part[1][i][j]) + (part[2][i][j] + part[3][i][j]);
                    const bool is_real = i == j && on_diagonal;
                    const T old = p.reads_c ? *its : T(RealOf<T>(0));
                    const T value = scaled_hermitian(p, sum, old, is_real);
                    *its = value;
                    if (!is_real) upper[j * p.rows + i] = core::conj(value);
                }
            }
        }
    });
}

/// Between the pieces that load_chunks loads at once.
template <int entries, class T>
inline constexpr int piece_distance = entries % chunk_entries<T> == 0 ? chunk_entries<T> : 1;

/// Loads a matrix that is contiguous by rows, or by columns if `turned`.
template <int order, class T>
__device__ __forceinline__ void load_matrix(T (&to)[order * order], const T* from, bool turned,
                                            bool conjugated) {
    load_chunks(to, from, piece_distance<order * order, T>);
    APERTURE_UNROLL
    for (int i = 0; i < order; ++i) {
        APERTURE_UNROLL
        for (int j = 0; j < i; ++j) {
            const T lower = to[i * order + j], upper = to[j * order + i];
            to[i * order + j] = turned ? upper : lower;
            to[j * order + i] = turned ? lower : upper;
        }
    }
    if constexpr (core::is_complex<T>) {
        if (!conjugated) return;
        APERTURE_UNROLL
        for (int i = 0; i < order * order; ++i) to[i] = core::conj(to[i]);
    }
}

/// Both of square matrices. Thread: whole problems.
template <class T, int order, bool is_hermitian>
__global__ void __launch_bounds__(small_threads) products_by_threads(SmallProductArguments<T> p) {
    with_own_problems<!is_hermitian>(p, [&](T* shared, int problems) {
        const T zero = T(RealOf<T>(0));
        APERTURE_NO_UNROLL
        for (int own = core::thread_rank(); own < problems; own += small_threads) {
            constexpr int entries = order * order;
            T a[entries], b[is_hermitian ? 1 : entries], c[entries] = {}, old[entries] = {};
            load_matrix<order>(a, shared + p.a.offset + own * p.a.stride, p.a.line == 1,
                               p.conjugate_a);
            // Of op(B), which is turned, the columns are its lines.
            if constexpr (!is_hermitian) {
                load_matrix<order>(b, shared + p.b.offset + own * p.b.stride, p.b.line == 1,
                                   p.conjugate_b);
            }
            T* const its = shared + p.c.offset + own * p.c.stride;
            if (p.reads_c) load_chunks(old, its, piece_distance<entries, T>);
            APERTURE_UNROLL
            for (int i = 0; i < order; ++i) {
                APERTURE_UNROLL
                for (int j = 0; j < (is_hermitian ? i + 1 : order); ++j) {
                    T sum = zero;
                    if constexpr (is_hermitian) {
                        T part[4] = {zero, zero, zero, zero};
                        APERTURE_UNROLL
                        for (int k = 0; k < order; ++k) {
                            part[k] =
                                core::multiply_add_conj(zero, a[i * order + k], a[j * order + k]);
                        }
                        sum = (part[0] + part[1]) + (part[2] + part[3]);
                        const T value = scaled_hermitian(p, sum, old[i * order + j], i == j);
                        c[i * order + j] = value;
                        if (i != j) c[j * order + i] = core::conj(value);
                    } else {
                        APERTURE_UNROLL
                        for (int k = 0; k < order; ++k) {
                            sum = core::multiply_add(sum, a[i * order + k], b[j * order + k]);
                        }
                        const T value = p.alpha * sum;
                        c[i * order + j] = p.reads_c ? value + p.beta * old[i * order + j] : value;
                    }
                }
            }
            store_chunks(its, c, piece_distance<entries, T>);
        }
    });
}

}  // namespace aperture::dense
