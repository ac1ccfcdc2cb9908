// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Gram matrix of W from the R factor of its QR.

#include "libcore/gpu/block.cuh"
#include "librpca/run_state.hpp"

namespace aperture::rpca::gpu {

template <class T>
struct TriangleArguments {
    const T* r;  ///< [frame][frame]
    int frames;
    double* gram;  ///< [frame][frame]
    const RunState* state;
};

inline constexpr int triangle_threads = 128;

/// R^T R in fp64. Grid: frames.
template <class T>
__global__ void __launch_bounds__(triangle_threads)
    gram_of_triangle_kernel(TriangleArguments<T> a) {
    if (a.state->done != 0) return;
    const int i = static_cast<int>(blockIdx.x);
    const index_t order = a.frames;
    for (int j = core::thread_rank(); j < a.frames; j += triangle_threads) {
        double sum = 0;
        for (int k = 0; k <= i && k <= j; ++k) {
            sum +=
                static_cast<double>(a.r[k * order + i]) * static_cast<double>(a.r[k * order + j]);
        }
        a.gram[i * order + j] = sum;
    }
}

}  // namespace aperture::rpca::gpu
