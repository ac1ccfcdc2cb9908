// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The constant flows that a system says nothing about, kept as the start had them: what
// libflow/cpu/free_flow.hpp does, decided on the device.

#include "libcore/gpu/grid.cuh"
#include "libflow/gpu/operator.cuh"
#include "libflow/gpu/reductions.cuh"

namespace aperture::flow::gpu {

/// Sums of the tensor's three planes and of both of a flow's. Threads take pixels by
/// for_own_pixels; shared memory: reduction_shared. Reads 20 bytes a pixel.
__global__ inline void sum_start_kernel(Planes<const float> tensor, Planes<const float> flow,
                                        Sums<5>* parts) {
    Sums<5> own{};
    for_own_pixels(flow.rows, flow.columns, [&](int y, int x) {
        const SymmetricBlock j = block_at(tensor, y, x);
        const Pair f = pair_at(flow, y, x);
        own = own + Sums<5>{{static_cast<double>(j.a11), static_cast<double>(j.a12),
                             static_cast<double>(j.a22), static_cast<double>(f.u),
                             static_cast<double>(f.v)}};
    });
    store_part(own, parts);
}

/// Projects (u, v) onto the free directions of an image whose tensors add up to J; false where
/// there are none.
__device__ inline bool project_free(const Sums<5>& start, double* u, double* v) {
    // Eigenvalues of the summed tensor closer to zero than this are rounding.
    constexpr double rounding = 2e-6;
    const double* j = start.value;
    const double mean = (j[0] + j[2]) / 2;
    const double half = (j[0] - j[2]) / 2;
    const double radius = sqrt(half * half + j[1] * j[1]);
    if (mean - radius > rounding * (mean + radius)) return false;
    if (mean == 0) return true;
    // Across the gradients: the eigenvector of the small eigenvalue, from the row of J - mean -
    // radius that does not cancel.
    const double across_u = half > 0 ? -j[1] : radius - half;
    const double across_v = half > 0 ? radius + half : -j[1];
    const double along =
        (across_u * *u + across_v * *v) / (across_u * across_u + across_v * across_v);
    *u = along * across_u;
    *v = along * across_v;
    return true;
}

/// Adds to a flow what it has lost of the free directions since the sums `start` were taken. A
/// cooperative kernel, threads take pixels by for_own_pixels; shared memory: reduction_shared.
/// Where nothing is free all blocks end at once; else 24 bytes moved a pixel.
__global__ inline void restore_free_kernel(const Sums<5>* start, Sums<2>* parts,
                                           Planes<float> flow) {
    const int blocks = static_cast<int>(gridDim.x);
    const Sums<5> before = total_of(start, blocks);
    double unused_u = 0;
    double unused_v = 0;
    if (!project_free(before, &unused_u, &unused_v)) return;
    Sums<2> own{};
    for_own_pixels(flow.rows, flow.columns, [&](int y, int x) {
        const Pair f = pair_at(flow, y, x);
        own = own + Sums<2>{{static_cast<double>(f.u), static_cast<double>(f.v)}};
    });
    store_part(own, parts);
    core::grid_sync();
    const Sums<2> now = total_of(parts, blocks);
    const double pixels = static_cast<double>(flow.rows) * flow.columns;
    double u = (before.value[3] - now.value[0]) / pixels;
    double v = (before.value[4] - now.value[1]) / pixels;
    project_free(before, &u, &v);
    const Pair change{static_cast<float>(u), static_cast<float>(v)};
    for_own_pixels(flow.rows, flow.columns, [&](int y, int x) {
        store_pair(flow, y, x, pair_at(flow, y, x) + change);
    });
}

#if !defined(__CUDACC_RTC__)

template <class Executor>
class FreeFlow {
  public:
    using Space = typename Executor::Space;

    FreeFlow(const Executor& executor, Shape shape)
        : shape_(shape), start_(executor, shape), now_(executor, shape) {}

    /// Takes the sums that say which directions are free and what `flow` has of them.
    void take(Executor& executor, const LinearSystem<Space>& system,
              const Planes<const float>& flow) {
        possible_ = system.boundary == Boundary::replicate;
        if (!possible_) return;
        core::launch(executor, &sum_start_kernel, reduction_config(executor, shape_),
                     planes_of(system.tensor), flow, start_.data());
    }
    void restore(Executor& executor, const Planes<float>& flow) {
        if (!possible_) return;
        core::launch_cooperative(executor, &restore_free_kernel,
                                 reduction_config(executor, shape_), start_.data(), now_.data(),
                                 flow);
    }

  private:
    Shape shape_;
    bool possible_ = false;
    Parts<5, Space> start_;
    Parts<2, Space> now_;
};

#endif

}  // namespace aperture::flow::gpu
