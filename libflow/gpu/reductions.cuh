// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums over an image, in double and in a fixed order: each thread sums its pixels, each block its
// threads, and the kernel that needs the total sums the blocks' parts. No sum returns to the host
// in between.

#include <algorithm>

#include "libcore/gpu/block.cuh"
#include "libcore/gpu/launch.cuh"
#include "libflow/gpu/planes.cuh"

namespace aperture::flow::gpu {

using core::Sums;

/// Blocks of reduction_rows x reduction_columns threads walk over tiles of as many pixels. There
/// are enough blocks a multiprocessor to keep loads in flight, and few enough parts to sum.
inline constexpr int reduction_columns = 32;
inline constexpr int reduction_rows = 8;
inline constexpr int reduction_threads = reduction_columns * reduction_rows;
inline constexpr int reduction_blocks_per_multiprocessor = 4;

/// Shared memory, in bytes, for block sums and totals of up to 5 values from 8 warps.
inline constexpr int most_sums = 5;
inline constexpr int reduction_shared =
    reduction_threads / core::warp_size * most_sums * static_cast<int>(sizeof(double));

/// Calls visit(y, x) for the pixels of this thread: the same ones in every kernel of one grid size.
template <class Visit>
__device__ __forceinline__ void for_own_pixels(int rows, int columns, const Visit& visit) {
    const int across = (columns + reduction_columns - 1) / reduction_columns;
    const int tiles = across * ((rows + reduction_rows - 1) / reduction_rows);
    for (int tile = static_cast<int>(blockIdx.x); tile < tiles;
         tile += static_cast<int>(gridDim.x)) {
        const int y = tile / across * reduction_rows + static_cast<int>(threadIdx.y);
        const int x = tile % across * reduction_columns + static_cast<int>(threadIdx.x);
        if (y < rows && x < columns) visit(y, x);
    }
}

/// Whether this is the first thread of a grid in one dimension.
__device__ __forceinline__ bool first_thread() {
    return blockIdx.x == 0 && core::thread_rank() == 0;
}

/// Stores the block's part of a sum; all threads must call. Shares its memory with total_of.
template <int count>
__device__ __forceinline__ void store_part(const Sums<count>& own, Sums<count>* parts) {
    static_assert(count <= most_sums);
    const Sums<count> sum = core::block_reduce(own, core::shared<Sums<count>>());
    if (core::thread_rank() == 0) parts[blockIdx.x] = sum;
}

/// The sum of the parts of `blocks` blocks, bitwise equal in every thread of every block.
template <int count>
__device__ __forceinline__ Sums<count> total_of(const Sums<count>* parts, int blocks) {
    static_assert(count <= most_sums);
    Sums<count> sum{};
    for (int block = core::thread_rank(); block < blocks; block += core::block_threads()) {
        sum = sum + parts[block];
    }
    return core::block_reduce(sum, core::shared<Sums<count>>());
}

inline index_t reduction_tiles(Shape shape) {
    return (shape.columns + reduction_columns - 1) / reduction_columns *
           ((shape.rows + reduction_rows - 1) / reduction_rows);
}

/// Launch configuration of a kernel whose threads visit pixels by for_own_pixels.
template <class Executor>
core::LaunchConfig reduction_config(const Executor& executor, Shape shape,
                                    std::source_location call = std::source_location::current()) {
    const index_t most = reduction_blocks_per_multiprocessor * executor.multiprocessors();
    return {dim3(static_cast<unsigned>(std::min(reduction_tiles(shape), most))),
            dim3(reduction_columns, reduction_rows), reduction_shared, call};
}

/// Copies as many elements as `host` has from the start of a device array; synchronises.
template <class T, class Executor>
void fetch(Executor& executor, const core::Array<T, 1, typename Executor::Space>& device,
           core::Array<T, 1>& host) {
    core::copy<T, 1, core::Strided>(executor, device.view().slice(0, 0, host.extent()[0]),
                                    host.view());
    executor.synchronize();
}

/// The blocks' parts of a sum, for kernels launched with reduction_config.
template <int count, class Space>
class Parts {
  public:
    Parts() = default;
    template <class Executor>
    Parts(const Executor& executor, Shape shape)
        : device_({static_cast<index_t>(reduction_config(executor, shape).grid.x)}),
          host_(device_.extent()) {}

    Sums<count>* data() { return device_.data(); }
    int blocks() const { return static_cast<int>(device_.extent()[0]); }
    /// The total, once the kernel that stores the parts has been launched; synchronises.
    template <class Executor>
    Sums<count> on_host(Executor& executor) {
        fetch(executor, device_, host_);
        Sums<count> sum{};
        for (const Sums<count>& part : host_) sum = sum + part;
        return sum;
    }

  private:
    core::Array<Sums<count>, 1, Space> device_;
    core::Array<Sums<count>, 1> host_;
};

}  // namespace aperture::flow::gpu
