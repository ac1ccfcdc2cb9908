// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "libcore/gpu/launch.cuh"
#include "libdense/gpu/batch_tile.cuh"
#include "libdense/gpu/fast_divider.hpp"

namespace aperture::dense {

inline constexpr int run_threads = 256;
/// Numbers that a thread loads before it stores them in the tile.
inline constexpr int run_loads = 4;
/// Numbers in a sector, the least that memory stores at once.
template <class T>
inline constexpr int layout_sector = 32 / static_cast<int>(sizeof(T));

/// A batch of gapless problems and an interleaved one, entry after entry.
template <class T>
struct LayoutRuns {
    const T* from;
    T* to;
    index_t problems;
    index_t line;         ///< distance of the interleaved batch's entries
    FastDivider entries;  ///< of a problem
    int tile_problems;    ///< a power of two
    int moved;            ///< see LayoutTiles; of lines of an interleaved result

    APERTURE_HD int stride() const { return (tile_problems + moved) | 1; }
};

/// Calls visit(i, place in the tile) for the thread's numbers i < count of a run of problems.
template <int at_once, class T, class Load, class Store>
__device__ __forceinline__ void for_run(const LayoutRuns<T>& p, int count, int first_problem,
                                        const Load& load, const Store& store) {
    const int entries = p.entries.size();
    const int thread = core::thread_rank();
    const int problems_on = p.entries.quotient(run_threads);
    const int entries_on = run_threads - problems_on * entries;
    const int problem = p.entries.quotient(thread);
    int entry = thread - problem * entries;
    int place = entry * p.stride() + problem + first_problem;
    const int on = entries_on * p.stride() + problems_on;
    const int wrap = 1 - entries * p.stride();
    APERTURE_NO_UNROLL
    for (int i = thread; i < count; i += at_once * run_threads) {
        T value[at_once];
        int places[at_once];
        APERTURE_UNROLL
        for (int j = 0; j < at_once; ++j) {
            places[j] = place;
            if (i + j * run_threads < count) value[j] = load(i + j * run_threads, place);
            entry += entries_on;
            place += on;
            if (entry >= entries) {
                entry -= entries;
                place += wrap;
            }
        }
        APERTURE_UNROLL
        for (int j = 0; j < at_once; ++j) {
            if (i + j * run_threads < count) store(i + j * run_threads, places[j], value[j]);
        }
    }
}

/// Copies a batch of small problems to another layout, each number by `functor`.
///
/// Block: 256 threads, a tile of whole problems. Grid: tiles on x. Shared: the tile, [entry]
/// [problem], lines of an odd length. Bytes: 2 sizeof(T) per entry.
/// Source: Ha et al. 2013, section III-C.
template <class T, bool to_interleaved, class Functor>
__global__ void __launch_bounds__(run_threads)
    change_layout_of_runs(LayoutRuns<T> p, Functor functor) {
    T* const tile = core::shared<T>();
    const int entries = p.entries.size();
    const index_t first = static_cast<index_t>(blockIdx.x) * p.tile_problems - p.moved;
    const int missing = first < 0 ? static_cast<int>(-first) : 0;
    const index_t left = p.problems - first;
    const int planned = p.tile_problems + p.moved;
    const int problems = left < planned ? static_cast<int>(left) : planned;
    const index_t run = (first + missing) * entries;
    // Neighbouring threads have neighbouring problems of a line of the interleaved batch.
    const int width = p.tile_problems < run_threads ? p.tile_problems : run_threads;
    const int own_line = core::thread_rank() / width;
    const int lines = run_threads / width;
    if constexpr (to_interleaved) {
        for_run<run_loads>(
            p, (problems - missing) * entries, missing,
            [&](int i, int) { return functor(p.from[run + i]); },
            [&](int, int place, T value) { tile[place] = value; });
        __syncthreads();
        for (int along = core::thread_rank() % width; along < p.tile_problems; along += width) {
            T* line = p.to + first + own_line * p.line;
            const T* its = tile + own_line * p.stride() + along;
            APERTURE_UNROLL_BY(run_loads)
            for (int e = own_line; e < entries; e += lines) {
                const auto number =
                    static_cast<unsigned>(reinterpret_cast<unsigned long long>(line) / sizeof(T));
                const int begin =
                    p.moved > 0 ? static_cast<int>((0 - number) % layout_sector<T>) : 0;
                if (along + begin >= missing && along + begin < problems) {
                    line[along + begin] = its[begin];
                }
                line += lines * p.line;
                its += lines * p.stride();
            }
        }
    } else {
        for (int along = core::thread_rank() % width; along < problems; along += width) {
            const T* from = p.from + first + along + own_line * p.line;
            T* its = tile + own_line * p.stride() + along;
            APERTURE_NO_UNROLL
            for (int e = own_line; e < entries; e += run_loads * lines) {
                T value[run_loads];
                APERTURE_UNROLL
                for (int j = 0; j < run_loads; ++j) {
                    if (e + j * lines < entries) value[j] = functor(*from);
                    from += lines * p.line;
                }
                APERTURE_UNROLL
                for (int j = 0; j < run_loads; ++j) {
                    if (e + j * lines < entries) *its = value[j];
                    its += lines * p.stride();
                }
            }
        }
        __syncthreads();
        for_run<run_loads>(
            p, problems * entries, 0, [&](int, int place) { return tile[place]; },
            [&](int i, int, T value) { p.to[run + i] = value; });
    }
}

namespace detail {

/// Entries of problems that are copied as runs.
inline constexpr int most_run_entries = 128;
/// Numbers of a tile of them.
inline constexpr int run_numbers = 8192;

/// Whether a batch is a run of numbers of which no tile has whole lines of memory.
template <class E>
bool is_run(const KernelView<E, 3>& batch) {
    return batch.extent[1] == 1 && batch.extent[2] > 1 && batch.extent[2] <= most_run_entries &&
           batch.extent[2] % 16 != 0 && batch.stride[2] == 1 && batch.stride[0] == batch.extent[2];
}

template <bool to_interleaved, class Executor, class E, class Functor>
void launch_runs(Executor& executor, const KernelView<const E, 3>& from, const KernelView<E, 3>& to,
                 const Functor& functor) {
    const auto entries = static_cast<int>(to.extent[2]);
    LayoutRuns<E> runs{};
    runs.from = from.data;
    runs.to = to.data;
    runs.problems = to.extent[0];
    runs.line = to_interleaved ? to.stride[2] : from.stride[2];
    runs.entries = FastDivider(entries);
    runs.tile_problems = core::warp_size;
    while (runs.tile_problems < 1024 && 2 * runs.tile_problems * entries <= run_numbers) {
        runs.tile_problems *= 2;
    }
    const bool aligned =
        reinterpret_cast<std::uintptr_t>(to.data) % 32 == 0 && runs.line % layout_sector<E> == 0;
    runs.moved = to_interleaved && !aligned ? layout_sector<E> - 1 : 0;
    core::launch(
        executor, change_layout_of_runs<E, to_interleaved, Functor>,
        core::LaunchConfig{dim3(core::blocks_for(runs.problems + runs.moved, runs.tile_problems)),
                           dim3(run_threads),
                           sizeof(E) * static_cast<std::size_t>(entries * runs.stride())},
        runs, functor);
}

}  // namespace detail

}  // namespace aperture::dense
