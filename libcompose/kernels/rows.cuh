// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Walks over images whose rows or columns are added up. A generated kernel K has
//     K(void* const* symbols), store_scalars()         as those of elements.cuh
//     of_row(row), of_column(column), load(at)         what calls read there
//     first(at, of_row, of_column, loaded, rows, columns)
//         computes an element: calls, stores, terms of sums. If K is in_parts, terms of rows alone
//     second(at, of_row, of_column, loaded, totals, columns)
//         all else, of a K in_parts, when the totals of the row are known
//     store_row(row, totals), store_column(column, columns)
//     Rows<lanes>, row_sums; Columns, column_sums      its sums, and how many there are

#include "libcompose/kernels/elements.cuh"

namespace aperture::compose::kernels {

/// Where sums of pieces of rows are kept: [row][piece], of the type of a sum.
template <class T, class Combine, int count>
APERTURE_HD T* memory_of_rows(const KernelArguments& arguments, int i,
                              const bodies::LaneSums<T, Combine, count>&) {
    return reinterpret_cast<T*>(arguments.sums + i * arguments.walk.pieces());
}
/// And those of strips of columns: [strip][column].
template <class K, class T, class Combine, int count>
APERTURE_HD T* memory_of_columns(const KernelArguments& arguments, int i,
                                 const bodies::LaneSums<T, Combine, count>&) {
    const Walk& walk = arguments.walk;
#if defined(APERTURE_COMPOSE_CPU)
    const index_t before = 0;
#else
    const index_t before = K::row_sums * walk.pieces();
#endif
    return reinterpret_cast<T*>(arguments.sums + before + i * walk.row_strips() * walk.columns);
}
APERTURE_HD index_t end_of_strip(const Walk& walk, index_t strip) {
    return (strip + 1) * row_strip < walk.rows ? (strip + 1) * row_strip : walk.rows;
}
/// A kernel without halos need not ask for borders.
template <class K>
using RowPlace = Place<K::left == 0 && K::right == 0>;

#if defined(APERTURE_COMPOSE_CPU)

/// Of lambdas in loops that must be vectorised.
#define APERTURE_INLINE __attribute__((always_inline))

/// Calls body(i) for `begin` to `end` - 1. Compilers vectorise a loop around it as if it were
/// written out; they do not unroll loops before.
template <int begin, int end, class Body>
[[gnu::always_inline]] inline void repeat(const Body& body) {
    if constexpr (begin < end) {
        body(begin);
        repeat<begin + 1, end>(body);
    }
}

/// Calls work(column, lane, columns), with the sums of a column in the strip.
template <class K, class Work>
[[gnu::always_inline]] inline void with_sums(const KernelArguments& arguments, index_t strip,
                                             index_t column, int lane, const Work& work) {
    const index_t here = strip * arguments.walk.columns + column;
    typename K::Columns columns;
    columns.each(columns, [&](int i, auto& sum, auto&) APERTURE_INLINE {
        sum.values[0] = memory_of_columns<K>(arguments, i, sum)[here];
    });
    work(column, lane, columns);
    columns.each(columns, [&](int i, auto& sum, auto&) APERTURE_INLINE {
        memory_of_columns<K>(arguments, i, sum)[here] = sum.values[0];
    });
}

/// The same for `begin` to `end` - 1, a piece of a row or the end of one. Of whole pieces a lane's
/// columns are next to one another in time, so that its sums stay in registers.
template <class K, class Work>
[[gnu::always_inline]] inline void for_each_column(const KernelArguments& arguments, index_t strip,
                                                   index_t begin, index_t end, const Work& work) {
    if (end - begin == piece_length) {
#pragma GCC ivdep
        for (int lane = 0; lane < lanes; ++lane) {
            repeat<0, piece_length / lanes>([&](int i) APERTURE_INLINE {
                with_sums<K>(arguments, strip, begin + i * lanes + lane, lane, work);
            });
        }
        return;
    }
    index_t first = begin;
    for (; first + lanes <= end; first += lanes) {
#pragma GCC ivdep
        for (int lane = 0; lane < lanes; ++lane) {
            with_sums<K>(arguments, strip, first + lane, lane, work);
        }
    }
    for (int lane = 0; first + lane < end; ++lane) {
        with_sums<K>(arguments, strip, first + lane, lane, work);
    }
}

/// What calls compute of a piece of `count` rows one below the other; adds its sums to the rows'.
template <class K, int count, class Rows>
inline void compute_piece_of_rows(const KernelArguments& arguments, const K& kernel, index_t row,
                                  index_t piece, Rows (&of_rows)[count]) {
    const Walk& walk = arguments.walk;
    const RowPlace<K> start(walk, row);
    const index_t begin = piece * piece_length;
    const index_t end = begin + piece_length < walk.columns ? begin + piece_length : walk.columns;
    typename K::OfRow of_row[count];
    Rows sums[count];
    for (int i = 0; i < count; ++i) of_row[i] = kernel.of_row(row + i);
    for_each_column<K>(arguments, row / row_strip, begin, end,
                       [&](index_t column, int lane, auto& columns) APERTURE_INLINE {
                           const auto of_column = kernel.of_column(column);
                           repeat<0, count>([&](int i) APERTURE_INLINE {
                               const RowPlace<K> at = start.below(i).moved(column, lane);
                               kernel.first(at, of_row[i], of_column, kernel.load(at), sums[i],
                                            columns);
                           });
                       });
    for (int i = 0; i < count; ++i) {
        sums[i].each(of_rows[i], [&](int, const auto& from, auto& to) {
            to.add(static_cast<int>(piece % lanes), from.total());
        });
    }
}

/// What needs the totals of a row.
template <class K, class Rows>
inline void finish_row(const KernelArguments& arguments, const K& kernel, index_t row,
                       Rows& of_pieces) {
    typename K::template Rows<1> totals;
    totals.each(of_pieces, [](int, auto& to, const auto& from) { to.values[0] = from.total(); });
    kernel.store_row(row, totals);
    if constexpr (K::in_parts) {
        const Walk& walk = arguments.walk;
        const RowPlace<K> start(walk, row);
        const auto of_row = kernel.of_row(row);
#pragma GCC ivdep
        for (index_t column = 0; column < walk.columns; ++column) {
            with_sums<K>(arguments, row / row_strip, column, 0,
                         [&](index_t, int lane, auto& columns) APERTURE_INLINE {
                             const RowPlace<K> at = start.moved(column, lane);
                             kernel.second(at, of_row, kernel.of_column(column), kernel.load(at),
                                           totals, columns);
                         });
        }
    }
}

template <class K, int count>
inline void compute_some_rows(const KernelArguments& arguments, const K& kernel, index_t row) {
    typename K::template Rows<lanes> of_pieces[count];
    for (index_t piece = 0; piece < arguments.walk.pieces_of_row(); ++piece) {
        compute_piece_of_rows(arguments, kernel, row, piece, of_pieces);
    }
    for (int i = 0; i < count; ++i) finish_row(arguments, kernel, row + i, of_pieces[i]);
}

/// Strips `first` to `end` - 1.
template <class K>
inline void compute_rows(const KernelArguments& arguments, index_t first, index_t end) {
    // Columns' sums are loaded and stored once for eight rows. Without them, memory is faster row
    // by row, and what reads a row twice finds it in the caches.
    constexpr int at_once = K::in_parts || K::column_sums == 0 ? 1 : 8;
    const K kernel(arguments.symbols);
    const Walk walk = arguments.walk;
    for (index_t strip = first; strip < end; ++strip) {
        typename K::Columns none;
        none.each(none, [&](int i, const auto& zero, auto&) {
            auto* const sums = memory_of_columns<K>(arguments, i, zero) + strip * walk.columns;
            for (index_t column = 0; column < walk.columns; ++column) sums[column] = zero.values[0];
        });
        const index_t last = end_of_strip(walk, strip);
        index_t row = strip * row_strip;
        for (; row + at_once <= last; row += at_once) {
            compute_some_rows<K, at_once>(arguments, kernel, row);
        }
        for (; row < last; ++row) compute_some_rows<K, 1>(arguments, kernel, row);
    }
}

/// After all strips: columns of pieces `first` to `end` - 1 of a row.
template <class K>
inline void finish_rows(const KernelArguments& arguments, index_t first, index_t end) {
    const K kernel(arguments.symbols);
    const Walk walk = arguments.walk;
    if (first == 0) kernel.store_scalars(arguments.symbols);
    if constexpr (K::column_sums > 0) {
        for (index_t piece = first; piece < end; ++piece) {
            const index_t begin = piece * piece_length, left = walk.columns - begin;
            const int count = static_cast<int>(left < piece_length ? left : piece_length);
            typename K::Columns columns;
            // Their totals take the place of the first strip.
            columns.each(columns, [&](int i, const auto& sum, auto&) {
                using T = decltype(sum.values[0] + sum.values[0]);
                T* const first_strip = memory_of_columns<K>(arguments, i, sum) + begin;
                T all[lanes][piece_length] = {};
                const T* of_strip = first_strip;
                for (index_t strip = 0; strip < walk.row_strips(); ++strip) {
                    T* const to = all[strip % lanes];
                    for (int c = 0; c < count; ++c) to[c] = to[c] + of_strip[c];
                    of_strip += walk.columns;
                }
                for (int half = lanes / 2; half > 0; half /= 2) {
                    for (int lane = 0; lane < half; ++lane) {
                        for (int c = 0; c < count; ++c) {
                            all[lane][c] = all[lane][c] + all[lane + half][c];
                        }
                    }
                }
                if (walk.rows == 0) return;
                for (int c = 0; c < count; ++c) first_strip[c] = all[0][c];
            });
            for (int c = 0; c < count; ++c) {
                columns.each(columns, [&](int i, auto& sum, auto&) {
                    if (walk.rows == 0) return;
                    sum.values[0] = memory_of_columns<K>(arguments, i, sum)[begin + c];
                });
                kernel.store_column(begin + c, columns);
            }
        }
    }
}

#else

template <class T>
__device__ __forceinline__ T of_first_lane(T value) {
    return __shfl_sync(core::full_warp, value, 0);
}
template <class T>
__device__ __forceinline__ core::Complex<T> of_first_lane(core::Complex<T> value) {
    return {of_first_lane(value.re), of_first_lane(value.im)};
}

inline constexpr int columns_of_lane = piece_length / lanes;

/// What a thread needs of the columns of `pieces` pieces: piece `stride` beside the last one.
template <class K, int pieces>
struct ThreadColumns {
    static constexpr int count = pieces * columns_of_lane;
    struct Entries {
        typename K::Loaded of[count];
    };
    index_t first, stride, end;
    typename K::OfColumn fixed[count];
    typename K::Columns sums[count];

    __device__ __forceinline__ ThreadColumns(const K& kernel, const Walk& walk, index_t first_piece,
                                             index_t stride_of_pieces)
        : first(first_piece * piece_length + threadIdx.x),
          stride(stride_of_pieces * piece_length),
          end(walk.columns) {
        APERTURE_UNROLL
        for (int i = 0; i < count; ++i) {
            if (has(i)) fixed[i] = kernel.of_column(column(i));
        }
    }
    __device__ __forceinline__ index_t column(int i) const {
        return first + i / columns_of_lane * stride + i % columns_of_lane * lanes;
    }
    __device__ __forceinline__ bool has(int i) const { return column(i) < end; }
    __device__ __forceinline__ void load(const K& kernel, const RowPlace<K>& start,
                                         Entries& loaded) const {
        APERTURE_UNROLL
        for (int i = 0; i < count; ++i) {
            if (has(i)) loaded.of[i] = kernel.load(start.moved(column(i), 0));
        }
    }
    /// The first part of piece `piece` in a row; the rows' sums in lane 0.
    template <class OfRow>
    __device__ __forceinline__ auto add_piece(const K& kernel, const RowPlace<K>& start,
                                              const OfRow& of_row, const Entries& loaded,
                                              int piece) {
        typename K::template Rows<1> rows;
        APERTURE_UNROLL
        for (int k = 0; k < columns_of_lane; ++k) {
            const int i = piece * columns_of_lane + k;
            if (has(i)) {
                kernel.first(start.moved(column(i), 0), of_row, fixed[i], loaded.of[i], rows,
                             sums[i]);
            }
        }
        rows.each(rows, [](int, auto& sum, auto&) { sum.values[0] = total_of_warp(sum); });
        return rows;
    }
    __device__ __forceinline__ void store(const KernelArguments& arguments, index_t strip) {
        APERTURE_UNROLL
        for (int i = 0; i < count; ++i) {
            if (!has(i)) continue;
            sums[i].each(sums[i], [&](int k, auto& sum, auto&) {
                memory_of_columns<K>(arguments, k, sum)[strip * end + column(i)] = sum.values[0];
            });
        }
    }
};

/// Rows of a strip that a warp has in flight. Totals of rows take their time, and then more are
/// better: 16 bytes of each column.
template <class K>
inline constexpr int rows_at_once = sizeof(typename K::Loaded) >= 16 ? 1
                                    : sizeof(typename K::Loaded) > 4 || K::row_sums == 0 ? 2
                                                                                         : 4;

/// A warp takes a piece of 256 columns, of the rows of a strip or, where order allows, of a few.
template <class K>
__device__ __forceinline__ void compute_pieces(const KernelArguments& arguments, const K& kernel) {
    constexpr int at_once = rows_at_once<K>;
    constexpr index_t rows_of_task = K::column_sums > 0 ? row_strip : at_once;
    const Walk walk = arguments.walk;
    const index_t pieces = walk.pieces_of_row();
    const index_t tasks = (walk.rows + rows_of_task - 1) / rows_of_task * pieces;
    for (index_t task = index_t(blockIdx.x) * blockDim.y + threadIdx.y; task < tasks;
         task += index_t(gridDim.x) * blockDim.y) {
        const index_t begin = task / pieces * rows_of_task, piece = task % pieces;
        const index_t end = begin + rows_of_task < walk.rows ? begin + rows_of_task : walk.rows;
        ThreadColumns<K, 1> columns(kernel, walk, piece, 0);
        for (index_t first = begin; first < end; first += at_once) {
            typename ThreadColumns<K, 1>::Entries loaded[at_once];
            APERTURE_UNROLL
            for (int i = 0; i < at_once; ++i) {
                if (first + i < end) columns.load(kernel, RowPlace<K>(walk, first + i), loaded[i]);
            }
            APERTURE_UNROLL
            for (int i = 0; i < at_once; ++i) {
                const index_t row = first + i;
                if (row >= end) break;
                auto rows = columns.add_piece(kernel, RowPlace<K>(walk, row), kernel.of_row(row),
                                              loaded[i], 0);
                rows.each(rows, [&](int sum, const auto& one, auto&) {
                    if (threadIdx.x == 0) {
                        memory_of_rows(arguments, sum, one)[row * pieces + piece] = one.values[0];
                    }
                });
            }
        }
        columns.store(arguments, begin / row_strip);
    }
}

/// A block takes a strip, and has a row at a time on chip: its entries in registers. Warps store
/// the sums of pieces for all others, by turns in two places, so that one barrier a row is enough.
template <class K, int pieces_of_warp>
__device__ __forceinline__ void compute_in_parts(const KernelArguments& arguments,
                                                 const K& kernel) {
    using Columns = ThreadColumns<K, pieces_of_warp>;
    const Walk walk = arguments.walk;
    const index_t pieces = walk.pieces_of_row();
    const int warps = static_cast<int>(blockDim.y), warp = static_cast<int>(threadIdx.y);
    const int lane = static_cast<int>(threadIdx.x), slots = warps * pieces_of_warp;
    for (index_t strip = blockIdx.x; strip < walk.row_strips(); strip += gridDim.x) {
        Columns columns(kernel, walk, warp, warps);
        typename Columns::Entries loaded;
        columns.load(kernel, RowPlace<K>(walk, strip * row_strip), loaded);
        for (index_t row = strip * row_strip; row < end_of_strip(walk, strip); ++row) {
            const RowPlace<K> start(walk, row);
            const auto of_row = kernel.of_row(row);
            const auto place = [&](int sum, index_t piece) -> SumNumber& {
                return core::shared<SumNumber>()[((row % 2) * K::row_sums + sum) * slots + piece];
            };
            APERTURE_UNROLL
            for (int i = 0; i < pieces_of_warp; ++i) {
                auto rows = columns.add_piece(kernel, start, of_row, loaded, i);
                rows.each(rows, [&](int sum, const auto& one, auto&) {
                    if (lane == 0) place(sum, i * warps + warp).set(one.values[0]);
                });
            }
            const typename Columns::Entries now = loaded;
            if (row + 1 < end_of_strip(walk, strip)) {
                columns.load(kernel, RowPlace<K>(walk, row + 1), loaded);
            }
            __syncthreads();
            typename K::template Rows<1> totals;
            totals.each(totals, [&](int sum, auto& total, auto&) {
                for (index_t piece = lane; piece < pieces; piece += lanes) {
                    add_number(total, 0, place(sum, piece));
                }
                total.values[0] = of_first_lane(total_of_warp(total));
            });
            if (warp == 0 && lane == 0) kernel.store_row(row, totals);
            APERTURE_UNROLL
            for (int i = 0; i < Columns::count; ++i) {
                if (columns.has(i)) {
                    kernel.second(start.moved(columns.column(i), 0), of_row, columns.fixed[i],
                                  now.of[i], totals, columns.sums[i]);
                }
            }
        }
        columns.store(arguments, strip);
    }
}

/// Of blocks of (32, n) threads; of a kernel in_parts n warps with `pieces_of_warp` pieces have a
/// row. The grid may have any size.
template <class K, int pieces_of_warp>
__device__ __forceinline__ void compute_rows(const KernelArguments& arguments) {
    const K kernel(arguments.symbols);
    if constexpr (K::in_parts) {
        compute_in_parts<K, pieces_of_warp>(arguments, kernel);
    } else {
        compute_pieces(arguments, kernel);
    }
    if (blockIdx.x == 0 && core::thread_rank() == 0) kernel.store_scalars(arguments.symbols);
}

/// After compute_rows, of blocks of (32, n) threads: a warp takes a row, a block 32 columns.
template <class K>
__device__ __forceinline__ void finish_rows(const KernelArguments& arguments) {
    const K kernel(arguments.symbols);
    const Walk walk = arguments.walk;
    const int lane = static_cast<int>(threadIdx.x), warps = static_cast<int>(blockDim.y);
    if constexpr (K::row_sums > 0 && !K::in_parts) {
        const index_t pieces = walk.pieces_of_row();
        for (index_t row = index_t(blockIdx.x) * warps + threadIdx.y; row < walk.rows;
             row += index_t(gridDim.x) * warps) {
            typename K::template Rows<1> totals;
            totals.each(totals, [&](int i, auto& sum, auto&) {
                const auto* const of_row = memory_of_rows(arguments, i, sum) + row * pieces;
                for (index_t piece = lane; piece < pieces; piece += lanes) {
                    sum.add(0, of_row[piece]);
                }
                sum.values[0] = total_of_warp(sum);
            });
            if (lane == 0) kernel.store_row(row, totals);
        }
    }
    if constexpr (K::column_sums > 0) {
        for (index_t first = index_t(blockIdx.x) * lanes; first < walk.columns;
             first += index_t(gridDim.x) * lanes) {
            const index_t column = first + lane;
            typename K::Columns columns;
            columns.each(columns, [&](int i, auto& sum, auto&) {
                using T = decltype(sum.values[0] + sum.values[0]);
                const T* const strips = memory_of_columns<K>(arguments, i, sum);
                T* const sums = core::shared<T>();
                for (int of = static_cast<int>(threadIdx.y); of < lanes; of += warps) {
                    auto of_lane = sum;
                    for (index_t strip = of; strip < walk.row_strips(); strip += lanes) {
                        if (column < walk.columns) {
                            of_lane.add(0, strips[strip * walk.columns + column]);
                        }
                    }
                    sums[of * lanes + lane] = of_lane.values[0];
                }
                __syncthreads();
                for (int half = lanes / 2; half > 0; half /= 2) {
                    for (int of = static_cast<int>(threadIdx.y); of < half; of += warps) {
                        sums[of * lanes + lane] =
                            sums[of * lanes + lane] + sums[(of + half) * lanes + lane];
                    }
                    __syncthreads();
                }
                sum.values[0] = sums[lane];
                __syncthreads();
            });
            if (threadIdx.y == 0 && column < walk.columns) kernel.store_column(column, columns);
        }
    }
}

#endif

}  // namespace aperture::compose::kernels
