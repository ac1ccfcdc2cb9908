// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Panels of the operands of products in shared memory: copied asynchronously, whatever the strides
// in global memory.

#include "libdense/gpu/chunks.cuh"
#include "libdense/gpu/fast_divider.hpp"

namespace aperture::dense {

/// C = alpha op(A) op(B) + beta C. `a` is [problem][row of op(A)][depth] and `b` [problem][column
/// of op(B)][depth], whatever the strides.
template <class T>
struct ProductOperands {
    KernelView<const T, 3> a;
    KernelView<const T, 3> b;
    KernelView<T, 3> c;
    T alpha, beta;
    bool conjugate_a, conjugate_b;
};

/// Distance between lines of at least `entries` in shared memory: an odd number of chunks, so that
/// a column of eight chunks has no bank conflicts.
template <class T>
APERTURE_HD constexpr int chunked_stride(int entries) {
    constexpr int width = chunk_entries<T>;
    return width * ((entries + width - 1) / width | 1);
}

/// One of the loops in which a thread visits a panel.
struct PanelLoop {
    int dimension;  ///< 0: problems, 1: lines, 2: depth
    FastDivider threads;
    FastDivider faster_threads;  ///< those between two neighbours along this dimension
    int width;                   ///< entries that are copied at once
    index_t stride;              ///< in global memory, from a thread to its neighbour
    index_t step;                ///< and from a thread's piece to its next one
    int tile_stride, tile_step;  ///< the same in shared memory
};

/// How the threads of a block visit a panel of problems x lines x depth, and where its entries are:
/// pieces of 1 or chunk_entries entries, of which neighbouring threads have neighbouring ones.
struct PanelOrder {
    PanelLoop loop[3];  ///< the innermost, which is the longest, last
    int threads;
    bool in_chunks;
};

/// The pieces of a panel at `from` in global memory that a thread copies.
template <class U>
class OwnPieces {
  public:
    __device__ __forceinline__ OwnPieces(U* from, const PanelOrder& order) : from_(from) {
        APERTURE_UNROLL
        for (int l = 0; l < 3; ++l) {
            const PanelLoop& loop = order.loop[l];
            const int rest = loop.faster_threads.quotient(core::thread_rank());
            const int own = rest - loop.threads.quotient(rest) * loop.threads.size();
            first_ |= own * loop.width << 10 * l;
            from_ += own * loop.stride;
            tile_ += own * loop.tile_stride;
        }
    }

    /// Moves on to the panel that lies `distance` behind.
    __device__ __forceinline__ void advance(index_t distance) { from_ += distance; }

    /// Calls visit(from, tile) with the addresses of every piece in global memory and in shared
    /// memory, where the panel is at `tile`. `extent`: what exists of each dimension.
    template <class T, class Visit>
    __device__ __forceinline__ void for_each(T* tile, const PanelOrder& order,
                                             const int (&extent)[3], Visit visit) const {
        if (core::thread_rank() >= order.threads) return;
        U* from = from_;
        tile += tile_;
        const auto first = [&](int l) { return first_ >> 10 * l & 1023; };
        const auto existing = [&](int l) {
            const int dimension = order.loop[l].dimension;
            return dimension == 0 ? extent[0] : dimension == 1 ? extent[1] : extent[2];
        };
        const auto next = [&](int l, int i) {
            return i + order.loop[l].threads.size() * order.loop[l].width;
        };
        APERTURE_NO_UNROLL
        for (int i = first(0); i < existing(0); i = next(0, i)) {
            U* from_middle = from;
            T* tile_middle = tile;
            APERTURE_NO_UNROLL
            for (int j = first(1); j < existing(1); j = next(1, j)) {
                U* its = from_middle;
                T* its_tile = tile_middle;
                APERTURE_NO_UNROLL
                for (int k = first(2); k < existing(2); k = next(2, k)) {
                    visit(its, its_tile);
                    its += order.loop[2].step;
                    its_tile += order.loop[2].tile_step;
                }
                from_middle += order.loop[1].step;
                tile_middle += order.loop[1].tile_step;
            }
            from += order.loop[0].step;
            tile += order.loop[0].tile_step;
        }
    }

  private:
    int first_ = 0;  ///< of each loop, ten bits each
    U* from_;
    int tile_ = 0;
};

/// Starts to copy a panel to shared memory. What does not exist is not written.
template <class T>
__device__ __forceinline__ void start_to_load(const OwnPieces<const T>& own, T* tile,
                                              const PanelOrder& order, const int (&extent)[3]) {
    if (!order.in_chunks) {
        own.for_each(tile, order, extent,
                     [](const T* its, T* to) { core::copy_async<sizeof(T)>(to, its); });
    } else {
        own.for_each(tile, order, extent,
                     [](const T* its, T* to) { core::copy_async<16>(to, its); });
    }
}

/// Conjugates what this thread has copied.
template <class T>
__device__ __forceinline__ void conjugate_own(const OwnPieces<const T>& own, T* tile,
                                              const PanelOrder& order, const int (&extent)[3]) {
    own.for_each(tile, order, extent, [&](const T*, T* its) {
        APERTURE_NO_UNROLL
        for (int i = 0; i < (order.in_chunks ? chunk_entries<T> : 1); ++i)
            its[i] = core::conj(its[i]);
    });
}

template <class T>
__device__ __forceinline__ void store_panel(const OwnPieces<T>& own, const T* tile,
                                            const PanelOrder& order, const int (&extent)[3]) {
    if (!order.in_chunks) {
        own.for_each(tile, order, extent, [](T* its, const T* from) { *its = *from; });
    } else {
        own.for_each(tile, order, extent, [](T* its, const T* from) {
            *reinterpret_cast<Chunk<T>*>(its) = *reinterpret_cast<const Chunk<T>*>(from);
        });
    }
}

}  // namespace aperture::dense
