// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/batch_elements.cuh"
#include "tests/dense/elements_functors.hpp"
#include "tests/dense/elements_on_gpu.hpp"

namespace aperture::dense::elements {

template <int threads, class Functor, class... Operands>
void run_on_gpu(core::Gpu& gpu, const Functor& functor, const Operands&... operands) {
    for_each_element<threads>(gpu, functor, operands...);
}

template <class T, int... extents>
using In = Operand<Access::in, T, core::Device, extents...>;
template <class T, int... extents>
using Out = Operand<Access::out, T, core::Device, extents...>;
template <class T, int... extents>
using InOut = Operand<Access::in_out, T, core::Device, extents...>;

#define APERTURE_KALMAN(T)                                                           \
    template void run_on_gpu<1>(core::Gpu&, const KalmanUpdate&, const InOut<T, 5>&, \
                                const InOut<T, 5, 5>&, const In<T, 2>&);
#define APERTURE_TEAM(T, threads)                                                               \
    template void run_on_gpu<threads>(core::Gpu&, const NormalisedProduct&, const In<T, 3, 7>&, \
                                      const InOut<T, 7>&, const Out<T, 3>&, const Out<T>&);
APERTURE_KALMAN(float)
APERTURE_KALMAN(double)
APERTURE_TEAM(float, 1)
APERTURE_TEAM(float, 2)
APERTURE_TEAM(double, 8)
APERTURE_TEAM(float, 32)
APERTURE_TEAM(double, 64)
template void run_on_gpu<1>(core::Gpu&, const CollatzLength&, const In<float>&, const Out<float>&);
template void run_on_gpu<1>(core::Gpu&, const Clip&, const InOut<float>&);
template void run_on_gpu<1>(core::Gpu&, const Nothing&, const In<float, 5>&, const In<float, 3>&);
template void run_on_gpu<1>(core::Gpu&, const Nothing&, const In<float, 4>&, const In<float, 3>&);

}  // namespace aperture::dense::elements
