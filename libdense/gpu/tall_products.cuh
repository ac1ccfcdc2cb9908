// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A tall matrix times the inverse of an upper triangle, or times a small matrix: rows of type T in
// and out, arithmetic in fp64 on tensor cores.

#include "libcore/gpu/block.cuh"
#include "libdense/gpu/tall_cholesky.cuh"

namespace aperture::dense::gpu {

/// A warp processes 32 rows and keeps the panels of X that later columns need: [warp][panel][as
/// slices]. In addition, three stages of triangle tiles, two of them in flight.
template <class T>
struct TallDivideShape {
    static constexpr int most_warps = 4;
    static constexpr int stages = 3;
    static constexpr int shared_bytes(int warps, int panels) {
        return stages * WarpTile::elements * static_cast<int>(sizeof(double)) +
               warps * (panels - 1) * WarpTile::elements * static_cast<int>(sizeof(T));
    }
};

template <class T>
struct TallDivideArguments {
    KernelView<const T, 2> from;
    T* to;  ///< may alias from.data
    index_t to_pitch;
    int panels;
    const double* divisors;  ///< TallCholeskyArguments::divisors
    /// The first blocks divide the diagonal matrix of these sizes instead, and store only the sum
    /// of squares of 32 rows each: the growth of the Gram matrix's rounding errors in X^T X.
    const double* sizes;
    int size_blocks;
    double* squares;
};

namespace detail {

/// Streams the tiles of divisors, two ahead.
template <int stages>
struct DivisorTiles {
    const double* from;
    double* to;
    int tiles;
    int loaded = 0;

    __device__ void load() {
        if (loaded < tiles) {
            const double* const tile = from + index_t{loaded} * WarpTile::elements;
            double* const buffer = to + loaded % stages * WarpTile::elements;
            APERTURE_UNROLL_BY(4)
            for (int e = 2 * core::thread_rank(); e < WarpTile::elements;
                 e += 2 * core::block_threads()) {
                core::copy_async<16>(buffer + e, tile + e);
            }
        }
        core::commit_copies();
        ++loaded;
    }
    __device__ void begin() {
        for (int ahead = 0; ahead < stages - 1; ++ahead) load();
    }
    /// Returns the next tile, to all threads.
    __device__ const double* next_tile() {
        // All threads have finished the previous tile, whose buffer the next load reuses.
        core::wait_for_copies<stages - 2>();
        __syncthreads();
        const double* const tile = to + (loaded - stages + 1) % stages * WarpTile::elements;
        load();
        return tile;
    }
};

/// A warp's 32 rows of 32 columns, laid out as WarpTile. Rows and columns that do not exist repeat
/// others; their quotients are never stored.
template <class T>
struct RowsOfColumns {
    index_t first_row;
    int rows;  ///< that exist
    int offsets[4];

    __device__ RowsOfColumns(index_t first, index_t all)
        : first_row(first),
          rows(first < all ? static_cast<int>(min(index_t{WarpTile::rows}, all - first)) : 0) {
        APERTURE_UNROLL
        for (int q = 0; q < 4; ++q) offsets[q] = min(8 * q + core::lane_rank() / 4, rows - 1);
    }

    __device__ __forceinline__ void load(const KernelView<const T, 2>& from, index_t first_column,
                                         T (&numbers)[2][4][4]) const {
        if (rows == 0) return;
        APERTURE_UNROLL
        for (int n = 0; n < 4; ++n) {
            APERTURE_UNROLL
            for (int i = 0; i < 2; ++i) {
                const index_t column = first_column + 8 * n + core::lane_rank() % 4 * 2 + i;
                const index_t existing = column < from.extent[1] ? column : from.extent[1] - 1;
                const T* const rows_of = from.data + existing * from.stride[1] + first_row;
                APERTURE_UNROLL
                for (int q = 0; q < 4; ++q) {
                    numbers[q / 2][n][q % 2 * 2 + i] = rows_of[offsets[q]];
                }
            }
        }
    }
    __device__ __forceinline__ void store(const WarpTile& x, index_t first_column, index_t columns,
                                          T* to, index_t pitch) const {
        APERTURE_UNROLL
        for (int n = 0; n < 4; ++n) {
            APERTURE_UNROLL
            for (int i = 0; i < 2; ++i) {
                const index_t column = first_column + 8 * n + core::lane_rank() % 4 * 2 + i;
                T* const rows_of = to + column * pitch + first_row + core::lane_rank() / 4;
                APERTURE_UNROLL
                for (int q = 0; q < 4; ++q) {
                    if (column < columns && 8 * q + core::lane_rank() / 4 < rows) {
                        rows_of[8 * q] = static_cast<T>(x.sums[q / 2][n][q % 2 * 2 + i]);
                    }
                }
            }
        }
    }
};

/// Stores X as slices of a left factor.
template <class T>
__device__ __forceinline__ void keep(const WarpTile& x, T* panel) {
    APERTURE_UNROLL
    for (int k = 0; k < 4; ++k) {
        core::Fp64Slice slices[4];
        x.as_left(k, slices);
        APERTURE_UNROLL
        for (int c = 0; c < 4; ++c) {
            *reinterpret_cast<Pair<T>*>(panel + packed_slice(k, c) + core::lane_rank() * 2) = {
                static_cast<T>(slices[c].v[0]), static_cast<T>(slices[c].v[1])};
        }
    }
}
/// Adds left tile; left(k, slices) computes the slices for terms from 8 k on.
template <bool is_upper = false, class Left>
__device__ __forceinline__ void add_packed(const Left& left, const double* tile, WarpTile& sums) {
    APERTURE_UNROLL
    for (int k = 0; k < 4; ++k) {
        core::Fp64Slice of_left[4];
        left(k, of_left);
        sums.add(
            of_left, [&](int n) { return load_packed(tile, k, n); }, is_upper ? k : 0);
    }
}

}  // namespace detail

/// X with X R = A, panel by panel: (A_j - sum of X_k R_kj) R_jj^-1. Grid: rows of A, 32 a warp.
/// Shared memory: TallDivideShape. Reads A and writes X once; columns^2 + 32 columns flops a row.
template <class T>
__global__ void __launch_bounds__(TallDivideShape<T>::most_warps* core::warp_size)
    tall_divide_kernel(TallDivideArguments<T> a) {
    using Shape = TallDivideShape<T>;
    const int warps = core::block_threads() / core::warp_size;
    const bool of_sizes = static_cast<int>(blockIdx.x) < a.size_blocks;
    const index_t block = of_sizes ? blockIdx.x : index_t{blockIdx.x} - a.size_blocks;
    const index_t first_row = (block * warps + core::warp_rank()) * WarpTile::rows;
    detail::DivisorTiles<Shape::stages> divisors{a.divisors, core::shared<double>(),
                                                 a.panels * (a.panels + 1) / 2};
    T* const kept =
        reinterpret_cast<T*>(core::shared<double>() + Shape::stages * WarpTile::elements) +
        core::warp_rank() * (a.panels - 1) * WarpTile::elements;
    const detail::RowsOfColumns<T> rows(first_row, a.from.extent[0]);
    double square = 0;
    T ahead[2][4][4] = {};
    divisors.begin();
    if (!of_sizes) rows.load(a.from, 0, ahead);
    for (int j = 0; j < a.panels; ++j) {
        const index_t first_column = index_t{j} * panel_columns;
        WarpTile sums;
        for (int k = 0; k < j; ++k) {
            const double* const tile = divisors.next_tile();
            const auto left = [&](int s, core::Fp64Slice(&slices)[4]) {
                APERTURE_UNROLL
                for (int c = 0; c < 4; ++c) {
                    slices[c] = load_packed(kept + k * WarpTile::elements, s, c);
                }
            };
            detail::add_packed(left, tile, sums);
        }
        if (of_sizes) {
            sums.for_each([&](int r, int c, double& sum) {
                if (first_row + r == first_column + c) sum += a.sizes[first_row + r];
            });
        } else {
            APERTURE_UNROLL
            for (int e = 0; e < 32; ++e) {
                sums.sums[e / 16][e / 4 % 4][e % 4] +=
                    static_cast<double>(ahead[e / 16][e / 4 % 4][e % 4]);
            }
            if (j + 1 < a.panels) rows.load(a.from, first_column + panel_columns, ahead);
        }
        WarpTile x;
        detail::add_packed<true>([&](int s, core::Fp64Slice(&left)[4]) { sums.as_left(s, left); },
                                 divisors.next_tile(), x);
        if (j + 1 < a.panels) detail::keep(x, kept + j * WarpTile::elements);
        if (!of_sizes) {
            rows.store(x, first_column, a.from.extent[1], a.to, a.to_pitch);
            continue;
        }
        x.for_each([&](int, int, double& value) { square += value * value; });
    }
    if (!of_sizes) return;
    square = core::warp_reduce(square);
    const index_t panel = first_row / WarpTile::rows;
    if (core::lane_rank() == 0 && panel < a.panels) a.squares[panel] = square;
}

template <class T>
struct TallMultiplyArguments {
    KernelView<const T, 2> from;
    KernelView<const T, 2> factor;
    KernelView<T, 2> to;
};

struct TallMultiplyShape {
    static constexpr int warps = 4;
    static constexpr int threads = warps * core::warp_size;
    static constexpr int shared_bytes = WarpTile::elements * static_cast<int>(sizeof(double));
};

/// from times factor. Grid: rows of `from`, 32 a warp; panels of `to`. Shared memory: a tile of the
/// factor.
template <class T>
__global__ void __launch_bounds__(TallMultiplyShape::threads)
    tall_multiply_kernel(TallMultiplyArguments<T> a) {
    const index_t first_row =
        (index_t{blockIdx.x} * TallMultiplyShape::warps + core::warp_rank()) * WarpTile::rows;
    const index_t first_column = index_t{blockIdx.y} * panel_columns;
    double* const tile = core::shared<double>();
    const int lane = core::lane_rank();
    WarpTile sums;
    for (index_t k = 0; k < a.from.extent[1]; k += panel_columns) {
        __syncthreads();
        for (int e = core::thread_rank(); e < WarpTile::elements; e += TallMultiplyShape::threads) {
            const int r = e / panel_columns;
            const int c = e % panel_columns;
            const bool exists = k + r < a.from.extent[1] && first_column + c < a.to.extent[1];
            tile[packed_index(r, c)] =
                exists ? static_cast<double>(a.factor(k + r, first_column + c)) : 0.0;
        }
        __syncthreads();
        const auto left = [&](int s, core::Fp64Slice(&slices)[4]) {
            APERTURE_UNROLL
            for (int c = 0; c < 4; ++c) {
                APERTURE_UNROLL
                for (int i = 0; i < 2; ++i) {
                    const index_t column = k + 8 * s + slice_row(lane, i);
                    const index_t row = first_row + 8 * c + lane / 4;
                    const bool exists = column < a.from.extent[1] && row < a.from.extent[0];
                    slices[c].v[i] =
                        exists ? static_cast<double>(a.from.data[column * a.from.stride[1] + row])
                               : 0.0;
                }
            }
        };
        detail::add_packed(left, tile, sums);
    }
    sums.for_each([&](int r, int c, double& sum) {
        const index_t row = first_row + r;
        const index_t column = first_column + c;
        if (row < a.from.extent[0] && column < a.to.extent[1]) {
            a.to(row, column) = static_cast<T>(sum);
        }
    });
}

}  // namespace aperture::dense::gpu
