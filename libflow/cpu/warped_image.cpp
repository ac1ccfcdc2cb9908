// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/warped_image.hpp"

#include <cmath>
#include <limits>

#include "aperture/core/shape.hpp"
#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {
namespace {

/// Where pixel x of a row is sampled: the four columns or rows begin one before `whole`.
struct Place {
    int whole;
    float part;
};

/// Clamped to the image; `moved` is finite or far beyond it.
inline Place place(float at, float moved, float last) {
    const float target = at + moved;
    const float inside = std::min(std::max(target, 0.0F), last);
    const float whole = std::floor(inside);
    return {static_cast<int>(whole), inside - whole};
}

/// True for numbers, false for infinities and NaN.
inline bool finite(float u, float v) {
    return std::abs(u) <= std::numeric_limits<float>::max() &&
           std::abs(v) <= std::numeric_limits<float>::max();
}

/// The places that the pixels of row y go to.
struct Targets {
    const float* u;
    const float* v;
    float row;
    float last_x;
    float last_y;

    Targets(Shape shape, index_t y, const float* row_u, const float* row_v)
        : u(row_u),
          v(row_v),
          row(static_cast<float>(y)),
          last_x(static_cast<float>(shape.columns - 1)),
          last_y(static_cast<float>(shape.rows - 1)) {}
    Place across(int x) const {
        return place(static_cast<float>(x), finite(u[x], v[x]) ? u[x] : 0.0F, last_x);
    }
    Place down(int x) const { return place(row, finite(u[x], v[x]) ? v[x] : 0.0F, last_y); }
};

/// Weights of cubic convolution, a = -1/2 (Keys 1981).
struct CubicWeights {
    float w0, w1, w2, w3;
    explicit CubicWeights(float t) {
        const float t2 = t * t;
        const float t3 = t2 * t;
        w0 = -0.5F * t3 + t2 - 0.5F * t;
        w1 = 1.5F * t3 - 2.5F * t2 + 1.0F;
        w2 = -1.5F * t3 + 2.0F * t2 + 0.5F * t;
        w3 = 0.5F * t3 - 0.5F * t2;
    }
};

void warp_row_cubic(const float* image, int pitch, Shape shape, index_t y, const float* u,
                    const float* v, float* to) {
    const auto last_row = static_cast<int>(shape.rows - 1);
    const Targets targets(shape, y, u, v);
    const auto columns = static_cast<int>(shape.columns);
#pragma omp simd
    for (int x = 0; x < columns; ++x) {
        const Place px = targets.across(x);
        const Place py = targets.down(x);
        const CubicWeights wx(px.part);
        const CubicWeights wy(py.part);
        // Rows beyond the image repeat its first and last; columns have margins.
        const int above = std::max(py.whole - 1, 0) * pitch + px.whole;
        const int here = py.whole * pitch + px.whole;
        const int below = std::min(py.whole + 1, last_row) * pitch + px.whole;
        const int beyond = std::min(py.whole + 2, last_row) * pitch + px.whole;
        const auto across = [&](int at) {
            return (wx.w0 * image[at - 1] + wx.w1 * image[at]) +
                   (wx.w2 * image[at + 1] + wx.w3 * image[at + 2]);
        };
        to[x] = (wy.w0 * across(above) + wy.w1 * across(here)) +
                (wy.w2 * across(below) + wy.w3 * across(beyond));
    }
}

void warp_row_linear(const float* image, int pitch, Shape shape, index_t y, const float* u,
                     const float* v, float* to) {
    const auto last_row = static_cast<int>(shape.rows - 1);
    const Targets targets(shape, y, u, v);
    const auto columns = static_cast<int>(shape.columns);
#pragma omp simd
    for (int x = 0; x < columns; ++x) {
        const Place px = targets.across(x);
        const Place py = targets.down(x);
        const int here = py.whole * pitch + px.whole;
        const int below = std::min(py.whole + 1, last_row) * pitch + px.whole;
        const float above_mix = image[here] + px.part * (image[here + 1] - image[here]);
        const float below_mix = image[below] + px.part * (image[below + 1] - image[below]);
        to[x] = above_mix + py.part * (below_mix - above_mix);
    }
}

}  // namespace

void set_image_margins(float* row, index_t columns) {
    for (index_t i = 1; i <= image_margin; ++i) {
        row[-i] = row[0];
        row[columns - 1 + i] = row[columns - 1];
    }
}

void take_image(core::Cpu& cpu, ImageView<core::Host> from, PaddedPlanes& to) {
    for_rows(cpu, to.shape(), [&](index_t y) {
        std::copy_n(&from(y, 0), to.shape().columns, to.row(0, y));
        set_image_margins(to.row(0, y), to.shape().columns);
    });
}

void warp_padded(core::Cpu& cpu, const PaddedPlanes& image, const PaddedPlanes& flow,
                 signal::Interpolation interpolation, PaddedPlanes& to) {
    const Shape shape = image.shape();
    const auto pitch = static_cast<int>(image.view().stride[1]);
    const float* first = image.row(0, 0);
    for_rows(cpu, shape, [&](index_t y) {
        const float* u = flow.row(0, y);
        const float* v = flow.row(1, y);
        if (interpolation == signal::Interpolation::bicubic) {
            warp_row_cubic(first, pitch, shape, y, u, v, to.row(0, y));
        } else {
            warp_row_linear(first, pitch, shape, y, u, v, to.row(0, y));
        }
        set_image_margins(to.row(0, y), shape.columns);
    });
}

void warp(core::Cpu& cpu, ImageView<core::Host> image, ConstFlowView<core::Host> flow,
          signal::Interpolation interpolation, core::View<float, 2, core::Host> to) {
    const index_t rows = image.extent[0];
    const index_t columns = image.extent[1];
    core::expects_shape("flow", flow, {2, rows, columns}, core::Strides::unit_last);
    core::expects_shape("warped image", to, image.extent, core::Strides::unit_last);
    if (image.empty()) return;
    const Shape shape{rows, columns};
    PaddedPlanes from(1, shape), moved(2, shape), warped(1, shape);
    take_image(cpu, image, from);
    for_rows(cpu, Shape{rows, columns}, [&](index_t y) {
        for (index_t i : {0, 1}) std::copy_n(&flow(i, y, 0), columns, moved.row(i, y));
    });
    warp_padded(cpu, from, moved, interpolation, warped);
    for_rows(cpu, Shape{rows, columns},
             [&](index_t y) { std::copy_n(warped.row(0, y), columns, &to(y, 0)); });
}

}  // namespace aperture::flow
