// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One matrix that all threads of a block work on, in shared memory or in global memory where it
// does not fit, and vectors that a warp holds in registers. Loops are rolled: any order, one
// kernel.

#include "libdense/gpu/batch_tile.cuh"
#include "libdense/gpu/register_solve.cuh"

namespace aperture::dense {

/// The larger of |re| and |im|: compares pivots without overflow.
APERTURE_HD float magnitude(float a) { return fabsf(a); }
APERTURE_HD double magnitude(double a) { return fabs(a); }
template <class R>
APERTURE_HD R magnitude(core::Complex<R> a) {
    const R re = magnitude(a.re);
    const R im = magnitude(a.im);
    // Also if im is NaN.
    return re > im ? re : im;
}

/// 1 / value, without overflow on the way.
APERTURE_HD float reciprocal(float value) { return 1.0f / value; }
APERTURE_HD double reciprocal(double value) { return 1.0 / value; }
template <class R>
APERTURE_HD core::Complex<R> reciprocal(core::Complex<R> value) {
    const R scale = R(1) / magnitude(value);
    const R re = value.re * scale;
    const R im = value.im * scale;
    const R factor = scale / (re * re + im * im);
    return {re * factor, -im * factor};
}

/// A pivot's reciprocal is that of `up` times the pivot, times `up`: the reciprocal of a subnormal
/// pivot would overflow.
template <class T>
struct PivotReciprocal {
    RealOf<T> up;
    T of_scaled;

    __device__ __forceinline__ T times(T value) const { return value * up * of_scaled; }
};

template <class R>
inline constexpr R smallest_normal = R(1.17549435082228750797e-38);
template <>
inline constexpr double smallest_normal<double> = 2.22507385850720138309e-308;

template <class T>
__device__ __forceinline__ PivotReciprocal<T> reciprocal_of_pivot(T pivot) {
    using R = RealOf<T>;
    const R up = magnitude(pivot) < smallest_normal<R> ? R(1ull << 60) : R(1);
    return {up, reciprocal(pivot * up)};
}

/// Whether a number is neither zero nor infinite nor NaN.
template <class R>
__device__ __forceinline__ bool usable(R value) {
    const R size = magnitude(value);
    return size > R(0) && size <= largest_finite<R>;
}
template <class R>
__device__ __forceinline__ bool usable(core::Complex<R> value) {
    return usable(magnitude(value.re) * R(0.5) + magnitude(value.im) * R(0.5));
}

/// Validates pivot `k`. Where it is zero or not finite, sets info if it is not set yet, and the
/// reciprocal is 1.
template <class T>
__device__ __forceinline__ PivotReciprocal<T> accept_general_pivot(T pivot, int k, int& info) {
    using R = RealOf<T>;
    if (!usable(pivot)) {
        if (info == 0) info = k + 1;
        return {R(1), T(R(1))};
    }
    return reciprocal_of_pivot(pivot);
}

/// A matrix of any strides.
template <class T>
struct BlockMatrix {
    T* data;
    index_t row_stride;
    index_t column_stride;

    __device__ __forceinline__ BlockMatrix(T* first, index_t by_row, index_t by_column)
        : data(first), row_stride(by_row), column_stride(by_column) {}
    /// Of constant elements, from one of mutable ones.
    template <class U>
    __device__ __forceinline__ BlockMatrix(const BlockMatrix<U>& other)
        : data(other.data), row_stride(other.row_stride), column_stride(other.column_stride) {}

    __device__ __forceinline__ T& operator()(int i, int j) const {
        return data[i * row_stride + j * column_stride];
    }
    __device__ __forceinline__ BlockMatrix transposed() const {
        return {data, column_stride, row_stride};
    }
};

/// A matrix by rows that a block works on.
template <class T>
struct PanelMatrix {
    T* data;
    int stride;

    __device__ __forceinline__ T& operator()(int i, int j) const { return data[i * stride + j]; }
};

/// Elements between rows in shared memory: columns and rows are read without bank conflicts.
APERTURE_HD constexpr int shared_row_stride(int columns) { return columns | 1; }

/// Matrix `problem` of a batch.
template <class T>
__device__ __forceinline__ BlockMatrix<T> matrix_of(const KernelView<T, 3>& batch,
                                                    index_t problem) {
    return {batch.data + problem * batch.stride[0], batch.stride[1], batch.stride[2]};
}

/// Neighbouring threads that share a row of an operation on `columns` columns.
__device__ __forceinline__ int block_lanes(int columns) {
    return columns > 16 ? 32 : columns > 8 ? 16 : 8;
}

/// Calls visit(i, j) for rows [first_row, rows) and columns [first_column, columns): neighbouring
/// threads get neighbouring columns.
template <class Visit>
__device__ __forceinline__ void for_each_entry_of(int first_row, int rows, int first_column,
                                                  int columns, Visit visit) {
    const int lanes = block_lanes(columns - first_column);
    const int lane = core::thread_rank() % lanes;
    const int step = core::block_threads() / lanes;
    for (int i = first_row + core::thread_rank() / lanes; i < rows; i += step) {
        for (int j = first_column + lane; j < columns; j += lanes) visit(i, j);
    }
}

/// Calls store(i, j, load(i, j)) for all entries where wanted(i, j): neighbouring threads get
/// neighbouring columns, or rows if `by_columns`, and load several entries before they store them.
template <class Wanted, class Load, class Store>
__device__ __forceinline__ void copy_entries(int rows, int columns, bool by_columns, Wanted wanted,
                                             Load load, Store store) {
    constexpr int at_once = 8;
    const int inner = by_columns ? rows : columns;
    const int outer = by_columns ? columns : rows;
    const int lanes = block_lanes(inner);
    const int step = core::block_threads() / lanes;
    APERTURE_NO_UNROLL
    for (int y = core::thread_rank() % lanes; y < inner; y += lanes) {
        APERTURE_NO_UNROLL
        for (int base = core::thread_rank() / lanes; base < outer; base += at_once * step) {
            decltype(load(0, 0)) value[at_once];
            APERTURE_UNROLL
            for (int s = 0; s < at_once; ++s) {
                const int x = base + s * step;
                const int i = by_columns ? y : x;
                const int j = by_columns ? x : y;
                value[s] = {};
                if (x < outer && wanted(i, j)) value[s] = load(i, j);
            }
            APERTURE_UNROLL
            for (int s = 0; s < at_once; ++s) {
                const int x = base + s * step;
                const int i = by_columns ? y : x;
                const int j = by_columns ? x : y;
                if (x < outer) store(i, j, value[s]);
            }
        }
    }
}

/// Loads a matrix, or its lower triangle with zeros above; the block must wait before it uses it.
template <class T>
__device__ __forceinline__ void load_matrix(int rows, int columns, bool lower,
                                            const BlockMatrix<const T>& from,
                                            const PanelMatrix<T>& to) {
    copy_entries(
        rows, columns, from.row_stride == 1, [&](int i, int j) { return !lower || j <= i; },
        [&](int i, int j) { return from(i, j); }, [&](int i, int j, T value) { to(i, j) = value; });
}
/// Stores a matrix, or its lower triangle with zeros above.
template <class T>
__device__ __forceinline__ void store_matrix(int rows, int columns, bool lower,
                                             const PanelMatrix<T>& from, const BlockMatrix<T>& to) {
    copy_entries(
        rows, columns, to.row_stride == 1, [&](int i, int j) { return !lower || j <= i; },
        [&](int i, int j) { return from(i, j); }, [&](int i, int j, T value) { to(i, j) = value; });
}

}  // namespace aperture::dense
