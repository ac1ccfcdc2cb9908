// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The same as libflow/cpu/warped_image.hpp.

#include "libflow/gpu/pixel_tiles.cuh"

#if !defined(__CUDACC_RTC__)
#include "aperture/core/shape.hpp"
#include "aperture/flow/warp.hpp"
#endif

namespace aperture::flow::gpu {

/// A sampling position along one axis: pixel and fraction.
struct Place {
    int whole;
    float part;
};

/// Clamped to the image; `moved` is finite or far beyond it.
__device__ __forceinline__ Place place(int at, float moved, int extent) {
    const float target = static_cast<float>(at) + moved;
    const float inside_image = fminf(fmaxf(target, 0.0F), static_cast<float>(extent - 1));
    const float whole = floorf(inside_image);
    return {static_cast<int>(whole), inside_image - whole};
}

/// True for numbers, false for infinities and NaN.
__device__ __forceinline__ bool is_number(float value) {
    constexpr float largest = 3.40282347e+38F;
    return fabsf(value) <= largest;
}

/// `image` at (x + u, y + v), with replicated borders; at (x, y) if u or v is not finite.
template <signal::Interpolation interpolation>
__device__ __forceinline__ float sample(const Planes<const float>& image, int y, int x, float u,
                                        float v) {
    const bool moves = is_number(u) && is_number(v);
    const Place px = place(x, moves ? u : 0.0F, columns_of(image));
    const Place py = place(y, moves ? v : 0.0F, rows_of(image));
    const int right = min(px.whole + 1, columns_of(image) - 1);
    const float* here = row_of(image, 0, py.whole);
    const float* below = row_of(image, 0, min(py.whole + 1, rows_of(image) - 1));
    if constexpr (interpolation == signal::Interpolation::bilinear) {
        const float above_mix = here[px.whole] + px.part * (here[right] - here[px.whole]);
        const float below_mix = below[px.whole] + px.part * (below[right] - below[px.whole]);
        return above_mix + py.part * (below_mix - above_mix);
    } else {
        // Cubic convolution, a = -1/2 (Keys 1981).
        const auto weights = [](float t, float(&w)[4]) {
            const float t2 = t * t;
            const float t3 = t2 * t;
            w[0] = -0.5F * t3 + t2 - 0.5F * t;
            w[1] = 1.5F * t3 - 2.5F * t2 + 1.0F;
            w[2] = -1.5F * t3 + 2.0F * t2 + 0.5F * t;
            w[3] = 0.5F * t3 - 0.5F * t2;
        };
        float wx[4];
        float wy[4];
        weights(px.part, wx);
        weights(py.part, wy);
        const int left = max(px.whole - 1, 0);
        const int beyond = min(px.whole + 2, columns_of(image) - 1);
        const auto across = [&](const float* row) {
            return (wx[0] * row[left] + wx[1] * row[px.whole]) +
                   (wx[2] * row[right] + wx[3] * row[beyond]);
        };
        const float* above = row_of(image, 0, max(py.whole - 1, 0));
        const float* under = row_of(image, 0, min(py.whole + 2, rows_of(image) - 1));
        return (wy[0] * across(above) + wy[1] * across(here)) +
               (wy[2] * across(below) + wy[3] * across(under));
    }
}

/// An image warped by a flow, sampled on the fly.
template <signal::Interpolation interpolation>
struct WarpedImage {
    Planes<const float> image;
    Planes<const float> flow;

    __device__ __forceinline__ float operator()(int, int y, int x) const {
        return sample<interpolation>(image, y, x, flow(0, y, x), flow(1, y, x));
    }
};

#if !defined(__CUDACC_RTC__)

/// Calls function(std::integral_constant<signal::Interpolation, ...>).
template <class Function>
void with_interpolation(signal::Interpolation interpolation, const Function& function) {
    using signal::Interpolation;
    if (interpolation == Interpolation::bicubic) {
        return function(std::integral_constant<Interpolation, Interpolation::bicubic>{});
    }
    return function(std::integral_constant<Interpolation, Interpolation::bilinear>{});
}

/// 16 bytes moved a pixel, 12 flops (bilinear) or about 70 (bicubic). Asynchronous.
template <class Executor>
void warp_planes(Executor& executor, const Planes<const float>& image,
                 const Planes<const float>& flow, signal::Interpolation interpolation,
                 const Planes<float>& to) {
    with_interpolation(interpolation, [&](auto kind) {
        assign(executor, WarpedImage<decltype(kind)::value>{image, flow}, 1, to);
    });
}

/// The function of aperture/flow/warp.hpp.
template <class Executor>
void warp_image(Executor& executor, ImageView<typename Executor::Space> image,
                ConstFlowView<typename Executor::Space> flow, signal::Interpolation interpolation,
                core::View<float, 2, typename Executor::Space> to) {
    const auto [rows, columns] = image.extent;
    core::expects_shape("image", image, {rows, columns}, core::Strides::unit_last);
    core::expects_shape("flow", flow, {2, rows, columns}, core::Strides::unit_last);
    core::expects_shape("warped image", to, {rows, columns}, core::Strides::unit_last);
    if (image.empty()) return;
    warp_planes(executor, planes_of(image), planes_of(flow), interpolation, planes_of(to));
}

#endif

}  // namespace aperture::flow::gpu
