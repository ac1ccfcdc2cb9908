// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Panels of the operands of products in shared memory: copied asynchronously, whatever the strides
// in global memory.

#include "aperture/core/view.hpp"
#include "libcore/gpu/block.cuh"
#include "libdense/gpu/fast_divider.hpp"

namespace aperture::dense {

using core::index_t;
using core::KernelView;
using core::RealOf;

/// Entries in 16 bytes, the most that a thread loads or stores at once.
template <class T>
inline constexpr int chunk_entries = 16 / static_cast<int>(sizeof(T));

template <class T>
struct alignas(16) Chunk {
    T entry[chunk_entries<T>];
};

/// Distance between lines of at least `entries` in shared memory: an odd number of chunks, so that
/// a column of eight chunks has no bank conflicts.
template <class T>
APERTURE_HD constexpr int chunked_stride(int entries) {
    constexpr int width = chunk_entries<T>;
    return width * ((entries + width - 1) / width | 1);
}

/// How the threads of a block visit a panel of problems (dimension 0) x lines (1) x depth (2), and
/// where its entries are. The other arrays are in the order of `dimension`, from the one along
/// which neighbouring threads are.
struct PanelOrder {
    int dimension[3];
    index_t stride[3];   ///< in global memory
    int tile_stride[3];  ///< in shared memory
    int lane_bits;       ///< log2 of the threads along the first dimension
    int width;           ///< entries along it that are copied at once: 1 or chunk_entries
    FastDivider middle;  ///< extent of the second dimension
};

/// Calls visit(offset in global memory, offset in shared memory) for every piece of `width` entries
/// of a panel. `extent`: what exists of each dimension.
template <class Visit>
__device__ __forceinline__ void for_each_piece(const PanelOrder& order, const int (&extent)[3],
                                               Visit visit) {
    int existing[3];
    APERTURE_UNROLL
    for (int d = 0; d < 3; ++d) {
        const int its = order.dimension[d];
        existing[d] = its == 0 ? extent[0] : its == 1 ? extent[1] : extent[2];
    }
    const int lanes = 1 << order.lane_bits;
    const int first = (core::thread_rank() & (lanes - 1)) * order.width;
    const int runs = order.middle.size() * existing[2];
    const int step = lanes * order.width;
    const int next_run = core::block_threads() >> order.lane_bits;
    APERTURE_NO_UNROLL
    for (int run = core::thread_rank() >> order.lane_bits; run < runs; run += next_run) {
        const int last = order.middle.quotient(run);
        const int middle = run - last * order.middle.size();
        if (middle >= existing[1]) continue;
        index_t from = first * order.stride[0] + middle * order.stride[1] + last * order.stride[2];
        int to = first * order.tile_stride[0] + middle * order.tile_stride[1] +
                 last * order.tile_stride[2];
        APERTURE_NO_UNROLL
        for (int i = first; i < existing[0]; i += step) {
            visit(from, to);
            from += step * order.stride[0];
            to += step * order.tile_stride[0];
        }
    }
}

/// Starts to copy a panel to shared memory. What does not exist is not written.
template <class T>
__device__ __forceinline__ void start_to_load(T* tile, const T* from, const PanelOrder& order,
                                              const int (&extent)[3]) {
    if (order.width == 1) {
        for_each_piece(order, extent, [=](index_t offset, int to) {
            core::copy_async<sizeof(T)>(tile + to, from + offset);
        });
    } else {
        for_each_piece(order, extent, [=](index_t offset, int to) {
            core::copy_async<16>(tile + to, from + offset);
        });
    }
}

/// Conjugates what this thread has copied.
template <class T>
__device__ __forceinline__ void conjugate_own(T* tile, const PanelOrder& order,
                                              const int (&extent)[3]) {
    for_each_piece(order, extent, [&](index_t, int to) {
        APERTURE_NO_UNROLL
        for (int i = 0; i < order.width; ++i) tile[to + i] = core::conj(tile[to + i]);
    });
}

/// Stores a panel.
template <class T>
__device__ __forceinline__ void store_panel(T* to, const T* tile, const PanelOrder& order,
                                            const int (&extent)[3]) {
    if (order.width == 1) {
        for_each_piece(order, extent, [=](index_t offset, int from) { to[offset] = tile[from]; });
    } else {
        for_each_piece(order, extent, [=](index_t offset, int from) {
            *reinterpret_cast<Chunk<T>*>(to + offset) =
                *reinterpret_cast<const Chunk<T>*>(tile + from);
        });
    }
}

}  // namespace aperture::dense
