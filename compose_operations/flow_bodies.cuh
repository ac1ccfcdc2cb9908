// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcompose/operations/bodies.cuh"
#include "libflow/image_model.hpp"

/// Bodies of operations on images and flows, for the interpreter, emitted C++ and kernels.
namespace aperture::compose::bodies {

/// A position along one axis, within the image: pixel and fraction.
struct SamplingPlace {
    int whole;
    float part;
};
APERTURE_HD SamplingPlace sampling_place(float at, core::index_t extent) {
    const auto last = static_cast<float>(extent - 1);
    const float not_before = at > 0 ? at : 0.0F;
    const float inside = not_before < last ? not_before : last;
    const int whole = static_cast<int>(inside);
    return {whole, inside - static_cast<float>(whole)};
}

APERTURE_HD bool is_number(float value) {
    constexpr float largest = 3.40282347e+38F;
    return (value <= largest) & (value >= -largest);
}

/// The image u to the right and v below the place, as flow::warp has it.
template <class Place>
APERTURE_HD float warped(const Place& at, const float* image, float u, float v) {
    const bool moves = is_number(u) & is_number(v);
    const SamplingPlace x =
        sampling_place(static_cast<float>(at.column) + (moves ? u : 0.0F), at.columns);
    const SamplingPlace y =
        sampling_place(static_cast<float>(at.row) + (moves ? v : 0.0F), at.rows);
    const core::index_t right = x.whole + 1 < at.columns ? 1 : 0;
    const core::index_t down = y.whole + 1 < at.rows ? at.columns : 0;
    const float* const above = image + y.whole * at.columns + x.whole;
    const float* const below = above + down;
    const float above_mix = fma(x.part, above[right] - above[0], above[0]);
    const float below_mix = fma(x.part, below[right] - below[0], below[0]);
    return fma(y.part, below_mix - above_mix, above_mix);
}

/// Whether the place, moved by (u, v), is in the image.
template <class Place>
APERTURE_HD bool lands_inside(const Place& at, float u, float v) {
    return flow::lands_inside(static_cast<int>(at.rows), static_cast<int>(at.columns),
                              static_cast<int>(at.row), static_cast<int>(at.column), u, v);
}

/// Adds the terms of the pixel y below and x to the right.
template <class Place>
[[gnu::always_inline]] APERTURE_HD void add_terms(const Place& at, int y, int x, const float* error,
                                                  const float* across, const float* down,
                                                  flow::Terms& sum) {
    const float e = at.template neighbour<Replicate>(error, y, x);
    const float gx = at.template neighbour<Replicate>(across, y, x);
    const float gy = at.template neighbour<Replicate>(down, y, x);
    sum.j11 = fma(gx, gx, sum.j11);
    sum.j12 = fma(gx, gy, sum.j12);
    sum.j22 = fma(gy, gy, sum.j22);
    sum.b_u = fma(gx, e, sum.b_u);
    sum.b_v = fma(gy, e, sum.b_v);
}
[[gnu::always_inline]] APERTURE_HD void add_row(const flow::Terms& row, flow::Terms& sum) {
    sum.j11 += row.j11;
    sum.j12 += row.j12;
    sum.j22 += row.j22;
    sum.b_u += row.b_u;
    sum.b_v += row.b_v;
}

/// The sums of a window of 2 half + 1 pixels a side, row by row.
template <int half, class Place>
APERTURE_HD flow::Terms window_terms(const Place& at, const float* error, const float* across,
                                     const float* down) {
    flow::Terms sum{};
    for (int y = -half; y <= half; ++y) {
        flow::Terms row{};
        for (int x = -half; x <= half; ++x) add_terms(at, y, x, error, across, down, row);
        add_row(row, sum);
    }
    return sum;
}

/// The same without loops, which would keep the loop over columns from SIMD.
template <int half, int x, class Place>
[[gnu::always_inline]] APERTURE_HD void add_row_terms(const Place& at, int y, const float* error,
                                                      const float* across, const float* down,
                                                      flow::Terms& row) {
    add_terms(at, y, x, error, across, down, row);
    if constexpr (x < half) add_row_terms<half, x + 1>(at, y, error, across, down, row);
}
template <int half, int y, class Place>
[[gnu::always_inline]] APERTURE_HD void add_window(const Place& at, const float* error,
                                                   const float* across, const float* down,
                                                   flow::Terms& sum) {
    flow::Terms row{};
    add_row_terms<half, -half>(at, y, error, across, down, row);
    add_row(row, sum);
    if constexpr (y < half) add_window<half, y + 1>(at, error, across, down, sum);
}

/// The motion (u, v) that explains `error`, image 0 - image 1, best in a window of 2 half + 1
/// pixels a side, by the image's gradients to the right and down; zero where nothing has texture.
template <int half, class Place>
[[gnu::always_inline]] APERTURE_HD void window_least_squares(const Place& at, const float* error,
                                                             const float* across, const float* down,
                                                             float added, float least, float& u,
                                                             float& v) {
    flow::Terms sum{};
    if constexpr (Place::is_interior) {
        add_window<half, -half>(at, error, across, down, sum);
    } else {
        sum = window_terms<half>(at, error, across, down);
    }
    const flow::Increment found = flow::solve_window(sum, {added, least});
    u = found.u;
    v = found.v;
}

}  // namespace aperture::compose::bodies
