// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Robust estimates: constancy of the brightness and of its gradient, and penalties by lagged
// diffusivity. The same as libflow/cpu/robust_terms.hpp.

#include "aperture/flow/parameters.hpp"
#include "libflow/gpu/pixel_tiles.cuh"

namespace aperture::flow::gpu {

/// Constraints of increments about the current flow, which is copied to `start`. Thread:
/// for_tile_pixels. Block: pixel_rows x pixel_columns pixels. Grid: columns, rows. Shared memory:
/// the mean of the images with a border of 4 pixels, their difference and both slopes of the mean
/// with a border of 2, 12.5 KB. 60 bytes moved and about 110 flops a pixel.
/// Source: Brox et al. 2004, section 2; Zimmer, Bruhn & Weickert 2011, section 2.3.
template <int Warps>
__global__ void __launch_bounds__(Warps* core::warp_size)
    constrain_kernel(Planes<const float> image0, Planes<const float> warped1,
                     Planes<const float> flow, Planes<float> constraints, Planes<float> start) {
    using Wide = BorderedTile<2 * derivative_reach>;
    using Tile = BorderedTile<derivative_reach>;
    const Wide mean{core::shared<float>()};
    const Tile difference{mean.value + Wide::values};
    const Tile slope_x{difference.value + Tile::values};
    const Tile slope_y{slope_x.value + Tile::values};
    const int rows = rows_of(flow);
    const int columns = columns_of(flow);
    mean.load(rows, columns,
              [&](int y, int x) { return 0.5F * (image0(0, y, x) + warped1(0, y, x)); });
    difference.load(rows, columns,
                    [&](int y, int x) { return warped1(0, y, x) - image0(0, y, x); });
    __syncthreads();
    // Outside the image the slope itself is replicated, not the mean.
    slope_x.load(rows, columns, [&](int y, int x) {
        return slope_of(mean.across(y - tile_row(), x - tile_column()));
    });
    slope_y.load(rows, columns, [&](int y, int x) {
        return slope_of(mean.down(y - tile_row(), x - tile_column()));
    });
    __syncthreads();
    for_tile_pixels(rows, columns, [&](int y, int x) {
        const int r = y - tile_row();
        const int c = x - tile_column();
        const float u = flow(0, y, x);
        const float v = flow(1, y, x);
        const float weight = lands_inside(rows, columns, y, x, u, v) ? 1.0F : 0.0F;
        const auto store = [&](int plane, const Constraint& constraint) {
            constraints(plane, y, x) = constraint.x;
            constraints(plane + 1, y, x) = constraint.y;
            constraints(plane + 2, y, x) = constraint.t;
        };
        // Both orders of the mixed derivative are equal: rows and columns are filtered separately.
        const float xy = slope_of(slope_x.down(r, c));
        const float xx = slope_of(slope_x.across(r, c));
        const float yy = slope_of(slope_y.down(r, c));
        store(0, normalised(weight, slope_x(r, c), slope_y(r, c), difference(r, c)));
        store(3, normalised(weight, xx, xy, difference.across(r, c), twelfth));
        store(6, normalised(weight, xy, yy, difference.down(r, c), twelfth));
        start(0, y, x) = u;
        start(1, y, x) = v;
    });
}

/// Tensors and right-hand sides of constrain_kernel's constraints about the flow `about`, weighted
/// at the flow `now`, and the weights between pixels. Thread: for_tile_pixels. No shared memory. 84
/// bytes moved and about 110 flops a pixel. Source: Brox et al. 2004, section 3; Werlberger et al.
/// 2009.
template <int Warps>
__global__ void __launch_bounds__(Warps* core::warp_size)
    weigh_kernel(Planes<const float> constraints, Planes<const float> about,
                 Planes<const float> now, Planes<const float> image, float brightness,
                 float contrast, Planes<float> terms, Planes<float> coupling) {
    const float decay = edge_decay(contrast);
    for_tile_pixels(rows_of(now), columns_of(now), [&](int y, int x) {
        const float u = now(0, y, x);
        const float v = now(1, y, x);
        const auto constraint = [&](int plane) -> Constraint {
            return {constraints(plane, y, x), constraints(plane + 1, y, x),
                    constraints(plane + 2, y, x)};
        };
        store_terms(terms, y, x,
                    robust_terms(constraint(0), constraint(3), constraint(6), about(0, y, x),
                                 about(1, y, x), u, v, brightness));
        const auto weight_to = [&](int to_y, int to_x) {
            return edge_weight(now(0, to_y, to_x) - u, now(1, to_y, to_x) - v,
                               image(0, to_y, to_x) - image(0, y, x), decay);
        };
        coupling(0, y, x) = weight_to(y, min(x + 1, columns_of(now) - 1));
        coupling(1, y, x) = weight_to(min(y + 1, rows_of(now) - 1), x);
    });
}

/// As flow::Constancy. Asynchronous.
template <class Executor>
class Constancy {
  public:
    Constancy() = default;
    explicit Constancy(Shape shape) : constraints_(9, shape) {}

    void linearise(Executor& executor, const Planes<const float>& image0,
                   const Planes<const float>& warped1, const Planes<const float>& flow,
                   const Planes<float>& start) {
        constexpr std::size_t values =
            BorderedTile<2 * derivative_reach>::values + 3 * BorderedTile<derivative_reach>::values;
        core::launch(executor, &constrain_kernel<pixel_warps>,
                     pixel_tile_config(rows_of(flow), columns_of(flow), 1, values * sizeof(float)),
                     image0, warped1, flow, constraints_.planes(), start);
    }
    void weigh(Executor& executor, const Planes<const float>& about, const Planes<const float>& now,
               const Planes<const float>& image, const Parameters& p, const Planes<float>& terms,
               const Planes<float>& coupling) const {
        core::launch(executor, &weigh_kernel<pixel_warps>,
                     pixel_tile_config(rows_of(now), columns_of(now), 1), constraints_.planes(),
                     about, now, image, static_cast<float>(p.brightness),
                     static_cast<float>(p.contrast), terms, coupling);
    }

  private:
    /// c_x, c_y, c_t of the brightness, of its x derivative and of its y derivative.
    PlaneArray<typename Executor::Space> constraints_;
};

}  // namespace aperture::flow::gpu
