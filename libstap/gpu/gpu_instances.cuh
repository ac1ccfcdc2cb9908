// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libstap/gpu/pipeline.cuh"

#if defined(__CUDACC__)
// The GPU's kernels, each compiled in one place: fused_*.cu, staged_*.cu and pipeline.cu. A macro's
// first argument is `extern` where they are used, and empty where they are compiled.
namespace aperture::stap::gpu {

#define APERTURE_FUSED_INSTANCE(used, Real)                                         \
    used template void launch_adaptive<Real, core::Gpu>(core::Gpu&, const Problem&, \
                                                        AdaptiveArguments<Real>, bool)
#define APERTURE_STAGED_INSTANCES(used, Real)                                                  \
    used template void run_staged<Real, core::Gpu>(const AdaptiveRun<core::Gpu>&);             \
    used template void detail::launch_covariance<Real, core::Gpu, DopplerCube>(                \
        core::Gpu&, const Problem&, const TrainingPlan&, const DopplerCube&, index_t,          \
        const Complex<Real>*, const KernelView<Complex<Real>, 4>&, const KernelView<int, 2>&); \
    used template void detail::launch_weights<Real, core::Gpu>(                                \
        core::Gpu&, const Problem&, const SteeringVectors&,                                    \
        const KernelView<const Complex<Real>, 4>&, const KernelView<Complex<Real>, 4>&,        \
        const KernelView<int, 2>&, const KernelView<float, 2>&);                               \
    used template void detail::launch_weighting<Real, core::Gpu, DopplerCube>(                 \
        core::Gpu&, const Problem&, const TrainingPlan&, const DopplerCube&, index_t,          \
        const SteeringVectors&, const KernelView<const Complex<Real>, 4>&,                     \
        const KernelView<Complex<float>, 3>&)
#define APERTURE_PIPELINE_INSTANCES(used)                                                    \
    used template void add_to_total<float, core::Gpu>(const AdaptiveRun<core::Gpu>&, bool);  \
    used template void add_to_total<double, core::Gpu>(const AdaptiveRun<core::Gpu>&, bool); \
    used template void adapt<core::Gpu>(const AdaptiveRun<core::Gpu>&);                      \
    used template void complete<core::Gpu>(const AdaptiveRun<core::Gpu>&)

APERTURE_FUSED_INSTANCE(extern, float);
APERTURE_FUSED_INSTANCE(extern, double);
APERTURE_STAGED_INSTANCES(extern, float);
APERTURE_STAGED_INSTANCES(extern, double);
APERTURE_PIPELINE_INSTANCES(extern);

}  // namespace aperture::stap::gpu
#endif
