// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/batch_checks.hpp"
#include "libdense/gpu/change_layout_of_runs.cuh"

namespace aperture::dense {

/// The functor of a plain change of layout.
struct Unchanged {
    template <class T>
    APERTURE_HD T operator()(T value) const {
        return value;
    }
};

inline constexpr int layout_threads = 256;
/// Numbers that a thread loads before it stores them in the tile.
inline constexpr int layout_loads = 4;
/// Numbers of a tile, and the most entries of a problem in it.
template <class T>
inline constexpr int layout_numbers = sizeof(T) == 4 ? 4096 : 2048;
template <class T>
inline constexpr int layout_entries = sizeof(T) == 4 ? 64 : 32;
/// Tiles of problems x entries of a row. Where the lines of the result, which are contiguous, do
/// not begin on sectors, a tile's part of a line is moved towards its beginning until it does: at
/// most by `moved_problems` or `moved_entries`.
struct LayoutTiles {
    int problems, entries;
    int moved_problems, moved_entries;
    unsigned rows, tiles_of_row;
    FastDivider load, store;  ///< threads along a line of what is loaded and stored
    int segment_bits;         ///< log2 of the passes in which they have a line of problems

    APERTURE_HD int loaded_problems() const { return problems + moved_problems; }
    APERTURE_HD int loaded_entries() const { return entries + moved_entries; }
    APERTURE_HD int stride() const { return loaded_problems() | 1; }
};

/// A thread's numbers of a tile's lines, which `width` threads share: number i is in line i >>
/// bits.
struct LayoutNumbers {
    int first;  ///< i of the first one; the next are `step` apart
    int step;
    int first_along;
    int width, bits;

    __device__ __forceinline__ LayoutNumbers(const FastDivider& threads, int segment_bits)
        : first(threads.quotient(core::thread_rank())),
          step(layout_threads / threads.size()),
          first_along(core::thread_rank() - first * threads.size()),
          width(threads.size()),
          bits(segment_bits) {}
    __device__ __forceinline__ int line(int i) const { return i >> bits; }
    __device__ __forceinline__ int along(int i) const {
        return first_along + (i & ((1 << bits) - 1)) * width;
    }
    /// Threads beyond whole lines have nothing to do.
    __device__ __forceinline__ int end(int lines) const { return first < step ? lines << bits : 0; }
};

/// Copies a batch to another layout, each number by `functor`. `from_interleaved` and
/// `to_interleaved`: neighbouring threads load (store) an entry of neighbouring problems, otherwise
/// neighbouring entries of a row.
///
/// Block: 256 threads, a tile. Grid: tiles on x, those of a problem fastest. Shared: the tile,
/// [entry][problem], lines of an odd length, of T. Bytes: 2 sizeof(T) per entry.
/// Source: Ha et al. 2013, section III-C.
template <class T, bool from_interleaved, bool to_interleaved, class Functor>
__global__ void __launch_bounds__(layout_threads)
    change_layout_by_tiles(KernelView<const T, 3> from, KernelView<T, 3> to, LayoutTiles tiles,
                           Functor functor) {
    T* const tile = core::shared<T>();
    const int stride = tiles.stride();
    const unsigned row_tile = blockIdx.x / tiles.tiles_of_row;
    const unsigned entry_tile = blockIdx.x - row_tile * tiles.tiles_of_row;
    const unsigned problem_tile = row_tile / tiles.rows;
    const unsigned row = row_tile - problem_tile * tiles.rows;
    // Where the loaded tile begins, and what of it exists.
    const index_t first_problem =
        static_cast<index_t>(problem_tile) * tiles.problems - tiles.moved_problems;
    const index_t first_entry =
        static_cast<index_t>(entry_tile) * tiles.entries - tiles.moved_entries;
    const auto least = [](index_t left, int planned) {
        return left < planned ? static_cast<int>(left) : planned;
    };
    const int problems = least(from.extent[0] - first_problem, tiles.loaded_problems());
    const int entries = least(from.extent[2] - first_entry, tiles.loaded_entries());
    const auto first_of = [&](const auto& batch) {
        return batch.data + first_problem * batch.stride[0] + row * batch.stride[1] +
               first_entry * batch.stride[2];
    };
    T* const to_first = first_of(to);
    const index_t to_line = to.stride[to_interleaved ? 2 : 0];
    const index_t to_next = to_interleaved ? 1 : to.stride[2];
    // Two multiplications instead of four.
    const auto offset = [](int count, index_t distance) {
        return static_cast<unsigned>(count) * static_cast<unsigned long long>(distance);
    };
    const auto place = [&](bool interleaved, int line, int along) {
        return interleaved ? line * stride + along : along * stride + line;
    };
    // Where the tile's part of a line of the result begins: at the first sector.
    const int moved = tiles.moved_problems + tiles.moved_entries;
    const auto begin_of = [&](const T* line) {
        const auto number =
            static_cast<unsigned>(reinterpret_cast<unsigned long long>(line) / sizeof(T));
        return moved > 0 ? static_cast<int>((0 - number) % layout_sector<T>) : 0;
    };
    // Before a line there is nothing.
    const int least_stored = (to_interleaved ? problem_tile : entry_tile) == 0 ? moved : 0;

    const LayoutNumbers load(tiles.load, from_interleaved ? tiles.segment_bits : 0);
    const T* const from_first =
        first_of(from) + load.first_along * (from_interleaved ? 1 : from.stride[2]);
    const index_t from_line = from.stride[from_interleaved ? 2 : 0];
    const int existing = from_interleaved ? problems : entries;
    // The loaded lines whose number at `along`, in a line of the result, belongs to the tile.
    int first_line = 0;
    int end_line = from_interleaved ? entries : problems;
    if (from_interleaved != to_interleaved) {
        const int begin = begin_of(to_first + load.first_along * to_line);
        const int end = begin + (to_interleaved ? tiles.problems : tiles.entries);
        first_line = begin > least_stored ? begin : least_stored;
        end_line = end < end_line ? end : end_line;
    }
    const auto is_loaded = [&](int i) {
        return load.line(i) >= first_line && load.line(i) < end_line && load.along(i) < existing;
    };
    APERTURE_NO_UNROLL
    for (int first = load.first; first < load.end(end_line); first += layout_loads * load.step) {
        T value[layout_loads];
        APERTURE_UNROLL
        for (int j = 0; j < layout_loads; ++j) {
            const int i = first + j * load.step;
            if (is_loaded(i)) {
                value[j] = functor(
                    from_first[offset(load.line(i), from_line) + load.along(i) - load.first_along]);
            }
        }
        APERTURE_UNROLL
        for (int j = 0; j < layout_loads; ++j) {
            const int i = first + j * load.step;
            if (is_loaded(i)) tile[place(from_interleaved, load.line(i), load.along(i))] = value[j];
        }
    }
    __syncthreads();
    const LayoutNumbers store(tiles.store, to_interleaved ? tiles.segment_bits : 0);
    APERTURE_UNROLL_BY(layout_loads)
    for (int i = store.first; i < store.end(to_interleaved ? entries : problems); i += store.step) {
        T* const its = to_first + offset(store.line(i), to_line);
        const int along = store.along(i) + begin_of(its);
        if (along >= least_stored && along < (to_interleaved ? problems : entries)) {
            its[offset(along, to_next)] = tile[place(to_interleaved, store.line(i), along)];
        }
    }
}

namespace detail {

/// Tiles of a batch whose lines of problems or entries become those of `to`.
template <class E>
LayoutTiles layout_tiles(const KernelView<E, 3>& to, bool from_interleaved, bool to_interleaved) {
    constexpr int sector = layout_sector<E>;
    const auto entries = static_cast<int>(to.extent[2]);
    const bool turns = from_interleaved != to_interleaved;
    const bool whole = entries <= layout_entries<E>;
    const auto in_sectors = [](index_t stride) { return stride % sector == 0; };
    const bool aligned = reinterpret_cast<std::uintptr_t>(to.data) % (sector * sizeof(E)) == 0 &&
                         in_sectors(to.stride[1]) && in_sectors(to.stride[to_interleaved ? 2 : 0]);
    LayoutTiles tiles{};
    if (turns && !aligned) {
        (to_interleaved ? tiles.moved_problems : tiles.moved_entries) =
            to_interleaved || !whole ? sector - 1 : 0;
    }
    tiles.rows = static_cast<unsigned>(to.extent[1]);
    tiles.entries = entries;
    tiles.tiles_of_row = 1;
    if (!whole) {
        // Tiles as even as sectors allow.
        const int all = entries + tiles.moved_entries;
        const int most = (layout_entries<E> - tiles.moved_entries) / sector * sector;
        tiles.entries = core::round_up(core::ceil_div(all, core::ceil_div(all, most)), sector);
        tiles.tiles_of_row = static_cast<unsigned>(core::ceil_div(all, tiles.entries));
    }
    tiles.problems = layout_numbers<E> / tiles.loaded_entries() - tiles.moved_problems;
    if (tiles.problems > layout_threads) {
        while (layout_threads << (tiles.segment_bits + 1) <= tiles.problems) ++tiles.segment_bits;
        tiles.problems = layout_threads << tiles.segment_bits;
    } else {
        tiles.problems -= tiles.problems % sector;
    }
    const auto width = [&](bool of_problems, int line_entries) {
        return FastDivider(of_problems ? tiles.problems >> tiles.segment_bits : line_entries);
    };
    tiles.load = width(from_interleaved, tiles.loaded_entries());
    tiles.store = width(to_interleaved, tiles.entries);
    return tiles;
}

template <bool from_interleaved, bool to_interleaved, class Executor, class E, class Functor>
void launch_tiles(Executor& executor, const KernelView<const E, 3>& from,
                  const KernelView<E, 3>& to, const Functor& functor) {
    const LayoutTiles tiles = layout_tiles(to, from_interleaved, to_interleaved);
    const index_t problem_tiles =
        core::ceil_div(from.extent[0] + tiles.moved_problems, index_t(tiles.problems));
    const auto shared = static_cast<std::size_t>(tiles.loaded_entries() * tiles.stride());
    core::launch(executor, change_layout_by_tiles<E, from_interleaved, to_interleaved, Functor>,
                 core::LaunchConfig{
                     dim3(core::blocks_for(problem_tiles * tiles.rows * tiles.tiles_of_row, 1)),
                     dim3(layout_threads), sizeof(E) * shared},
                 from, to, tiles, functor);
}

/// Matrices with the row as their last dimension, or, of matrices without gaps, all entries.
template <class E>
KernelView<E, 3> as_lines(const KernelView<E, 3>& batch, bool turned, bool gapless) {
    const int row = turned ? 2 : 1, column = turned ? 1 : 2;
    const index_t rows = gapless ? 1 : batch.extent[row];
    return {batch.data,
            {batch.extent[0], rows, batch.size() / (batch.extent[0] * rows)},
            {batch.stride[0], gapless ? 0 : batch.stride[row], batch.stride[column]}};
}

}  // namespace detail

/// `change_layout` on a GPU or the SIMT executor.
template <class Executor, class T, class Functor = Unchanged>
void launch_change_layout(Executor& executor, MatrixBatch<const T, typename Executor::Space> from,
                          MatrixBatch<T, typename Executor::Space> to,
                          const Functor& functor = Functor()) {
    expects_same_extents(from, to);
    if (from.empty()) return;
    const auto [problems, rows, columns] = from.extent;
    core::expects(rows * columns <= 0x7fffffff, "change_layout: matrices of ", rows, " x ", columns,
                  " are too large");
    // Rows are contiguous, or columns are turned to rows.
    const bool turned = order_of(from) == Order::rows || order_of(to) == Order::rows;
    const auto gapless = [&](const auto& batch) {
        const index_t line = batch.extent[turned ? 1 : 2];
        return batch.stride[turned ? 2 : 1] == line * batch.stride[turned ? 1 : 2];
    };
    const bool all = gapless(from) && gapless(to);
    const auto a = detail::as_lines(core::kernel_view(from), turned, all);
    const auto b = detail::as_lines(core::kernel_view(to), turned, all);
    const bool from_problems = order_of(from) == Order::problems;
    const bool to_problems = order_of(to) == Order::problems;
    // Of larger numbers tiles are as fast.
    if constexpr (sizeof(T) == 4) {
        if (to_problems && detail::is_run(a)) {
            return detail::launch_runs<true>(executor, a, b, functor);
        }
        if (from_problems && detail::is_run(b)) {
            return detail::launch_runs<false>(executor, a, b, functor);
        }
    }
    if (from_problems) {
        to_problems ? detail::launch_tiles<true, true>(executor, a, b, functor)
                    : detail::launch_tiles<true, false>(executor, a, b, functor);
    } else {
        to_problems ? detail::launch_tiles<false, true>(executor, a, b, functor)
                    : detail::launch_tiles<false, false>(executor, a, b, functor);
    }
}

}  // namespace aperture::dense
