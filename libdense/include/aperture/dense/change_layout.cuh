// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// change_layout (batch.hpp) with a functor on a Gpu, for files that nvcc compiles.

#include "libdense/gpu/change_layout.cuh"

namespace aperture::dense {

/// to = functor(from), entry by entry. Asynchronous. The functor is APERTURE_HD (__host__
/// __device__) and of T; of core::Complex for complex numbers.
template <Scalar T, class Functor>
void change_layout(core::Gpu& gpu, MatrixBatch<const T, core::Device> from,
                   MatrixBatch<T, core::Device> to, const Functor& functor) {
    launch_change_layout<core::Gpu, T>(gpu, from, to, functor);
}

}  // namespace aperture::dense
