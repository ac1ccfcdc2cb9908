// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// ImagePlanes on a Gpu or the SIMT host executor; the same as libcorr/cpu/image_planes.cpp.

#include "aperture/core/array.hpp"
#include "libcorr/gpu/orientation.cuh"
#include "libcorr/image_planes.hpp"
#include "libsignal/gpu/resample.cuh"

namespace aperture::corr::gpu {

/// A colour image, or a grey one three times.
struct Image {
    Planes<const float> channels;
    bool colour;

    __device__ __forceinline__ float channel(int c, int y, int x) const {
        return channels(colour ? c : 0, y, x);
    }
    __device__ __forceinline__ float luma(int y, int x) const {
        return corr::luma(channel(0, y, x), channel(1, y, x), channel(2, y, x));
    }
};

// Formulas: `count` values of planes at a pixel.

/// a* and b*; L* is stored separately.
struct LabPixel {
    static constexpr int count = 2;
    Planes<float> lightness;

    __device__ __forceinline__ void operator()(const Image& image, int y, int x,
                                               float* values) const {
        const Lab lab =
            lab_of(image.channel(0, y, x), image.channel(1, y, x), image.channel(2, y, x));
        lightness(0, y, x) = lab.lightness;
        values[0] = lab.a;
        values[1] = lab.b;
    }
};
struct GreyPixel {
    static constexpr int count = 1;

    __device__ __forceinline__ void operator()(const Image& image, int y, int x,
                                               float* values) const {
        values[0] = image.luma(y, x);
    }
};
struct RgbPixel {
    static constexpr int count = 3;

    __device__ __forceinline__ void operator()(const Image& image, int y, int x,
                                               float* values) const {
        APERTURE_UNROLL
        for (int c = 0; c < count; ++c) values[c] = image.channel(c, y, x);
    }
};

/// Computes planes by a formula for each pixel, and their moments. Thread: the pixels of a column,
/// tile_warps rows apart. Warp: tile_columns pixels of a row. Block: a tile. Grid: columns, rows.
/// Shared memory: the warps' sums, 448 bytes at most. Bytes moved and flops a pixel of a colour
/// image: L*a*b* 24 and 190, luma 16 and 6, RGB 24 and none, and 4 in double a value for moments.
/// Bound by memory: L*a*b* of 500 x 500 pixels takes 1.3 us on an H200. Sources: PlaneKind.
template <class Pixel>
__global__ void __launch_bounds__(tile_threads)
    pixel_kernel(Image image, Pixel pixel, TileMoments moments, Planes<float> planes) {
    write_tile<Pixel::count>(planes, moments,
                             [&](int y, int x, float* values) { pixel(image, y, x, values); });
}

/// Products of the derivatives of the lightness.
struct TensorPixel {
    static constexpr int count = 3;
    Planes<const float> lightness;

    __device__ __forceinline__ void operator()(const Image&, int y, int x, float* values) const {
        using signal::gpu::inside;
        const auto at = [&](int down, int across) {
            return lightness(0, inside(y + down, rows_of(lightness)),
                             inside(x + across, columns_of(lightness)));
        };
        const float by_x = derivative(at(0, -2), at(0, -1), at(0, 1), at(0, 2));
        const float by_y = derivative(at(-2, 0), at(-1, 0), at(1, 0), at(2, 0));
        values[0] = by_x * by_x;
        values[1] = by_x * by_y;
        values[2] = by_y * by_y;
    }
};
/// Orientations of a blurred tensor.
struct OrientationPixel {
    static constexpr int count = 2;
    Planes<const float> tensor;

    __device__ __forceinline__ void operator()(const Image&, int y, int x, float* values) const {
        const Orientation<float> orientation =
            orientation_of(tensor(0, y, x), tensor(1, y, x), tensor(2, y, x));
        values[0] = orientation.cosine;
        values[1] = orientation.sine;
    }
};

inline constexpr int gradient_rows = tile_rows + 2 * derivative_reach;
inline constexpr int gradient_columns = tile_columns + 2 * derivative_reach;
inline constexpr std::size_t gradient_shared = gradient_rows * gradient_columns * sizeof(float);
static_assert(write_tile_shared<2> <= gradient_shared);

/// Derivatives of the luma and their moments. Thread: the pixels of a column, tile_warps rows
/// apart. Warp: tile_columns pixels of a row. Block: a tile, with luma computed for the filter's
/// border, too. Grid: columns, rows. Shared memory: luma [36][36], 5.1 KB. 20 bytes moved (23 with
/// the border that blocks share through a cache) and 20 flops a pixel of a colour image, and 8 in
/// double for moments. Bound by memory. Source: Barron, Fleet & Beauchemin 1994.
inline __global__ void __launch_bounds__(tile_threads)
    gradient_kernel(Image image, TileMoments moments, Planes<float> planes) {
    float* const tile = core::shared<float>();
    signal::gpu::load_bordered(tile, first_tile_row() - derivative_reach,
                               first_tile_column() - derivative_reach, gradient_rows,
                               gradient_columns, rows_of(planes), columns_of(planes),
                               [&](int y, int x) { return image.luma(y, x); });
    __syncthreads();
    write_tile<2>(planes, moments, [&](int y, int x, float* values) {
        constexpr int pitch = gradient_columns;
        const float* const at = tile + (y - first_tile_row() + derivative_reach) * pitch +
                                (x - first_tile_column() + derivative_reach);
        values[0] = derivative(at[-2], at[-1], at[1], at[2]);
        values[1] = derivative(at[-2 * pitch], at[-pitch], at[pitch], at[2 * pitch]);
    });
}

}  // namespace aperture::corr::gpu

namespace aperture::corr {

/// Kernels and workspace. Asynchronous.
template <class Executor>
struct PlaneOperations {
    using Space = typename Executor::Space;

    Executor& executor;
    PlaneKind kind;
    Normalization normalization;
    double orientation_sigma;
    core::Array<float, 2, Space> lightness;
    core::Array<float, 3, Space> products;
    core::Array<float, 3, Space> tensor;
    core::Array<Moments, 2, Space> moments;  ///< [plane][block]
    core::Array<Normalizer, 1, Space> normalizers;

    PlaneOperations(Executor& device, PlaneKind plane_kind, Normalization to_plane, double sigma)
        : executor(device), kind(plane_kind), normalization(to_plane), orientation_sigma(sigma) {}

    void derive(const core::View<const float, 3, Space>& view,
                const core::View<const float, 2, Space>& mask,
                const core::View<float, 3, Space>& to) {
        const gpu::Image image{signal::gpu::planes_of(view), view.extent[0] == 3};
        const gpu::Planes<float> planes = signal::gpu::planes_of(to);
        const gpu::TileMoments to_moments = moments_of(planes, signal::gpu::planes_of(mask));
        switch (kind) {
            case PlaneKind::lab_orientation:
                derive_lab_orientation(image, to_moments, planes);
                break;
            case PlaneKind::grey:
                derive_pixels(image, gpu::GreyPixel{}, to_moments, planes);
                break;
            case PlaneKind::rgb:
                derive_pixels(image, gpu::RgbPixel{}, to_moments, planes);
                break;
            case PlaneKind::gradient:
                core::launch(executor, &gpu::gradient_kernel,
                             gpu::tile_config(planes, 1, gpu::gradient_shared), image, to_moments,
                             planes);
                break;
        }
        if (normalization == Normalization::plane) normalize(to_moments, planes);
    }

  private:
    gpu::TileMoments moments_of(const gpu::Planes<float>& to,
                                const gpu::Planes<const float>& mask) {
        if (normalization == Normalization::none) return {nullptr, 0, mask};
        const dim3 grid = gpu::tile_config(to, 1).grid;
        const index_t blocks = static_cast<index_t>(grid.x) * grid.y;
        moments.reshape({to.extent[0], blocks});
        normalizers.reshape({to.extent[0]});
        return {moments.data(), blocks, mask};
    }

    template <class Pixel>
    void derive_pixels(const gpu::Image& image, const Pixel& pixel,
                       const gpu::TileMoments& to_moments, const gpu::Planes<float>& planes) {
        core::launch(executor, &gpu::pixel_kernel<Pixel>,
                     gpu::tile_config(planes, 1, gpu::write_tile_shared<Pixel::count>), image,
                     pixel, to_moments, planes);
    }

    void derive_lab_orientation(const gpu::Image& image, const gpu::TileMoments& to_moments,
                                const gpu::Planes<float>& planes) {
        lightness.reshape({planes.extent[1], planes.extent[2]});
        const gpu::Planes<float> scalar = signal::gpu::planes_of(lightness.view());
        derive_pixels(image, gpu::LabPixel{scalar}, to_moments, planes.slice(0, 0, 2));
        const gpu::Planes<float> orientations = planes.slice(0, 2, 4);
        if (blurs_within_reach(orientation_sigma)) {
            core::launch(executor, &gpu::orientation_kernel,
                         gpu::tile_config(planes, 1, gpu::orientation_shared), scalar,
                         tensor_weights(orientation_sigma), to_moments.of_plane(2), orientations);
            return;
        }
        products.reshape({3, planes.extent[1], planes.extent[2]});
        tensor.reshape(products.extent());
        const gpu::Planes<float> from = signal::gpu::planes_of(products.view());
        const gpu::Planes<float> blurred = signal::gpu::planes_of(tensor.view());
        derive_pixels(image, gpu::TensorPixel{scalar}, {nullptr, 0, {}}, from);
        signal::gpu::blur(executor, gpu::Planes<const float>(from),
                          static_cast<float>(orientation_sigma), 3, blurred);
        derive_pixels(image, gpu::OrientationPixel{blurred}, to_moments.of_plane(2), orientations);
    }

    void normalize(const gpu::TileMoments& parts, const gpu::Planes<float>& planes) {
        const int count = static_cast<int>(planes.extent[0]);
        core::launch(executor, &gpu::normalizer_kernel,
                     core::LaunchConfig(dim3(static_cast<unsigned>(count)), dim3(gpu::tile_threads),
                                        gpu::tile_warps * sizeof(core::Sums<2>)),
                     parts.moments, parts.blocks, normalizers.data());
        core::launch(executor, &gpu::normalize_kernel, gpu::tile_config(planes, count),
                     normalizers.data(), planes);
    }
};

}  // namespace aperture::corr
