// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The residual norm of a flow's linear system.

#include "libflow/gpu/operator.cuh"
#include "libflow/gpu/reductions.cuh"

#if !defined(__CUDACC_RTC__)
#include <cmath>

#include "aperture/core/shape.hpp"
#endif

namespace aperture::flow::gpu {

/// |b - A x|^2 and |b|^2. Threads visit pixels by for_own_pixels; shared memory: reduction_shared.
/// Reads 28 bytes a pixel, 40 flops.
template <Coupling coupling, Boundary boundary>
__global__ void residual_kernel(SystemPlanes system, Planes<const float> x, Sums<2>* parts) {
    Sums<2> own{};
    for_own_pixels(rows_of(x), columns_of(x), [&](int row, int column) {
        const Pair r = residual_at<coupling, boundary>(
            system, row, column, [&](int i, int j) { return pair_at(x, i, j); });
        const Pair b = pair_at(system.right, row, column);
        own = own + Sums<2>{{static_cast<double>(dot(r, r)), static_cast<double>(dot(b, b))}};
    });
    store_part(own, parts);
}

#if !defined(__CUDACC_RTC__)

/// Residual norm for the host.
template <class Executor>
class Residual {
  public:
    using Space = typename Executor::Space;

    Residual() = default;
    Residual(const Executor& executor, Shape shape) : shape_(shape), parts_(executor, shape) {}

    /// Waits for the device.
    ResidualNorms norms(Executor& executor, const PreparedSystem<Executor>& system,
                        const Planes<const float>& x) {
        with_stencil(system.coupling(), system.boundary(), [&](auto coupling, auto boundary) {
            core::launch(executor,
                         &residual_kernel<decltype(coupling)::value, decltype(boundary)::value>,
                         reduction_config(executor, shape_), system.planes(), x, parts_.data());
        });
        const Sums<2> sums = parts_.on_host(executor);
        return {std::sqrt(sums.value[0]), std::sqrt(sums.value[1])};
    }

  private:
    Shape shape_;
    Parts<2, Space> parts_;
};

/// flow::residual_norms on any executor; synchronises.
template <class Executor>
ResidualNorms residual_norms(Executor& executor,
                             const LinearSystem<typename Executor::Space>& system,
                             ConstFlowView<typename Executor::Space> flow) {
    const Shape shape{system.right.extent[1], system.right.extent[2]};
    check_system(system, shape);
    core::expects_shape("flow", flow, {2, shape.rows, shape.columns}, core::Strides::unit_last);
    PreparedSystem<Executor> prepared(shape);
    prepared.take(executor, system, false);
    return Residual<Executor>(executor, shape).norms(executor, prepared, planes_of(flow));
}

#endif

}  // namespace aperture::flow::gpu
