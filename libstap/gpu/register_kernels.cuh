// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The fused kernels that keep the matrices of one order in registers.

#include <type_traits>

#include "libstap/gpu/launch_shape.cuh"

namespace aperture::stap::gpu {

/// Policy and solver of the register-resident fp32 Cholesky kernel of an order.
template <int order, int taps>
struct RegisterKernel {
    static constexpr AdaptiveTuning tuning = adaptive_tuning(order, taps, false, true);
    using Policy = AdaptivePolicy<taps, tuning.bins, tuning.threads, tuning.blocks>;
    using Solver = RollingSolver<float, order, tuning.lanes, taps, tuning.head>;
};

template <class Real>
using AdaptiveKernel = void (*)(AdaptiveArguments<Real>);

/// Key of the kernel selection.
struct AdaptiveShape {
    int order, taps;
    dense::Factorisation solver;
    bool statistic;
};

namespace detail {

template <int order, int taps>
bool matches(const AdaptiveShape& shape) {
    return shape.order == order && shape.taps == taps;
}

template <int order, int taps>
AdaptiveKernel<float> register_kernel(bool statistic) {
    using Policy = typename RegisterKernel<order, taps>::Policy;
    using Solver = typename RegisterKernel<order, taps>::Solver;
    return statistic ? &adapt_kernel<float, Policy, Solver, true>
                     : &adapt_kernel<float, Policy, Solver, false>;
}

}  // namespace detail

/// The register-resident fp32 Cholesky kernels compiled ahead of time: PERFECT's orders, and
/// spatial adaptation (T = 1) at powers of two. Null for other shapes. A template, so that only the
/// file that launches them compiles them.
template <class Real>
AdaptiveKernel<Real> precompiled_kernel(const AdaptiveShape& shape) {
    if constexpr (std::is_same_v<Real, float>) {
        if (shape.solver != dense::Factorisation::cholesky) return nullptr;
        if (detail::matches<12, 3>(shape)) return detail::register_kernel<12, 3>(shape.statistic);
        if (detail::matches<18, 3>(shape)) return detail::register_kernel<18, 3>(shape.statistic);
        if (detail::matches<24, 3>(shape)) return detail::register_kernel<24, 3>(shape.statistic);
        if (detail::matches<4, 1>(shape)) return detail::register_kernel<4, 1>(shape.statistic);
        if (detail::matches<8, 1>(shape)) return detail::register_kernel<8, 1>(shape.statistic);
        if (detail::matches<16, 1>(shape)) return detail::register_kernel<16, 1>(shape.statistic);
        if (detail::matches<32, 1>(shape)) return detail::register_kernel<32, 1>(shape.statistic);
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
namespace detail {
template <class Real, int order, bool cholesky>
AdaptiveKernel<Real> kernel_on_host(bool statistic) {
    constexpr AdaptiveTuning t = adaptive_tuning(order, 3, sizeof(Real) == 8, cholesky);
    using Policy = AdaptivePolicy<3, t.bins, t.threads, t.blocks>;
    using Solver = std::conditional_t<cholesky, RollingSolver<Real, order, t.lanes, 3, t.head>,
                                      RegisterSolver<Real, order, t.lanes, t.slots>>;
    return statistic ? &adapt_kernel<Real, Policy, Solver, true>
                     : &adapt_kernel<Real, Policy, Solver, false>;
}
}  // namespace detail
/// The host executor has the run-time compiled kernels of two shapes only.
template <class Real>
AdaptiveKernel<Real> specialised_kernel(core::Simt&, const AdaptiveShape& shape) {
    const bool cholesky = shape.solver == dense::Factorisation::cholesky;
    if (detail::matches<9, 3>(shape)) {
        return cholesky ? detail::kernel_on_host<Real, 9, true>(shape.statistic)
                        : detail::kernel_on_host<Real, 9, false>(shape.statistic);
    }
    if (detail::matches<21, 3>(shape) && cholesky) {
        return detail::kernel_on_host<Real, 21, true>(shape.statistic);
    }
    return nullptr;
}
#endif

}  // namespace aperture::stap::gpu
