// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Gram matrix of W less its ground b, and their products, from R of [W b].

#include "librpca/gpu/run_state.cuh"

namespace aperture::rpca::gpu {

template <class T>
struct TriangleArguments {
    const T* r;  ///< [frames + 1][frames + 1], the last column that of b
    int frames;
    double* gram;             ///< [frame][frame]
    double* ground_products;  ///< [frame]
    const RunState* state;
};

inline constexpr int triangle_threads = 128;

/// R^T R in fp64. Grid: frames.
template <class T>
__global__ void __launch_bounds__(triangle_threads)
    gram_of_triangle_kernel(TriangleArguments<T> a) {
    if (a.state->done != 0) return;
    const int i = static_cast<int>(blockIdx.x);
    const index_t order = a.frames + 1;
    for (int j = core::thread_rank(); j <= a.frames; j += triangle_threads) {
        double sum = 0;
        for (int k = 0; k <= i && k <= j; ++k) {
            sum +=
                static_cast<double>(a.r[k * order + i]) * static_cast<double>(a.r[k * order + j]);
        }
        if (j == a.frames) {
            a.ground_products[i] = sum;
        } else {
            a.gram[index_t{i} * a.frames + j] = sum;
        }
    }
}

}  // namespace aperture::rpca::gpu
