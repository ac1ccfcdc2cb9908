// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies between matrices of any strides, tile by tile through shared memory, so that both sides
// are accessed contiguously.

#include "aperture/core/view.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"

namespace aperture::dense::gpu {

using core::index_t;
using core::KernelView;

enum class CopyPart {
    all,
    upper,     ///< the upper triangle, with zeros below
    identity,  ///< the identity, independent of `from`
};

inline constexpr int copy_tile = 32;
inline constexpr int copy_rows = 8;

/// Copies a tile of `to` per block; elements outside `from` are zero. Grid: tiles down, tiles
/// across. Shared memory: a tile.
template <class T>
__global__ void __launch_bounds__(copy_tile* copy_rows)
    copy_matrix_kernel(KernelView<const T, 2> from, KernelView<T, 2> to, CopyPart part) {
    T* const tile = core::shared<T>();
    constexpr int pitch = copy_tile + 1;
    const index_t first_row = index_t{blockIdx.x} * copy_tile;
    const index_t first_column = index_t{blockIdx.y} * copy_tile;
    const int lane = static_cast<int>(threadIdx.x);
    // visit(row, column) in the tile, with lanes along the smaller stride.
    const auto for_tile = [&](bool rows_are_near, const auto& visit) {
        for (int i = static_cast<int>(threadIdx.y); i < copy_tile; i += copy_rows) {
            if (rows_are_near) {
                visit(lane, i);
            } else {
                visit(i, lane);
            }
        }
    };
    for_tile(from.stride[0] <= from.stride[1], [&](int r, int c) {
        const index_t i = first_row + r;
        const index_t j = first_column + c;
        T value = 0;
        if (part == CopyPart::identity) {
            value = i == j ? T(1) : T(0);
        } else if (i < from.extent[0] && j < from.extent[1] && (part == CopyPart::all || i <= j)) {
            value = from(i, j);
        }
        tile[r * pitch + c] = value;
    });
    __syncthreads();
    for_tile(to.stride[0] <= to.stride[1], [&](int r, int c) {
        const index_t i = first_row + r;
        const index_t j = first_column + c;
        if (i < to.extent[0] && j < to.extent[1]) {
            to(i, j) = tile[r * pitch + c];
        }
    });
}

/// Asynchronous.
template <class T, class Executor>
void copy_matrix(Executor& executor, const KernelView<const T, 2>& from, const KernelView<T, 2>& to,
                 CopyPart part) {
    core::launch(
        executor, &copy_matrix_kernel<T>,
        core::LaunchConfig(dim3(core::blocks_for(to.extent[0], copy_tile),
                                core::blocks_for(to.extent[1], copy_tile)),
                           dim3(copy_tile, copy_rows), copy_tile * (copy_tile + 1) * sizeof(T)),
        from, to, part);
}

}  // namespace aperture::dense::gpu
