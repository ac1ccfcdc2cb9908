// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Applies Q^T or Q of the nodes of a panel's tree to 32 columns: C - V T^T (V^T C), or with T.

#include "libdense/gpu/tall_shape.cuh"

namespace aperture::dense::gpu {

/// Columns per block.
inline constexpr int applied_columns = panel_columns;

template <class T, int Groups>
struct ApplyShape {
    static constexpr int warps = 8;
    static constexpr int threads = warps * core::warp_size;
    static constexpr int rows = Groups * group_rows;
    static constexpr int piece = RowPiece<T>::size;
    /// Successive columns are shifted by 16 bytes mod 128, against bank conflicts.
    static constexpr int column = rows + piece;
    /// Slices of rows in V^T C, one per pair of warps.
    static constexpr int slices = warps / 2;
    static constexpr int slice_pieces = rows / piece / slices;
    static_assert(rows % (piece * slices) == 0);
    static constexpr int square = panel_columns * panel_columns;
    static constexpr int shared_elements =
        (panel_columns + applied_columns) * column + slices * square;
    static constexpr int shared_bytes = shared_elements * static_cast<int>(sizeof(T));
};

template <class T>
struct ApplyPanelArguments {
    const T* matrix;  ///< [column][pitch], the output of factor_panel_kernel
    index_t pitch;
    TreeLevel level;
    const T* factors;
    T* c;  ///< [column][c_pitch], columns padded like the matrix's
    index_t c_pitch;
};

namespace detail {

template <class T, int Groups, bool transposed>
struct ApplyBlock {
    using Shape = ApplyShape<T, Groups>;
    static constexpr int n = panel_columns;
    static constexpr int size = Shape::piece;

    const ApplyPanelArguments<T>& args;
    TreeNode node;
    T* v;      ///< [column][row]
    T* c;      ///< [column][row]
    T* parts;  ///< partial V^T C, [slice][of V][of C]; then V^T C, T and their product
    int thread;
    int warp;
    int lane;

    __device__ explicit ApplyBlock(const ApplyPanelArguments<T>& arguments)
        : args(arguments),
          node(args.level, static_cast<int>(blockIdx.y), Groups - 1),
          v(core::shared<T>()),
          c(v + n * Shape::column),
          parts(c + applied_columns * Shape::column),
          thread(core::thread_rank()),
          warp(core::warp_rank()),
          lane(core::lane_rank()) {}

    __device__ T* column_of_c(int column) const {
        return args.c + (index_t{blockIdx.x} * applied_columns + column) * args.c_pitch +
               args.level.first_row;
    }
    /// First row of a group of a block; -1 if the group does not exist.
    __device__ index_t group_row(int block, int group) const {
        const int below = block * (Groups - 1) + group;
        if (group == 0) return index_t{node.top} * group_rows;
        return below <= node.below ? index_t{node.top + args.level.step * below} * group_rows : -1;
    }

    /// Calls visit(column, row in the block, row in the matrix or -1) for the pieces of groups
    /// [first, end).
    template <class Visit>
    __device__ void for_pieces(int block, int first, int end, const Visit& visit) const {
        constexpr int of_group = group_rows / size;
        const int of_column = (end - first) * of_group;
        for (int i = thread; i < n * of_column; i += Shape::threads) {
            const int column = i / of_column;
            const int group = first + i % of_column / of_group;
            const int row = i % of_group * size;
            const index_t begin = group_row(block, group);
            visit(column, group * group_rows + row, begin < 0 ? -1 : begin + row);
        }
    }

    /// Starts asynchronous copies of groups [first, end) of a block, [column][row] with `pitch`
    /// between columns, to shared memory. Missing groups become zero.
    __device__ void start_copies(const T* from, index_t pitch, int block, int first, int end,
                                 T* to) const {
        for_pieces(block, first, end, [&](int column, int row, index_t begin) {
            T* const piece = to + column * Shape::column + row;
            if (begin >= 0) {
                core::copy_async<16>(piece, from + column * pitch + begin);
            } else {
                store_piece(piece, RowPiece<T>{});
            }
        });
    }
    /// Completes V: ones on the diagonal of the top and zeros above it; zeros below the diagonal of
    /// triangles. Each thread completes the pieces it copied.
    __device__ void complete_v(int block) {
        const bool triangles = args.level.triangles;
        const bool own_top = block == 0 && !triangles;
        for_pieces(block, 0, triangles ? Groups : 1, [&](int column, int row, index_t) {
            T* const at = v + column * Shape::column + row;
            RowPiece<T> piece = load_piece(at);
            APERTURE_UNROLL
            for (int e = 0; e < size; ++e) {
                const int r = row % group_rows + e;
                if (row < group_rows) {
                    piece.v[e] = r == column ? T(1) : own_top && r > column ? piece.v[e] : T(0);
                } else if (r > column) {
                    piece.v[e] = 0;
                }
            }
            store_piece(at, piece);
        });
    }

    __device__ void start_top() { start_copies(column_of_c(0), args.c_pitch, 0, 0, 1, c); }
    __device__ void store_top() {
        for_pieces(0, 0, 1, [&](int column, int row, index_t to) {
            store_piece(column_of_c(column) + to, load_piece(c + column * Shape::column + row));
        });
    }
    __device__ void load(int block) {
        const T* const panel =
            args.matrix + args.level.first_row * args.pitch + args.level.first_row;
        // Two copies, divided among threads as complete_v divides the first.
        const int parted = args.level.triangles ? Groups : 1;
        start_copies(panel, args.pitch, block, 0, parted, v);
        start_copies(panel, args.pitch, block, parted, Groups, v);
        start_copies(column_of_c(0), args.c_pitch, block, 1, Groups, c);
        core::commit_copies();
        core::wait_for_copies();
        complete_v(block);
    }
    __device__ void store(int block) {
        for_pieces(block, 1, Groups, [&](int column, int row, index_t to) {
            if (to < 0) return;
            store_piece(column_of_c(column) + to, load_piece(c + column * Shape::column + row));
        });
    }

    /// Partial sums of V^T C: a pair of warps computes a slice of the rows, each warp half of C's
    /// columns, a lane 4 x 4 sums.
    __device__ void multiply_transposed() {
        constexpr int own = 4;
        const int slice = warp / 2;
        const int of_v = lane % 8;
        const int of_c = warp % 2 * (applied_columns / 2) + lane / 8;
        T sums[own][own] = {};
        for (int p = slice * Shape::slice_pieces; p < (slice + 1) * Shape::slice_pieces; ++p) {
            RowPiece<T> pieces[own];
            APERTURE_UNROLL
            for (int i = 0; i < own; ++i) {
                pieces[i] = load_piece(v + (of_v + 8 * i) * Shape::column + p * size);
            }
            APERTURE_UNROLL
            for (int j = 0; j < own; ++j) {
                const RowPiece<T> piece = load_piece(c + (of_c + 4 * j) * Shape::column + p * size);
                APERTURE_UNROLL
                for (int i = 0; i < own; ++i) {
                    APERTURE_UNROLL
                    for (int e = 0; e < size; ++e) sums[i][j] += pieces[i].v[e] * piece.v[e];
                }
            }
        }
        APERTURE_UNROLL
        for (int i = 0; i < own; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < own; ++j) {
                parts[slice * Shape::square + (of_v + 8 * i) * n + of_c + 4 * j] = sums[i][j];
            }
        }
    }

    /// Adds up the partial sums and multiplies T^T or T by the result. Begins and ends with a
    /// barrier.
    __device__ void multiply_factor(int block) {
        const T* const factor = args.factors + args.level.factors +
                                (index_t{blockIdx.y} * args.level.blocks + block) * factor_elements;
        constexpr int own = Shape::square / Shape::threads;
        T* const t = parts + Shape::square;
        T* const y = parts + 2 * Shape::square;
        T sums[own];
        T of_t[own];
        __syncthreads();
        APERTURE_UNROLL
        for (int i = 0; i < own; ++i) {
            const int at = thread + i * Shape::threads;
            of_t[i] = factor[at];
            sums[i] = parts[at];
            APERTURE_UNROLL
            for (int s = 1; s < Shape::slices; ++s) sums[i] += parts[s * Shape::square + at];
        }
        __syncthreads();
        APERTURE_UNROLL
        for (int i = 0; i < own; ++i) {
            const int at = thread + i * Shape::threads;
            parts[at] = sums[i];
            // [summation index][row of the product]
            t[transposed ? at : at % n * n + at / n] = of_t[i];
        }
        __syncthreads();
        APERTURE_UNROLL
        for (int i = 0; i < own; ++i) sums[i] = 0;
        for (int k = 0; k < n; ++k) {
            const T w = parts[k * n + lane];
            APERTURE_UNROLL
            for (int i = 0; i < own; ++i) sums[i] += t[k * n + warp * own + i] * w;
        }
        APERTURE_UNROLL
        for (int i = 0; i < own; ++i) y[(warp * own + i) * n + lane] = sums[i];
        __syncthreads();
    }

    /// C - V y: a warp updates 4 columns of C, a lane pieces of rows.
    __device__ void subtract() {
        constexpr int own = applied_columns / Shape::warps;
        const T* const y = parts + 2 * Shape::square + warp * own;
        T* const columns = c + warp * own * Shape::column;
        for (int p = lane; p < Shape::rows / size; p += core::warp_size) {
            RowPiece<T> sums[own];
            APERTURE_UNROLL
            for (int j = 0; j < own; ++j) {
                sums[j] = load_piece(columns + j * Shape::column + p * size);
            }
            APERTURE_UNROLL_BY(8)
            for (int k = 0; k < n; ++k) {
                const RowPiece<T> piece = load_piece(v + k * Shape::column + p * size);
                APERTURE_UNROLL
                for (int j = 0; j < own; ++j) {
                    const T factor = y[k * n + j];
                    APERTURE_UNROLL
                    for (int e = 0; e < size; ++e) sums[j].v[e] -= piece.v[e] * factor;
                }
            }
            APERTURE_UNROLL
            for (int j = 0; j < own; ++j) {
                store_piece(columns + j * Shape::column + p * size, sums[j]);
            }
        }
    }
};

}  // namespace detail

/// A block: a node and 32 columns of C. The node's top stays in shared memory while the blocks of
/// its rows are updated one after the other, in the order of the factorisation or in reverse. Grid:
/// panels of 32 columns, nodes. Shared memory: ApplyShape. Reads V and C and writes C once; 4 flops
/// per element of C and column of V.
template <class T, int Groups, bool transposed>
__global__ void __launch_bounds__(ApplyShape<T, Groups>::threads)
    apply_panel_kernel(ApplyPanelArguments<T> args) {
    detail::ApplyBlock<T, Groups, transposed> block(args);
    const int blocks = block.node.blocks;
    if (blocks == 0) return;
    block.start_top();
    for (int i = 0; i < blocks; ++i) {
        const int b = transposed ? i : blocks - 1 - i;
        __syncthreads();
        block.load(b);
        __syncthreads();
        block.multiply_transposed();
        block.multiply_factor(b);
        block.subtract();
        __syncthreads();
        block.store(b);
    }
    block.store_top();
}

}  // namespace aperture::dense::gpu
