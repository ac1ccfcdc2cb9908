// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Walks over the elements of a generated kernel. A kernel K has
//     K(void* const* symbols)            loads scalars and computes those that depend on them alone
//     compute(at, sums)                  loads and computes one element, adds to sums
//     store(at, stored)                  stores what compute returned
//     store_scalars(), store_sums(sums)  store what lives on
//     left, right, above, below          columns and rows that its halos need
//     Sums<lanes>, sums                  its sums, and how many there are
// With APERTURE_COMPOSE_CPU the walks are loops for one thread of a CPU; else they are those of a
// GPU, or of the SIMT host executor.

#include "libcompose/kernels/arguments.hpp"
#include "libcompose/operations/bodies.cuh"
#include "libcompose/operations/function_bodies.cuh"
#include "libcompose/operations/matrix_bodies.cuh"

#if !defined(APERTURE_COMPOSE_CPU)
#include "libcore/gpu/kernel.cuh"
#endif

namespace aperture::compose::kernels {

/// Of what is computed of scalars alone.
struct NoPlace {};

/// The place of an element. `interior`: all columns of halos are in the image; `interior_rows`: all
/// rows.
template <bool interior, bool interior_rows = false>
struct Place {
    static constexpr bool is_interior = interior;

    index_t plane = 0;              ///< of an array of rank 3
    index_t row = 0, column = 0;    ///< in its plane; of a vector, column alone
    index_t rows = 0, columns = 0;  ///< of a plane
    index_t planes = 1;             ///< of an array of rank 3
    index_t here = 0;               ///< of all elements
    int lane = 0;                   ///< of sums

    /// The first of a row of the walk.
    APERTURE_HD Place(const Walk& walk, index_t walk_row) : here(walk_row * walk.columns) {
        if (walk.rows_of_plane == 0) {
            column = here;
            rows = 1;
            columns = walk.count;
        } else {
            row = walk_row;
            if (walk.rows > walk.rows_of_plane) {  // A division takes as long as an element.
                plane = walk_row / walk.rows_of_plane;
                row = walk_row % walk.rows_of_plane;
            }
            rows = walk.rows_of_plane;
            columns = walk.columns;
            planes = walk.rows / walk.rows_of_plane;
        }
    }
    APERTURE_HD Place moved(index_t right, int to_lane) const {
        return {plane, row, column + right, rows, columns, planes, here + right, to_lane};
    }
    APERTURE_HD Place<true, true> inside() const {
        return {plane, row, column, rows, columns, planes, here, lane};
    }
    /// So many rows below, in the same plane.
    APERTURE_HD Place below(index_t down) const {
        return {plane, row + down, column, rows, columns, planes, here + down * columns, lane};
    }

    /// The entry `down` rows below and `right` columns to the right, of an image of these extents.
    template <class Border, bool column_inside = interior, class T>
    APERTURE_HD T neighbour(const T* image, int down, int right) const {
        const index_t r = row + down, c = column + right;
        if constexpr (column_inside && interior_rows) {
            return image[row * columns + column + (down * columns + right)];
        }
        const index_t inner_row = clamped(r, rows);
        if constexpr (column_inside) {
            const T value = image[inner_row * columns + c];
            return Border::zero && r != inner_row ? T(0) : value;
        } else {
            const index_t inner_column = clamped(c, columns);
            const T value = image[inner_row * columns + inner_column];
            return Border::zero && (r != inner_row || c != inner_column) ? T(0) : value;
        }
    }

    /// The same `behind` planes further, of an array of rank 3.
    template <class Border, bool column_inside = interior, class T>
    APERTURE_HD T neighbour(const T* volume, int behind, int down, int right) const {
        const index_t p = plane + behind;
        const index_t inner_plane = clamped(p, planes);
        const T* const image = volume + inner_plane * rows * columns;
        const T value = neighbour<Border, column_inside>(image, down, right);
        return Border::zero && p != inner_plane ? T(0) : value;
    }

    /// Whether there is such an entry.
    APERTURE_HD bool has(int down, int right) const {
        const index_t r = row + down, c = column + right;
        return 0 <= r && r < rows && (interior || (0 <= c && c < columns));
    }

  private:
    template <bool, bool>
    friend struct Place;

    /// Member by member: compilers do not vectorise loops with copies of a whole place.
    APERTURE_HD Place(index_t its_plane, index_t its_row, index_t its_column, index_t of_rows,
                      index_t of_columns, index_t of_planes, index_t its_number, int its_lane)
        : plane(its_plane),
          row(its_row),
          column(its_column),
          rows(of_rows),
          columns(of_columns),
          planes(of_planes),
          here(its_number),
          lane(its_lane) {}

    APERTURE_HD static index_t clamped(index_t i, index_t count) {
        const index_t not_above = i < count - 1 ? i : count - 1;
        return not_above > 0 ? not_above : 0;
    }
};

template <class T, class Combine, int count>
APERTURE_HD void add_number(bodies::LaneSums<T, Combine, count>& sum, int lane,
                            const SumNumber& number) {
    sum.add(lane, number.as<T>());
}

template <class K, class Place, class Sums>
APERTURE_HD void compute_one(const K& kernel, const Place& at, Sums& sums) {
    kernel.store(at, kernel.compute(at, sums));
}

#if defined(APERTURE_COMPOSE_CPU)

/// Columns of a row, at most a piece if the kernel sums. No element reads what another one stores.
template <bool interior, class K, class Sums>
inline void compute_columns(const K& kernel, const Walk& walk, index_t row, index_t begin,
                            index_t end, Sums& sums) {
    const Place<interior> first(walk, row);
    if constexpr (!interior) {  // These are few.
        for (index_t column = begin; column < end; ++column) {
            compute_one(kernel, first.moved(column, static_cast<int>(column % lanes)), sums);
        }
    } else if constexpr (K::sums == 0) {
#pragma GCC ivdep
        for (index_t column = begin; column < end; ++column) {
            compute_one(kernel, first.moved(column, 0), sums);
        }
    } else {
        while (begin < end) {
            const int lane = static_cast<int>(begin % lanes);
            if (lane == 0 && end - begin >= lanes) {
#pragma GCC ivdep
                for (int i = 0; i < lanes; ++i) {
                    compute_one(kernel, first.moved(begin + i, i), sums);
                }
                begin += lanes;
            } else {
                compute_one(kernel, first.moved(begin, lane), sums);
                ++begin;
            }
        }
    }
}

template <class K, class Sums>
inline void compute_piece(const K& kernel, const Walk& walk, index_t row, index_t begin,
                          index_t end, Sums& sums) {
    const index_t length = walk.row_length(row);
    const auto between = [&](index_t column) {
        return column < begin ? begin : column < end ? column : end;
    };
    const index_t first = between(K::left);
    const index_t last = length - K::right < first ? first : between(length - K::right);
    compute_columns<false>(kernel, walk, row, begin, first, sums);
    compute_columns<true>(kernel, walk, row, first, last, sums);
    compute_columns<false>(kernel, walk, row, last, end, sums);
}

/// Strips `first` to `end` - 1.
template <class K>
inline void compute_strips(const KernelArguments& arguments, index_t first, index_t end) {
    const K kernel(arguments.symbols);
    const Walk walk = arguments.walk;
    for (index_t strip = first; strip < end; ++strip) {
        typename K::template Sums<1> of_strip;
        const index_t last_row =
            (strip + 1) * strip_rows < walk.rows ? (strip + 1) * strip_rows : walk.rows;
        for (index_t row = strip * strip_rows; row < last_row; ++row) {
            const index_t length = walk.row_length(row);
            const index_t step = K::sums == 0 ? length : piece_length;
            for (index_t column = 0; column < length; column += step) {
                typename K::template Sums<lanes> sums;
                const index_t piece_end = column + step < length ? column + step : length;
                compute_piece(kernel, walk, row, column, piece_end, sums);
                sums.each(of_strip,
                          [](int, const auto& from, auto& to) { to.add(0, from.total()); });
            }
        }
        of_strip.each(of_strip, [&](int i, const auto& sum, auto&) {
            arguments.sums[i * walk.strips() + strip].set(sum.total());
        });
    }
}

/// After all strips.
template <class K>
inline void finish(const KernelArguments& arguments, index_t, index_t) {
    const K kernel(arguments.symbols);
    typename K::template Sums<lanes> sums;
    const index_t strips = arguments.walk.strips();
    sums.each(sums, [&](int i, auto& sum, auto&) {
        for (index_t strip = 0; strip < strips; ++strip) {
            add_number(sum, static_cast<int>(strip % lanes), arguments.sums[i * strips + strip]);
        }
    });
    kernel.store_scalars(arguments.symbols);
    kernel.store_sums(arguments.symbols, sums);
}

#else

template <class T>
__device__ __forceinline__ T of_lane_below(T value, int distance) {
    return __shfl_down_sync(core::full_warp, value, distance);
}
template <class T>
__device__ __forceinline__ core::Complex<T> of_lane_below(core::Complex<T> value, int distance) {
    return {of_lane_below(value.re, distance), of_lane_below(value.im, distance)};
}

/// Of all lanes, in lane 0.
template <class T, class Combine>
__device__ __forceinline__ T total_of_warp(const bodies::LaneSums<T, Combine, 1>& sum) {
    T total = sum.values[0];
    APERTURE_UNROLL
    for (int half = lanes / 2; half > 0; half /= 2) {
        total = Combine::of(total, of_lane_below(total, half));
    }
    return total;
}

/// A piece of a row by a warp, all in the image. Elements are stored after others are loaded, for
/// compilers do not know that they are apart.
template <int columns_of_thread, class K, class Place, class Sums>
__device__ __forceinline__ void compute_inner_piece(const K& kernel, const Place& first,
                                                    Sums& sums) {
    constexpr int at_once = columns_of_thread < 4 ? columns_of_thread : 4;
    APERTURE_UNROLL
    for (int begin = 0; begin < columns_of_thread; begin += at_once) {
        typename K::Stored stored[at_once];
        APERTURE_UNROLL
        for (int i = 0; i < at_once; ++i) {
            stored[i] = kernel.compute(first.moved((begin + i) * lanes, 0), sums);
        }
        APERTURE_UNROLL
        for (int i = 0; i < at_once; ++i) {
            kernel.store(first.moved((begin + i) * lanes, 0), stored[i]);
        }
    }
}

/// Of blocks of (32, n) threads; the grid may have any size. A warp takes a piece of a row, warps
/// of a block those of rows one below the other. Kernels without sums may take less of a row.
template <class K, int columns_of_thread>
__device__ __forceinline__ void compute_elements(const KernelArguments& arguments) {
    constexpr int columns_of_warp = columns_of_thread * lanes;
    static_assert(K::sums == 0 || columns_of_warp == piece_length);
    const K kernel(arguments.symbols);
    const Walk walk = arguments.walk;
    const int lane = static_cast<int>(threadIdx.x);
    const index_t row_stride = index_t(gridDim.y) * blockDim.y;
    for (index_t row = index_t(blockIdx.y) * blockDim.y + threadIdx.y; row < walk.rows;
         row += row_stride) {
        const index_t length = walk.row_length(row);
        const Place<false> start(walk, row);
        const bool inner_rows = start.row >= K::above && start.row + K::below < start.rows;
        for (index_t first = index_t(blockIdx.x) * columns_of_warp; first < length;
             first += index_t(gridDim.x) * columns_of_warp) {
            typename K::template Sums<1> sums;
            if (inner_rows && first >= K::left && first + columns_of_warp + K::right <= length) {
                compute_inner_piece<columns_of_thread>(kernel,
                                                       start.moved(first + lane, 0).inside(), sums);
            } else {
                for (int i = 0; i < columns_of_thread; ++i) {
                    const index_t column = first + i * lanes + lane;
                    if (column < length) compute_one(kernel, start.moved(column, 0), sums);
                }
            }
            sums.each(sums, [&](int i, auto& sum, auto&) {
                const auto total = total_of_warp(sum);
                const index_t piece = row * walk.pieces_of_row() + first / piece_length;
                if (lane == 0) arguments.sums[i * walk.pieces() + piece].set(total);
            });
        }
    }
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0 && threadIdx.y == 0) {
        kernel.store_scalars(arguments.symbols);
    }
}

/// After compute_elements, by one block of threads.
template <class K>
__device__ __forceinline__ void finish(const KernelArguments& arguments) {
    const K kernel(arguments.symbols);
    const Walk walk = arguments.walk;
    const index_t pieces_of_strip = walk.pieces_of_row() * strip_rows;
    typename K::template Sums<1> none;
    SumNumber* const of_strips = arguments.sums + K::sums * walk.pieces();
    none.each(none, [&](int i, auto& zero, auto&) {
        const SumNumber* const of_pieces = arguments.sums + i * walk.pieces();
        for (index_t strip = core::thread_rank(); strip < walk.strips();
             strip += core::block_threads()) {
            auto sum = zero;
            const index_t begin = strip * pieces_of_strip;
            const index_t end =
                begin + pieces_of_strip < walk.pieces() ? begin + pieces_of_strip : walk.pieces();
            for (index_t piece = begin; piece < end; ++piece) add_number(sum, 0, of_pieces[piece]);
            of_strips[i * walk.strips() + strip].set(sum.total());
        }
    });
    __syncthreads();
    if (core::warp_rank() > 0) return;
    typename K::template Sums<1> sums;
    sums.each(sums, [&](int i, auto& sum, auto&) {
        for (index_t strip = core::lane_rank(); strip < walk.strips(); strip += lanes) {
            add_number(sum, 0, of_strips[i * walk.strips() + strip]);
        }
        sum.values[0] = total_of_warp(sum);
    });
    if (core::lane_rank() == 0) kernel.store_sums(arguments.symbols, sums);
}

#endif

}  // namespace aperture::compose::kernels
