// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/batch_checks.hpp"
#include "libdense/gpu/batch_tile.cuh"
#include "libdense/gpu/fast_divider.hpp"

namespace aperture::dense {

/// The functor of a plain change of layout.
struct Unchanged {
    template <class T>
    APERTURE_HD T operator()(T value) const {
        return value;
    }
};

/// Offsets of entry = row * columns + column of a problem.
template <class U>
struct EntryOffsets {
    KernelView<U, 3> batch;
    int columns;
    bool linear;  ///< rows follow one another without a gap

    __device__ __forceinline__ EntryOffsets(const KernelView<U, 3>& of)
        : batch(of),
          columns(static_cast<int>(of.extent[2])),
          linear(of.stride[1] == columns * of.stride[2]) {}
    __device__ __forceinline__ index_t operator()(index_t problem, int entry) const {
        const index_t within =
            linear ? entry * batch.stride[2]
                   : entry / columns * batch.stride[1] + entry % columns * batch.stride[2];
        return problem * batch.stride[0] + within;
    }
};

/// Matrices of fewer entries than this go through `transpose_small_batch`.
inline constexpr int small_layout_entries = 64;
inline constexpr int small_layout_threads = 256;
inline constexpr int small_layout_loads = 8;

/// Copies a batch of matrices of fewer than 64 entries to another layout, each number by
/// `functor`. Neighbouring threads access neighbouring numbers across matrices, so that none is
/// idle whatever the number of entries.
///
/// Block: 256 threads, 2^problem_bits problems with at most 2048 entries, eight a thread, all
/// loaded before the first is stored. Grid: problems on x. Shared: [entry][problem], rows padded by
/// one, of T. Bytes: 2 sizeof(T) per entry. Source: Ha et al. 2013, section III-C.
template <class T, bool from_interleaved, bool to_interleaved, class Functor>
__global__ void __launch_bounds__(small_layout_threads)
    transpose_small_batch(KernelView<const T, 3> from, KernelView<T, 3> to, int problem_bits,
                          FastDivider entries, Functor functor) {
    T* tile = core::shared<T>();
    const int problems = 1 << problem_bits;
    const int stride = problems + 1;
    const int count = problems * entries.size();
    const index_t first = static_cast<index_t>(blockIdx.x) << problem_bits;
    const index_t left = from.extent[0] - first;
    const int valid = left < problems ? static_cast<int>(left) : problems;
    const EntryOffsets<const T> from_offset(from);
    const EntryOffsets<T> to_offset(to);
    struct Place {
        int problem, entry;
    };
    const auto place = [&](bool interleaved, int i) {
        const int quotient = interleaved ? i >> problem_bits : entries.quotient(i);
        return interleaved ? Place{i & (problems - 1), quotient}
                           : Place{quotient, i - quotient * entries.size()};
    };
    T value[small_layout_loads];
    APERTURE_UNROLL
    for (int j = 0; j < small_layout_loads; ++j) {
        const int i = core::thread_rank() + j * small_layout_threads;
        const Place at = place(from_interleaved, i);
        if (i < count && at.problem < valid) {
            value[j] = functor(from.data[from_offset(first + at.problem, at.entry)]);
        }
    }
    APERTURE_UNROLL
    for (int j = 0; j < small_layout_loads; ++j) {
        const int i = core::thread_rank() + j * small_layout_threads;
        const Place at = place(from_interleaved, i);
        if (i < count && at.problem < valid) tile[at.entry * stride + at.problem] = value[j];
    }
    __syncthreads();
    APERTURE_UNROLL
    for (int j = 0; j < small_layout_loads; ++j) {
        const int i = core::thread_rank() + j * small_layout_threads;
        const Place at = place(to_interleaved, i);
        if (i < count && at.problem < valid) {
            to.data[to_offset(first + at.problem, at.entry)] = tile[at.entry * stride + at.problem];
        }
    }
}

inline constexpr int layout_tile = 32;
inline constexpr int layout_tile_rows = 8;

/// Copies a batch to another layout, each number by `functor`, [problem][entry] with entry =
/// row * columns + column.
/// `from_interleaved` and `to_interleaved`: neighbouring threads load (store) an element of
/// neighbouring problems.
///
/// Block: 32 x 8 threads, a tile of 32 problems x 32 entries, one thread 4 elements each way. Grid:
/// tiles of problems times tiles of entries on x, the latter fastest. Shared: the tile [entry]
/// [problem], padded to 33, of T. Bytes: 2 sizeof(T) per element, no flops.
/// Source: Ha et al. 2013, section III-C.
template <class T, bool from_interleaved, bool to_interleaved, class Functor>
__global__ void __launch_bounds__(layout_tile* layout_tile_rows)
    transpose_batch(KernelView<const T, 3> from, KernelView<T, 3> to, Functor functor) {
    constexpr int stride = layout_tile + 1;
    T* tile = core::shared<T>();
    const index_t problems = from.extent[0];
    const auto entries = static_cast<int>(from.extent[1] * from.extent[2]);
    const int entry_tiles = (entries + layout_tile - 1) / layout_tile;
    const index_t first_problem =
        static_cast<index_t>(blockIdx.x / static_cast<unsigned>(entry_tiles)) * layout_tile;
    const int first_entry =
        static_cast<int>(blockIdx.x % static_cast<unsigned>(entry_tiles)) * layout_tile;
    const int x = static_cast<int>(threadIdx.x);

    const EntryOffsets<const T> from_offset(from);
    const EntryOffsets<T> to_offset(to);
    constexpr int loads = layout_tile / layout_tile_rows;
    T value[loads];
    APERTURE_UNROLL
    for (int i = 0; i < loads; ++i) {
        const int y = static_cast<int>(threadIdx.y) + i * layout_tile_rows;
        const int entry = first_entry + (from_interleaved ? y : x);
        const int problem = from_interleaved ? x : y;
        if (entry < entries && first_problem + problem < problems) {
            value[i] = functor(from.data[from_offset(first_problem + problem, entry)]);
        }
    }
    APERTURE_UNROLL
    for (int i = 0; i < loads; ++i) {
        const int y = static_cast<int>(threadIdx.y) + i * layout_tile_rows;
        const int entry = from_interleaved ? y : x;
        const int problem = from_interleaved ? x : y;
        tile[entry * stride + problem] = value[i];
    }
    __syncthreads();
    APERTURE_UNROLL
    for (int i = 0; i < loads; ++i) {
        const int y = static_cast<int>(threadIdx.y) + i * layout_tile_rows;
        const int entry = first_entry + (to_interleaved ? y : x);
        const int problem = to_interleaved ? x : y;
        if (entry < entries && first_problem + problem < problems) {
            to.data[to_offset(first_problem + problem, entry)] =
                tile[(entry - first_entry) * stride + problem];
        }
    }
}

namespace detail {

template <bool from_interleaved, bool to_interleaved, class Executor, class E, class Functor>
void launch_transpose(Executor& executor, const KernelView<const E, 3>& from,
                      const KernelView<E, 3>& to, const Functor& functor) {
    const index_t problems = from.extent[0];
    const index_t entries = from.extent[1] * from.extent[2];
    if (entries < small_layout_entries) {
        int problem_bits = 0;
        while ((entries << (problem_bits + 1)) <= small_layout_threads * small_layout_loads) {
            ++problem_bits;
        }
        const auto shared = static_cast<std::size_t>(entries * ((1 << problem_bits) + 1));
        core::launch(executor, transpose_small_batch<E, from_interleaved, to_interleaved, Functor>,
                     core::LaunchConfig{dim3(core::blocks_for(problems, 1 << problem_bits)),
                                        dim3(small_layout_threads), sizeof(E) * shared},
                     from, to, problem_bits, FastDivider(static_cast<int>(entries)), functor);
        return;
    }
    const index_t entry_tiles = core::ceil_div(entries, layout_tile);
    const index_t problem_tiles = core::ceil_div(problems, layout_tile);
    core::launch(executor, transpose_batch<E, from_interleaved, to_interleaved, Functor>,
                 core::LaunchConfig{dim3(core::blocks_for(problem_tiles * entry_tiles, 1)),
                                    dim3(layout_tile, layout_tile_rows),
                                    sizeof(E) * layout_tile * (layout_tile + 1)},
                 from, to, functor);
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
    const auto a = core::kernel_view(from);
    const auto b = core::kernel_view(to);
    if (order_of(from) == Order::problems) {
        order_of(to) == Order::problems
            ? detail::launch_transpose<true, true>(executor, a, b, functor)
            : detail::launch_transpose<true, false>(executor, a, b, functor);
    } else {
        order_of(to) == Order::problems
            ? detail::launch_transpose<false, true>(executor, a, b, functor)
            : detail::launch_transpose<false, false>(executor, a, b, functor);
    }
}

}  // namespace aperture::dense
