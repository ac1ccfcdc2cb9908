// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dot products of vectors that are long enough for a block or for the device. Both mappings add up
// in one order: parts of a fixed length by blocks, then the parts of a vector by a warp.
// Source: Ha et al. 2013, section III-D (per-element and per-block generalisation).

#include "libdense/gpu/chunks.cuh"

namespace aperture::dense {

inline constexpr int long_vector_threads = 256;
/// Entries of a part: a thread has 32.
inline constexpr int long_vector_part = 32 * long_vector_threads;

/// result = a^H c. `parts` has the sums of the parts, [problem][part], and is empty where a block
/// walks the parts of its vector.
template <class T>
struct LongDotArguments {
    KernelView<const T, 2> a;
    KernelView<const T, 2> c;
    KernelView<T, 1> result;
    KernelView<T, 2> parts;
};

/// The sum of a part, in all threads, which load several pieces of `width` entries at once.
template <int width, class T>
__device__ __forceinline__ T dot_of_part(const LongDotArguments<T>& p, index_t problem,
                                         index_t part, T* shared_values) {
    constexpr int at_once = 4;
    constexpr int step = long_vector_threads * width;
    const index_t begin = part * long_vector_part;
    const index_t left = p.a.extent[1] - begin;
    const int entries = left < long_vector_part ? static_cast<int>(left) : long_vector_part;
    const T* const a = p.a.data + problem * p.a.stride[0] + begin * p.a.stride[1];
    const T* const c = p.c.data + problem * p.c.stride[0] + begin * p.c.stride[1];
    T sum[at_once] = {};
    APERTURE_NO_UNROLL
    for (int first = core::thread_rank() * width; first < entries; first += at_once * step) {
        T left_entries[at_once][width] = {}, right_entries[at_once][width] = {};
        APERTURE_UNROLL
        for (int u = 0; u < at_once; ++u) {
            const int i = first + u * step;
            if (i >= entries) continue;
            load_chunks(left_entries[u], a + i * p.a.stride[1]);
            load_chunks(right_entries[u], c + i * p.c.stride[1]);
        }
        APERTURE_UNROLL
        for (int u = 0; u < at_once; ++u) {
            APERTURE_UNROLL
            for (int j = 0; j < width; ++j) {
                sum[u] = core::multiply_add_conj(sum[u], right_entries[u][j], left_entries[u][j]);
            }
        }
    }
    return core::block_reduce((sum[0] + sum[1]) + (sum[2] + sum[3]), shared_values);
}

/// Block: 256 threads. Grid: vectors on x, of which a block walks the parts, or, with p.parts,
/// parts on x, of which a block has one of every vector. Shared: an entry a warp. Bytes per
/// problem: 2 n sizeof(T). Flops per problem: 2 n (times 4 if complex).
template <class T, int width>
__global__ void __launch_bounds__(long_vector_threads, 3) dots_by_parts(LongDotArguments<T> p) {
    T* const shared_values = core::shared<T>();
    if (!p.parts.empty()) {
        for (index_t problem = 0; problem < p.a.extent[0]; ++problem) {
            const T sum = dot_of_part<width>(p, problem, blockIdx.x, shared_values);
            if (core::thread_rank() == 0) p.parts(problem, blockIdx.x) = sum;
        }
        return;
    }
    const index_t parts = (p.a.extent[1] + long_vector_part - 1) / long_vector_part;
    T own = T(RealOf<T>(0));
    for (index_t part = 0; part < parts; ++part) {
        const T sum = dot_of_part<width>(p, blockIdx.x, part, shared_values);
        if (part % core::warp_size == core::lane_rank()) own = own + sum;
    }
    const T total = core::warp_reduce(own);
    if (core::thread_rank() == 0) p.result(blockIdx.x) = total;
}

/// Adds up the parts of each vector. Block: a warp. Grid: vectors on x.
template <class T>
__global__ void __launch_bounds__(core::warp_size) add_parts(LongDotArguments<T> p) {
    T own = T(RealOf<T>(0));
    APERTURE_UNROLL_BY(4)
    for (index_t part = core::lane_rank(); part < p.parts.extent[1]; part += core::warp_size) {
        own = own + p.parts(blockIdx.x, part);
    }
    const T total = core::warp_reduce(own);
    if (core::lane_rank() == 0) p.result(blockIdx.x) = total;
}

}  // namespace aperture::dense
