// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Householder QR of the nodes of a panel's tree, with the panel in registers. A thread holds 32
// rows of a column, so that products of a reflector with the columns are sums within threads, then
// over warps (the transposed panels of Anderson 2014, section 3.4).

#include "libdense/gpu/tall_shape.cuh"

namespace aperture::dense::gpu {

/// Groups + 1 warps: one per group of rows, and one that computes T.
template <class T, int Groups>
struct FactorShape {
    static constexpr int threads = (Groups + 1) * core::warp_size;
    static constexpr int rows = Groups * group_rows;
    /// A column's sums from all warps, rounded up to whole pieces.
    static constexpr int sums_row =
        (Groups + RowPiece<T>::size - 1) / RowPiece<T>::size * RowPiece<T>::size;
    static constexpr int square = panel_columns * (panel_columns + 1);
    /// Two columns x, the sums of the warps, the top.
    static constexpr int shared_elements = 2 * rows + (sums_row + 1) * panel_columns + square;
    static constexpr int shared_bytes = shared_elements * static_cast<int>(sizeof(T));
};

template <class T>
struct FactorPanelArguments {
    T* matrix;  ///< [column][pitch]: becomes R and the reflectors below their leading ones
    index_t pitch;
    TreeLevel level;
    T* factors;  ///< T of each block; I - V T V^T is the product of its reflectors
};

namespace detail {

template <class T>
inline constexpr T least_square = T(sizeof(T) == 4 ? 1e-28 : 1e-280);
/// Smaller columns count as zero: their inverse might overflow.
template <class T>
inline constexpr T least_size = T(sizeof(T) == 4 ? 1.2e-38 : 2.3e-308);
template <class T>
inline constexpr T largest_square = T(sizeof(T) == 4 ? 1e+34 : 1e+300);

/// The reflector I - tau v v^T, v = [1; x inverse], maps [alpha; x] to beta e_1.
template <class T>
struct Reflector {
    T tau;
    T beta;
    T inverse;
    T of_sums;  ///< factor of sums of products with the scaled, published x
};

template <class T>
__device__ __forceinline__ T size_of(T x) {
    return x < 0 ? -x : x;
}

/// `square` = sum of (x scale) x, in range.
template <class T>
__device__ __forceinline__ Reflector<T> reflector_of(T alpha, T square, T scale) {
    const T scaled = alpha * scale;
    const T norm = sqrt(square * scale + scaled * scaled) / scale;
    const T beta = alpha > 0 ? -norm : norm;
    const T inverse = 1 / (alpha - beta);
    return {(beta - alpha) / beta, beta, inverse, inverse / scale};
}

template <class T, int Groups>
struct FactorBlock {
    using Shape = FactorShape<T, Groups>;
    static constexpr int n = panel_columns;
    static constexpr int row = n + 1;

    T* x;     ///< x of this step and the next, [2][rows]
    T* sums;  ///< [column][warp]
    T* tops;  ///< each column's element in the diagonal's row
    T* top;   ///< [row][column], filled row by row as steps finish
    int warp;
    int lane;
    /// Deferred scale of this thread's column once it is a reflector; applied when it is stored.
    T scale_of_own = 1;

    __device__ FactorBlock()
        : x(core::shared<T>()),
          sums(x + 2 * Shape::rows),
          tops(sums + n * Shape::sums_row),
          top(tops + n),
          warp(core::warp_rank()),
          lane(core::lane_rank()) {}

    __device__ bool has_rows() const { return warp < Groups; }

    /// Publishes column j of this warp's rows. Row 0 of the first warp is the diagonal's row.
    __device__ void publish(const T (&a)[n], int j) {
        if (lane != j || !has_rows()) return;
        T* const to = x + j % 2 * Shape::rows + warp * group_rows;
        store_row(to, a);
        if (warp == 0) to[0] = 0;
    }

    __device__ void sum_products(const T (&a)[n], int j, T scale) {
        if (!has_rows()) return;
        const T* const column = x + j % 2 * Shape::rows + warp * group_rows;
        RowPiece<T> sum{};
        APERTURE_UNROLL
        for (int r = 0; r < n; r += RowPiece<T>::size) {
            const RowPiece<T> piece = load_piece(column + r);
            APERTURE_UNROLL
            for (int e = 0; e < RowPiece<T>::size; ++e) {
                sum.v[e] += a[r + e] * (piece.v[e] * scale);
            }
        }
        sums[lane * Shape::sums_row + warp] = total(sum);
        if (warp == 0) tops[lane] = a[0];
    }
    __device__ static T total(const RowPiece<T>& piece) {
        T sum = piece.v[0] + piece.v[1];
        if constexpr (RowPiece<T>::size == 4) sum += piece.v[2] + piece.v[3];
        return sum;
    }
    __device__ T sum_of(int column) const {
        RowPiece<T> sum{};
        APERTURE_UNROLL
        for (int w = 0; w < Groups; w += RowPiece<T>::size) {
            const RowPiece<T> piece = load_piece(sums + column * Shape::sums_row + w);
            APERTURE_UNROLL
            for (int e = 0; e < RowPiece<T>::size; ++e) {
                if (w + e < Groups) sum.v[e] += piece.v[e];
            }
        }
        return total(sum);
    }

    /// Fallback if squares underflow or overflow: products with a scaled x. Called by all threads.
    __device__ Reflector<T> find_scaled(const T (&a)[n], int j, T alpha) {
        T below = 0;
        for (int r = 0; r < Shape::rows; ++r) {
            const T size = size_of(x[j % 2 * Shape::rows + r]);
            below = size > below ? size : below;
        }
        __syncthreads();
        if (below < least_size<T>) return {T(0), alpha, T(0), T(0)};
        const T largest = size_of(alpha) > below ? size_of(alpha) : below;
        const T scale = 1 / largest;
        sum_products(a, j, scale);
        __syncthreads();
        return reflector_of(alpha, sum_of(j), scale);
    }

    /// Computes the reflector of column j and applies it to the trailing columns; needs a barrier
    /// after publish(a, j). Ends with a barrier. In the warp without rows, `a` holds T, a row a
    /// lane.
    __device__ void step(T (&a)[n], int j) {
        sum_products(a, j, T(1));
        __syncthreads();
        const T alpha = tops[j];
        const T square = sum_of(j);
        const bool in_range =
            square >= least_square<T> && square + alpha * alpha <= largest_square<T>;
        const bool is_number = square == square && alpha == alpha;
        const bool is_plain = in_range || !is_number;
        const Reflector<T> reflector =
            is_plain ? reflector_of(alpha, square, T(1)) : find_scaled(a, j, alpha);
        // v^T times each column; for earlier columns, times their own reflectors.
        const T product = (tops[lane] + sum_of(lane) * reflector.of_sums) * scale_of_own;
        if (has_rows()) {
            turn(a, j, reflector, product, is_plain);
            publish(a, j + 1);
        } else {
            extend_t(a, j, reflector.tau, product);
        }
        // A scaled column has already been multiplied.
        if (lane == j && is_plain) scale_of_own = reflector.inverse;
        __syncthreads();
    }

  private:
    __device__ void turn(T (&a)[n], int j, const Reflector<T>& reflector, T product,
                         bool is_plain) {
        if (lane > j) {
            const T* const column = x + j % 2 * Shape::rows + warp * group_rows;
            const T factor = reflector.tau * product * reflector.inverse;
            APERTURE_UNROLL
            for (int r = 0; r < n; r += RowPiece<T>::size) {
                const RowPiece<T> piece = load_piece(column + r);
                APERTURE_UNROLL
                for (int e = 0; e < RowPiece<T>::size; ++e) a[r + e] -= factor * piece.v[e];
            }
            if (warp == 0) a[0] -= reflector.tau * product;
        } else if (!is_plain && lane == j) {
            APERTURE_UNROLL
            for (int r = 0; r < n; ++r) a[r] *= reflector.inverse;
        }
        if (warp != 0) return;
        // Shifts the rows so that the next one comes first.
        top[j * row + lane] = lane == j ? reflector.beta : a[0] * scale_of_own;
        APERTURE_UNROLL
        for (int r = 0; r + 1 < n; ++r) a[r] = a[r + 1];
        a[n - 1] = 0;
    }

    /// Column j of T: -tau T V^T v, then tau (Schreiber & Van Loan 1989).
    __device__ void extend_t(T (&t)[n], int j, T tau, T product) {
        const T known = lane < j ? product : T(0);
        T sum = 0;
        APERTURE_UNROLL
        for (int k = 0; k < n; ++k) sum += t[k] * core::broadcast(known, k);
        const T next = lane < j ? -tau * sum : lane == j ? tau : T(0);
        APERTURE_UNROLL
        for (int k = 0; k < n; ++k) t[k] = k == j ? next : t[k];
    }
};

}  // namespace detail

/// A block: a node. A thread of a warp with rows: 32 rows of a column. Grid: the nodes of a level.
/// Shared memory: FactorShape. Reads and writes each element of the panel once; 4 flops per element
/// and column.
template <class T, int Groups>
__global__ void __launch_bounds__(FactorShape<T, Groups>::threads)
    factor_panel_kernel(FactorPanelArguments<T> args) {
    constexpr int n = panel_columns;
    const TreeLevel& level = args.level;
    const TreeNode node(level, static_cast<int>(blockIdx.x), Groups - 1);
    detail::FactorBlock<T, Groups> block;
    const int warp = block.warp;
    const int lane = block.lane;
    T* const column = args.matrix + (level.first_row + lane) * args.pitch + level.first_row;
    const auto load = [&](int group, T(&a)[n]) {
        const T* const from = column + index_t{group} * group_rows;
        APERTURE_UNROLL
        for (int r = 0; r < n; r += RowPiece<T>::size) {
            const RowPiece<T> piece = load_piece(from + r);
            APERTURE_UNROLL
            for (int e = 0; e < RowPiece<T>::size; ++e) {
                a[r + e] = level.triangles && r + e > lane ? T(0) : piece.v[e];
            }
        }
    };
    T a[n] = {};
    if (warp == 0) load(node.top, a);
    for (int b = 0; b < node.blocks; ++b) {
        const int below = b * (Groups - 1) + warp;
        const int group = node.top + level.step * below;
        const bool exists = warp > 0 && block.has_rows() && below <= node.below;
        if (warp > 0) {
            APERTURE_UNROLL
            for (int r = 0; r < n; ++r) a[r] = 0;
        }
        if (exists) load(group, a);
        block.scale_of_own = 1;
        block.publish(a, 0);
        __syncthreads();
        for (int j = 0; j < n; ++j) block.step(a, j);
        if (exists) {
            T* const to = column + index_t{group} * group_rows;
            APERTURE_UNROLL
            for (int r = 0; r < n; ++r) a[r] *= block.scale_of_own;
            if (level.triangles) {
                APERTURE_UNROLL
                for (int r = 0; r < n; ++r) {
                    if (r <= lane) to[r] = a[r];
                }
            } else {
                store_row(to, a);
            }
        }
        if (warp == 0) {
            // A leaf's first block keeps its reflectors below the diagonal; the rest is R.
            T* const to = column + index_t{node.top} * group_rows;
            const bool has_reflectors = b == 0 && !level.triangles;
            const bool is_last = b + 1 == node.blocks;
            APERTURE_UNROLL
            for (int r = 0; r < n; ++r) {
                const T value = block.top[r * (n + 1) + lane];
                if (r > lane ? has_reflectors : is_last) to[r] = value;
                a[r] = r > lane ? T(0) : value;
            }
        }
        if (!block.has_rows()) {
            T* const factor = args.factors + level.factors +
                              (index_t{blockIdx.x} * level.blocks + b) * factor_elements;
            store_row(factor + lane * n, a);
        }
        __syncthreads();
    }
}

}  // namespace aperture::dense::gpu
