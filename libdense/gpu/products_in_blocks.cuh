// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Batched products of matrices of which a block of threads has a part of C of a fixed size.

#include <bit>
#include <type_traits>

#include "libcore/gpu/tensor_core_fp64.cuh"
#include "libdense/gpu/block_panels.cuh"
#include "libdense/gpu/operand_panels.cuh"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense {

/// Operands of products_in_blocks.
template <class T>
struct BlockProductArguments : ProductOperands<T> {
    PanelCopy copy_a, copy_b;
    bool in_chunks;  ///< chunks along rows cover C
    unsigned row_blocks, blocks_of_c;
};

/// A thread's entries of C: chunks of 16 bytes that are a chunk of every other thread apart. A warp
/// has 4 x 8 threads; neighbours alternate between two rows, so that two of them load the same 16
/// bytes, which costs half of the cycles.
template <class T, class Shape>
struct ThreadPart {
    static constexpr int width = chunk_entries<T>;
    static constexpr int rows = Shape::tile_rows, columns = Shape::tile_columns;
    static constexpr int row_threads = Shape::rows / rows;
    static constexpr int column_threads = Shape::columns / columns;
    static constexpr int threads = row_threads * column_threads;

    int first_row, first_column;
    T sum[rows][columns] = {};

    /// Of operands that are conjugated in shared memory.
    __device__ __forceinline__ ThreadPart(bool, bool) {
        constexpr int warp_columns = column_threads / 8;
        const int lane = core::lane_rank(), warp = core::warp_rank();
        first_row = (warp / warp_columns * 4 + lane % 2 + lane / 16 * 2) * width;
        first_column = (warp % warp_columns * 8 + lane / 2 % 8) * width;
    }
    /// Adds A B of two panels.
    template <class PanelA, class PanelB>
    __device__ __forceinline__ void add(const PanelA&, const T* a, const PanelB&, const T* b) {
        APERTURE_UNROLL
        for (int k = 0; k < Shape::depth; ++k) {
            T left[rows], right[columns];
            load_chunks(left, a + k * PanelA::step_stride + first_row, row_threads * width);
            load_chunks(right, b + k * PanelB::step_stride + first_column, column_threads * width);
            APERTURE_UNROLL
            for (int i = 0; i < rows; ++i) {
                APERTURE_UNROLL
                for (int j = 0; j < columns; ++j) {
                    sum[i][j] = core::multiply_add(sum[i][j], left[i], right[j]);
                }
            }
        }
    }
    /// Calls visit(row, column, chunk) for all chunks, which are along rows.
    template <class Visit>
    __device__ __forceinline__ void for_each_chunk(const Visit& visit) const {
        APERTURE_UNROLL
        for (int i = 0; i < rows; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < columns; j += width) {
                Chunk<T> chunk;
                APERTURE_UNROLL
                for (int e = 0; e < width; ++e) chunk.entry[e] = sum[i][j + e];
                visit(first_row + i / width * (row_threads * width) + i % width,
                      first_column + j * column_threads, chunk);
            }
        }
    }
};

/// A warp's entries of C in fp64, by products on tensor cores of 16 x 8 x 8 real or 8 x 8 x 4
/// complex numbers. The latter have as 16 x 8 real numbers (re -im; im re) of A, and the real and
/// imaginary parts of B one below the other: what a lane loads is what it multiplies.
template <class T, class Shape>
struct WarpPart {
    static constexpr bool complex = core::is_complex<T>;
    static constexpr int product_rows = complex ? 8 : 16, product_steps = complex ? 4 : 8;
    static constexpr int rows = Shape::tile_rows / product_rows;
    static constexpr int columns = Shape::tile_columns / 8;
    static constexpr int warp_columns = Shape::columns / Shape::tile_columns;
    static constexpr int threads = Shape::rows / Shape::tile_rows * warp_columns * core::warp_size;

    int first_row, first_column;
    unsigned long long flip_a, flip_b;  ///< signs of imaginary parts
    double sum[rows][columns][4] = {};

    __device__ __forceinline__ WarpPart(bool conjugate_a, bool conjugate_b)
        : first_row(core::warp_rank() / warp_columns * Shape::tile_rows),
          first_column(core::warp_rank() % warp_columns * Shape::tile_columns),
          flip_a(conjugate_a ? 1ull << 63 : 0),
          flip_b(conjugate_b ? 1ull << 63 : 0) {}

    __device__ __forceinline__ static double flipped(double value, unsigned long long sign) {
        return std::bit_cast<double>(std::bit_cast<unsigned long long>(value) ^ sign);
    }
    template <class PanelA, class PanelB>
    __device__ __forceinline__ void add(const PanelA& panel_a, const T* a, const PanelB& panel_b,
                                        const T* b) {
        const PanelLane at_a = panel_a.lane_from(first_row);
        const PanelLane at_b = panel_b.lane_from(first_column);
        APERTURE_UNROLL
        for (int m = 0; m < Shape::depth / 4; m += product_steps / 4) {
            core::Fp64Slice upper[rows], lower[rows];
            APERTURE_UNROLL
            for (int i = 0; i < rows; ++i) {
                if constexpr (complex) {
                    const T value = a[at_a.at(i, m)];
                    const double im = flipped(value.im, flip_a);
                    upper[i] = {{value.re, -im}};
                    lower[i] = {{im, value.re}};
                } else {
                    upper[i] = {{a[at_a.at(2 * i, m)], a[at_a.at(2 * i, m + 1)]}};
                    lower[i] = {{a[at_a.at(2 * i + 1, m)], a[at_a.at(2 * i + 1, m + 1)]}};
                }
            }
            APERTURE_UNROLL
            for (int j = 0; j < columns; ++j) {
                core::Fp64Slice right;
                if constexpr (complex) {
                    const T value = b[at_b.at(j, m)];
                    right = {{value.re, flipped(value.im, flip_b)}};
                } else {
                    right = {{b[at_b.at(j, m)], b[at_b.at(j, m + 1)]}};
                }
                APERTURE_UNROLL
                for (int i = 0; i < rows; ++i) {
                    core::multiply_add(sum[i][j], upper[i], lower[i], right);
                }
            }
        }
    }
    template <class Visit>
    __device__ __forceinline__ void for_each_chunk(const Visit& visit) const {
        const int lane = core::lane_rank();
        APERTURE_UNROLL
        for (int i = 0; i < rows; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < columns; ++j) {
                const int row = first_row + product_rows * i + lane / 4;
                const int column = first_column + 8 * j + lane % 4 * 2;
                const auto& its = sum[i][j];
                if constexpr (complex) {
                    visit(row, column, Chunk<T>{{{its[0], its[2]}}});
                    visit(row, column + 1, Chunk<T>{{{its[1], its[3]}}});
                } else {
                    visit(row, column, Chunk<T>{{its[0], its[1]}});
                    visit(row + 8, column, Chunk<T>{{its[2], its[3]}});
                }
            }
        }
    }
};

/// What products_in_blocks has of a product: C in registers, A and B in shared memory.
template <class T, class Shape>
struct ProductBlock {
    static constexpr bool by_threads = std::is_same_v<RealOf<T>, float>;
    using Part = std::conditional_t<by_threads, ThreadPart<T, Shape>, WarpPart<T, Shape>>;
    using PanelA = BlockPanel<T, Shape::rows, Shape::depth, Part::threads, by_threads>;
    using PanelB = BlockPanel<T, Shape::columns, Shape::depth, Part::threads, by_threads>;
    static constexpr int stage = PanelA::entries + PanelB::entries;
    static constexpr int shared_entries = Shape::stages * stage;
};

/// A part of C in global memory, of which `rows` x `columns` exist.
template <class T>
struct ProductResult {
    T* data;
    index_t row_stride, column_stride;
    int rows, columns;
};

/// Stores alpha chunk + beta C.
template <class T>
__device__ __forceinline__ void store_product(const BlockProductArguments<T>& p,
                                              const ProductResult<T>& to, int row, int column,
                                              Chunk<T> chunk) {
    if (row >= to.rows || column >= to.columns) return;
    T* const its = to.data + row * to.row_stride + column * to.column_stride;
    const bool reads_c = !(p.beta == T(RealOf<T>(0)));
    const auto value = [&](int e, T old) {
        const T product = p.alpha * chunk.entry[e];
        return reads_c ? product + p.beta * old : product;
    };
    if (p.in_chunks) {
        Chunk<T>& all = *reinterpret_cast<Chunk<T>*>(its);
        Chunk<T> result = chunk;
        if (reads_c) result = all;
        APERTURE_UNROLL
        for (int e = 0; e < chunk_entries<T>; ++e) result.entry[e] = value(e, result.entry[e]);
        all = result;
    } else {
        APERTURE_UNROLL
        for (int e = 0; e < chunk_entries<T>; ++e) {
            if (column + e >= to.columns) break;
            T& entry = its[e * to.column_stride];
            entry = value(e, reads_c ? entry : chunk.entry[e]);
        }
    }
}

/// Block: Shape::rows x Shape::columns entries of C of one problem, a tile of them in each thread
/// or warp. Grid: problems times blocks of C on x, the latter faster. Shared: Shape::stages panels
/// of A and B, of which one is used while the others are copied. Bytes per problem: sizeof(T) (m k
/// + k n
/// + m n), and m n more where beta is not 0. Flops per problem: 2 m n k (times 4 if complex).
template <class T, class Shape>
__global__ void __launch_bounds__(ProductBlock<T, Shape>::Part::threads, Shape::blocks)
    products_in_blocks(BlockProductArguments<T> p) {
    using Block = ProductBlock<T, Shape>;
    using PanelA = typename Block::PanelA;
    using PanelB = typename Block::PanelB;
    T* const stages = core::shared<T>();
    const auto next_stage = [&](T* own) {
        own += Block::stage;
        return own == stages + Block::shared_entries ? stages : own;
    };
    const index_t problem = blockIdx.x / p.blocks_of_c;
    const unsigned block = blockIdx.x % p.blocks_of_c;
    const int first_row = static_cast<int>(block % p.row_blocks) * Shape::rows;
    const int first_column = static_cast<int>(block / p.row_blocks) * Shape::columns;
    const auto depth = static_cast<int>(p.a.extent[2]);
    const int rows = static_cast<int>(p.c.extent[1]) - first_row;
    const int columns = static_cast<int>(p.c.extent[2]) - first_column;

    PanelA panel_a(p.a.data + problem * p.a.stride[0] + first_row * p.a.stride[1], p.a.stride[1],
                   p.a.stride[2], rows, p.copy_a);
    PanelB panel_b(p.b.data + problem * p.b.stride[0] + first_column * p.b.stride[1], p.b.stride[1],
                   p.b.stride[2], columns, p.copy_b);
    T* to = stages;
    int left = depth;
    const auto load_next = [&] {
        if (left > 0) {
            panel_a.start_to_load(to, left);
            panel_b.start_to_load(to + PanelA::entries, left);
        }
        core::commit_copies();
        left -= Shape::depth;
        to = next_stage(to);
    };
    APERTURE_UNROLL
    for (int s = 0; s < Shape::stages - 1; ++s) load_next();
    T* from = stages;
    typename Block::Part part(p.conjugate_a, p.conjugate_b);
    APERTURE_NO_UNROLL
    for (int k = 0; k < depth; k += Shape::depth) {
        core::wait_for_copies<Shape::stages - 2>();
        if constexpr (core::is_complex<T> && Block::by_threads) {
            if (p.conjugate_a) panel_a.conjugate(from);
            if (p.conjugate_b) panel_b.conjugate(from + PanelA::entries);
        }
        __syncthreads();
        load_next();
        part.add(panel_a, from, panel_b, from + PanelA::entries);
        from = next_stage(from);
    }
    const ProductResult<T> result{p.c.data + problem * p.c.stride[0] + first_row * p.c.stride[1] +
                                      first_column * p.c.stride[2],
                                  p.c.stride[1], p.c.stride[2], rows, columns};
    part.for_each_chunk([&](int row, int column, const Chunk<T>& chunk) {
        store_product(p, result, row, column, chunk);
    });
}

}  // namespace aperture::dense
