// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "libcore/gpu/compile_kernel.hpp"
#include "libcore/gpu/launch.cuh"

namespace aperture::core {

namespace detail {
/// The kernels in the order of the expressions; none if they cannot be compiled.
std::vector<const void*> load_kernels(Gpu& gpu, const KernelSource& source,
                                      const std::vector<std::string>& expressions);
}  // namespace detail

/// The kernels named by `expressions`, compiled together for this GPU now, or taken from the memory
/// of this process or the disk cache (see compile_kernels). `Signature` is their type, which a
/// shape that is not instantiated has too: `decltype(solve_kernel<float, 20, 16>)`. Empty if
/// compile_kernels returns nothing, which is cached: the caller must use other kernels.
/// Thread-safe: who wants the same kernels waits while they are compiled, others do not.
template <class Signature>
std::vector<SpecialisedKernel<Signature>> specialise(Gpu& gpu, const KernelSource& source,
                                                     const std::vector<std::string>& expressions) {
    std::vector<SpecialisedKernel<Signature>> kernels;
    for (const void* const kernel : detail::load_kernels(gpu, source, expressions)) {
        kernels.push_back({kernel});
    }
    return kernels;
}

/// The same of one kernel; false if compile_kernels returns nothing.
template <class Signature>
SpecialisedKernel<Signature> specialise(Gpu& gpu, const KernelSource& source,
                                        const std::string& expression) {
    const auto kernels = detail::load_kernels(gpu, source, {expression});
    return {kernels.empty() ? nullptr : kernels[0]};
}

}  // namespace aperture::core
