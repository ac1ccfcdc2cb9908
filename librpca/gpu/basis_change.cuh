// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small products of symmetric matrices with the vectors on both sides: W^T W in the basis of the
// last iteration's vectors, and the factor that makes L of W from f in that of this one's.

#include "librpca/gpu/gather_sums.cuh"

namespace aperture::rpca::gpu {

/// A block finds a column of the result; each of its warps takes some of what is summed over.
inline constexpr int product_warps = 8;
inline constexpr int product_threads = product_warps * core::warp_size;
/// Rows of the result that a lane finds together.
inline constexpr int product_rows = 4;

namespace detail {

/// column[row] = sum over k of matrix(k, row) x[k]; x, column and `shares` (product_warps columns)
/// are in shared memory, x and column may be the same. Ends with a barrier.
template <class Matrix>
__device__ __forceinline__ void column_of_product(int order, const Matrix& matrix, const double* x,
                                                  double* column, double* shares) {
    const int warp = core::warp_rank();
    for (int first = core::lane_rank(); first < order; first += core::warp_size * product_rows) {
        double sums[product_rows] = {};
        APERTURE_UNROLL_BY(8)
        for (int k = warp; k < order; k += product_warps) {
            const double factor = x[k];
            APERTURE_UNROLL
            for (int i = 0; i < product_rows; ++i) {
                // What lies behind the last row is not used.
                const int row = first + i * core::warp_size;
                sums[i] += matrix(k, row < order ? row : 0) * factor;
            }
        }
        APERTURE_UNROLL
        for (int i = 0; i < product_rows; ++i) {
            const int row = first + i * core::warp_size;
            if (row < order) shares[warp * order + row] = sums[i];
        }
    }
    __syncthreads();
    for (int row = core::thread_rank(); row < order; row += product_threads) {
        double sum = 0;
        for (int w = 0; w < product_warps; ++w) sum += shares[w * order + row];
        column[row] = sum;
    }
    __syncthreads();
}

/// Column `column` of X^T C X, C symmetric, to shared memory, where it returns it; X is
/// [k][column]. Shared memory as basis_shared_bytes says. Ends with a barrier.
template <class Matrix>
__device__ __forceinline__ double* column_in_basis(int order, const Matrix& c, const double* x,
                                                   int column) {
    double* const found = core::shared<double>();
    double* const shares = found + order;
    for (int k = core::thread_rank(); k < order; k += product_threads) {
        found[k] = x[k * order + column];
    }
    __syncthreads();
    column_of_product(order, c, found, found, shares);
    column_of_product(
        order, [&](int k, int row) { return x[k * order + row]; }, found, found, shares);
    return found;
}

}  // namespace detail

APERTURE_HD index_t basis_shared_bytes(int order) { return index_t{product_warps + 1} * order * 8; }

/// W^T W = W'^T W' + 1 c^T + c 1^T + b^T b, c = W'^T b.
struct GramSums {
    const double* gram;             ///< of W less its ground, [frame][frame]
    const double* ground_products;  ///< ground^T W, [frame]

    __device__ double operator()(int i, int j, int order, double ground_square) const {
        return gram[i * order + j] + (ground_products[i] + ground_products[j] + ground_square);
    }
};

struct ScaledGramArguments {
    GramSums gram;
    const double* vectors;  ///< V, [row][column]
    int order;
    double scale;  ///< of the result; 0: 100 / the trace
    double* used_scale;
    double* result;  ///< [row][column]
    const RunState* state;
};

namespace detail {

/// All lanes of a warp call.
__device__ inline double scale_of(const ScaledGramArguments& a) {
    if (a.scale != 0) return a.scale;
    double trace = 0;
    for (int i = core::lane_rank(); i < a.order; i += core::warp_size) {
        trace += a.gram(i, i, a.order, a.state->ground_square);
    }
    trace = core::warp_reduce(trace);
    return trace > 0 ? 100 / trace : 1;
}

}  // namespace detail

/// V^T W^T W V, scaled. A block: a column. Grid: columns. Shared memory: basis_shared_bytes.
__global__ inline void __launch_bounds__(product_threads)
    gram_in_basis_kernel(ScaledGramArguments a) {
    if (a.state->done != 0) return;
    const int column = static_cast<int>(blockIdx.x);
    const double ground_square = a.state->ground_square;
    const double scale = detail::scale_of(a);
    if (column == 0 && core::thread_rank() == 0) *a.used_scale = scale;
    const double* const found = detail::column_in_basis(
        a.order, [&](int i, int j) { return a.gram(i, j, a.order, ground_square); }, a.vectors,
        column);
    for (int row = core::thread_rank(); row < a.order; row += product_threads) {
        // Row by row: it is symmetric.
        a.result[column * a.order + row] = found[row] * scale;
    }
}

/// W^T W, scaled. A warp: a row. Grid: blocks of product_warps rows.
__global__ inline void __launch_bounds__(product_threads)
    scaled_gram_kernel(ScaledGramArguments a) {
    if (a.state->done != 0) return;
    const int row = static_cast<int>(blockIdx.x) * product_warps + core::warp_rank();
    if (row >= a.order) return;
    const double ground_square = a.state->ground_square;
    const double scale = detail::scale_of(a);
    if (row == 0 && core::lane_rank() == 0) *a.used_scale = scale;
    for (int column = core::lane_rank(); column < a.order; column += core::warp_size) {
        a.result[row * a.order + column] = scale * a.gram(row, column, a.order, ground_square);
    }
}

/// The basis of the first iteration, in which the first vector is 1 / sqrt(order) everywhere: that
/// of frames which are all the same. A reflection, so it is its transpose. A thread: an element.
__global__ inline void __launch_bounds__(product_threads)
    first_vectors_kernel(double* vectors, double* transposed, int order) {
    const int at = static_cast<int>(blockIdx.x) * product_threads + core::thread_rank();
    if (at >= order * order) return;
    const int i = at / order;
    const int j = at % order;
    const double share = 1 / sqrt(static_cast<double>(order));
    // I - u u^T / (1 - share), u = e_1 - share 1.
    const double u_i = (i == 0 ? 1.0 : 0.0) - share;
    const double u_j = (j == 0 ? 1.0 : 0.0) - share;
    const double value = (i == j ? 1.0 : 0.0) - (order > 1 ? u_i * u_j / (1 - share) : 0.0);
    vectors[at] = value;
    transposed[at] = value;
}

template <class T>
struct FactorArguments {
    const double* function;    ///< of the matrix in the basis V
    const double* transposed;  ///< V^T, [row][column]
    int order;
    bool zero;  ///< the factor of L = 0
    T* factor;  ///< as PassArguments::factor
    int factor_rows;
    const RunState* state;
};

/// P = V f V^T and behind it what the ground is multiplied by, 1^T P - 1^T. Block, grid and shared
/// memory are those of gram_in_basis_kernel.
template <class T, class Shape>
__global__ void __launch_bounds__(product_threads) factor_kernel(FactorArguments<T> a) {
    if (a.state->done != 0) return;
    const int column = static_cast<int>(blockIdx.x);
    T* const factor = a.factor +
                      index_t{column / Shape::frames} * a.factor_rows * Shape::factor_columns +
                      Shape::factor_column(column % Shape::frames);
    const double* found = nullptr;
    if (!a.zero) {
        found = detail::column_in_basis(
            a.order, [&](int i, int j) { return a.function[i * a.order + j]; }, a.transposed,
            column);
    }
    for (int row = core::thread_rank(); row < a.order; row += product_threads) {
        factor[row * Shape::factor_columns] = a.zero ? T(0) : static_cast<T>(found[row]);
    }
    if (core::warp_rank() != 0) return;
    double sum = 0;
    for (int row = core::lane_rank(); !a.zero && row < a.order; row += core::warp_size) {
        sum += found[row];
    }
    sum = core::warp_reduce(sum);
    if (core::lane_rank() == 0) {
        factor[a.order * Shape::factor_columns] = static_cast<T>(sum - 1);
    }
}

}  // namespace aperture::rpca::gpu
