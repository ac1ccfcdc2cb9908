// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Data of 32 tasks, one after another or interleaved. Source: Ino et al. 2013, section 4.1.

#include "bench/sweeps/problems.hpp"
#include "libcore/gpu/launch.cuh"

namespace aperture::bench {

namespace detail {
inline constexpr int arranging_rows = 8;
inline constexpr int arranging_stride = tasks_at_once + 1;
inline constexpr int filling_threads = 256;
}  // namespace detail

/// [task][size] to [size][task] if `interleaving`, otherwise the way back.
///
/// Block: 32 x 8 threads, 32 elements of each task. Grid: elements on x. Shared: a tile of 32 x 33.
template <class T, bool interleaving>
__global__ void arrange(const T* from, T* to, index_t size) {
    T* const tile = core::shared<T>();
    const index_t first = index_t{blockIdx.x} * tasks_at_once;
    const int x = static_cast<int>(threadIdx.x);
    const auto for_each_row = [&](auto visit) {
        APERTURE_UNROLL
        for (int i = 0; i < tasks_at_once; i += detail::arranging_rows) {
            visit(i + static_cast<int>(threadIdx.y));
        }
    };
    for_each_row([&](int y) {
        const index_t element = first + (interleaving ? x : y);
        const index_t at = interleaving ? y * size + element : element * tasks_at_once + x;
        if (element < size) tile[y * detail::arranging_stride + x] = from[at];
    });
    __syncthreads();
    for_each_row([&](int y) {
        const index_t element = first + (interleaving ? y : x);
        const index_t at = interleaving ? element * tasks_at_once + x : y * size + element;
        if (element < size) to[at] = tile[x * detail::arranging_stride + y];
    });
}

/// Asynchronous.
template <bool interleaving, class T, class Executor>
void launch_arrange(Executor& executor, const T* from, T* to, index_t size) {
    core::launch(executor, &arrange<T, interleaving>,
                 core::LaunchConfig(core::blocks_for(size, tasks_at_once),
                                    dim3(tasks_at_once, detail::arranging_rows),
                                    sizeof(T) * tasks_at_once * detail::arranging_stride),
                 from, to, size);
}

template <class T>
__global__ void fill(T* to, index_t size, T value) {
    const index_t i = index_t{blockIdx.x} * detail::filling_threads + threadIdx.x;
    if (i < size) to[i] = value;
}

/// Asynchronous.
template <class T, class Executor>
void launch_fill(Executor& executor, T* to, index_t size, T value) {
    core::launch(executor, &fill<T>,
                 core::LaunchConfig(core::blocks_for(size, detail::filling_threads),
                                    detail::filling_threads),
                 to, size, value);
}

}  // namespace aperture::bench
