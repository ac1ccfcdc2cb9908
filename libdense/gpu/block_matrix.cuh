// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One matrix that all threads of a block work on, in shared memory or in global memory where it
// does not fit, and vectors that a warp holds in registers. Loops are rolled: any order, one
// kernel.

#include "libdense/gpu/batch_tile.cuh"
#include "libdense/gpu/chunks.cuh"
#include "libdense/gpu/reciprocal.cuh"
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

/// 1 / value, without overflow on the way, where the size of value is as of real ones.
template <class R>
__device__ __forceinline__ core::Complex<R> reciprocal_of_normal(core::Complex<R> value) {
    const R scale = reciprocal_of_normal(magnitude(value));
    const R re = value.re * scale;
    const R im = value.im * scale;
    const R factor = scale * reciprocal_of_normal(re * re + im * im);
    return {re * factor, -im * factor};
}

/// 1 / sqrt(value), of positive finite values.
APERTURE_HD float reciprocal_root(float value) {
    const float root = rsqrtf(value);
    return fmaf(0.5f * root, fmaf(-value * root, root, 1.0f), root);
}
APERTURE_HD double reciprocal_root(double value) { return rsqrt(value); }

/// A pivot's reciprocal is that of `up` times the pivot, times `up`: the reciprocal of a subnormal
/// pivot would overflow, that of the largest be subnormal.
template <class T>
struct PivotReciprocal {
    RealOf<T> up;
    T of_scaled;

    __device__ __forceinline__ T times(T value) const { return value * up * of_scaled; }
};

template <class T>
__device__ __forceinline__ PivotReciprocal<T> reciprocal_of_pivot(T pivot) {
    using R = RealOf<T>;
    const R up = scale_to_normal(magnitude(pivot));
    return {up, reciprocal_of_normal(pivot * up)};
}

/// Whether a number is neither zero nor infinite nor NaN.
template <class R>
__device__ __forceinline__ bool usable(R value) {
    const R size = magnitude(value);
    return (size > R(0)) & (size <= largest_finite<R>);
}
template <class R>
__device__ __forceinline__ bool usable(core::Complex<R> value) {
    return usable(magnitude(value.re) * R(0.5) + magnitude(value.im) * R(0.5));
}

/// Validates pivot `k`. Where it is zero or not finite, sets info if it is not set yet, and the
/// reciprocal is 1.
template <class T>
__device__ __forceinline__ PivotReciprocal<T> accept_general_pivot(T pivot, int k, int& info) {
    const bool good = usable(pivot);
    info = !good & (info == 0) ? k + 1 : info;
    return reciprocal_of_pivot(good ? pivot : T(RealOf<T>(1)));
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

/// Columns of the panels that are factored at a time: as many as registers suffice for.
template <class T>
inline constexpr int panel_width = sizeof(T) == 16 ? 4 : 8;

/// Entries from a row to the next in the memory that a block works in: 8 from the first of each
/// panel on, in an odd number of chunks, so that those of 8 neighbouring rows are in different
/// banks.
template <class T>
APERTURE_HD constexpr int panel_row_stride(int columns) {
    const int last_panel = (columns - 1) / panel_width<T> * panel_width<T>;
    return ((last_panel + 8) / chunk_entries<T> | 1) * chunk_entries<T>;
}

/// The rows of a matrix in lines of memory: row i in line i. `stride` is a panel_row_stride.
template <class T>
struct WholeRows {
    int stride;

    __device__ __forceinline__ static int line(int i, int) { return i; }
    __device__ __forceinline__ static int offset(int j) { return j; }
};

/// Of a lower triangle of order n the panels one after another, each from its diagonal on: a line
/// has a row of a panel, and lines are an odd number of chunks apart.
template <class T>
struct TrianglePanels {
    static constexpr int width = panel_width<T>;
    static constexpr int stride = (width / chunk_entries<T> | 1) * chunk_entries<T>;
    int n;

    /// Also of entries above the diagonal, in lines of other ones.
    __device__ __forceinline__ int line(int i, int j) const {
        const int panel = j / width;
        return panel * (n - width / 2 * (panel + 1)) + i;
    }
    __device__ __forceinline__ static int offset(int j) { return j % width; }
    APERTURE_HD static constexpr int lines(int n) {
        const int panels = (n + width - 1) / width;
        return panels * n - width / 2 * panels * (panels - 1);
    }
};

/// Where a block keeps its matrix: in shared memory or, where it is too large, the first lines of
/// it in scratch memory.
enum class MatrixPlace { shared, scratch };

/// A matrix that a block works on, in Lines of memory, the first `outside` of which are in scratch
/// memory.
template <class T, class Lines, MatrixPlace place>
struct PanelMatrix : Lines {
    T* shared;
    T* scratch;
    int outside;

    __device__ __forceinline__ T& operator()(int i, int j) const {
        const int line = this->line(i, j);
        const int at = line * this->stride + this->offset(j);
        if (place == MatrixPlace::shared) return shared[at];
        return line < outside ? scratch[at] : shared[at - outside * this->stride];
    }
    /// The first line in shared memory, and those from there on.
    __device__ __forceinline__ int first_inside() const {
        return place == MatrixPlace::shared ? 0 : outside;
    }
    __device__ __forceinline__ PanelMatrix<T, Lines, MatrixPlace::shared> inside() const {
        return {*this, shared - first_inside() * this->stride, nullptr, 0};
    }
    /// Loads entries of row i from a panel's first column `j` on.
    template <int count>
    __device__ __forceinline__ void load_row(T (&to)[count], int i, int j) const {
        load_chunks(to, &(*this)(i, j));
    }
    template <int count>
    __device__ __forceinline__ void store_row(const T (&from)[count], int i, int j) const {
        store_chunks(&(*this)(i, j), from);
    }
};

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

/// Whether the rows of a matrix consist of aligned chunks.
template <class T>
__device__ __forceinline__ bool has_chunks(int columns, const BlockMatrix<T>& a) {
    constexpr int chunk = chunk_entries<T>;
    return a.column_stride == 1 && columns % chunk == 0 && a.row_stride % chunk == 0 &&
           reinterpret_cast<unsigned long long>(a.data) % sizeof(Chunk<T>) == 0;
}

/// Whether a block's matrix is copied in chunks: where they have more than an entry, and all lines
/// are in one memory.
template <class T, MatrixPlace place>
inline constexpr bool copies_chunks = (chunk_entries<T>) > 1 && place == MatrixPlace::shared;

/// Stores value(i, j, chunk) of the chunks (i, j), (i, j + 1), ... where wanted(i, j), of one
/// matrix in another: neighbouring threads get neighbouring chunks of a row, and load several
/// before they store them.
template <class T, class From, class FromStride, class To, class ToStride, class Wanted,
          class Value>
__device__ __forceinline__ void copy_chunks(int rows, int columns, const From& from,
                                            FromStride from_stride, const To& to,
                                            ToStride to_stride, Wanted wanted, Value value) {
    constexpr int at_once = 8;
    constexpr int chunk = chunk_entries<T>;
    const int lanes = block_lanes(columns / chunk);
    const int step = core::block_threads() / lanes;
    APERTURE_NO_UNROLL
    for (int j = core::thread_rank() % lanes * chunk; j < columns; j += lanes * chunk) {
        int row = core::thread_rank() / lanes;
        const T* source = &from(0, j) + row * from_stride;
        T* target = &to(0, j) + row * to_stride;
        APERTURE_NO_UNROLL
        while (row < rows) {
            Chunk<T> its[at_once];
            int i = row;
            APERTURE_UNROLL
            for (int s = 0; s < at_once; ++s) {
                if (i < rows && wanted(i, j)) its[s] = *reinterpret_cast<const Chunk<T>*>(source);
                i += step;
                source += step * from_stride;
            }
            APERTURE_UNROLL
            for (int s = 0; s < at_once; ++s) {
                if (row < rows && wanted(row, j)) {
                    *reinterpret_cast<Chunk<T>*>(target) = value(row, j, its[s]);
                }
                row += step;
                target += step * to_stride;
            }
        }
    }
}

/// Loads a matrix, or its lower triangle with anything above; the block must wait before it uses
/// it. Calls seen(entry).
template <class T, class Lines, MatrixPlace place, class Seen>
__device__ __forceinline__ void load_matrix(int rows, int columns, bool lower,
                                            const BlockMatrix<const T>& from,
                                            const PanelMatrix<T, Lines, place>& to, Seen seen) {
    const auto wanted = [&](int i, int j) { return !lower || j <= i; };
    if (copies_chunks<T, place> && has_chunks(columns, from)) {
        copy_chunks<T>(rows, columns, from, from.row_stride, to, to.stride, wanted,
                       [&](int, int, const Chunk<T>& its) {
                           APERTURE_UNROLL
                           for (int e = 0; e < chunk_entries<T>; ++e) seen(its.entry[e]);
                           return its;
                       });
        return;
    }
    copy_entries(
        rows, columns, from.row_stride == 1, wanted, [&](int i, int j) { return from(i, j); },
        [&](int i, int j, T value) {
            if (!wanted(i, j)) return;
            seen(value);
            to(i, j) = value;
        });
}
template <class T, class Lines, MatrixPlace place>
__device__ __forceinline__ void load_matrix(int rows, int columns, bool lower,
                                            const BlockMatrix<const T>& from,
                                            const PanelMatrix<T, Lines, place>& to) {
    load_matrix(rows, columns, lower, from, to, [](T) {});
}

/// Stores value(i, j, entry) of every entry of a matrix.
template <class T, class Lines, MatrixPlace place, class Value>
__device__ __forceinline__ void store_matrix(int rows, int columns,
                                             const PanelMatrix<T, Lines, place>& from,
                                             const BlockMatrix<T>& to, Value value) {
    const auto all = [](int, int) { return true; };
    if (copies_chunks<T, place> && has_chunks(columns, to)) {
        copy_chunks<T>(rows, columns, from, from.stride, to, to.row_stride, all,
                       [&](int i, int j, Chunk<T> its) {
                           APERTURE_UNROLL
                           for (int e = 0; e < chunk_entries<T>; ++e) {
                               its.entry[e] = value(i, j + e, its.entry[e]);
                           }
                           return its;
                       });
        return;
    }
    copy_entries(
        rows, columns, to.row_stride == 1, all,
        [&](int i, int j) { return value(i, j, from(i, j)); },
        [&](int i, int j, T its) { to(i, j) = its; });
}

}  // namespace aperture::dense
