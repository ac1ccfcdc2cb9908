// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The fused kernels that keep the matrices of one order in registers.

#include <type_traits>

#include "libstap/gpu/launch_shape.cuh"

namespace aperture::stap::gpu {

template <class Real>
using AdaptiveKernel = void (*)(AdaptiveArguments<Real>);

/// Key of the kernel selection.
struct AdaptiveShape {
    int order, taps;
    dense::Factorisation solver;
    bool statistic;
};

/// The kernel of a shape with this order, these taps and this solver; null for another one.
template <class Real, int order, int taps, dense::Factorisation solver>
AdaptiveKernel<Real> register_kernel(const AdaptiveShape& shape) {
    if (shape.order != order || shape.taps != taps || shape.solver != solver) return nullptr;
    constexpr bool cholesky = solver == dense::Factorisation::cholesky;
    constexpr AdaptiveTuning t = adaptive_tuning(order, taps, sizeof(Real) == 8, cholesky);
    using Policy = AdaptivePolicy<taps, t.bins, t.threads, t.blocks>;
    using Solver = std::conditional_t<cholesky, RollingSolver<Real, order, t.lanes, taps, t.head>,
                                      RegisterSolver<Real, order, t.lanes, t.slots>>;
    return shape.statistic ? &adapt_kernel<Real, Policy, Solver, true>
                           : &adapt_kernel<Real, Policy, Solver, false>;
}

/// The register-resident fp32 Cholesky kernels compiled ahead of time: PERFECT's orders, and
/// spatial adaptation (T = 1) at powers of two. Null for other shapes. A template, so that only the
/// file that launches them compiles them.
template <class Real>
AdaptiveKernel<Real> precompiled_kernel(const AdaptiveShape& shape) {
    if constexpr (std::is_same_v<Real, float>) {
        constexpr auto cholesky = dense::Factorisation::cholesky;
        for (const AdaptiveKernel<float> kernel : {register_kernel<float, 12, 3, cholesky>(shape),
                                                   register_kernel<float, 18, 3, cholesky>(shape),
                                                   register_kernel<float, 24, 3, cholesky>(shape),
                                                   register_kernel<float, 4, 1, cholesky>(shape),
                                                   register_kernel<float, 8, 1, cholesky>(shape),
                                                   register_kernel<float, 16, 1, cholesky>(shape),
                                                   register_kernel<float, 32, 1, cholesky>(shape)})
            if (kernel != nullptr) return kernel;
    }
    return nullptr;
}

#if defined(__CUDACC__)
/// The register-resident kernel of a shape, compiled on first use; empty without a run-time
/// compiler.
template <class Real>
core::SpecialisedKernel<void(AdaptiveArguments<Real>)> specialised_kernel(
    core::Gpu& gpu, const AdaptiveShape& shape);
#else
/// The host executor has the run-time compiled kernels of two orders only.
template <class Real>
AdaptiveKernel<Real> specialised_kernel(core::Simt&, const AdaptiveShape& shape) {
    using enum dense::Factorisation;
    for (const AdaptiveKernel<Real> kernel : {register_kernel<Real, 9, 3, cholesky>(shape),
                                              register_kernel<Real, 9, 3, gauss_jordan>(shape),
                                              register_kernel<Real, 21, 3, cholesky>(shape)})
        if (kernel != nullptr) return kernel;
    return nullptr;
}
#endif

}  // namespace aperture::stap::gpu
