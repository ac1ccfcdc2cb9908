// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libstap/gpu/pipeline.cuh"

#if defined(__CUDACC__)
// The GPU's kernels, each compiled in one place: fused_*.cu and staged_*.cu.
namespace aperture::stap::gpu {

#define APERTURE_FUSED_INSTANCE(Real)                                                  \
    template void detail::launch_for_taps<Real, core::Gpu>(core::Gpu&, const Problem&, \
                                                           const AdaptiveArguments<Real>&, bool)
#define APERTURE_STAGED_INSTANCE(Real)                                                     \
    template void run_staged<Real, core::Gpu>(                                             \
        core::Gpu&, AdaptiveWorkspace<core::Gpu>&, const Problem&, CubeView<core::Device>, \
        const RangeChunk&, const Results<core::Device>&, core::Timeline*)

extern APERTURE_FUSED_INSTANCE(float);
extern APERTURE_FUSED_INSTANCE(double);
extern APERTURE_STAGED_INSTANCE(float);
extern APERTURE_STAGED_INSTANCE(double);

}  // namespace aperture::stap::gpu
#endif
