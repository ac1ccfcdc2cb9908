// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Walks over images whose rows or columns are added up. A generated kernel K has
//     K(void* const* symbols), store_scalars()         as those of elements.cuh
//     of_row(row), of_column(column), load(at)         what calls read there
//     first(at, of_row, of_column, loaded, rows, columns)
//         computes an element: calls, stores, terms of sums. If K is in_parts, terms of rows alone
//     row_values(row, of_row, totals), column_values(column, of_column, totals)
//         the totals of a line, and the entries of vectors that are computed with them
//     second(at, of_row, of_column, loaded, row_values, columns)
//         all else, of a K in_parts
//     store_row(row, row_values), store_column(column, column_values)
//     has_rows, has_columns                            whether there are such values
//     Rows<lanes>, row_sums; Columns, column_sums      its sums, and how many there are

#include "libcompose/kernels/elements.cuh"

namespace aperture::compose::kernels {

/// Where sums of pieces of rows are kept: [piece][row], of the type of a sum.
template <class T, class Combine, int count>
APERTURE_HD T* memory_of_rows(const KernelArguments& arguments, int i,
                              const bodies::LaneSums<T, Combine, count>&) {
    return reinterpret_cast<T*>(arguments.sums + i * arguments.walk.pieces());
}
/// And those of strips of columns: [part][column], each part of `strips_of_part` strips.
template <class K, int strips_of_part, class T, class Combine, int count>
APERTURE_HD T* memory_of_columns(const KernelArguments& arguments, int i,
                                 const bodies::LaneSums<T, Combine, count>&) {
    const Walk& walk = arguments.walk;
#if defined(APERTURE_COMPOSE_CPU)
    const index_t before = 0;
#else
    const index_t before = K::row_sums * walk.pieces();
#endif
    return reinterpret_cast<T*>(arguments.sums + before +
                                i * walk.row_parts(strips_of_part) * walk.columns);
}
APERTURE_HD index_t end_of_strip(const Walk& walk, index_t strip) {
    return (strip + 1) * row_strip < walk.rows ? (strip + 1) * row_strip : walk.rows;
}
/// Of entries of vectors.
struct EntryPlace {
    index_t plane = 0, row = 0, column, here;
    int lane = 0;

    APERTURE_HD explicit EntryPlace(index_t i) : column(i), here(i) {}
};

/// Stores what is made of the totals of a row.
template <class K, class Totals>
APERTURE_HD void store_row(const K& kernel, index_t row, const Totals& totals) {
    kernel.store_row(row, kernel.row_values(row, kernel.of_row(row), totals));
}
template <class K, class Totals>
APERTURE_HD void store_column(const K& kernel, index_t column, const Totals& totals) {
    kernel.store_column(column, kernel.column_values(column, kernel.of_column(column), totals));
}

/// Loads what is used once. Where images are loaded alone, sums of lines then stay in the caches.
template <class T>
APERTURE_HD T streamed(const T* address) {
    return *address;
}
#if defined(__CUDACC__)
__device__ __forceinline__ float streamed(const float* address) { return __ldcs(address); }
__device__ __forceinline__ double streamed(const double* address) { return __ldcs(address); }
__device__ __forceinline__ core::Complex<float> streamed(const core::Complex<float>* address) {
    const float2 number = __ldcs(reinterpret_cast<const float2*>(address));
    return {number.x, number.y};
}
__device__ __forceinline__ core::Complex<double> streamed(const core::Complex<double>* address) {
    const double2 number = __ldcs(reinterpret_cast<const double2*>(address));
    return {number.x, number.y};
}
#endif

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
        sum.values[0] = memory_of_columns<K, 1>(arguments, i, sum)[here];
    });
    work(column, lane, columns);
    columns.each(columns, [&](int i, auto& sum, auto&) APERTURE_INLINE {
        memory_of_columns<K, 1>(arguments, i, sum)[here] = sum.values[0];
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

/// What needs the totals of rows.
template <class K, int count, class Rows>
inline void finish_some_rows(const KernelArguments& arguments, const K& kernel, index_t row,
                             Rows (&of_pieces)[count]) {
    typename K::OfRow of_row[count];
    typename K::RowValues values[count];
    for (int i = 0; i < count; ++i) {
        typename K::template Rows<1> totals;
        totals.each(of_pieces[i],
                    [](int, auto& to, const auto& from) { to.values[0] = from.total(); });
        of_row[i] = kernel.of_row(row + i);
        values[i] = kernel.row_values(row + i, of_row[i], totals);
        kernel.store_row(row + i, values[i]);
    }
    if constexpr (K::in_parts) {
        const Walk& walk = arguments.walk;
        const RowPlace<K> start(walk, row);
#pragma GCC ivdep
        for (index_t column = 0; column < walk.columns; ++column) {
            with_sums<K>(arguments, row / row_strip, column, 0,
                         [&](index_t, int lane, auto& columns) APERTURE_INLINE {
                             const auto of_column = kernel.of_column(column);
                             repeat<0, count>([&](int i) APERTURE_INLINE {
                                 const RowPlace<K> at = start.below(i).moved(column, lane);
                                 kernel.second(at, of_row[i], of_column, kernel.load(at), values[i],
                                               columns);
                             });
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
    finish_some_rows(arguments, kernel, row, of_pieces);
}

/// Strips `first` to `end` - 1.
template <class K>
inline void compute_rows(const KernelArguments& arguments, index_t first, index_t end) {
    // Columns' sums are loaded and stored once for eight rows, or for four that are read twice and
    // fit into the caches. Without them, four rows are enough for memory.
    constexpr int at_once = (K::column_sums == 0 || K::in_parts) ? 4 : 8;
    const K kernel(arguments.symbols);
    const Walk walk = arguments.walk;
    for (index_t strip = first; strip < end; ++strip) {
        typename K::Columns none;
        none.each(none, [&](int i, const auto& zero, auto&) {
            auto* const sums = memory_of_columns<K, 1>(arguments, i, zero) + strip * walk.columns;
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
    if constexpr (K::has_columns) {
        for (index_t piece = first; piece < end; ++piece) {
            const index_t begin = piece * piece_length, left = walk.columns - begin;
            const int count = static_cast<int>(left < piece_length ? left : piece_length);
            typename K::Columns columns;
            // Their totals take the place of the first strip.
            columns.each(columns, [&](int i, const auto& sum, auto&) {
                using T = decltype(sum.values[0] + sum.values[0]);
                T* const first_strip = memory_of_columns<K, 1>(arguments, i, sum) + begin;
                const index_t strips = walk.row_strips();
                T all[lanes][piece_length] = {};
                const auto add = [&](T* to, const T* from) APERTURE_INLINE {
                    for (int c = 0; c < count; ++c) to[c] = to[c] + from[c];
                };
                for (index_t group = 0; group < strips; group += strips_of_group) {
                    for (index_t apart = 1; apart < strips_of_group; apart *= 2) {
                        for (index_t strip = group;
                             strip < group + strips_of_group && strip + apart < strips;
                             strip += 2 * apart) {
                            T* const to = first_strip + strip * walk.columns;
                            add(to, to + apart * walk.columns);
                        }
                    }
                    add(all[group / strips_of_group % lanes], first_strip + group * walk.columns);
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
                    sum.values[0] = memory_of_columns<K, 1>(arguments, i, sum)[begin + c];
                });
                store_column(kernel, begin + c, columns);
            }
        }
    }
}

#else

inline constexpr int columns_of_lane = piece_length / lanes;

/// What a thread needs of the columns of `pieces` pieces: piece `stride` beside the last one.
/// `whole`: none of them ends before.
template <class K, int pieces, bool whole>
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
    __device__ __forceinline__ bool has(int i) const { return whole || column(i) < end; }
    __device__ __forceinline__ void load(const K& kernel, const RowPlace<K>& start,
                                         Entries& loaded) const {
        APERTURE_UNROLL
        for (int i = 0; i < count; ++i) {
            if (has(i)) loaded.of[i] = kernel.load(start.moved(column(i), 0));
        }
    }
    /// The first part of piece `piece` in a row; the rows' sums, in all lanes.
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
        rows.each(rows,
                  [](int, auto& sum, auto&) { sum.values[0] = of_lane(total_of_warp(sum), 0); });
        return rows;
    }
    /// Keeps the sums in memory of the block, for `add`, and begins anew.
    __device__ __forceinline__ void keep(typename K::Columns* memory) {
        APERTURE_UNROLL
        for (int i = 0; i < count; ++i) {
            memory[i * core::block_threads() + core::thread_rank()] = sums[i];
            sums[i] = {};
        }
    }
    __device__ __forceinline__ void add(typename K::Columns* memory) {
        APERTURE_UNROLL
        for (int i = 0; i < count; ++i) {
            memory[i * core::block_threads() + core::thread_rank()].each(
                sums[i], [](int, const auto& before, auto& sum) {
                    sum.values[0] = before.values[0] + sum.values[0];
                });
        }
    }
    template <int strips_of_part>
    __device__ __forceinline__ void store(const KernelArguments& arguments, index_t part) {
        APERTURE_UNROLL
        for (int i = 0; i < count; ++i) {
            if (!has(i)) continue;
            sums[i].each(sums[i], [&](int k, auto& sum, auto&) {
                memory_of_columns<K, strips_of_part>(arguments, k, sum)[part * end + column(i)] =
                    sum.values[0];
            });
        }
    }
};

/// Rows of a strip that a warp has in flight. Totals of rows take their time, and then more are
/// better: 16 bytes of each column.
template <class K>
inline constexpr int rows_at_once =
    sizeof(typename K::Loaded) >= 16 ? 1
    : sizeof(typename K::Loaded) > 4 || K::row_sums == 0 || K::column_sums == 0 ? 2
                                                                                : 4;

/// A number of the type of a sum.
template <class T, class Combine, int count>
T number_of(const bodies::LaneSums<T, Combine, count>&);

/// Sums of neighbours: the first is that of all.
template <int count, class T>
__device__ __forceinline__ T total_of_neighbours(T (&sums)[count]) {
    APERTURE_UNROLL
    for (int apart = 1; apart < count; apart *= 2) {
        APERTURE_UNROLL
        for (int i = 0; i < count; i += 2 * apart) sums[i] = sums[i] + sums[i + apart];
    }
    return sums[0];
}

/// Adds the sums of columns of a block's warps, each of a strip of the group, and stores them.
template <class K, class Columns>
__device__ __forceinline__ void store_group(const KernelArguments& arguments,
                                            const Columns& columns, index_t group, index_t piece) {
    const index_t begin = piece * piece_length, end = arguments.walk.columns;
    const int warps = static_cast<int>(blockDim.y);
    const int of_thread = static_cast<int>(threadIdx.y * piece_length + threadIdx.x);
    typename K::Columns none;
    none.each(none, [&](int k, const auto& zero, auto&) {
        APERTURE_UNROLL
        for (int i = 0; i < columns_of_lane; ++i) {
            typename K::Columns of_column = columns.sums[i];
            of_column.each(of_column, [&](int sum, const auto& one, auto&) {
                using T = decltype(number_of(one));
                if (sum == k) core::shared<T>()[of_thread + i * lanes] = one.values[0];
            });
        }
        __syncthreads();
        using T = decltype(number_of(zero));
        for (int i = core::thread_rank(); i < piece_length; i += core::block_threads()) {
            T of_strips[strips_of_group];
            APERTURE_UNROLL
            for (int warp = 0; warp < strips_of_group; ++warp) {
                of_strips[warp] =
                    warp < warps ? core::shared<T>()[warp * piece_length + i] : zero.values[0];
            }
            if (begin + i < end) {
                memory_of_columns<K, strips_of_group>(arguments, k, zero)[group * end + begin + i] =
                    total_of_neighbours(of_strips);
            }
        }
        __syncthreads();
    });
}

/// A warp takes a piece of 256 columns, of the rows of a strip or, where order allows, of a few. A
/// block has the strips of a group, if columns are added up.
template <class K, bool whole>
__device__ __forceinline__ void compute_pieces(const KernelArguments& arguments, const K& kernel) {
    using Columns = ThreadColumns<K, 1, whole>;
    constexpr int at_once = rows_at_once<K>;
    constexpr bool groups = K::column_sums > 0;
    constexpr index_t rows = groups ? row_strip : rows_of_task;
    const Walk walk = arguments.walk;
    const index_t pieces = walk.pieces_of_row(), warps = blockDim.y, warp = threadIdx.y;
    const index_t tasks =
        pieces * (groups ? walk.row_parts(strips_of_group) : (walk.rows + rows - 1) / rows);
    const index_t stride = groups ? gridDim.x : gridDim.x * warps;
    for (index_t task = groups ? blockIdx.x : blockIdx.x * warps + warp; task < tasks;
         task += stride) {
        const index_t piece = task % pieces, group = task / pieces;
        const index_t begin = (groups ? group * strips_of_group + warp : group) * rows;
        const index_t end = begin + rows < walk.rows ? begin + rows : walk.rows;
        Columns columns(kernel, walk, piece, 0);
        typename K::template Rows<1> of_lane;  // the totals of row begin + lane
        for (index_t first = begin; first < end; first += at_once) {
            typename Columns::Entries loaded[at_once];
            APERTURE_UNROLL
            for (int i = 0; i < at_once; ++i) {
                if (first + i < end) columns.load(kernel, RowPlace<K>(walk, first + i), loaded[i]);
            }
            APERTURE_UNROLL
            for (int i = 0; i < at_once; ++i) {
                const index_t row = first + i;
                if (row >= end) break;
                auto totals = columns.add_piece(kernel, RowPlace<K>(walk, row), kernel.of_row(row),
                                                loaded[i], 0);
                totals.each(of_lane, [&](int, const auto& one, auto& mine) {
                    if (begin + threadIdx.x == row) mine.values[0] = one.values[0];
                });
            }
        }
        of_lane.each(of_lane, [&](int sum, const auto& one, auto&) {
            const index_t row = begin + threadIdx.x;
            if (row < end) {
                memory_of_rows(arguments, sum, one)[piece * walk.rows + row] = one.values[0];
            }
        });
        if constexpr (groups) store_group<K>(arguments, columns, group, piece);
    }
}

/// A block takes one or two strips, and has a row at a time on chip: its entries in registers.
/// Warps store the sums of pieces for all others, by turns in two places, so that one barrier a row
/// is enough.
template <class K, int pieces_of_warp, int strips_of_block, bool whole>
__device__ __forceinline__ void compute_in_parts(const KernelArguments& arguments,
                                                 const K& kernel) {
    using Columns = ThreadColumns<K, pieces_of_warp, whole>;
    const Walk walk = arguments.walk;
    const index_t pieces = walk.pieces_of_row();
    const int warps = static_cast<int>(blockDim.y), warp = static_cast<int>(threadIdx.y);
    const int lane = static_cast<int>(threadIdx.x), slots = warps * pieces_of_warp;
    static_assert(strips_of_block <= 2);
    auto* const first_strip =
        reinterpret_cast<typename K::Columns*>(core::shared<SumNumber>() + 2 * K::row_sums * slots);
    for (index_t part = blockIdx.x; part < walk.row_parts(strips_of_block); part += gridDim.x) {
        index_t row = part * strips_of_block * row_strip;
        const index_t end = end_of_strip(walk, (part + 1) * strips_of_block - 1);
        const index_t second_strip = row + row_strip;
        const bool has_second = strips_of_block == 2 && end > second_strip;
        Columns columns(kernel, walk, warp, warps);
        typename Columns::Entries loaded;
        columns.load(kernel, RowPlace<K>(walk, row), loaded);
        auto next_of_row = kernel.of_row(row);
        for (; row < end; ++row) {
            const RowPlace<K> start(walk, row);
            const auto of_row = next_of_row;
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
            if (row + 1 < end) {
                columns.load(kernel, RowPlace<K>(walk, row + 1), loaded);
                next_of_row = kernel.of_row(row + 1);
            }
            __syncthreads();
            typename K::template Rows<1> totals;
            totals.each(totals, [&](int sum, auto& total, auto&) {
                for (index_t piece = lane; piece < pieces; piece += lanes) {
                    add_number(total, 0, place(sum, piece));
                }
                total.values[0] = of_lane(total_of_warp(total), 0);
            });
            const auto values = kernel.row_values(row, of_row, totals);
            if (warp == 0 && lane == 0) kernel.store_row(row, values);
            APERTURE_UNROLL
            for (int i = 0; i < Columns::count; ++i) {
                if (columns.has(i)) {
                    kernel.second(start.moved(columns.column(i), 0), of_row, columns.fixed[i],
                                  now.of[i], values, columns.sums[i]);
                }
            }
            if (has_second && row + 1 == second_strip) columns.keep(first_strip);
        }
        if (has_second) columns.add(first_strip);
        columns.template store<strips_of_block>(arguments, part);
    }
}

/// Of blocks of (32, n) threads; of a kernel in_parts n warps with `pieces_of_warp` pieces have a
/// row. `whole`: no piece ends before 256 columns. The grid may have any size.
template <class K, int pieces_of_warp, int strips_of_block, bool whole>
__device__ __forceinline__ void compute_rows(const KernelArguments& arguments) {
    const K kernel(arguments.symbols);
    if constexpr (K::in_parts) {
        compute_in_parts<K, pieces_of_warp, strips_of_block, whole>(arguments, kernel);
    } else {
        compute_pieces<K, whole>(arguments, kernel);
    }
    if (blockIdx.x == 0 && core::thread_rank() == 0) kernel.store_scalars(arguments.symbols);
}

/// The total of each lane's line, in all warps: groups of `count` numbers, group g in lane g mod 32
/// of a sum. Numbers of a line are `stride` apart.
template <int count, class T, class Sum>
__device__ __forceinline__ T total_of_line(const Sum& zero, const T* line, index_t stride,
                                           index_t numbers, bool exists) {
    const int lane = static_cast<int>(threadIdx.x), warps = static_cast<int>(blockDim.y);
    T* const sums = core::shared<T>();
    for (int of = static_cast<int>(threadIdx.y); of < lanes; of += warps) {
        auto of_lane = zero;
        for (index_t i = index_t(of) * count; exists && i < numbers; i += count * lanes) {
            T group[count];
            APERTURE_UNROLL
            for (int k = 0; k < count; ++k) {
                group[k] = i + k < numbers ? line[(i + k) * stride] : zero.values[0];
            }
            of_lane.add(0, total_of_neighbours(group));
        }
        sums[of * lanes + lane] = of_lane.values[0];
    }
    __syncthreads();
    for (int half = lanes / 2; half > 0; half /= 2) {
        for (int of = static_cast<int>(threadIdx.y); of < half; of += warps) {
            sums[of * lanes + lane] = sums[of * lanes + lane] + sums[(of + half) * lanes + lane];
        }
        __syncthreads();
    }
    const T total = sums[lane];
    __syncthreads();
    return total;
}

/// After compute_rows, of blocks of (32, n) threads, for 32 columns each, or 32 rows.
template <class K, int strips_of_part>
__device__ __forceinline__ void finish_rows(const KernelArguments& arguments) {
    const K kernel(arguments.symbols);
    const Walk walk = arguments.walk;
    const bool stores = threadIdx.y == 0;
    constexpr bool has_rows = K::has_rows && !K::in_parts;
    const index_t of_columns = K::has_columns ? (walk.columns + lanes - 1) / lanes : 0;
    const index_t tasks = of_columns + (has_rows ? (walk.rows + lanes - 1) / lanes : 0);
    for (index_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        if (task < of_columns) {
            const index_t column = task * lanes + threadIdx.x;
            typename K::Columns totals;
            totals.each(totals, [&](int i, auto& sum, auto&) {
                sum.values[0] = total_of_line<strips_of_group / strips_of_part>(
                    sum, memory_of_columns<K, strips_of_part>(arguments, i, sum) + column,
                    walk.columns, walk.row_parts(strips_of_part), column < walk.columns);
            });
            if (stores && column < walk.columns) store_column(kernel, column, totals);
        } else if constexpr (has_rows) {
            const index_t row = (task - of_columns) * lanes + threadIdx.x;
            typename K::template Rows<1> totals;
            totals.each(totals, [&](int i, auto& sum, auto&) {
                sum.values[0] = total_of_line<1>(sum, memory_of_rows(arguments, i, sum) + row,
                                                 walk.rows, walk.pieces_of_row(), row < walk.rows);
            });
            if (stores && row < walk.rows) store_row(kernel, row, totals);
        }
    }
}

#endif

}  // namespace aperture::compose::kernels
