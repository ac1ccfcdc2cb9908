// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "libcore/gpu/specialise.hpp"
#include "libstap/gpu/gpu_instances.cuh"
#include "libstap/gpu/specialised.hpp"

namespace aperture::core {
std::span<const KernelText> kernel_texts();
}
namespace aperture::stap {
std::span<const core::KernelText> kernel_texts();
}

namespace aperture::stap::gpu {

core::KernelSource adaptive_kernel_source() {
    return {"libstap/gpu/fused.cuh", {core::kernel_texts(), stap::kernel_texts()}};
}

std::string adaptive_kernel_name(int order, int taps, bool fp64, dense::Factorisation solver,
                                 bool statistic) {
    const bool cholesky = solver == dense::Factorisation::cholesky;
    const AdaptiveTuning t = adaptive_tuning(order, taps, fp64, cholesky);
    const char* real = fp64 ? "double" : "float";
    const std::string space = "aperture::stap::gpu::";
    const std::string solver_name = cholesky ? core::text("RollingSolver<", real, ", ", order, ", ",
                                                          t.lanes, ", ", taps, ", ", t.head, ">")
                                             : core::text("RegisterSolver<", real, ", ", order,
                                                          ", ", t.lanes, ", ", t.slots, ">");
    return core::text(space, "adapt_kernel<", real, ", ", space, "AdaptivePolicy<", taps, ", ",
                      t.bins, ", ", t.threads, ", ", t.blocks, ">, ", space, solver_name, ", ",
                      statistic ? "true" : "false", ">");
}

template <class Real>
core::SpecialisedKernel<void(AdaptiveArguments<Real>)> specialised_kernel(
    core::Gpu& gpu, const AdaptiveShape& shape) {
    return core::specialise<void(AdaptiveArguments<Real>)>(
        gpu, adaptive_kernel_source(),
        adaptive_kernel_name(shape.order, shape.taps, sizeof(Real) == sizeof(double), shape.solver,
                             shape.statistic));
}
template core::SpecialisedKernel<void(AdaptiveArguments<float>)> specialised_kernel(
    core::Gpu&, const AdaptiveShape&);
template core::SpecialisedKernel<void(AdaptiveArguments<double>)> specialised_kernel(
    core::Gpu&, const AdaptiveShape&);

}  // namespace aperture::stap::gpu
