// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// ImagePlanes on a Gpu or the SIMT host executor; the same as libcorr/cpu/image_planes.cpp.

#include "libcorr/gpu/orientation.cuh"

#if !defined(__CUDACC_RTC__)
#include "aperture/core/array.hpp"
#include "libcorr/image_planes_checks.hpp"
#endif

namespace aperture::corr::gpu {

/// A colour image, or a grey one three times.
struct Image {
    Planes<const float> channels;
    bool colour;

    __device__ __forceinline__ float red(int y, int x) const { return channels(0, y, x); }
    __device__ __forceinline__ float green(int y, int x) const {
        return channels(colour ? 1 : 0, y, x);
    }
    __device__ __forceinline__ float blue(int y, int x) const {
        return channels(colour ? 2 : 0, y, x);
    }
    __device__ __forceinline__ float luma(int y, int x) const {
        return corr::luma(red(y, x), green(y, x), blue(y, x));
    }
};

// Pixel-wise formulas: `count` values of planes.

/// a* and b*; L* is stored separately.
struct LabPixel {
    static constexpr int count = 2;
    Planes<float> lightness;

    __device__ __forceinline__ void operator()(const Image& image, int y, int x,
                                               float* values) const {
        const Lab lab = lab_of(image.red(y, x), image.green(y, x), image.blue(y, x));
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
        values[0] = image.red(y, x);
        values[1] = image.green(y, x);
        values[2] = image.blue(y, x);
    }
};

/// Computes planes whose pixels depend on their own pixel only, and their moments. Thread: the
/// pixels of a column, tile_warps rows apart. Warp: tile_columns pixels of a row. Block: a tile.
/// Grid: columns, rows. Shared memory: the warps' sums, 448 bytes at most. Bytes moved and flops a
/// pixel of a colour image: L*a*b* 24 and 190, luma 16 and 6, RGB 24 and none, and 4 in double a
/// value for moments. Bound by memory: L*a*b* of 500 x 500 pixels takes 1.3 us on an H200. Sources:
/// PlaneKind.
template <class Pixel>
__global__ void __launch_bounds__(tile_threads)
    pixel_kernel(Image image, Pixel pixel, TileMoments moments, Planes<float> planes) {
    write_tile<Pixel::count>(planes, moments,
                             [&](int y, int x, float* values) { pixel(image, y, x, values); });
}

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

#if !defined(__CUDACC_RTC__)

using signal::gpu::planes_of;

/// Kernels and workspace of ImagePlanes. Asynchronous.
template <class Executor>
class PlaneDerivation {
  public:
    using Space = typename Executor::Space;

    PlaneDerivation(Executor& executor, PlaneKind kind, Normalization normalization)
        : executor_(executor),
          kind_(kind),
          normalization_(normalization),
          weights_(tensor_weights()) {}

    PlaneKind kind() const { return kind_; }

    /// `mask` has no data if all pixels count.
    void run(const core::View<const float, 3, Space>& view, const Planes<const float>& mask,
             const core::View<float, 3, Space>& to) {
        const Image image{planes_of(view), view.extent[0] == 3};
        const Planes<float> planes = planes_of(to);
        const TileMoments moments = moments_of(to, mask);
        switch (kind_) {
            case PlaneKind::lab_orientation:
                derive_lab_orientation(image, moments, to);
                break;
            case PlaneKind::grey:
                derive_pixels(image, GreyPixel{}, moments, planes);
                break;
            case PlaneKind::rgb:
                derive_pixels(image, RgbPixel{}, moments, planes);
                break;
            case PlaneKind::gradient:
                core::launch(executor_, &gradient_kernel,
                             tile_config(rows_of(planes), columns_of(planes), 1, gradient_shared),
                             image, moments, planes);
                break;
        }
        if (normalization_ == Normalization::plane) normalize(moments, to);
    }

  private:
    TileMoments moments_of(const core::View<float, 3, Space>& to, const Planes<const float>& mask) {
        if (normalization_ == Normalization::none) return {nullptr, 0, mask};
        const auto [count, rows, columns] = to.extent;
        const dim3 grid = tile_config(static_cast<int>(rows), static_cast<int>(columns), 1).grid;
        const index_t blocks = static_cast<index_t>(grid.x) * grid.y;
        moments_.reshape({count, blocks});
        normalizers_.reshape({count});
        return {moments_.data(), blocks, mask};
    }

    template <class Pixel>
    void derive_pixels(const Image& image, const Pixel& pixel, const TileMoments& moments,
                       const Planes<float>& planes) {
        core::launch(
            executor_, &pixel_kernel<Pixel>,
            tile_config(rows_of(planes), columns_of(planes), 1, write_tile_shared<Pixel::count>),
            image, pixel, moments, planes);
    }

    void derive_lab_orientation(const Image& image, const TileMoments& moments,
                                const core::View<float, 3, Space>& to) {
        lightness_.reshape({to.extent[1], to.extent[2]});
        const Planes<float> lightness = planes_of(lightness_.view());
        derive_pixels(image, LabPixel{lightness}, moments, planes_of(to.slice(0, 0, 2)));
        core::launch(executor_, &orientation_kernel,
                     tile_config(rows_of(lightness), columns_of(lightness), 1, orientation_shared),
                     lightness, weights_, moments.of_plane(2), planes_of(to.slice(0, 2, 4)));
    }

    void normalize(const TileMoments& moments, const core::View<float, 3, Space>& to) {
        const int count = static_cast<int>(to.extent[0]);
        const Planes<float> planes = planes_of(to);
        core::launch(executor_, &normalizer_kernel,
                     core::LaunchConfig(dim3(static_cast<unsigned>(count)), dim3(tile_threads),
                                        tile_warps * sizeof(core::Sums<2>)),
                     moments.moments, moments.blocks, normalizers_.data());
        core::launch(executor_, &normalize_kernel,
                     tile_config(rows_of(planes), columns_of(planes), count), normalizers_.data(),
                     planes);
    }

    Executor& executor_;
    PlaneKind kind_;
    Normalization normalization_;
    TensorWeights weights_;
    core::Array<float, 2, Space> lightness_;
    core::Array<Moments, 2, Space> moments_;  ///< [plane][block]
    core::Array<Normalizer, 1, Space> normalizers_;
};

#endif

}  // namespace aperture::corr::gpu

#if !defined(__CUDACC_RTC__)
namespace aperture::corr {

template <class Executor>
struct ImagePlanes<Executor>::State : gpu::PlaneDerivation<Executor> {
    using gpu::PlaneDerivation<Executor>::PlaneDerivation;
};

template <class Executor>
ImagePlanes<Executor>::ImagePlanes(Executor& executor, PlaneKind kind, Normalization normalization)
    : state_(std::make_unique<State>(executor, kind, normalization)) {}
template <class Executor>
ImagePlanes<Executor>::~ImagePlanes() = default;
template <class Executor>
ImagePlanes<Executor>::ImagePlanes(ImagePlanes&&) noexcept = default;
template <class Executor>
ImagePlanes<Executor>& ImagePlanes<Executor>::operator=(ImagePlanes&&) noexcept = default;

template <class Executor>
void ImagePlanes<Executor>::derive(core::View<const float, 3, Space> image,
                                   core::View<float, 3, Space> planes) {
    check_images(state_->kind(), image, planes);
    state_->run(image, {}, planes);
}

template <class Executor>
void ImagePlanes<Executor>::derive(core::View<const float, 3, Space> image,
                                   core::View<const float, 2, Space> mask,
                                   core::View<float, 3, Space> planes) {
    check_mask(image, mask);
    check_images(state_->kind(), image, planes);
    state_->run(image, gpu::planes_of(mask), planes);
}

}  // namespace aperture::corr
#endif
