// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Brightness constancy at each pixel. The same as libflow/cpu/data_term.hpp.

#include "libflow/gpu/warped_image.cuh"

namespace aperture::flow::gpu {

/// The solution that the terms are for, and its start.
struct Unknown {
    /// 1: the whole flow, started with the current flow; 0: an increment, started with zero.
    float whole;
    /// Receives the start; may be null.
    Planes<float> start;
};

/// Warp, derivatives, terms and start in one kernel. Thread: for_tile_pixels. Block: pixel_rows x
/// pixel_columns pixels, with samples of image 1 for the border that the derivatives need. Grid:
/// columns, rows. Shared memory: both images' tile with its border, 2 [pixel_rows +
/// 4][pixel_columns + 4] floats, 5.8 KB. 44 bytes moved a pixel, 36 without a start, and about 150
/// flops. `image1` has (plane, row, column): the warped image, or image 1 and the flow that warps
/// it.
template <class Image1>
__global__ void __launch_bounds__(pixel_warps* core::warp_size)
    linearise_kernel(Planes<const float> image0, Image1 image1, Planes<const float> flow,
                     Unknown unknown, Planes<float> terms) {
    using Tile = BorderedTile<derivative_reach>;
    const Tile zero{core::shared<float>()};
    const Tile one{zero.value + Tile::values};
    const int rows = rows_of(terms);
    const int columns = columns_of(terms);
    zero.load(rows, columns, [&](int y, int x) { return image0(0, y, x); });
    one.load(rows, columns, [&](int y, int x) { return image1(0, y, x); });
    __syncthreads();
    for_tile_pixels(rows, columns, [&](int y, int x) {
        const int r = y - tile_row();
        const int c = x - tile_column();
        const float u = flow(0, y, x);
        const float v = flow(1, y, x);
        store_terms(
            terms, y, x,
            brightness_terms(lands_inside(rows, columns, y, x, u, v),
                             zero.across(r, c) + one.across(r, c), zero.down(r, c) + one.down(r, c),
                             one(r, c) - zero(r, c), u, v, unknown.whole));
        if (unknown.start.data == nullptr) return;
        unknown.start(0, y, x) = unknown.whole != 0.0F ? u : 0.0F;
        unknown.start(1, y, x) = unknown.whole != 0.0F ? v : 0.0F;
    });
}

/// The terms of an image 0 and an image 1 that is warped already, or sampled on the fly
/// (WarpedImage). Asynchronous.
template <class Executor, class Image1>
void linearise(Executor& executor, const Planes<const float>& image0, const Image1& image1,
               const Planes<const float>& flow, const Unknown& unknown,
               const Planes<float>& terms) {
    constexpr std::size_t bytes = 2 * BorderedTile<derivative_reach>::values * sizeof(float);
    core::launch(executor, &linearise_kernel<Image1>,
                 pixel_tile_config(rows_of(terms), columns_of(terms), 1, bytes), image0, image1,
                 flow, unknown, terms);
}

}  // namespace aperture::flow::gpu
