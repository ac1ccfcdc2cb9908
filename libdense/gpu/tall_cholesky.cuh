// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cholesky factorisation of a Gram matrix and the divisors for tall_divide_kernel, in one block:
// there are few columns.

#include "libcore/gpu/block.cuh"
#include "libdense/gpu/copy_matrix.cuh"
#include "libdense/gpu/fp64_slices.cuh"

namespace aperture::dense::gpu {

/// Index of a 32 x 32 tile in the upper triangle, tile column by tile column.
APERTURE_HD constexpr index_t triangle_tile(int row_panel, int column_panel) {
    return index_t{column_panel} * (column_panel + 1) / 2 + row_panel;
}

struct TallCholeskyArguments {
    double* gram;  ///< [order][order] in whole panels; replaced by R, upper block triangle
    int panels;
    int columns;       ///< actual columns; in the padding R is the identity
    double* divisors;  ///< [triangle_tile][packed_index]: -R, with inverted diagonal blocks
    double* sizes;     ///< square roots of the original diagonal
    double* failed;    ///< 1 if a pivot is not positive and normal, else 0
    /// Always 0, and added to the diagonal: the addition makes the compiler order the chain of
    /// pivots well (1000 x 192 on an H100: 0.138 ms, without it 0.153 ms).
    double shift = 0;
};

struct TallCholeskyShape {
    static constexpr int warps = 8;
    static constexpr int threads = warps * core::warp_size;
    static constexpr int row = panel_columns + 1;
    /// The inverse of a diagonal block, and two of its rows.
    static constexpr int shared_bytes =
        panel_columns * (row + 2) * static_cast<int>(sizeof(double));
};

namespace detail {

struct CholeskyBlock {
    using Shape = TallCholeskyShape;
    static constexpr int n = panel_columns;

    const TallCholeskyArguments& args;
    index_t order;
    double* inverse;  ///< [row][column]
    double* rows;     ///< [2][column]

    __device__ explicit CholeskyBlock(const TallCholeskyArguments& arguments)
        : args(arguments),
          order(index_t{arguments.panels} * n),
          inverse(core::shared<double>()),
          rows(inverse + n * Shape::row) {}

    __device__ double* tile(int i, int j) const {
        return args.gram + index_t{i} * n * order + index_t{j} * n;
    }

    /// One warp: R of diagonal block k and its inverse. A lane holds a column of S and one of I; [S
    /// I] becomes [R R^-T]. The chain from pivot to pivot has one reciprocal each; square roots are
    /// computed afterwards.
    __device__ bool factor(int k) {
        const int lane = core::lane_rank();
        const int column = k * n + lane;
        double s[n];
        double e[n];
        APERTURE_UNROLL
        for (int i = 0; i < n; ++i) {
            s[i] = i <= lane ? tile(k, k)[i * order + lane] : 0;
            if (i == lane) s[i] = column < args.columns ? s[i] + args.shift : 1;
            e[i] = i == lane ? 1 : 0;
        }
        double own_pivot = 0;
        rows[lane] = s[0];
        APERTURE_UNROLL
        for (int i = 0; i < n; ++i) {
            const double* const row = rows + i % 2 * n;
            __syncwarp();
            const double pivot = row[i];
            own_pivot = i == lane ? pivot : own_pivot;
            const double inverse_pivot = is_good(pivot) ? reciprocal(pivot) : 0;
            const double of_s = s[i] * inverse_pivot;
            const double of_e = e[i] * inverse_pivot;
            if (i + 1 < n) {
                s[i + 1] -= row[i + 1] * of_s;
                rows[(i + 1) % 2 * n + lane] = s[i + 1];
            }
            APERTURE_UNROLL
            for (int l = i + 1; l < n; ++l) {
                if (l > i + 1) s[l] -= row[l] * of_s;
                e[l] -= row[l] * of_e;
            }
        }
        __syncwarp();
        rows[lane] = is_good(own_pivot) ? 1 / sqrt(own_pivot) : 0;
        __syncwarp();
        APERTURE_UNROLL
        for (int i = 0; i < n; ++i) {
            tile(k, k)[i * order + lane] = i <= lane ? s[i] * rows[i] : 0;
            inverse[lane * Shape::row + i] = e[i] * rows[i];
        }
        return __any_sync(core::full_warp, !is_good(own_pivot));
    }
    /// Both the pivot and its reciprocal are normal.
    __device__ static bool is_good(double pivot) {
        return pivot >= 2.2250738585072014e-308 && pivot <= 4.4e307;
    }
    /// Accurate to rounding, without the branches of a division for special cases.
    __device__ static double reciprocal(double x) {
#if defined(__CUDA_ARCH__)
        double r;
        asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
        const double e = fma(-x, r, 1.0);
        return fma(r, fma(e, e, e), r);
#else
        return 1 / x;
#endif
    }

    /// A lane's entries of columns `first` to `first` + 7 and rows from 8 s on, as a slice along
    /// the rows.
    __device__ static core::Fp64Slice slice_of(const double* matrix, index_t row, int first,
                                               int s) {
        const int lane = core::lane_rank();
        core::Fp64Slice slice;
        APERTURE_UNROLL
        for (int i = 0; i < 2; ++i) {
            slice.v[i] = matrix[(8 * s + 4 * i + lane % 4) * row + first + lane / 4];
        }
        return slice;
    }
    /// Adds left^T right.
    __device__ static void add_product(const double* left, index_t left_row, const double* right,
                                       index_t right_row, WarpTile& sums) {
        APERTURE_UNROLL
        for (int s = 0; s < 4; ++s) {
            core::Fp64Slice of_left[4];
            APERTURE_UNROLL
            for (int c = 0; c < 4; ++c) of_left[c] = slice_of(left, left_row, 8 * c, s);
            sums.add(of_left, [&](int n) { return slice_of(right, right_row, 8 * n, s); });
        }
    }
    /// Computes the blocks of R to the right of diagonal block k.
    __device__ void solve_row(int k) {
        for (int j = k + 1 + core::warp_rank(); j < args.panels; j += Shape::warps) {
            WarpTile sums;
            add_product(inverse, Shape::row, tile(k, j), order, sums);
            // All lanes must have read the tile before it is overwritten.
            __syncwarp();
            double* const divisors = args.divisors + triangle_tile(k, j) * WarpTile::elements;
            sums.for_each([&](int row, int column, double& sum) {
                tile(k, j)[row * order + column] = sum;
                divisors[packed_index(row, column)] = -sum;
            });
        }
    }
    /// Updates the trailing matrix below row k; the first warp only updates the next diagonal
    /// block.
    __device__ void subtract_products(int k) {
        const int left = args.panels - 1 - k;
        const int products = left * (left + 1) / 2;
        const int others = core::warp_rank() == 0 ? products : Shape::warps - 1;
        for (int number = core::warp_rank(); number < products; number += others) {
            int j = 0;
            int i = number;
            while (i > j) i -= ++j;
            double* const to = tile(k + 1 + i, k + 1 + j);
            // All loads come before the first store, so that they do not wait for one another.
            WarpTile sums;
            sums.for_each(
                [&](int row, int column, double& sum) { sum = -to[row * order + column]; });
            add_product(tile(k, k + 1 + i), order, tile(k, k + 1 + j), order, sums);
            sums.for_each(
                [&](int row, int column, double& sum) { to[row * order + column] = -sum; });
        }
    }
};

}  // namespace detail

/// Grid: one block. Shared memory: TallCholeskyShape. order^3 / 3 flops.
template <class = void>
__global__ void __launch_bounds__(TallCholeskyShape::threads)
    tall_cholesky_kernel(TallCholeskyArguments args) {
    detail::CholeskyBlock block(args);
    const int thread = core::thread_rank();
    for (int i = thread; i < args.panels * panel_columns; i += TallCholeskyShape::threads) {
        const double square = i < args.columns ? args.gram[i * (block.order + 1)] : 0;
        args.sizes[i] = sqrt(square);
    }
    __syncthreads();
    bool failed = false;
    for (int k = 0; k < args.panels; ++k) {
        if (k > 0) block.subtract_products(k - 1);
        // The other warps still update the trailing matrix.
        if (core::warp_rank() == 0) {
            __syncwarp();
            failed = block.factor(k) || failed;
        }
        __syncthreads();
        double* const divisors = args.divisors + triangle_tile(k, k) * WarpTile::elements;
        for (int e = thread; e < WarpTile::elements; e += TallCholeskyShape::threads) {
            const int i = e / panel_columns;
            const int j = e % panel_columns;
            divisors[packed_index(i, j)] = block.inverse[i * TallCholeskyShape::row + j];
        }
        block.solve_row(k);
        __syncthreads();
    }
    if (thread == 0) *args.failed = failed ? 1 : 0;
}

template <class T>
struct TriangleProductArguments {
    const double* left;   ///< [order][order]
    const double* right;  ///< likewise; nullptr is the identity
    index_t order;
    double* to;
    KernelView<T, 2> rounded;  ///< the product in T, cropped to its extents
};

inline constexpr int triangle_threads = 128;

/// Product of two upper triangular matrices, with zeros below. Grid: rows.
template <class T>
__global__ void __launch_bounds__(triangle_threads)
    triangle_product_kernel(TriangleProductArguments<T> a) {
    const index_t i = blockIdx.x;
    for (index_t j = core::thread_rank(); j < a.order; j += triangle_threads) {
        double sum = 0;
        if (a.right == nullptr) {
            sum = i <= j ? a.left[i * a.order + j] : 0;
        } else {
            for (index_t k = i; k <= j; ++k) {
                sum += a.left[i * a.order + k] * a.right[k * a.order + j];
            }
        }
        a.to[i * a.order + j] = sum;
        if (i < a.rounded.extent[0] && j < a.rounded.extent[1]) {
            a.rounded(i, j) = static_cast<T>(sum);
        }
    }
}

}  // namespace aperture::dense::gpu
