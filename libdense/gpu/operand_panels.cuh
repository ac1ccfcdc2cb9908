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
/// where its entries are. The other arrays are in the order of `dimension`: neighbouring threads are
/// along the first one.
struct PanelOrder {
    int dimension[3];
    int width;  ///< entries along the first dimension that are copied at once: 1 or chunk_entries
    int threads[3];
    FastDivider divider[2];  ///< by threads[0] and threads[1]
    index_t stride[3];       ///< in global memory, from a thread to the next one
    int tile_stride[3];      ///< the same in shared memory
    index_t step[3];         ///< in global memory, from a thread's piece to its next one
    int tile_step[3];        ///< the same in shared memory
};

/// Calls visit(from, tile) with the addresses of every piece of `width` entries of the panel at
/// `from` in global and `tile` in shared memory. `extent`: what exists of each dimension.
template <class U, class T, class Visit>
__device__ __forceinline__ void for_each_piece(U* from, T* tile, const PanelOrder& order,
                                               const int (&extent)[3], Visit visit) {
    int existing[3];
    APERTURE_UNROLL
    for (int d = 0; d < 3; ++d) {
        const int its = order.dimension[d];
        existing[d] = its == 0 ? extent[0] : its == 1 ? extent[1] : extent[2];
    }
    const int rest = order.divider[0].quotient(core::thread_rank());
    const int own = core::thread_rank() - rest * order.threads[0];
    const int last_own = order.divider[1].quotient(rest);
    const int middle_own = rest - last_own * order.threads[1];
    if (last_own >= order.threads[2]) return;
    from += own * order.stride[0] + middle_own * order.stride[1] + last_own * order.stride[2];
    tile += own * order.tile_stride[0] + middle_own * order.tile_stride[1] +
            last_own * order.tile_stride[2];
    APERTURE_NO_UNROLL
    for (int last = last_own; last < existing[2]; last += order.threads[2]) {
        U* from_middle = from;
        T* tile_middle = tile;
        APERTURE_NO_UNROLL
        for (int middle = middle_own; middle < existing[1]; middle += order.threads[1]) {
            U* its = from_middle;
            T* its_tile = tile_middle;
            APERTURE_NO_UNROLL
            for (int i = own * order.width; i < existing[0]; i += order.threads[0] * order.width) {
                visit(its, its_tile);
                its += order.step[0];
                its_tile += order.tile_step[0];
            }
            from_middle += order.step[1];
            tile_middle += order.tile_step[1];
        }
        from += order.step[2];
        tile += order.tile_step[2];
    }
}

/// Starts to copy a panel to shared memory. What does not exist is not written.
template <class T>
__device__ __forceinline__ void start_to_load(T* tile, const T* from, const PanelOrder& order,
                                              const int (&extent)[3]) {
    if (order.width == 1) {
        for_each_piece(from, tile, order, extent,
                       [](const T* its, T* to) { core::copy_async<sizeof(T)>(to, its); });
    } else {
        for_each_piece(from, tile, order, extent,
                       [](const T* its, T* to) { core::copy_async<16>(to, its); });
    }
}

/// Conjugates what this thread has copied.
template <class T>
__device__ __forceinline__ void conjugate_own(T* tile, const T* from, const PanelOrder& order,
                                              const int (&extent)[3]) {
    for_each_piece(from, tile, order, extent, [&](const T*, T* its) {
        APERTURE_NO_UNROLL
        for (int i = 0; i < order.width; ++i) its[i] = core::conj(its[i]);
    });
}

template <class T>
__device__ __forceinline__ void store_panel(T* to, const T* tile, const PanelOrder& order,
                                            const int (&extent)[3]) {
    if (order.width == 1) {
        for_each_piece(to, tile, order, extent, [](T* its, const T* from) { *its = *from; });
    } else {
        for_each_piece(to, tile, order, extent, [](T* its, const T* from) {
            *reinterpret_cast<Chunk<T>*>(its) = *reinterpret_cast<const Chunk<T>*>(from);
        });
    }
}

}  // namespace aperture::dense
