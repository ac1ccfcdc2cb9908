// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/gpu/compile_kernel.hpp"
#include "libcore/gpu/launch.cuh"

namespace aperture::core {

namespace detail {
const void* load_kernel(Gpu& gpu, const KernelSource& source, const std::string& expression);
}

/// The kernel named by `expression`, compiled for this GPU now, or taken from the memory of this
/// process or the disk cache (see compile_kernel). `Signature` is the kernel's type, which a shape
/// that is not instantiated has too: `decltype(solve_kernel<float, 20, 16>)`. Empty if
/// compile_kernel returns nothing, which is cached: the caller must use another kernel.
/// Thread-safe.
template <class Signature>
SpecialisedKernel<Signature> specialise(Gpu& gpu, const KernelSource& source,
                                        const std::string& expression) {
    return {detail::load_kernel(gpu, source, expression)};
}

}  // namespace aperture::core
