// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/batch_instances.hpp"
#include "libdense/gpu/batch_spectral.cuh"

namespace aperture::dense {

template <Scalar T>
void eigen_hermitian(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
                     VectorBatch<Real<T>, core::Device> values,
                     MatrixBatch<T, core::Device> vectors, core::View<int, 1, core::Device> info) {
    launch_eigen_hermitian(gpu, a, values, vectors, info);
}

template <Scalar T>
void svd(core::Gpu& gpu, MatrixBatch<const T, core::Device> a, MatrixBatch<T, core::Device> u,
         VectorBatch<Real<T>, core::Device> values, MatrixBatch<T, core::Device> v,
         core::View<int, 1, core::Device> info) {
    launch_svd(gpu, a, u, values, v, info);
}

APERTURE_FOR_ALL_SCALARS(APERTURE_SPECTRAL, core::Gpu)

}  // namespace aperture::dense
