// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Walks over the elements of a generated kernel. A kernel K has
//     K(void* const* symbols)            loads scalars and computes those that depend on them alone
//     Values, compute(at)                what it stores or adds of an element: loads and calls
//     store(at, values, sums)            stores and adds that
//     store_scalars(), store_sums(sums)  store what lives on
//     left, right, above, below          columns and rows that its halos need
//     Sums<lanes>, sums                  its sums, and how many there are
//     tile_bytes                         memory of tiles, of images that it makes for neighbours
//     each_part(memory, column, action)  places tiles, and calls action(part) for those of one
//     part,
//                                        which has their margin: above, below, left, right
//     compute(part, at)                  stores entries of a part's tiles
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

/// Entries of an image that a kernel makes for neighbours, of some columns. Its rows, a power of
/// two, follow each other in a circle.
template <class T, index_t rows, index_t columns>
struct Tile {
    T* entries;
    index_t first_column;

    APERTURE_HD T& at(index_t row, index_t column) const {
        return entries[(row & (rows - 1)) * columns + (column - first_column)];
    }
};

/// The entry `down` rows below and `right` columns to the right, of an image in memory or a tile.
template <class T>
APERTURE_HD T entry(const T* image, index_t columns, index_t row, index_t column, int down = 0,
                    int right = 0) {
    return image[row * columns + column + (down * columns + right)];
}
template <class T, index_t rows, index_t columns>
APERTURE_HD T entry(const Tile<T, rows, columns>& tile, index_t, index_t row, index_t column,
                    int down = 0, int right = 0) {
    return tile.at(row + down, column + right);
}

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
    template <class Border, bool column_inside = interior, class Image>
    APERTURE_HD auto neighbour(const Image& image, int down, int right) const {
        using T = decltype(entry(image, columns, row, column));
        const index_t r = row + down, c = column + right;
        if constexpr (column_inside && interior_rows) {
            return entry(image, columns, row, column, down, right);
        }
        const index_t inner_row = clamped(r, rows);
        if constexpr (column_inside) {
            const T value = entry(image, columns, inner_row, c);
            return Border::zero && r != inner_row ? T(0) : value;
        } else {
            const index_t inner_column = clamped(c, columns);
            const T value = entry(image, columns, inner_row, inner_column);
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

#if defined(APERTURE_COMPOSE_CPU)

template <class K, class Place, class Sums>
[[gnu::always_inline]] inline void compute_element(const K& kernel, const Place& at, Sums& sums) {
    kernel.store(at, kernel.compute(at), sums);
}

/// Columns of a row, at most a piece if the kernel sums. No element reads what another one stores.
template <bool interior, class K, class Sums>
inline void compute_columns(const K& kernel, const Walk& walk, index_t row, index_t begin,
                            index_t end, Sums& sums) {
    const Place<interior> first(walk, row);
    if constexpr (!interior) {  // These are few.
        for (index_t column = begin; column < end; ++column) {
            compute_element(kernel, first.moved(column, static_cast<int>(column % lanes)), sums);
        }
    } else if constexpr (K::sums == 0) {
#pragma GCC ivdep
        for (index_t column = begin; column < end; ++column) {
            compute_element(kernel, first.moved(column, 0), sums);
        }
    } else {
        while (begin < end) {
            const int lane = static_cast<int>(begin % lanes);
            if (lane == 0 && end - begin >= lanes) {
#pragma GCC ivdep
                for (int i = 0; i < lanes; ++i) {
                    compute_element(kernel, first.moved(begin + i, i), sums);
                }
                begin += lanes;
            } else {
                compute_element(kernel, first.moved(begin, lane), sums);
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

/// Computes entries of tiles as if they were elements.
template <class K, class Part>
struct PartKernel {
    const K& kernel;
    static constexpr index_t left = K::left, right = K::right;
    static constexpr int sums = 0;
};
template <class K, class Part, class Place>
[[gnu::always_inline]] inline void compute_element(const PartKernel<K, Part>& of_part,
                                                   const Place& at, NoPlace) {
    of_part.kernel.compute(Part(), at);
}
/// For a strip. If it follows another one, tiles have its first rows.
template <class K>
inline void compute_tiles(K& kernel, const Walk& walk, index_t first_row, bool follows) {
    alignas(64) static thread_local unsigned char memory[K::tile_bytes];
    kernel.each_part(memory, 0, [&]<class Part>(Part) {
        const index_t last = first_row + strip_rows + Part::below;
        const index_t end = last < walk.rows ? last : walk.rows;
        const index_t begin = follows ? last - strip_rows : first_row - Part::above;
        NoPlace none;
        for (index_t row = begin > 0 ? begin : 0; row < end; ++row) {
            compute_piece(PartKernel<K, Part>{kernel}, walk, row, 0, walk.columns, none);
        }
    });
}

/// Strips `first` to `end` - 1.
template <class K>
inline void compute_strips(const KernelArguments& arguments, index_t first, index_t end) {
    K kernel(arguments.symbols);
    const Walk walk = arguments.walk;
    for (index_t strip = first; strip < end; ++strip) {
        if constexpr (K::tile_bytes > 0) {
            compute_tiles(kernel, walk, strip * strip_rows, strip > first);
        }
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
__device__ __forceinline__ T of_lane(T value, int lane) {
    return __shfl_sync(core::full_warp, value, lane);
}
template <class T>
__device__ __forceinline__ core::Complex<T> of_lane(core::Complex<T> value, int lane) {
    return {of_lane(value.re, lane), of_lane(value.im, lane)};
}

/// Where sums of pieces are kept, and those of strips.
template <class T, class Combine, int count>
__device__ __forceinline__ T* memory_of_pieces(const KernelArguments& arguments, int i,
                                               const bodies::LaneSums<T, Combine, count>&) {
    return reinterpret_cast<T*>(arguments.sums + i * arguments.walk.pieces());
}
template <class K, class T, class Combine, int count>
__device__ __forceinline__ T* memory_of_strips(const KernelArguments& arguments, int i,
                                               const bodies::LaneSums<T, Combine, count>&) {
    const Walk& walk = arguments.walk;
    return reinterpret_cast<T*>(arguments.sums + K::sums * walk.pieces() + sums_apart +
                                i * walk.strips());
}

/// Of all lanes, in lane 0.
template <class T, class Combine>
__device__ __forceinline__ T total_of_warp(const bodies::LaneSums<T, Combine, 1>& sum) {
    T total = sum.values[0];
    APERTURE_UNROLL
    for (int half = lanes / 2; half > 0; half /= 2) {
        total = Combine::of(total, of_lane(total, (core::lane_rank() + half) % lanes));
    }
    return total;
}

/// Columns of a row from `first` on, by a warp: so many of each thread, of which up to four are
/// under way at a time. They are stored after all are loaded, for compilers do not know that they
/// are apart.
template <int columns_of_thread, class K, class Place, class Sums>
__device__ __forceinline__ void compute_columns(const K& kernel, const Place& start, index_t first,
                                                index_t length, Sums& sums) {
    constexpr int at_once = columns_of_thread < 4 ? columns_of_thread : 4;
    const int lane = static_cast<int>(threadIdx.x);
    APERTURE_UNROLL
    for (int i = 0; i < columns_of_thread; i += at_once) {
        const auto column = [&](int k) { return first + (i + k) * lanes + lane; };
        const auto is_there = [&](int k) { return Place::is_interior || column(k) < length; };
        typename K::Values values[at_once];
        APERTURE_UNROLL
        for (int k = 0; k < at_once; ++k) {
            // Loads of several are under way only where no branch is between them.
            if (at_once > 1 || is_there(k)) {
                values[k] = kernel.compute(start.moved(is_there(k) ? column(k) : length - 1, 0));
            }
        }
        APERTURE_UNROLL
        for (int k = 0; k < at_once; ++k) {
            if (is_there(k)) kernel.store(start.moved(column(k), 0), values[k], sums);
        }
    }
}

/// These columns, and what they add to sums. Where all halos are in the image, borders are not
/// asked for.
template <int columns_of_thread, class K>
__device__ __forceinline__ void compute_piece(const K& kernel, const KernelArguments& arguments,
                                              index_t row, index_t first) {
    constexpr int columns_of_warp = columns_of_thread * lanes;
    static_assert(K::sums == 0 || columns_of_warp == piece_length);
    const Walk walk = arguments.walk;
    const index_t length = walk.row_length(row);
    const Place<false> start(walk, row);
    const bool is_inside = start.row >= K::above && start.row + K::below < start.rows &&
                           first >= K::left && first + columns_of_warp + K::right <= length;
    typename K::template Sums<1> sums;
    if (is_inside) {
        compute_columns<columns_of_thread>(kernel, start.inside(), first, length, sums);
    } else {
        compute_columns<columns_of_thread>(kernel, start, first, length, sums);
    }
    sums.each(sums, [&](int i, auto& sum, auto&) {
        const auto total = total_of_warp(sum);
        const index_t piece = row * walk.pieces_of_row() + first / piece_length;
        if (threadIdx.x == 0) memory_of_pieces(arguments, i, sum)[piece] = total;
    });
}

/// Of a block's rows and columns, from these on. All its threads call this.
template <int columns_of_block, class K>
__device__ __forceinline__ void compute_tiles(K& kernel, const Walk& walk, index_t first_row,
                                              index_t first) {
    kernel.each_part(core::shared<unsigned char>(), first, [&]<class Part>(Part part) {
        constexpr int columns = columns_of_block + Part::left + Part::right;
        constexpr int count = (int{strip_rows} + Part::above + Part::below) * columns;
        constexpr int threads = lanes * int{strip_rows};
        const index_t top = first_row - Part::above, left = first - Part::left;
        const Place<false> corner = Place<false>(walk, top).moved(left, 0);
        const auto place = [&](int i) { return corner.below(i / columns).moved(i % columns, 0); };
        if (top >= K::above && left >= K::left &&
            first_row + strip_rows + Part::below + K::below <= walk.rows &&
            first + columns_of_block + Part::right + K::right <= walk.columns) {
            APERTURE_UNROLL
            for (int begin = 0; begin < count; begin += threads) {
                const int i = begin + core::thread_rank();
                if (begin + threads <= count || i < count) kernel.compute(part, place(i).inside());
            }
        } else {
            for (int i = core::thread_rank(); i < count; i += threads) {
                const Place<false> at = place(i);
                if (0 <= at.row && at.row < walk.rows && 0 <= at.column &&
                    at.column < walk.columns) {
                    kernel.compute(part, at);
                }
            }
        }
        __syncthreads();
    });
}

/// Of blocks of (32, 8) threads; the grid may have any size. A warp takes a piece of a row, warps
/// of a block those of rows one below the other. Kernels without sums may take less of a row.
template <class K, int columns_of_thread>
__device__ __forceinline__ void compute_elements(const KernelArguments& arguments) {
    constexpr int columns_of_warp = columns_of_thread * lanes;
    K kernel(arguments.symbols);
    const Walk walk = arguments.walk;
    const index_t row_stride = index_t(gridDim.y) * blockDim.y;
    for (index_t top = index_t(blockIdx.y) * blockDim.y; top < walk.rows; top += row_stride) {
        const index_t row = top + threadIdx.y;
        const bool is_there = row < walk.rows;
        // All pieces of a row have a sum, also those beyond the end of a vector.
        const index_t end = K::sums > 0 || K::tile_bytes > 0 ? walk.columns
                            : is_there                       ? walk.row_length(row)
                                                             : 0;
        for (index_t first = index_t(blockIdx.x) * columns_of_warp; first < end;
             first += index_t(gridDim.x) * columns_of_warp) {
            if constexpr (K::tile_bytes > 0) {
                compute_tiles<columns_of_warp>(kernel, walk, top, first);
            }
            if (is_there) compute_piece<columns_of_thread>(kernel, arguments, row, first);
            if constexpr (K::tile_bytes > 0) __syncthreads();
        }
    }
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0 && threadIdx.y == 0) {
        kernel.store_scalars(arguments.symbols);
    }
}

/// After all pieces, by warps of blocks of (32, n) threads: the sums of strips `first`, `first` +
/// `step`, ..., whose pieces are added one after the other. `memory_of(i, sum)` has them.
template <class K, class Memory>
__device__ __forceinline__ void add_strips(const KernelArguments& arguments, index_t first,
                                           index_t step, const Memory& memory_of) {
    const Walk walk = arguments.walk;
    const index_t pieces_of_strip = walk.pieces_of_row() * strip_rows;
    const int lane = static_cast<int>(threadIdx.x);
    typename K::template Sums<1> none;
    none.each(none, [&](int i, auto& zero, auto&) {
        const auto* const of_pieces = memory_of_pieces(arguments, i, zero);
        auto* const of_strips = memory_of(i, zero);
        for (index_t strip = first; strip < walk.strips(); strip += step) {
            auto sum = zero;
            const index_t begin = strip * pieces_of_strip;
            const index_t end =
                begin + pieces_of_strip < walk.pieces() ? begin + pieces_of_strip : walk.pieces();
            for (index_t piece = begin; piece < end; piece += lanes) {
                const auto mine = piece + lane < end ? of_pieces[piece + lane] : zero.values[0];
                APERTURE_UNROLL
                for (int k = 0; k < lanes; ++k) sum.add(0, of_lane(mine, k));
            }
            if (lane == 0) of_strips[strip] = sum.values[0];
        }
    });
}

/// After all strips, by the first warp of a block.
template <class K, class Memory>
__device__ __forceinline__ void store_totals(const K& kernel, const KernelArguments& arguments,
                                             const Memory& memory_of) {
    if (core::warp_rank() > 0) return;
    typename K::template Sums<1> sums;
    sums.each(sums, [&](int i, auto& sum, auto&) {
        const auto* const of_strips = memory_of(i, sum);
        for (index_t strip = core::lane_rank(); strip < arguments.walk.strips(); strip += lanes) {
            sum.add(0, of_strips[strip]);
        }
        sum.values[0] = total_of_warp(sum);
    });
    if (core::lane_rank() == 0) kernel.store_sums(arguments.symbols, sums);
}

/// After compute_elements, of blocks of (32, n) threads; the block that is done last adds up all
/// strips.
template <class K>
__device__ __forceinline__ void finish(const KernelArguments& arguments) {
    const auto memory_of = [&](int i, const auto& sum) {
        return memory_of_strips<K>(arguments, i, sum);
    };
    add_strips<K>(arguments, index_t(blockIdx.x) * blockDim.y + threadIdx.y,
                  index_t(gridDim.x) * blockDim.y, memory_of);
    if (gridDim.x > 1) {
        __threadfence();
        __syncthreads();
        unsigned* const before = core::shared<unsigned>();
        if (core::thread_rank() == 0) *before = atomicAdd(arguments.blocks_done, 1U);
        __syncthreads();
        if (*before + 1 < gridDim.x) return;
        if (core::thread_rank() == 0) *arguments.blocks_done = 0;
        __threadfence();
    }
    __syncthreads();
    store_totals(K(arguments.symbols), arguments, memory_of);
}

#endif

}  // namespace aperture::compose::kernels
