// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cholesky's factor of a Gram matrix, and what matrices are divided by it with: in one block, since
// there are few columns.

#include "libcore/gpu/block.cuh"
#include "libdense/gpu/copy_matrix.cuh"
#include "libdense/gpu/fp64_slices.cuh"

namespace aperture::dense::gpu {

/// Tiles of 32 x 32 of an upper triangle, column by column of tiles.
APERTURE_HD constexpr index_t triangle_tile(int row_panel, int column_panel) {
    return index_t{column_panel} * (column_panel + 1) / 2 + row_panel;
}

struct TallCholeskyArguments {
    double* gram;  ///< [order][order] in whole panels; becomes R on and above its diagonal blocks
    int panels;
    int columns;       ///< that there are; behind them R is the identity
    double shift;      ///< of the trace, added to the diagonal
    double* divisors;  ///< [triangle_tile][packed_index]: -R, on the diagonal its blocks' inverses
    double* sizes;     ///< roots of the diagonal as it was
    double* failed;    ///< 1 where a pivot is not positive or not a number, else 0
};

struct TallCholeskyShape {
    static constexpr int warps = 8;
    static constexpr int threads = warps * core::warp_size;
    static constexpr int row = panel_columns + 1;
    /// A diagonal block and its inverse.
    static constexpr int shared_bytes = 2 * panel_columns * row * static_cast<int>(sizeof(double));
};

namespace detail {

struct CholeskyBlock {
    using Shape = TallCholeskyShape;
    static constexpr int n = panel_columns;

    const TallCholeskyArguments& args;
    index_t order;
    double* diagonal;  ///< [row][column]
    double* inverse;   ///< [row][column]

    __device__ explicit CholeskyBlock(const TallCholeskyArguments& arguments)
        : args(arguments),
          order(index_t{arguments.panels} * n),
          diagonal(core::shared<double>()),
          inverse(diagonal + n * Shape::row) {}

    __device__ double* tile(int i, int j) const {
        return args.gram + index_t{i} * n * order + index_t{j} * n;
    }

    /// One warp: R of diagonal block k, a column a lane, and R^-1.
    __device__ bool factor(int k, double shift) {
        const int lane = core::lane_rank();
        const int column = k * n + lane;
        bool failed = false;
        double s[n];
        APERTURE_UNROLL
        for (int i = 0; i < n; ++i) {
            s[i] = i <= lane ? tile(k, k)[i * order + lane] : 0;
            if (i == lane) s[i] = column < args.columns ? s[i] + shift : 1;
        }
        APERTURE_UNROLL
        for (int i = 0; i < n; ++i) {
            const double pivot = core::broadcast(s[i], i);
            const bool is_good = pivot > 0 && pivot <= 1.7976931348623157e308;
            failed = failed || !is_good;
            s[i] *= is_good ? 1 / sqrt(pivot) : 0;
            APERTURE_UNROLL
            for (int l = i + 1; l < n; ++l) s[l] -= core::broadcast(s[i], l) * s[i];
        }
        APERTURE_UNROLL
        for (int i = 0; i < n; ++i) {
            const double value = i <= lane ? s[i] : 0;
            diagonal[i * Shape::row + lane] = value;
            tile(k, k)[i * order + lane] = value;
        }
        __syncwarp();
        invert();
        return failed;
    }
    /// R u = e, a column a lane.
    __device__ void invert() {
        const int lane = core::lane_rank();
        const double own = diagonal[lane * (Shape::row + 1)];
        const double own_inverse = own > 0 ? 1 / own : 0;
        double u[n];
        APERTURE_UNROLL
        for (int i = 0; i < n; ++i) u[i] = i == lane ? 1 : 0;
        APERTURE_UNROLL
        for (int l = n - 1; l >= 0; --l) {
            u[l] *= core::broadcast(own_inverse, l);
            APERTURE_UNROLL
            for (int i = 0; i < l; ++i) u[i] -= diagonal[i * Shape::row + l] * u[l];
        }
        APERTURE_UNROLL
        for (int i = 0; i < n; ++i) inverse[i * Shape::row + lane] = u[i];
    }

    /// A lane's entries of the 8 columns `first`, ..., rows 8 s on, as a slice along the rows.
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
        for (int s = 0; s < 4; ++s) {
            core::Fp64Slice of_left[4];
            APERTURE_UNROLL
            for (int c = 0; c < 4; ++c) of_left[c] = slice_of(left, left_row, 8 * c, s);
            sums.add(of_left, [&](int n) { return slice_of(right, right_row, 8 * n, s); });
        }
    }
    /// Rows of R beside diagonal block k.
    __device__ void solve_row(int k) {
        for (int j = k + 1 + core::warp_rank(); j < args.panels; j += Shape::warps) {
            WarpTile sums;
            add_product(inverse, Shape::row, tile(k, j), order, sums);
            // All lanes have read what is overwritten.
            __syncwarp();
            double* const divisors = args.divisors + triangle_tile(k, j) * WarpTile::elements;
            sums.for_each([&](int row, int column, double& sum) {
                tile(k, j)[row * order + column] = sum;
                divisors[packed_index(row, column)] = -sum;
            });
        }
    }
    __device__ void subtract_products(int k) {
        const int left = args.panels - 1 - k;
        for (int number = core::warp_rank(); number < left * (left + 1) / 2;
             number += Shape::warps) {
            int j = 0;
            int i = number;
            while (i > j) i -= ++j;
            WarpTile sums;
            add_product(tile(k, k + 1 + i), order, tile(k, k + 1 + j), order, sums);
            double* const to = tile(k + 1 + i, k + 1 + j);
            sums.for_each(
                [&](int row, int column, double& sum) { to[row * order + column] -= sum; });
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
    double trace = 0;
    for (int i = thread; i < args.panels * panel_columns; i += TallCholeskyShape::threads) {
        const double square = i < args.columns ? args.gram[i * (block.order + 1)] : 0;
        args.sizes[i] = sqrt(square);
        trace += square;
    }
    const double shift =
        args.shift == 0 ? 0 : args.shift * core::block_reduce(trace, core::shared<double>());
    bool failed = false;
    for (int k = 0; k < args.panels; ++k) {
        __syncthreads();
        if (core::warp_rank() == 0) failed = block.factor(k, shift) || failed;
        __syncthreads();
        double* const divisors = args.divisors + triangle_tile(k, k) * WarpTile::elements;
        for (int e = thread; e < WarpTile::elements; e += TallCholeskyShape::threads) {
            const int i = e / panel_columns;
            const int j = e % panel_columns;
            divisors[packed_index(i, j)] = block.inverse[i * TallCholeskyShape::row + j];
        }
        block.solve_row(k);
        __syncthreads();
        block.subtract_products(k);
    }
    if (thread == 0) *args.failed = failed ? 1 : 0;
}

template <class T>
struct TriangleProductArguments {
    const double* left;   ///< [order][order]
    const double* right;  ///< the same; nullptr: the identity
    index_t order;
    double* to;
    StridedMatrix<T> rounded;  ///< the part that it has
};

inline constexpr int triangle_threads = 128;

/// The product of two upper triangles, with zeros below. Grid: rows.
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
        if (i < a.rounded.rows && j < a.rounded.columns) {
            a.rounded.data[i * a.rounded.row + j * a.rounded.column] = static_cast<T>(sum);
        }
    }
}

}  // namespace aperture::dense::gpu
