// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Collective operations of a block: reductions, and asynchronous loads of tiles from global to
// shared memory.

#include "libcore/gpu/warp.cuh"

namespace aperture::core {

/// Reduces the values of all threads, bitwise equal in all threads, and reproducible: a butterfly
/// in each warp, then the warps' values in order. Needs full warps and `shared_values` with one T
/// per warp, which may be reused after the block's next barrier. Contains two barriers.
template <class T, class Combine = Sum>
__device__ T block_reduce(T value, T* shared_values, Combine combine = {}) {
    value = warp_reduce(value, combine);
    const int warps = block_threads() / warp_size;
    __syncthreads();
    if (lane_rank() == 0) shared_values[warp_rank()] = value;
    __syncthreads();
    T result = shared_values[0];
    for (int warp = 1; warp < warps; ++warp) result = combine(result, shared_values[warp]);
    return result;
}

/// Starts a copy of 4, 8 or 16 bytes, both addresses aligned to as much, from global to shared
/// memory. The data is valid after `wait_for_copies` in this thread, and for the others of the
/// block after a further barrier.
template <int Bytes>
__device__ __forceinline__ void copy_async(void* to_shared, const void* from_global) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
#if !defined(__CUDACC__)
    simt::copy_later(to_shared, from_global, Bytes);
#elif defined(__CUDA_ARCH__)
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(to_shared));
    if constexpr (Bytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from_global)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from_global),
                     "n"(Bytes)
                     : "memory");
    }
#endif
}

/// Waits until the previous kernel in the stream has stored all its results. Kernels launched with
/// LaunchConfig::start_early must call it before they access memory that it uses.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// From here on the next kernel may start early on free resources of the device.
__device__ __forceinline__ void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Closes the group of the copies that this thread has started since the last call.
__device__ __forceinline__ void commit_copies() {
#if !defined(__CUDACC__)
    simt::commit_copies();
#elif defined(__CUDA_ARCH__)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most the `GroupsLeft` youngest groups of this thread are pending.
template <int GroupsLeft = 0>
__device__ __forceinline__ void wait_for_copies() {
#if !defined(__CUDACC__)
    simt::wait_for_copies(GroupsLeft);
#elif defined(__CUDA_ARCH__)
    asm volatile("cp.async.wait_group %0;" ::"n"(GroupsLeft) : "memory");
#endif
}

/// A tile of `rows` x `columns` elements in global memory, of which the first `valid_rows` and
/// `valid_columns` exist (both may be <= 0); `row_stride` in elements.
template <class T>
struct GlobalTile {
    const T* data;
    index_t row_stride;
    int valid_rows;
    int valid_columns;
};

namespace detail {

template <int Bytes>
__device__ __forceinline__ bool aligned(const void* address) {
    return reinterpret_cast<unsigned long long>(address) % Bytes == 0;
}

// One piece is Bytes; an edge inside a piece is copied element by element.
template <int Bytes, class T>
__device__ void load_tile_pieces(T* tile, int tile_stride, GlobalTile<T> from, int rows,
                                 int columns, int thread, int threads) {
    constexpr int elements = Bytes / static_cast<int>(sizeof(T));
    constexpr int element_bytes = static_cast<int>(sizeof(T));
    const int pieces = columns / elements;
    for (int piece = thread; piece < rows * pieces; piece += threads) {
        const int row = piece / pieces;
        const int column = (piece - row * pieces) * elements;
        T* to = tile + row * tile_stride + column;
        const T* source = from.data + row * from.row_stride + column;
        if (row < from.valid_rows && column + elements <= from.valid_columns) {
            copy_async<Bytes>(to, source);
            continue;
        }
        for (int i = 0; i < elements; ++i) {
            if (row < from.valid_rows && column + i < from.valid_columns) {
                copy_async<element_bytes>(to + i, source + i);
            } else {
                to[i] = T{};
            }
        }
    }
}

}  // namespace detail

/// Starts to load a tile into shared memory, [row][column] with `tile_stride` elements between
/// rows, by the threads 0 <= `thread` < `threads`; elements that do not exist become zero. In
/// pieces of 16 bytes if addresses and strides allow. The caller must complete it by
/// `commit_copies`, `wait_for_copies` and a barrier.
template <class T>
__device__ void load_tile(T* tile, int tile_stride, GlobalTile<T> from, int rows, int columns,
                          int thread, int threads) {
    constexpr int elements = 16 / static_cast<int>(sizeof(T));
    if (columns % elements == 0 && tile_stride % elements == 0 && detail::aligned<16>(tile) &&
        from.row_stride % elements == 0 && detail::aligned<16>(from.data)) {
        detail::load_tile_pieces<16>(tile, tile_stride, from, rows, columns, thread, threads);
    } else {
        detail::load_tile_pieces<sizeof(T)>(tile, tile_stride, from, rows, columns, thread,
                                            threads);
    }
}

}  // namespace aperture::core
