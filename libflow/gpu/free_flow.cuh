// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keeps the component of a flow along the null space of its system, which are constant flows, at
// its start value. The same as libflow/cpu/free_flow.hpp, decided on the device.

#include "libflow/gpu/operator.cuh"

namespace aperture::flow::gpu {

/// As flow::project_free, for the sums from prepare_kernel.
__device__ inline bool project_free(const Sums<5>& start, double* u, double* v) {
    const double* j = start.value;
    return flow::project_free(j[0], j[1], j[2], u, v);
}

/// Sums a flow if a direction is free. Launched early: the launch overlaps the previous kernel.
/// Without a free direction it then ends. Threads visit pixels by for_own_pixels; shared memory:
/// reduction_shared. Reads 8 bytes a pixel if a direction is free.
template <int threads>
__global__ void __launch_bounds__(threads)
    sum_flow_kernel(const Sums<5>* start, Planes<const float> flow, Sums<2>* parts) {
    core::let_next_kernel_start();
    core::wait_for_previous_kernel();
    double u = 0;
    double v = 0;
    if (!project_free(total_of(start, static_cast<int>(gridDim.x)), &u, &v)) return;
    Sums<2> own{};
    for_own_pixels(rows_of(flow), columns_of(flow), [&](int y, int x) {
        const Pair f = pair_at(flow, y, x);
        own = own + Sums<2>{{f.u, f.v}};
    });
    store_part(own, parts);
}

/// Restores a flow's component along the free directions to its value in the sums `start`; `now`
/// are the sums from sum_flow_kernel. Threads, shared memory and launch as there. Moves 16 bytes a
/// pixel if a direction is free.
template <int threads>
__global__ void __launch_bounds__(threads)
    restore_free_kernel(const Sums<5>* start, const Sums<2>* now, Planes<float> flow) {
    core::wait_for_previous_kernel();
    const int blocks = static_cast<int>(gridDim.x);
    const Sums<5> before = total_of(start, blocks);
    double u = 0;
    double v = 0;
    if (!project_free(before, &u, &v)) return;
    const Sums<2> after = total_of(now, blocks);
    const double pixels = static_cast<double>(rows_of(flow)) * columns_of(flow);
    u = (before.value[3] - after.value[0]) / pixels;
    v = (before.value[4] - after.value[1]) / pixels;
    project_free(before, &u, &v);
    const Pair change{static_cast<float>(u), static_cast<float>(v)};
    for_own_pixels(rows_of(flow), columns_of(flow),
                   [&](int y, int x) { store_pair(flow, y, x, pair_at(flow, y, x) + change); });
}

template <class Executor>
class FreeFlow {
  public:
    using Space = typename Executor::Space;

    FreeFlow(const Executor& executor, Shape shape)
        : shape_(shape), start_(executor, shape), now_(executor, shape) {}

    /// The sums that determine the free directions and the component of `flow` along them. They
    /// must be computed before the flow changes.
    StartSums start_sums(const LinearSystem<Space>& system, const Planes<const float>& flow) {
        possible_ = system.boundary == Boundary::replicate;
        return {flow, possible_ ? start_.data() : nullptr};
    }
    /// Asynchronous.
    void restore(Executor& executor, const Planes<float>& flow) {
        if (!possible_) return;
        core::LaunchConfig config = reduction_config(executor, shape_);
        config.start_early = true;
        core::launch(executor, &sum_flow_kernel<reduction_threads>, config, start_.data(), flow,
                     now_.data());
        core::launch(executor, &restore_free_kernel<reduction_threads>, config, start_.data(),
                     now_.data(), flow);
    }

  private:
    Shape shape_;
    bool possible_ = false;
    Parts<5, Space> start_;
    Parts<2, Space> now_;
};

}  // namespace aperture::flow::gpu
