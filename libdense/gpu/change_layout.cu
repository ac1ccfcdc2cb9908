// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/change_layout.cuh"

namespace aperture::dense {

template <Scalar T>
void change_layout(core::Gpu& gpu, MatrixBatch<const T, core::Device, core::Concatenated> from,
                   MatrixBatch<T, core::Device, core::Interleaved> to) {
    launch_change_layout(gpu, from, to);
}

template <Scalar T>
void change_layout(core::Gpu& gpu, MatrixBatch<const T, core::Device, core::Interleaved> from,
                   MatrixBatch<T, core::Device, core::Concatenated> to) {
    launch_change_layout(gpu, from, to);
}

#define APERTURE_CHANGE_LAYOUT(T)                                                          \
    template void change_layout<T>(core::Gpu&,                                             \
                                   MatrixBatch<const T, core::Device, core::Concatenated>, \
                                   MatrixBatch<T, core::Device, core::Interleaved>);       \
    template void change_layout<T>(core::Gpu&,                                             \
                                   MatrixBatch<const T, core::Device, core::Interleaved>,  \
                                   MatrixBatch<T, core::Device, core::Concatenated>);
APERTURE_CHANGE_LAYOUT(float)
APERTURE_CHANGE_LAYOUT(double)
APERTURE_CHANGE_LAYOUT(std::complex<float>)
APERTURE_CHANGE_LAYOUT(std::complex<double>)

}  // namespace aperture::dense
