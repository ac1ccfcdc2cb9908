// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/gpu/cusolver_eigenvectors.hpp"
#include "librpca/gpu/robust_pca.cuh"

namespace aperture::rpca {

template <class T>
struct SolverParts<T, core::Gpu> {
    using Operations = gpu::MultiplierOperations<T, core::Gpu, gpu::CusolverEigenvectors>;
    using Matrix = gpu::ProjectedMatrix<T, core::Gpu>;
};

template class RobustPca<float, core::Gpu>;
template class RobustPca<double, core::Gpu>;

}  // namespace aperture::rpca
