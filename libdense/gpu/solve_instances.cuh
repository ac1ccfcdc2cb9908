// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// `solve` on a Gpu, one source file per scalar type: the kernels take long to compile.

#include "libdense/gpu/solve.cuh"

namespace aperture::dense {

template <Scalar T, class Layout>
void solve(core::Gpu& gpu, Factorisation factorisation,
           MatrixBatch<const T, core::Device, Layout> a, MatrixBatch<T, core::Device, Layout> x,
           core::View<int, 1, core::Device> info,
           core::View<Real<T>, 1, core::Device> pivot_ratio) {
    launch_solve(gpu, factorisation, a, x, info, pivot_ratio);
}

}  // namespace aperture::dense

#define APERTURE_SOLVE_IN_LAYOUT(T, LAYOUT)                                    \
    template void aperture::dense::solve<T, LAYOUT>(                           \
        aperture::core::Gpu&, aperture::dense::Factorisation,                  \
        aperture::dense::MatrixBatch<const T, aperture::core::Device, LAYOUT>, \
        aperture::dense::MatrixBatch<T, aperture::core::Device, LAYOUT>,       \
        aperture::core::View<int, 1, aperture::core::Device>,                  \
        aperture::core::View<aperture::dense::Real<T>, 1, aperture::core::Device>);
#define APERTURE_SOLVE(T)                                     \
    APERTURE_SOLVE_IN_LAYOUT(T, aperture::core::Concatenated) \
    APERTURE_SOLVE_IN_LAYOUT(T, aperture::core::Interleaved)
