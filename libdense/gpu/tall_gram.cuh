// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A^T A or A^T B of tall matrices: products and sums in fp64 on tensor cores.

#include "libcore/gpu/block.cuh"
#include "libdense/gpu/copy_matrix.cuh"
#include "libdense/gpu/fp64_slices.cuh"

namespace aperture::dense::gpu {

/// A side is three panels of 32 columns.
inline constexpr int panels_of_side = 3;
inline constexpr int columns_of_side = panels_of_side * panel_columns;

/// A block multiplies a side of A with one of B, or with another side of A: 9 products of panels,
/// and in one block per side also its products with itself. It processes a range of rows, a warp
/// two products with one shared panel, with prefetched stages of rows. Small: for devices with 99
/// KiB of shared memory per block; the sums are identical.
template <class T, bool Small = false>
struct TallGramShape {
    using Number = T;
    static constexpr int tiles =
        panels_of_side * panels_of_side + panels_of_side * (panels_of_side + 1);
    static constexpr int warps = 12;
    static constexpr int threads = warps * core::warp_size;
    static constexpr int rows = (Small ? 128 : 256) / static_cast<int>(sizeof(T));
    /// No bank conflicts: simultaneous accesses are to pairs of numbers in four columns, or two.
    static constexpr int pitch = rows + 8;
    static constexpr int stages = Small && sizeof(T) == 8 ? 2 : 3;
    static constexpr int columns = 2 * columns_of_side;
    static constexpr int shared_bytes = stages * columns * pitch * static_cast<int>(sizeof(T));
};

template <class T>
struct TallGramArguments {
    KernelView<const T, 2> left;
    KernelView<const T, 2> right;
    bool symmetric;  ///< left and right are the same matrix: only the upper triangle of panels
    index_t range;   ///< rows per block: a multiple of TallGramShape::rows
    double* parts;   ///< [pair of sides][range][tile][row][column]
};

/// Numbering of sides, of their pairs and of the tiles in a pair.
struct TallSides {
    int left;
    int right;
    bool symmetric;

    APERTURE_HD static int of(index_t columns) {
        return static_cast<int>((columns + columns_of_side - 1) / columns_of_side);
    }
    APERTURE_HD int pairs() const {
        if (!symmetric) return left * right;
        return left == 1 ? 1 : left * (left - 1) / 2;
    }
    /// Sides i and j of pair `number`. With a single side, j is the empty side behind it.
    APERTURE_HD void pair(int number, int& i, int& j) const {
        if (!symmetric) {
            i = number / right;
            j = number % right;
            return;
        }
        j = 1;
        while (number >= j) number -= j++;
        i = number;
    }
    /// Pair and tile of the product of panels a and b, a <= b if symmetric.
    APERTURE_HD void find(int a, int b, int& number, int& tile) const {
        constexpr int side = panels_of_side;
        const int i = a / side;
        const int j = b / side;
        a %= side;
        b %= side;
        if (!symmetric) {
            number = i * right + j;
            tile = a * side + b;
        } else if (i != j) {
            number = j * (j - 1) / 2 + i;
            tile = a * side + b;
        } else {
            const bool is_first = i + 1 < left || left == 1;
            number = is_first ? (i + 1) * i / 2 + i : i * (i - 1) / 2 + i - 1;
            const int of_self = side * (side + 1) / 2;
            tile = side * side + (is_first ? 0 : of_self) + a * (2 * side - 1 - a) / 2 + b;
        }
    }
};

namespace detail {

/// A warp's products: panel a with b and b + 1, panels of both sides numbered consecutively.
struct TallTiles {
    static constexpr int side = panels_of_side;
    int a;
    int b;

    /// Every pair a <= b of 6 panels belongs to one warp. Warps 4 apart share a scheduler: this
    /// table splits the multiply-adds 21 : 19 : 19 : 19.
    __device__ explicit TallTiles(int warp)
        : a(static_cast<int>(0x431531002210ULL >> 4 * warp & 15)),
          b(static_cast<int>(0x455531042432ULL >> 4 * warp & 15)) {}

    /// Whether this block computes the product with b + u.
    __device__ bool has(int u, const TallSides& sides, int i, int j, int panels_left,
                        int panels_right) const {
        const auto exists = [&](int panel) {
            return panel < side ? panel < panels_left : panel - side < panels_right;
        };
        if (b + u >= 2 * side || !exists(a) || !exists(b + u)) return false;
        if (a < side && b + u >= side) return true;
        if (!sides.symmetric || j != i + 1) return false;
        return a < side || j + 1 == sides.left;
    }
    __device__ int tile(int u) const {
        if (a < side && b + u >= side) return a * side + b + u - side;
        const int first = a < side ? 0 : side;
        const int row = a - first;
        return side * side + (first > 0 ? side * (side + 1) / 2 : 0) +
               row * (2 * side - 1 - row) / 2 + b + u - first;
    }
};

/// Slice of columns from 8 c on and rows from 8 k on of a panel.
template <class Shape, class T>
__device__ __forceinline__ core::Fp64Slice load_slice(const T* panel, int k, int c) {
    const int lane = core::lane_rank();
    return load_pair(panel + (8 * c + lane / 4) * Shape::pitch + 8 * k + lane % 4 * 2);
}

/// Starts to load rows [row, row + Shape::rows) of a side's columns; zeros outside the matrix.
template <class Shape, class T>
__device__ void load_side(const KernelView<const T, 2>& from, int first_column, index_t row,
                          T* to) {
    constexpr int size = RowPiece<T>::size;
    constexpr int of_column = Shape::rows / size;
    constexpr int together = Shape::threads / of_column;
    static_assert(columns_of_side % together == 0);
    const int first = core::thread_rank() / of_column;
    const int behind = core::thread_rank() % of_column * size;
    const index_t begin = row + behind;
    const T* source = from.data + (first_column + first) * from.stride[1] + begin;
    APERTURE_UNROLL
    for (int c = 0; c < columns_of_side; c += together) {
        const index_t column = first_column + first + c;
        T* const piece = to + (first + c) * Shape::pitch + behind;
        if (column < from.extent[1] && begin + size <= from.extent[0]) {
            core::copy_async<16>(piece, source);
        } else {
            APERTURE_NO_UNROLL
            for (int e = 0; e < size; ++e) {
                piece[e] = column < from.extent[1] && begin + e < from.extent[0] ? source[e] : T(0);
            }
        }
        source += together * from.stride[1];
    }
}

}  // namespace detail

/// Grid: ranges of rows, pairs of sides. Shared memory: TallGramShape. Reads each column once per
/// side that it is paired with; one multiply-add per row and product of columns.
template <class Shape>
__global__ void __launch_bounds__(Shape::threads)
    tall_gram_kernel(TallGramArguments<typename Shape::Number> a) {
    using T = typename Shape::Number;
    const TallSides sides{TallSides::of(a.left.extent[1]), TallSides::of(a.right.extent[1]),
                          a.symmetric};
    int i;
    int j;
    sides.pair(static_cast<int>(blockIdx.y), i, j);
    const int panels_left =
        static_cast<int>((a.left.extent[1] - i * columns_of_side + 31) / panel_columns);
    const int panels_right =
        static_cast<int>((a.right.extent[1] - j * columns_of_side + 31) / panel_columns);
    const detail::TallTiles own(core::warp_rank());
    const bool has[2] = {own.has(0, sides, i, j, panels_left, panels_right),
                         own.has(1, sides, i, j, panels_left, panels_right)};
    const index_t begin = index_t{blockIdx.x} * a.range;
    const index_t end = begin + a.range < a.left.extent[0] ? begin + a.range : a.left.extent[0];
    const int steps = static_cast<int>((end - begin + Shape::rows - 1) / Shape::rows);
    T* const stages = core::shared<T>();
    const auto stage = [&](int step) {
        return stages + step % Shape::stages * (Shape::columns * Shape::pitch);
    };
    const auto load = [&](int step) {
        if (step < steps) {
            const index_t row = begin + index_t{step} * Shape::rows;
            detail::load_side<Shape>(a.left, i * columns_of_side, row, stage(step));
            detail::load_side<Shape>(a.right, j * columns_of_side, row,
                                     stage(step) + columns_of_side * Shape::pitch);
        }
        core::commit_copies();
    };
    WarpTile sums[2];
    for (int ahead = 0; ahead < Shape::stages - 1; ++ahead) load(ahead);
    for (int step = 0; step < steps; ++step) {
        core::wait_for_copies<Shape::stages - 2>();
        __syncthreads();
        load(step + Shape::stages - 1);
        if (!has[0] && !has[1]) continue;
        const T* const panel_a = stage(step) + own.a * panel_columns * Shape::pitch;
        const T* const panel_b = stage(step) + own.b * panel_columns * Shape::pitch;
        APERTURE_NO_UNROLL
        for (int k = 0; k < Shape::rows / 8; ++k) {
            core::Fp64Slice of_a[4];
            APERTURE_UNROLL
            for (int c = 0; c < 4; ++c) of_a[c] = detail::load_slice<Shape>(panel_a, k, c);
            if (has[0] && own.a == own.b) {
                sums[0].add_upper(of_a);
            } else if (has[0]) {
                sums[0].add(of_a, [&](int n) { return detail::load_slice<Shape>(panel_b, k, n); });
            }
            if (has[1]) {
                sums[1].add(of_a,
                            [&](int n) { return detail::load_slice<Shape>(panel_b, k, 4 + n); });
            }
        }
    }
    APERTURE_UNROLL
    for (int u = 0; u < 2; ++u) {
        if (!has[u]) continue;
        double* const to =
            a.parts +
            ((index_t{blockIdx.y} * gridDim.x + blockIdx.x) * Shape::tiles + own.tile(u)) *
                WarpTile::elements;
        sums[u].for_each(
            [&](int row, int column, double sum) { to[row * panel_columns + column] = sum; });
    }
}

template <class T>
struct TallGatherArguments {
    const double* parts;
    int ranges;
    TallSides sides;
    KernelView<T, 2> to;  ///< if symmetric, both (i, j) and (j, i) are stored
};

struct TallGatherShape {
    static constexpr int rows = 2;  ///< of a tile
    static constexpr int warps = 8;
    static constexpr int threads = warps * core::warp_size;
    static constexpr int shared_bytes = rows * threads * static_cast<int>(sizeof(double));
};

/// Adds up the ranges: each warp every eighth one, then over warps, in a fixed order. Elements
/// outside `to` are not written. Grid: tiles of 32 x 32 by columns, pairs of rows.
template <class T>
__global__ void __launch_bounds__(TallGatherShape::threads)
    tall_gather_kernel(TallGatherArguments<T> a) {
    using Shape = TallGatherShape;
    constexpr int of_tile = panel_columns / Shape::rows;
    const int b = static_cast<int>(blockIdx.x);
    const int row_panel = static_cast<int>(blockIdx.y) / of_tile;
    if (a.sides.symmetric && row_panel > b) return;
    int pair;
    int tile;
    a.sides.find(row_panel, b, pair, tile);
    constexpr int tiles = TallGramShape<float>::tiles;
    const int first_row = static_cast<int>(blockIdx.y) % of_tile * Shape::rows;
    const int lane = core::lane_rank();
    const double* const parts = a.parts +
                                (index_t{pair} * a.ranges * tiles + tile) * WarpTile::elements +
                                first_row * panel_columns + lane;
    double* const of_warps = core::shared<double>();
    double sums[Shape::rows] = {};
    APERTURE_UNROLL_BY(8)
    for (int r = core::warp_rank(); r < a.ranges; r += Shape::warps) {
        APERTURE_UNROLL
        for (int i = 0; i < Shape::rows; ++i) {
            sums[i] += parts[index_t{r} * tiles * WarpTile::elements + i * panel_columns];
        }
    }
    APERTURE_UNROLL
    for (int i = 0; i < Shape::rows; ++i) {
        of_warps[(core::warp_rank() * Shape::rows + i) * core::warp_size + lane] = sums[i];
    }
    __syncthreads();
    if (core::warp_rank() >= Shape::rows) return;
    const index_t i = index_t{row_panel} * panel_columns + first_row + core::warp_rank();
    const index_t j = index_t{b} * panel_columns + lane;
    if (i >= a.to.extent[0] || j >= a.to.extent[1] || (a.sides.symmetric && i > j)) return;
    double sum = 0;
    APERTURE_UNROLL
    for (int w = 0; w < Shape::warps; ++w) {
        sum += of_warps[(w * Shape::rows + core::warp_rank()) * core::warp_size + lane];
    }
    a.to(i, j) = static_cast<T>(sum);
    if (a.sides.symmetric) a.to(j, i) = static_cast<T>(sum);
}

}  // namespace aperture::dense::gpu
