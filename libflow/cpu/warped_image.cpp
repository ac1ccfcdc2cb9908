// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/warped_image.hpp"

#include <cmath>
#include <cstring>
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

/// Four floats, as many as a cubic convolution takes of a row.
using Four = float __attribute__((vector_size(16)));

inline Four load_four(const float* from) {
    Four four;
    std::memcpy(&four, from, sizeof four);
    return four;
}

/// Where the 4 x 4 samples of a stretch of pixels are, and their weights.
struct CubicSamples {
    static constexpr int capacity = 64;
    int rows[4][capacity];  ///< the first sample of each row, from the image's first pixel
    float across[4][capacity];
    float down[4][capacity];
};

void find_samples(const Targets& targets, int pitch, int last_row, int first, int count,
                  CubicSamples& samples) {
#pragma omp simd
    for (int i = 0; i < count; ++i) {
        const Place px = targets.across(first + i);
        const Place py = targets.down(first + i);
        const CubicWeights wx(px.part);
        const CubicWeights wy(py.part);
        // Rows beyond the image repeat its first and last; columns have margins.
        const int left = px.whole - 1;
        samples.rows[0][i] = std::max(py.whole - 1, 0) * pitch + left;
        samples.rows[1][i] = py.whole * pitch + left;
        samples.rows[2][i] = std::min(py.whole + 1, last_row) * pitch + left;
        samples.rows[3][i] = std::min(py.whole + 2, last_row) * pitch + left;
        samples.across[0][i] = wx.w0;
        samples.across[1][i] = wx.w1;
        samples.across[2][i] = wx.w2;
        samples.across[3][i] = wx.w3;
        samples.down[0][i] = wy.w0;
        samples.down[1][i] = wy.w1;
        samples.down[2][i] = wy.w2;
        samples.down[3][i] = wy.w3;
    }
}

/// The weighted sum of the rows of pixel i's samples.
inline Four sum_of_rows(const float* image, const CubicSamples& samples, int i) {
    const auto row = [&](int r) {
        return samples.down[r][i] * load_four(image + samples.rows[r][i]);
    };
    return (row(0) + row(1)) + (row(2) + row(3));
}

// Four pixels at a time, with a load for each row of a pixel's samples: gathering each sample by
// itself takes several times as long.
void warp_row_cubic(const float* image, int pitch, Shape shape, index_t y, const float* u,
                    const float* v, float* to) {
    const Targets targets(shape, y, u, v);
    const auto columns = static_cast<int>(shape.columns);
    CubicSamples samples;
    for (int first = 0; first < columns; first += CubicSamples::capacity) {
        // Rows have margins: what lies behind the last pixel is computed, too.
        const int count = std::min(CubicSamples::capacity, (columns - first + 3) / 4 * 4);
        find_samples(targets, pitch, static_cast<int>(shape.rows - 1), first, count, samples);
        for (int i = 0; i < count; i += 4) {
            const Four a = sum_of_rows(image, samples, i);
            const Four b = sum_of_rows(image, samples, i + 1);
            const Four c = sum_of_rows(image, samples, i + 2);
            const Four d = sum_of_rows(image, samples, i + 3);
            const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
            const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
            const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
            const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            const Four values =
                (load_four(samples.across[0] + i) *
                     __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5) +
                 load_four(samples.across[1] + i) *
                     __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7)) +
                (load_four(samples.across[2] + i) *
                     __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5) +
                 load_four(samples.across[3] + i) *
                     __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
            std::memcpy(to + first + i, &values, sizeof values);
        }
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
