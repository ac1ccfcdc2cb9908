// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loads M minus the ground: each value's mean over the frames, the largest part of a video.

#include "aperture/core/array.hpp"
#include "libcore/gpu/block.cuh"
#include "librpca/run_state.hpp"

namespace aperture::rpca::gpu {

using core::KernelView;

inline constexpr int load_threads = 256;

/// Of a block.
struct LoadedPart {
    MatrixNorms norms;
    index_t not_finite;  ///< frame * values + value of the first non-finite one, or no_index
};

/// Throws core::InvalidArgument for a NaN or an infinity.
inline MatrixNorms total_of(const core::Array<LoadedPart, 1>& parts, index_t values) {
    MatrixNorms total;
    index_t first = no_index;
    for (const LoadedPart& part : parts) {
        total += part.norms;
        first = std::min(first, part.not_finite);
    }
    core::expects(first == no_index, "value ", first % values, " of frame ", first / values,
                  " is not finite");
    return total;
}

template <class T>
struct LoadArguments {
    KernelView<const T, 2> from;
    index_t pitch;   ///< of m and w: a multiple of load_threads
    T* m;            ///< [frame][pitch]
    T* w;            ///< [frame][pitch]
    T* ground;       ///< [pitch]
    unsigned* mask;  ///< as PassArguments::mask; cleared
    LoadedPart* parts;
};

/// A thread: all frames of a value; padding behind the last value becomes zero. Grid: blocks of
/// load_threads values. Moves five values of T for each value of M.
template <class T>
__global__ void __launch_bounds__(load_threads) load_frames_kernel(LoadArguments<T> a) {
    const index_t value = index_t{blockIdx.x} * load_threads + threadIdx.x;
    const auto frames = static_cast<int>(a.from.extent[0]);
    const index_t values = a.from.extent[1];
    const bool exists = value < values;
    double largest = 0;
    double mean = 0;
    double sum = 0;
    double square = 0;
    index_t not_finite = no_index;
    for (int f = 0; exists && f < frames; ++f) {
        const double x = static_cast<double>(a.from.data[f * a.from.stride[0] + value]);
        const double size = x < 0 ? -x : x;
        mean += x;
        sum += size;
        square += x * x;
        largest = core::Maximum{}(largest, size);
        // x - x is 0 only for finite x.
        if (!(x - x == 0)) not_finite = core::Minimum{}(not_finite, f * values + value);
    }
    const T ground = static_cast<T>(mean / frames);
    for (int f = 0; f < frames; ++f) {
        const T x = exists ? a.from.data[f * a.from.stride[0] + value] - ground : T(0);
        a.m[f * a.pitch + value] = x;
        a.w[f * a.pitch + value] = x;
    }
    if (a.mask != nullptr && value % 4 == 0) {
        for (int f = 0; f < frames; ++f) a.mask[(f * a.pitch + value) / 4] = 0;
    }
    a.ground[value] = ground;
    void* const shared = core::shared<double>();
    const double ground_square = static_cast<double>(ground) * static_cast<double>(ground);
    const core::Sums<3> sums = core::block_reduce(core::Sums<3>{{sum, square, ground_square}},
                                                  static_cast<core::Sums<3>*>(shared));
    largest = core::block_reduce(largest, static_cast<double*>(shared), core::Maximum{});
    not_finite = core::block_reduce(not_finite, static_cast<index_t*>(shared), core::Minimum{});
    if (threadIdx.x == 0) {
        a.parts[blockIdx.x] = {{largest, sums.value[0], sums.value[1], sums.value[2]}, not_finite};
    }
}

}  // namespace aperture::rpca::gpu
