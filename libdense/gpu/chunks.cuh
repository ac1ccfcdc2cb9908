// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/view.hpp"
#include "libcore/gpu/block.cuh"

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

/// Loads `count` entries: in chunks, aligned and `distance` apart, if they are whole ones.
template <int count, class T>
__device__ __forceinline__ void load_chunks(T (&to)[count], const T* from,
                                            int distance = chunk_entries<T>) {
    constexpr int width = count % chunk_entries<T> == 0 ? chunk_entries<T> : 1;
    APERTURE_UNROLL
    for (int i = 0; i < count; i += width) {
        const T* const its = from + i / width * distance;
        if constexpr (width == 1) {
            to[i] = *its;
        } else {
            const Chunk<T> chunk = *reinterpret_cast<const Chunk<T>*>(its);
            APERTURE_UNROLL
            for (int j = 0; j < width; ++j) to[i + j] = chunk.entry[j];
        }
    }
}
/// Loads a chunk of which no thread needs anything again: the first-level cache does not keep it.
/// Nobody may write it meanwhile.
template <class T>
__device__ __forceinline__ void load_chunk_once(T (&to)[chunk_entries<T>], const T* from) {
#if defined(__CUDA_ARCH__)
    struct alignas(16) Words {
        unsigned word[4];
    } words;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.word[0]), "=r"(words.word[1]), "=r"(words.word[2]),
                   "=r"(words.word[3])
                 : "l"(from));
    const Chunk<T> chunk = __builtin_bit_cast(Chunk<T>, words);
    APERTURE_UNROLL
    for (int i = 0; i < chunk_entries<T>; ++i) to[i] = chunk.entry[i];
#else
    load_chunks(to, from);
#endif
}
/// Stores what `load_chunks` loads.
template <int count, class T>
__device__ __forceinline__ void store_chunks(T* to, const T (&from)[count],
                                             int distance = chunk_entries<T>) {
    constexpr int width = count % chunk_entries<T> == 0 ? chunk_entries<T> : 1;
    APERTURE_UNROLL
    for (int i = 0; i < count; i += width) {
        T* const its = to + i / width * distance;
        if constexpr (width == 1) {
            *its = from[i];
        } else {
            Chunk<T> chunk;
            APERTURE_UNROLL
            for (int j = 0; j < width; ++j) chunk.entry[j] = from[i + j];
            *reinterpret_cast<Chunk<T>*>(its) = chunk;
        }
    }
}

}  // namespace aperture::dense
