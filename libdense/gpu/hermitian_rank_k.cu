// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/hermitian_rank_k.cuh"

namespace aperture::dense {

template <Scalar T, class Layout>
void hermitian_rank_k(core::Gpu& gpu, Real<T> alpha, MatrixBatch<const T, core::Device, Layout> a,
                      Real<T> beta, MatrixBatch<T, core::Device, Layout> c) {
    launch_hermitian_rank_k(gpu, alpha, a, beta, c);
}

#define APERTURE_RANK_K(T, LAYOUT)                                                      \
    template void hermitian_rank_k<T, core::LAYOUT>(                                    \
        core::Gpu&, Real<T>, MatrixBatch<const T, core::Device, core::LAYOUT>, Real<T>, \
        MatrixBatch<T, core::Device, core::LAYOUT>);
APERTURE_RANK_K(float, Concatenated)
APERTURE_RANK_K(float, Interleaved)
APERTURE_RANK_K(double, Concatenated)
APERTURE_RANK_K(double, Interleaved)
APERTURE_RANK_K(std::complex<float>, Concatenated)
APERTURE_RANK_K(std::complex<float>, Interleaved)
APERTURE_RANK_K(std::complex<double>, Concatenated)
APERTURE_RANK_K(std::complex<double>, Interleaved)

}  // namespace aperture::dense
