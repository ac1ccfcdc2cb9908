// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Householder QR of tall matrices column by column on a device, each reflector over whole columns:
// the BLAS2 baseline of dense::TallQr. Two kernels a column, with sums in fp64; columns are scaled
// by powers of two before.

#include <algorithm>

#include "aperture/core/array.hpp"
#include "libcore/gpu/block.cuh"
#include "libdense/gpu/copy_matrix.cuh"

namespace aperture::bench {

using core::index_t;
using core::KernelView;

struct ColumnShape {
    static constexpr int warps = 8;
    static constexpr int threads = warps * core::warp_size;
    /// Columns per block; each warp adds up the partial sums of one.
    static constexpr int columns = warps;
    static constexpr int shared_bytes = warps * columns * static_cast<int>(sizeof(double));
};

/// Reflector j: I - tau v v^T, v = [1; x inverse] with x below the diagonal of column j.
struct ColumnReflector {
    double tau;
    double inverse;
    double beta;  ///< the new diagonal element
};

template <class T>
struct ColumnArguments {
    const T* x;  ///< column j
    index_t j;
    index_t rows;
    T* c;  ///< updated columns, [column][pitch]
    index_t pitch;
    int columns;
    index_t range;  ///< rows per block
    double* parts;  ///< products with x, [block][column]
    double* tops;   ///< row j of c
    ColumnReflector* reflector;
    bool finds;  ///< computes the reflector; column 0 of c is x itself
};

namespace detail {

template <class T, class Visit>
__device__ __forceinline__ void for_rows_below(const ColumnArguments<T>& a, const Visit& visit) {
    const index_t begin = index_t{blockIdx.x} * a.range;
    const index_t end = begin + a.range < a.rows ? begin + a.range : a.rows;
    for (index_t i = begin + core::thread_rank(); i < end; i += ColumnShape::threads) {
        if (i > a.j) visit(i);
    }
}

/// Adds up the blocks' partial sums of a column, in a fixed order; one warp.
template <class T>
__device__ __forceinline__ double sum_of_parts(const ColumnArguments<T>& a, int column) {
    double sum = 0;
    for (unsigned block = core::lane_rank(); block < gridDim.x; block += core::warp_size) {
        sum += a.parts[index_t{block} * a.columns + column];
    }
    return core::warp_reduce(sum);
}

__device__ inline ColumnReflector column_reflector(double alpha, double square) {
    // Written so that a NaN continues and propagates.
    if (square <= 1e-290) return {0, 0, alpha};
    const double norm = sqrt(alpha * alpha + square);
    const double beta = alpha > 0 ? -norm : norm;
    return {(beta - alpha) / beta, 1 / (alpha - beta), beta};
}

}  // namespace detail

/// Products of x with the columns of c below row j. Grid: ranges of rows, ColumnShape::columns
/// columns each. Shared memory: ColumnShape.
template <class T>
__global__ void __launch_bounds__(ColumnShape::threads)
    column_products_kernel(ColumnArguments<T> a) {
    const int first = static_cast<int>(blockIdx.y) * ColumnShape::columns;
    double sums[ColumnShape::columns] = {};
    detail::for_rows_below(a, [&](index_t i) {
        const auto x = static_cast<double>(a.x[i]);
        APERTURE_UNROLL
        for (int c = 0; c < ColumnShape::columns; ++c) {
            if (first + c < a.columns) {
                sums[c] += x * static_cast<double>(a.c[(first + c) * a.pitch + i]);
            }
        }
    });
    double* const of_warps = core::shared<double>();
    for (int c = 0; c < ColumnShape::columns; ++c) {
        const double sum = core::warp_reduce(sums[c]);
        if (core::lane_rank() == 0) of_warps[core::warp_rank() * ColumnShape::columns + c] = sum;
    }
    __syncthreads();
    const int own = core::thread_rank();
    if (own >= ColumnShape::columns || first + own >= a.columns) return;
    double sum = 0;
    for (int w = 0; w < ColumnShape::warps; ++w) sum += of_warps[w * ColumnShape::columns + own];
    a.parts[index_t{blockIdx.x} * a.columns + first + own] = sum;
    if (blockIdx.x == 0) {
        a.tops[first + own] = static_cast<double>(a.c[(first + own) * a.pitch + a.j]);
    }
}

/// Applies the reflector. Same grid and shared memory.
template <class T>
__global__ void __launch_bounds__(ColumnShape::threads) column_turn_kernel(ColumnArguments<T> a) {
    const int first = static_cast<int>(blockIdx.y) * ColumnShape::columns;
    const int warp = core::warp_rank();
    double* const sums = core::shared<double>();
    ColumnReflector reflector;
    if (a.finds) {
        reflector = detail::column_reflector(a.tops[0], detail::sum_of_parts(a, 0));
        if (blockIdx.x == 0 && blockIdx.y == 0 && core::thread_rank() == 0)
            *a.reflector = reflector;
    } else {
        reflector = *a.reflector;
    }
    const int own = first + warp;
    if (own < a.columns) {
        const double sum = detail::sum_of_parts(a, own);
        const double factor = reflector.tau * (a.tops[own] + reflector.inverse * sum);
        if (core::lane_rank() == 0) sums[warp] = factor;
    }
    __syncthreads();
    // x is not overwritten.
    const int begin = a.finds && first == 0 ? 1 : 0;
    if (blockIdx.x == 0 && core::thread_rank() == 0) {
        for (int c = begin; c < ColumnShape::columns && first + c < a.columns; ++c) {
            a.c[(first + c) * a.pitch + a.j] = static_cast<T>(a.tops[first + c] - sums[c]);
        }
    }
    detail::for_rows_below(a, [&](index_t i) {
        const double v = static_cast<double>(a.x[i]) * reflector.inverse;
        for (int c = begin; c < ColumnShape::columns && first + c < a.columns; ++c) {
            T& value = a.c[(first + c) * a.pitch + i];
            value = static_cast<T>(static_cast<double>(value) - v * sums[c]);
        }
    });
}

/// Scales columns to maxima in [1, 2) by powers of two. Grid: columns. Shared memory: ColumnShape.
template <class T>
__global__ void __launch_bounds__(ColumnShape::threads)
    scale_columns_kernel(T* matrix, index_t pitch, index_t rows, double* sizes) {
    T* const column = matrix + blockIdx.x * pitch;
    double largest = 0;
    for (index_t i = core::thread_rank(); i < rows; i += ColumnShape::threads) {
        const double size = fabs(static_cast<double>(column[i]));
        // Ignores NaN and infinities.
        if (size > largest && size <= 1.7976931348623157e308) largest = size;
    }
    largest = core::block_reduce(largest, core::shared<double>(), core::Maximum{});
    const double size = largest > 0 ? exp2(floor(log2(largest))) : 1;
    if (core::thread_rank() == 0) sizes[blockIdx.x] = size;
    for (index_t i = core::thread_rank(); i < rows; i += ColumnShape::threads) {
        column[i] = static_cast<T>(static_cast<double>(column[i]) / size);
    }
}

/// Writes R, undoing the scaling. Grid: columns.
template <class T>
__global__ void __launch_bounds__(ColumnShape::threads)
    write_column_r_kernel(const T* matrix, index_t pitch, const double* sizes,
                          const ColumnReflector* reflectors, KernelView<T, 2> r) {
    const index_t j = blockIdx.x;
    for (index_t i = core::thread_rank(); i < r.extent[0]; i += ColumnShape::threads) {
        double value = 0;
        if (i < j) value = static_cast<double>(matrix[j * pitch + i]);
        if (i == j) value = reflectors[j].beta;
        r(i, j) = static_cast<T>(value * sizes[j]);
    }
}

/// Host code, a template on the executor.
template <class T, class Executor>
class GpuColumnQr {
    using Space = typename Executor::Space;
    template <class U>
    using Matrix = core::View<U, 2, Space>;
    template <class U>
    using Buffer = core::Array<U, 1, Space>;
    using CopyPart = dense::gpu::CopyPart;

  public:
    GpuColumnQr(Executor& executor, index_t rows, index_t columns)
        : executor_(executor),
          rows_(rows),
          columns_(columns),
          row_blocks_(std::min<index_t>(2 * executor.multiprocessors(),
                                        (rows + ColumnShape::threads - 1) / ColumnShape::threads)),
          range_((rows + row_blocks_ - 1) / row_blocks_),
          matrix_({rows * columns}),
          sizes_({columns}),
          reflectors_({columns}),
          parts_({row_blocks_ * columns}),
          tops_({columns}) {}

    void factor(Matrix<const T> a, Matrix<T> r) {
        dense::gpu::copy_matrix<T>(executor_, core::kernel_view(a), by_columns(matrix_),
                                   CopyPart::all);
        launch_columns(&scale_columns_kernel<T>, matrix_.data(), rows_, rows_, sizes_.data());
        for (index_t j = 0; j < columns_; ++j) {
            turn(j, matrix_.data() + j * rows_, columns_ - j, true);
        }
        launch_columns(&write_column_r_kernel<T>, matrix_.data(), rows_, sizes_.data(),
                       reflectors_.data(), core::kernel_view(r));
    }

    /// Q of the last `factor`.
    void form_q(Matrix<T> q) {
        Buffer<T> turned({rows_ * columns_});
        dense::gpu::copy_matrix<T>(executor_, {nullptr, q.extent}, by_columns(turned),
                                   CopyPart::identity);
        for (index_t j = columns_; j-- > 0;) turn(j, turned.data(), columns_, false);
        dense::gpu::copy_matrix<T>(executor_, by_columns(turned), core::kernel_view(q),
                                   CopyPart::all);
        executor_.synchronize();
    }

  private:
    KernelView<T, 2> by_columns(Buffer<T>& buffer) const {
        return {buffer.data(), {rows_, columns_}, {1, rows_}};
    }
    template <class... Parameters, class... Arguments>
    void launch_columns(void (*kernel)(Parameters...), Arguments... arguments) {
        core::launch(executor_, kernel,
                     core::LaunchConfig(dim3(static_cast<unsigned>(columns_)),
                                        dim3(ColumnShape::threads), ColumnShape::shared_bytes),
                     arguments...);
    }
    /// Applies reflector j to `columns` columns of c. With `finds` it is computed first, from
    /// column 0 of c.
    void turn(index_t j, T* c, index_t columns, bool finds) {
        const core::LaunchConfig config(
            dim3(
                static_cast<unsigned>(row_blocks_),
                static_cast<unsigned>((columns + ColumnShape::columns - 1) / ColumnShape::columns)),
            dim3(ColumnShape::threads), ColumnShape::shared_bytes);
        const ColumnArguments<T> arguments{matrix_.data() + j * rows_,
                                           j,
                                           rows_,
                                           c,
                                           rows_,
                                           static_cast<int>(columns),
                                           range_,
                                           parts_.data(),
                                           tops_.data(),
                                           reflectors_.data() + j,
                                           finds};
        core::launch(executor_, &column_products_kernel<T>, config, arguments);
        core::launch(executor_, &column_turn_kernel<T>, config, arguments);
    }

    Executor& executor_;
    index_t rows_;
    index_t columns_;
    index_t row_blocks_;  ///< ranges of rows: enough to fill the device
    index_t range_;
    Buffer<T> matrix_;  ///< scaled columns; becomes R and the unscaled reflectors
    Buffer<double> sizes_;
    Buffer<ColumnReflector> reflectors_;
    Buffer<double> parts_;
    Buffer<double> tops_;
};

}  // namespace aperture::bench
