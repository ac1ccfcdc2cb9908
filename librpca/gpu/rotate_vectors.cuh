// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Applies rotations logged by jacobi_kernel to the vectors, in a second kernel: rows are
// independent.

#include "libcore/gpu/block.cuh"
#include "librpca/run_state.hpp"

namespace aperture::rpca::gpu {

/// A rotation of columns p and q.
struct LoggedRotation {
    double c;
    double s;
    int p;
    int q;
};

/// The order rounded up to even, so that each index has a partner.
APERTURE_HD int even_order(int order) { return (order + 1) / 2 * 2; }
APERTURE_HD int jacobi_pairs(int order) { return even_order(order) / 2; }

struct VectorArguments {
    const LoggedRotation* rotations;  ///< as JacobiArguments has them
    const int* steps;
    const int* step_count;
    int order;
    double* vectors;     ///< V, [row][column]: column vectors
    double* transposed;  ///< V^T
    const RunState* state;
};

inline constexpr int vector_warps = 4;
/// Steps whose rotations are loaded together.
inline constexpr int vector_steps = 8;

inline index_t vector_shared_bytes(int order) {
    return index_t{vector_warps} * even_order(order) * 8 +
           2 * vector_steps * jacobi_pairs(order) * index_t{sizeof(LoggedRotation)};
}

/// V becomes V J. A warp: a row. Grid: blocks of vector_warps rows. Shared memory: the rows, and a
/// double buffer of vector_steps steps of rotations.
__global__ inline void __launch_bounds__(vector_warps* core::warp_size)
    rotate_vectors_kernel(VectorArguments a) {
    if (a.state->done != 0) return;
    const int count = *a.step_count;
    if (count == 0) return;
    const int even = even_order(a.order);
    const int stage = vector_steps * jacobi_pairs(a.order);
    const int lane = core::lane_rank();
    const int row = static_cast<int>(blockIdx.x) * vector_warps + core::warp_rank();
    double* const v = core::shared<double>() + core::warp_rank() * even;
    LoggedRotation* const staged =
        reinterpret_cast<LoggedRotation*>(core::shared<double>() + vector_warps * even);
    for (int i = lane; i < even; i += core::warp_size) {
        v[i] = row < a.order && i < a.order ? a.vectors[row * a.order + i] : 0;
    }
    const int chunks = (count + vector_steps - 1) / vector_steps;
    const auto start = [&](int step) { return a.steps[step < count ? step : count]; };
    const auto load = [&](int chunk) {
        const int first = start(chunk * vector_steps);
        const int here = start((chunk + 1) * vector_steps) - first;
        constexpr int pieces = sizeof(LoggedRotation) / 8;
        for (int i = core::thread_rank(); i < here * pieces; i += core::block_threads()) {
            core::copy_async<8>(reinterpret_cast<double*>(staged + chunk % 2 * stage) + i,
                                reinterpret_cast<const double*>(a.rotations + first) + i);
        }
        core::commit_copies();
    };
    load(0);
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const int here = min(vector_steps, count - chunk * vector_steps);
        const int begins = start(chunk * vector_steps + (lane < here ? lane : here));
        core::wait_for_copies();
        __syncthreads();
        if (chunk + 1 < chunks) load(chunk + 1);
        const int chunk_begin = core::broadcast(begins, 0);
        for (int step = 0; step < here; ++step) {
            const int begin = core::broadcast(begins, step) - chunk_begin;
            const int end = core::broadcast(begins, step + 1) - chunk_begin;
            for (int i = begin + lane; i < end; i += core::warp_size) {
                const LoggedRotation of = staged[chunk % 2 * stage + i];
                const double p = v[of.p];
                const double q = v[of.q];
                v[of.p] = of.c * p - of.s * q;
                v[of.q] = of.s * p + of.c * q;
            }
            __syncwarp();
        }
    }
    for (int i = lane; row < a.order && i < a.order; i += core::warp_size) {
        a.vectors[row * a.order + i] = v[i];
        a.transposed[i * a.order + row] = v[i];
    }
}

}  // namespace aperture::rpca::gpu
