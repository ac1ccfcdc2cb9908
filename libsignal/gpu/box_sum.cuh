// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libsignal/gpu/planes.cuh"
#include "libsignal/image_checks.hpp"

namespace aperture::signal::gpu {

inline constexpr int box_rows = 32;
inline constexpr int box_columns = 64;
inline constexpr int box_threads = 256;

/// A tile of sums in shared memory: `forward` [box_rows + size - 1][pitch] for partial sums, `sums`
/// [box_rows][pitch]. An odd pitch avoids bank conflicts between the rows of a warp.
struct BoxLayout {
    int size;

    APERTURE_HD int span() const { return box_columns + size - 1; }
    APERTURE_HD int pitch() const { return span() | 1; }
    APERTURE_HD int forward_values() const { return (box_rows + size - 1) * pitch(); }
    APERTURE_HD index_t bytes() const {
        return (index_t(2 * box_rows) + size - 1) * (index_t(box_columns + size - 1) | 1) *
               index_t{sizeof(double)};
    }
};

/// For each of `lines` lines, calls store(line, i, sum) for `outputs` sums of load(line, i) to
/// load(line, i + size - 1): a segment of `size` elements from i on, plus the next segment before i
/// + size. A thread sums a segment of a line at a time: three additions an output. store(line, i)
/// may overwrite the source of load(line, i). `forward(line, i)` is scratch for the outputs + size
/// - 1 elements of a line. Contains a barrier, and needs one before and after.
/// Source: van Herk 1992, there for minima.
template <class Load, class Forward, class Store>
__device__ __forceinline__ void sliding_sums(int lines, int outputs, int size, const Load& load,
                                             const Forward& forward, const Store& store) {
    const int length = outputs + size - 1;
    const int tasks = lines * ((length + size - 1) / size);
    for (int task = core::thread_rank(); task < tasks; task += core::block_threads()) {
        const int line = task % lines;
        const int begin = task / lines * size;
        double sum = 0;
        for (int i = begin; i < min(begin + size, length); ++i) {
            sum += load(line, i);
            forward(line, i) = sum;
        }
    }
    __syncthreads();
    const int whole_tasks = lines * ((outputs + size - 1) / size);
    for (int task = core::thread_rank(); task < whole_tasks; task += core::block_threads()) {
        const int line = task % lines;
        const int begin = task / lines * size;
        double sum = 0;
        for (int i = begin + size - 1; i > begin; --i) {
            sum += load(line, i);
            if (i < outputs) store(line, i, sum + forward(line, i + size - 1));
        }
        store(line, begin, forward(line, begin + size - 1));
    }
}

/// Sums over the windows of a tile of box_rows x box_columns pixels; `value(y, x)` is the image,
/// with borders replicated. Returns the sums in `memory` (BoxLayout), after a barrier. Once they
/// are read, the next tile needs no other barrier.
template <class Value>
__device__ __forceinline__ const double* box_sums(double* memory, BoxLayout layout, int first_row,
                                                  int first_column, int image_rows,
                                                  int image_columns, const Value& value) {
    const int half = layout.size / 2;
    const int pitch = layout.pitch();
    double* const forward = memory;
    double* const sums = memory + layout.forward_values();
    sliding_sums(
        layout.span(), box_rows, layout.size,
        [&](int column, int i) {
            return static_cast<double>(value(inside(first_row - half + i, image_rows),
                                             inside(first_column - half + column, image_columns)));
        },
        [&](int column, int i) -> double& { return forward[i * pitch + column]; },
        [&](int column, int i, double sum) { sums[i * pitch + column] = sum; });
    __syncthreads();
    sliding_sums(
        box_rows, box_columns, layout.size, [&](int row, int i) { return sums[row * pitch + i]; },
        [&](int row, int i) -> double& { return forward[row * pitch + i]; },
        [&](int row, int i, double sum) { sums[row * pitch + i] = sum; });
    __syncthreads();
    return sums;
}

/// Window sums of planes. Thread: segments of columns, then of rows. Block: box_rows x box_columns
/// outputs of a plane. Grid: columns, rows, planes. Shared memory: BoxLayout, 42 KB for size 9. 8
/// bytes moved and about ten additions in double an output, for any size.
inline __global__ void __launch_bounds__(box_threads)
    box_sum_kernel(Planes<const float> from, BoxLayout layout, Planes<float> to) {
    const int first_row = static_cast<int>(blockIdx.y) * box_rows;
    const int first_column = static_cast<int>(blockIdx.x) * box_columns;
    const int plane = static_cast<int>(blockIdx.z);
    const double* sums =
        box_sums(core::shared<double>(), layout, first_row, first_column, rows_of(to),
                 columns_of(to), [&](int y, int x) { return from(plane, y, x); });
    for (int i = core::thread_rank(); i < box_rows * box_columns; i += box_threads) {
        const int row = first_row + i / box_columns;
        const int column = first_column + i % box_columns;
        if (row < rows_of(to) && column < columns_of(to)) {
            to(plane, row, column) = static_cast<float>(
                sums[(row - first_row) * layout.pitch() + column - first_column]);
        }
    }
}

/// Throws core::InvalidArgument if windows of this size do not fit a block's shared memory.
template <class Executor>
void expects_box_fits(const Executor& executor, int size) {
    core::expects(BoxLayout{size}.bytes() <= executor.shared_memory_per_block(), "box sum: size ",
                  size, " is too large for ", executor.name());
}

/// Launch configuration of kernels on the tiles of box_sums.
inline core::LaunchConfig box_config(int rows, int columns, int planes, BoxLayout layout,
                                     std::source_location call = std::source_location::current()) {
    return {tile_grid(rows, columns, planes, box_rows, box_columns), dim3(box_threads),
            static_cast<std::size_t>(layout.bytes()), call};
}

/// Sums over `planes` planes. Asynchronous.
template <class Executor>
void box_sum(Executor& executor, const Planes<const float>& from, int planes, int size,
             const Planes<float>& to) {
    expects_box_fits(executor, size);
    core::launch(executor, &box_sum_kernel,
                 box_config(rows_of(to), columns_of(to), planes, BoxLayout{size}), from,
                 BoxLayout{size}, to);
}

/// The function of aperture/signal/box_sum.hpp.
template <class Executor>
void box_sum_of_planes(Executor& executor,
                       core::View<const float, 3, typename Executor::Space> from, int size,
                       core::View<float, 3, typename Executor::Space> to) {
    check_box_sum(from, size, to);
    if (from.empty()) return;
    box_sum(executor, planes_of(from), static_cast<int>(from.extent[0]), size, planes_of(to));
}

}  // namespace aperture::signal::gpu
