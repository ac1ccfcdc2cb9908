// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of a symmetric matrix with the eigenvectors on both sides. The centred Gram matrix of W
// enters the basis of the previous iteration's vectors; f leaves the basis of the current ones as
// the factor P with L = W P.

#include "librpca/gpu/gather_sums.cuh"

namespace aperture::rpca::gpu {

/// A block computes one column of the result; its warps split the summation.
inline constexpr int product_warps = 8;
inline constexpr int product_threads = product_warps * core::warp_size;
/// Result rows per lane and step.
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
                // Rows past the end are computed from row 0 and dropped.
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

/// Subtracts the mean of a vector in shared memory; every warp computes it. Ends with a barrier.
__device__ __forceinline__ void subtract_mean(int order, double* x) {
    double sum = 0;
    for (int k = core::lane_rank(); k < order; k += core::warp_size) sum += x[k];
    const double mean = core::warp_reduce(sum) / order;
    __syncthreads();
    for (int k = core::thread_rank(); k < order; k += product_threads) x[k] -= mean;
    __syncthreads();
}

/// Column `column` of X^T C X for symmetric C. Returns it in shared memory (basis_shared_bytes). X
/// is [k][column]. With `centres`, C is centred by rows and columns. Ends with a barrier.
template <class Matrix>
__device__ __forceinline__ double* column_in_basis(int order, const Matrix& c, const double* x,
                                                   int column, bool centres) {
    double* const found = core::shared<double>();
    double* const shares = found + order;
    for (int k = core::thread_rank(); k < order; k += product_threads) {
        found[k] = x[k * order + column];
    }
    __syncthreads();
    if (centres) subtract_mean(order, found);
    column_of_product(order, c, found, found, shares);
    if (centres) subtract_mean(order, found);
    column_of_product(
        order, [&](int k, int row) { return x[k * order + row]; }, found, found, shares);
    return found;
}

}  // namespace detail

APERTURE_HD index_t basis_shared_bytes(int order) { return index_t{product_warps + 1} * order * 8; }

struct ScaledGramArguments {
    const double* gram;     ///< of W minus the ground, [frame][frame]
    const double* vectors;  ///< V, [row][column]; unused by row_means_kernel
    double* row_means;      ///< of `gram`; unused by gram_in_basis_kernel
    int order;
    double scale;  ///< of the result; 0 means 100 / trace
    double* used_scale;
    double* result;  ///< [row][column]
    const RunState* state;
};

namespace detail {

/// Called by all lanes of a warp.
__device__ inline double scale_of(const ScaledGramArguments& a) {
    if (a.scale != 0) return a.scale;
    double trace = 0;
    for (int i = core::lane_rank(); i < a.order; i += core::warp_size) {
        trace += a.gram[index_t{i} * a.order + i];
    }
    trace = core::warp_reduce(trace);
    return trace > 0 ? 100 / trace : 1;
}

}  // namespace detail

/// V^T (W - W J)^T (W - W J) V, scaled, J = 1 1^T / frames. A block: a column. Grid: columns.
/// Shared memory: basis_shared_bytes.
__global__ inline void __launch_bounds__(product_threads)
    gram_in_basis_kernel(ScaledGramArguments a) {
    if (a.state->done != 0) return;
    const int column = static_cast<int>(blockIdx.x);
    const double scale = detail::scale_of(a);
    if (column == 0 && core::thread_rank() == 0) *a.used_scale = scale;
    const double* const found = detail::column_in_basis(
        a.order, [&](int i, int j) { return a.gram[i * a.order + j]; }, a.vectors, column, true);
    for (int row = core::thread_rank(); row < a.order; row += product_threads) {
        // Stored as a row, contiguously: the result is symmetric.
        a.result[column * a.order + row] = found[row] * scale;
    }
}

/// A warp: a row. Grid: blocks of product_warps rows.
__global__ inline void __launch_bounds__(product_threads) row_means_kernel(ScaledGramArguments a) {
    if (a.state->done != 0) return;
    const int row = static_cast<int>(blockIdx.x) * product_warps + core::warp_rank();
    if (row >= a.order) return;
    double sum = 0;
    for (int column = core::lane_rank(); column < a.order; column += core::warp_size) {
        sum += a.gram[row * a.order + column];
    }
    sum = core::warp_reduce(sum);
    if (core::lane_rank() == 0) a.row_means[row] = sum / a.order;
}

/// (W - W J)^T (W - W J), scaled. A warp: a row. Grid: blocks of product_warps rows.
__global__ inline void __launch_bounds__(product_threads)
    scaled_gram_kernel(ScaledGramArguments a) {
    if (a.state->done != 0) return;
    const int row = static_cast<int>(blockIdx.x) * product_warps + core::warp_rank();
    if (row >= a.order) return;
    const double scale = detail::scale_of(a);
    if (row == 0 && core::lane_rank() == 0) *a.used_scale = scale;
    double sum = 0;
    for (int i = core::lane_rank(); i < a.order; i += core::warp_size) sum += a.row_means[i];
    const double mean = core::warp_reduce(sum) / a.order;
    for (int column = core::lane_rank(); column < a.order; column += core::warp_size) {
        a.result[row * a.order + column] =
            scale *
            (a.gram[row * a.order + column] - (a.row_means[row] + a.row_means[column] - mean));
    }
}

/// The basis of the first iteration, a Householder reflector and therefore symmetric. Its first
/// vector is constant, 1 / sqrt(order): that is the direction of the temporal mean, already an
/// eigenvector. A thread: an element.
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
    bool constant;  ///< L is the temporal mean
    T* factor;      ///< as PassArguments::factor
    int factor_rows;
    const RunState* state;
};

/// P = 1 1^T / frames + V f V^T. Block, grid and shared memory are those of gram_in_basis_kernel.
template <class T, class Shape>
__global__ void __launch_bounds__(product_threads) factor_kernel(FactorArguments<T> a) {
    if (a.state->done != 0) return;
    const int column = static_cast<int>(blockIdx.x);
    T* const factor = a.factor +
                      index_t{column / Shape::frames} * a.factor_rows * Shape::factor_columns +
                      Shape::factor_column(column % Shape::frames);
    const double* found = nullptr;
    if (!a.constant) {
        found = detail::column_in_basis(
            a.order, [&](int i, int j) { return a.function[i * a.order + j]; }, a.transposed,
            column, false);
    }
    const double share = 1.0 / a.order;
    for (int row = core::thread_rank(); row < a.order; row += product_threads) {
        factor[row * Shape::factor_columns] =
            static_cast<T>(a.constant ? share : share + found[row]);
    }
}

}  // namespace aperture::rpca::gpu
