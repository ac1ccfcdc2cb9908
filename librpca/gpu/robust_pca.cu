// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/gpu/cusolver_eigenvectors.hpp"
#include "librpca/gpu/robust_pca.cuh"

namespace aperture::rpca {

template <class T>
using Pursuit =
    gpu::DeviceRobustPca<T, core::Gpu, gpu::CusolverEigenvectors, dense::TallQr<T, core::Gpu>>;

template <>
struct RobustPca<float, core::Gpu>::State {
    Pursuit<float> pursuit;
};
template <>
struct RobustPca<double, core::Gpu>::State {
    Pursuit<double> pursuit;
};

template <std::floating_point T, class Executor>
RobustPca<T, Executor>::RobustPca(Executor& executor, index_t frames, index_t values,
                                  const Parameters& parameters)
    : state_(new State{Pursuit<T>(executor, frames, values, parameters)}) {}
template <std::floating_point T, class Executor>
WorkspaceBytes RobustPca<T, Executor>::workspace_bytes(Executor& executor, index_t frames,
                                                       index_t values,
                                                       const Parameters& parameters) {
    return Pursuit<T>::bytes(executor, frames, values, parameters);
}
template <std::floating_point T, class Executor>
RobustPca<T, Executor>::~RobustPca() = default;
template <std::floating_point T, class Executor>
RobustPca<T, Executor>::RobustPca(RobustPca&&) noexcept = default;
template <std::floating_point T, class Executor>
RobustPca<T, Executor>& RobustPca<T, Executor>::operator=(RobustPca&&) noexcept = default;

template <std::floating_point T, class Executor>
Outcome RobustPca<T, Executor>::run(FramesView<const T, Space> m, FramesView<T, Space> low_rank,
                                    FramesView<T, Space> sparse,
                                    const std::function<bool(const Progress&)>& observe) {
    return state_->pursuit.run(m, low_rank, sparse, observe);
}

template class RobustPca<float, core::Gpu>;
template class RobustPca<double, core::Gpu>;

}  // namespace aperture::rpca
