// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/box_sum.hpp"
#include "aperture/signal/copy_planes.hpp"
#include "aperture/signal/grey.hpp"
#include "aperture/signal/median.hpp"
#include "aperture/signal/warp.hpp"
#include "libsignal/gpu/box_sum.cuh"
#include "libsignal/gpu/median.cuh"
#include "libsignal/gpu/pixels.cuh"
#include "libsignal/gpu/resample.cuh"
#include "libsignal/gpu/warp.cuh"

namespace aperture::signal {

using Input = core::View<const float, 2, core::Device>;
using Output = core::View<float, 2, core::Device>;

void median_filter(core::Gpu& gpu, Input from, int size, Output to) {
    gpu::median_of_image(gpu, from, size, to);
}

void gaussian_blur(core::Gpu& gpu, Input from, float sigma, Output to) {
    gpu::blur_image(gpu, from, sigma, to);
}

void resize(core::Gpu& gpu, Input from, Interpolation interpolation, Output to) {
    gpu::resize_image(gpu, from, interpolation, to);
}

void downsample(core::Gpu& gpu, Input from, Output to) { gpu::downsample_image(gpu, from, to); }

void warp(core::Gpu& gpu, Input from, const PixelMap& map, float outside, Output to) {
    gpu::warp_image(gpu, from, map, outside, to);
}

void box_sum(core::Gpu& gpu, core::View<const float, 3, core::Device> from, int size,
             core::View<float, 3, core::Device> to) {
    gpu::box_sum_of_planes(gpu, from, size, to);
}

void to_grey(core::Gpu& gpu, core::View<const float, 3, core::Device> planes, Output grey) {
    gpu::grey_of_planes(gpu, planes, grey);
}
void to_grey(core::Gpu& gpu, core::View<const std::uint8_t, 3, core::Device> planes, Output grey) {
    gpu::grey_of_planes(gpu, planes, grey);
}
void to_grey(core::Gpu& gpu, core::View<const std::uint16_t, 3, core::Device> planes, Output grey) {
    gpu::grey_of_planes(gpu, planes, grey);
}

void copy_planes(core::Gpu& gpu, core::View<const float, 3, core::Device> from,
                 core::View<float, 3, core::Device> to) {
    gpu::copy_of_planes(gpu, from, to);
}

}  // namespace aperture::signal
