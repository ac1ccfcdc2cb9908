// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/batch_instances.hpp"
#include "libdense/gpu/hermitian_rank_k.cuh"

// A source of its own, since tests check the registers of its kernels (tests/spills).
namespace aperture::dense {

template <Scalar T>
void hermitian_rank_k(core::Gpu& gpu, Real<T> alpha, MatrixBatch<const T, core::Device> a,
                      Real<T> beta, MatrixBatch<T, core::Device> c) {
    launch_hermitian_rank_k(gpu, alpha, a, beta, c);
}

APERTURE_FOR_ALL_SCALARS(APERTURE_RANK_K, core::Gpu)

}  // namespace aperture::dense
