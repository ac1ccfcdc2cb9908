// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/batch_checks.hpp"
#include "libdense/gpu/batch_tile.cuh"

namespace aperture::dense {

inline constexpr int layout_tile = 32;
inline constexpr int layout_tile_rows = 8;

/// Copies a batch to another layout, [problem][entry] with entry = row * columns + column.
/// `from_interleaved` and `to_interleaved`: neighbouring threads load (store) an element of
/// neighbouring problems.
///
/// Block: 32 x 8 threads, a tile of 32 problems x 32 entries, one thread 4 elements each way. Grid:
/// tiles of problems times tiles of entries on x, the latter fastest. Shared: the tile [entry]
/// [problem], padded to 33, of T. Bytes: 2 sizeof(T) per element, no flops.
/// Source: Ha et al. 2013, section III-C.
template <class T, bool from_interleaved, bool to_interleaved>
__global__ void __launch_bounds__(layout_tile* layout_tile_rows)
    transpose_batch(KernelView<const T, 3> from, KernelView<T, 3> to) {
    constexpr int stride = layout_tile + 1;
    T* tile = core::shared<T>();
    const index_t problems = from.extent[0];
    const auto columns = static_cast<int>(from.extent[2]);
    const int entries = static_cast<int>(from.extent[1]) * columns;
    const int entry_tiles = (entries + layout_tile - 1) / layout_tile;
    const index_t first_problem =
        static_cast<index_t>(blockIdx.x / static_cast<unsigned>(entry_tiles)) * layout_tile;
    const int first_entry =
        static_cast<int>(blockIdx.x % static_cast<unsigned>(entry_tiles)) * layout_tile;
    const int x = static_cast<int>(threadIdx.x);

    // Where rows follow one another without a gap, entries do.
    const bool from_is_linear = from.stride[1] == columns * from.stride[2];
    const bool to_is_linear = to.stride[1] == columns * to.stride[2];
    const auto offset = [columns](const auto& batch, bool linear, index_t problem, int entry) {
        const index_t within =
            linear ? entry * batch.stride[2]
                   : entry / columns * batch.stride[1] + entry % columns * batch.stride[2];
        return problem * batch.stride[0] + within;
    };
    constexpr int loads = layout_tile / layout_tile_rows;
    T value[loads];
    APERTURE_UNROLL
    for (int i = 0; i < loads; ++i) {
        const int y = static_cast<int>(threadIdx.y) + i * layout_tile_rows;
        const int entry = first_entry + (from_interleaved ? y : x);
        const int problem = from_interleaved ? x : y;
        if (entry < entries && first_problem + problem < problems) {
            value[i] = from.data[offset(from, from_is_linear, first_problem + problem, entry)];
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
            to.data[offset(to, to_is_linear, first_problem + problem, entry)] =
                tile[(entry - first_entry) * stride + problem];
        }
    }
}

/// `change_layout` on a GPU or the SIMT executor.
template <class Executor, class T>
void launch_change_layout(Executor& executor, MatrixBatch<const T, typename Executor::Space> from,
                          MatrixBatch<T, typename Executor::Space> to) {
    using E = core::DeviceType<T>;
    expects_same_extents(from, to);
    if (from.empty()) return;
    const auto [problems, rows, columns] = from.extent;
    core::expects(rows * columns <= 0x7fffffff, "change_layout: matrices of ", rows, " x ", columns,
                  " are too large");
    const index_t entry_tiles = (rows * columns + layout_tile - 1) / layout_tile;
    const index_t problem_tiles = (problems + layout_tile - 1) / layout_tile;
    const bool from_interleaved = order_of(from) == Order::problems;
    const bool to_interleaved = order_of(to) == Order::problems;
    const auto kernel = from_interleaved ? to_interleaved ? transpose_batch<E, true, true>
                                                          : transpose_batch<E, true, false>
                        : to_interleaved ? transpose_batch<E, false, true>
                                         : transpose_batch<E, false, false>;
    core::launch(executor, kernel,
                 core::LaunchConfig{dim3(core::blocks_for(problem_tiles * entry_tiles, 1)),
                                    dim3(layout_tile, layout_tile_rows),
                                    sizeof(E) * layout_tile * (layout_tile + 1)},
                 core::kernel_view(from), core::kernel_view(to));
}

}  // namespace aperture::dense
