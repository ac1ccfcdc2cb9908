// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/warped_image.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "aperture/core/shape.hpp"
#include "libflow/cpu/row_loops.hpp"
#include "libflow/image_model.hpp"

namespace aperture::flow {
namespace {

using core::load;
using core::Pack;
using core::store;

constexpr int lanes = core::lanes<float>;
using Ints = Pack<int>;

/// Pixels of a row that are processed together.
constexpr int stretch = 64;
static_assert(stretch % lanes == 0);

/// Sampling positions of pixels of a row: the pixel to the upper left, and the fractions beyond it.
struct Places {
    int x[stretch];
    int y[stretch];
    float part_x[stretch];
    float part_y[stretch];
};

/// Clamps `at` to the image and splits it into whole pixels and a fraction.
inline void split(Pack<float> at, float last, int* whole, float* part) {
    at = at > 0.0F ? at : Pack<float>{};
    at = at < last ? at : core::broadcast(last);
    const Ints number = __builtin_convertvector(at, Ints);
    std::memcpy(whole, &number, sizeof number);
    store(part, at - __builtin_convertvector(number, Pack<float>));
}

/// Positions of `count` pixels from `first` on, rounded up to whole packs: rows have margins. A
/// non-finite displacement counts as zero.
void find_places(Shape shape, index_t y, const float* u, const float* v, int first, int count,
                 Places& places) {
    constexpr float largest = std::numeric_limits<float>::max();
    const auto last_x = static_cast<float>(shape.columns - 1);
    const auto last_y = static_cast<float>(shape.rows - 1);
    Pack<float> lane{};
    for (int i = 0; i < lanes; ++i) lane[i] = static_cast<float>(i);
    for (int i = 0; i < count; i += lanes) {
        const Pack<float> move_x = load(u + first + i);
        const Pack<float> move_y = load(v + first + i);
        const auto finite =
            (move_x <= largest) & (move_x >= -largest) & (move_y <= largest) & (move_y >= -largest);
        const Pack<float> x = lane + static_cast<float>(first + i);
        split(x + (finite ? move_x : Pack<float>{}), last_x, places.x + i, places.part_x + i);
        split(static_cast<float>(y) + (finite ? move_y : Pack<float>{}), last_y, places.y + i,
              places.part_y + i);
    }
}

/// Four floats: the samples of a row for cubic convolution.
using Four = float __attribute__((vector_size(16)));

inline Four load_four(const float* from) {
    Four four;
    std::memcpy(&four, from, sizeof four);
    return four;
}

/// Weights of four samples for several pixels.
struct CubicWeights {
    float at[4][stretch];

    void compute(const float* part, int count) {
        for (int i = 0; i < count; i += lanes) {
            Pack<float> weights[4];
            cubic_weights(load(part + i), weights);
            for (int k = 0; k < 4; ++k) store(at[k] + i, weights[k]);
        }
    }
};

// Four pixels at a time, with a load for each row of a pixel's samples: gathering single samples
// takes several times as long.
void warp_row_cubic(const float* image, int pitch, Shape shape, index_t y, const float* u,
                    const float* v, float* to) {
    const auto last_row = static_cast<int>(shape.rows - 1);
    const auto columns = static_cast<int>(shape.columns);
    Places places;
    CubicWeights across, down;
    // The weighted sum of the four rows around a pixel's position. Rows outside the image replicate
    // its border; columns have margins.
    const auto sum_of_rows = [&](int i) {
        const float* left = image + places.x[i] - 1;
        const int row = places.y[i];
        const auto weighted = [&](int k, int of) {
            return down.at[k][i] * load_four(left + of * pitch);
        };
        return (weighted(0, std::max(row - 1, 0)) + weighted(1, row)) +
               (weighted(2, std::min(row + 1, last_row)) +
                weighted(3, std::min(row + 2, last_row)));
    };
    for (int first = 0; first < columns; first += stretch) {
        const int count = std::min(stretch, columns - first);
        find_places(shape, y, u, v, first, count, places);
        across.compute(places.part_x, count);
        down.compute(places.part_y, count);
        for (int i = 0; i < count; i += 4) {
            const Four a = sum_of_rows(i);
            const Four b = sum_of_rows(i + 1);
            const Four c = sum_of_rows(i + 2);
            const Four d = sum_of_rows(i + 3);
            const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
            const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
            const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
            const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            const Four values =
                (load_four(across.at[0] + i) * __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5) +
                 load_four(across.at[1] + i) *
                     __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7)) +
                (load_four(across.at[2] + i) *
                     __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5) +
                 load_four(across.at[3] + i) *
                     __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
            std::memcpy(to + first + i, &values, sizeof values);
        }
    }
}

void warp_row_linear(const float* image, int pitch, Shape shape, index_t y, const float* u,
                     const float* v, float* to) {
    const auto last_row = static_cast<int>(shape.rows - 1);
    const auto columns = static_cast<int>(shape.columns);
    Places places;
    for (int first = 0; first < columns; first += stretch) {
        const int count = std::min(stretch, columns - first);
        find_places(shape, y, u, v, first, count, places);
        for (int i = 0; i < count; ++i) {
            const float* above = image + places.y[i] * pitch + places.x[i];
            const float* below = image + std::min(places.y[i] + 1, last_row) * pitch + places.x[i];
            const float above_mix = above[0] + places.part_x[i] * (above[1] - above[0]);
            const float below_mix = below[0] + places.part_x[i] * (below[1] - below[0]);
            to[first + i] = above_mix + places.part_y[i] * (below_mix - above_mix);
        }
    }
}

}  // namespace

void set_image_margins(float* row, index_t columns) {
    for (index_t i = 1; i <= image_margin; ++i) {
        row[-i] = row[0];
        row[columns - 1 + i] = row[columns - 1];
    }
}

void set_image_margins(core::Cpu& cpu, PaddedPlanes& image) {
    const index_t columns = image.shape().columns;
    for_rows(cpu, image.shape(), [&](index_t y) { set_image_margins(image.row(0, y), columns); });
}

void load_image(core::Cpu& cpu, ImageView<core::Host> from, PaddedPlanes& to) {
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
    core::expects_shape("image", image, {rows, columns}, core::Strides::unit_last);
    core::expects_shape("flow", flow, {2, rows, columns}, core::Strides::unit_last);
    core::expects_shape("warped image", to, image.extent, core::Strides::unit_last);
    if (image.empty()) return;
    const Shape shape{rows, columns};
    PaddedPlanes from(1, shape), moved(2, shape), warped(1, shape);
    load_image(cpu, image, from);
    load_flow(cpu, flow, Boundary::replicate, moved);
    warp_padded(cpu, from, moved, interpolation, warped);
    store_planes(cpu, warped, {to.data, {1, rows, columns}, {0, to.stride[0], to.stride[1]}});
}

}  // namespace aperture::flow
