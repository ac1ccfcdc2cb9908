// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
//
// Unless the blur reaches far, a band is processed tile by tile in a thread's L2 cache: products of
// derivatives; strips of rows blurred down the columns, with sums in registers; the strip blurred
// along the rows and stored as orientations.
#include "libcorr/cpu/orientation.hpp"

#include <algorithm>

#include "aperture/signal/resample.hpp"
#include "libcore/rounding.hpp"
#include "libsignal/cpu/image.hpp"

namespace aperture::corr {
namespace {

using core::Pack;
using signal::cpu::unrolled;

constexpr int lanes = core::lanes<float>;
constexpr int tile_columns = 256;
constexpr int strip_rows = 8;
/// Rows that are computed together; they also need rows above and below them.
constexpr int band_rows = 32;
constexpr int product_rows = band_rows + 2 * tensor_reach;
/// Columns of a tile with the border of the blur, and room for a whole pack.
constexpr int pitch = tile_columns + 2 * tensor_reach + lanes;

/// Products J_xx, J_xy and J_yy. Column 0 is tensor_reach before the tile's first.
struct Scratch {
    alignas(64) float products[3][product_rows][pitch];
    alignas(64) float strip[3][strip_rows][pitch];
};

struct Tile {
    index_t first_row, first_column;
    int rows, columns;
    /// Range of the scratch columns that are in the image.
    int begin, end;

    Tile(Shape shape, index_t row, index_t end_row, index_t column)
        : first_row(row),
          first_column(column),
          rows(static_cast<int>(end_row - row)),
          columns(static_cast<int>(std::min<index_t>(tile_columns, shape.columns - column))),
          begin(static_cast<int>(std::max<index_t>(0, tensor_reach - column))),
          end(static_cast<int>(std::min<index_t>(tile_columns + 2 * tensor_reach,
                                                 shape.columns - column + tensor_reach))) {}
};

void multiply_derivatives(const BorderedPlane& lightness, const Tile& tile, Scratch& scratch) {
    const index_t top = tile.first_row - tensor_reach;
    const int first = static_cast<int>(std::max<index_t>(0, -top));
    const int last = static_cast<int>(
        std::min<index_t>(tile.rows + 2 * tensor_reach, lightness.shape().rows - top));
    for (int r = first; r < last; ++r) {
        const DerivativeRows rows(lightness, top + r);
        const index_t left = tile.first_column - tensor_reach;
        float* const xx = scratch.products[0][r];
        float* const xy = scratch.products[1][r];
        float* const yy = scratch.products[2][r];
        const int begin = tile.begin;
        const int end = tile.end;
#pragma omp simd
        for (int i = begin; i < end; ++i) {
            const float by_x = rows.by_x(left + i);
            const float by_y = rows.by_y(left + i);
            xx[i] = by_x * by_x;
            xy[i] = by_x * by_y;
            yy[i] = by_y * by_y;
        }
    }
}

/// Blurs strip rows from row `first` of the tile on.
void blur_columns(const Pack<float> (&weights)[tensor_reach + 1], index_t image_rows,
                  const Tile& tile, int first, Scratch& scratch) {
    const index_t top = tile.first_row - tensor_reach;
    constexpr int reached = strip_rows + 2 * tensor_reach;
    int row_at[reached];
    for (int r = 0; r < reached; ++r) {
        row_at[r] = static_cast<int>(std::clamp<index_t>(top + first + r, 0, image_rows - 1) - top);
    }
    for (int p = 0; p < 3; ++p) {
        const auto& from = scratch.products[p];
        auto& to = scratch.strip[p];
        for (int i = tile.begin; i < tile.end; i += lanes) {
            Pack<float> sum[strip_rows] = {};
            unrolled<reached>([&](auto r) __attribute__((always_inline)) {
                const Pack<float> value = core::load(from[row_at[r]] + i);
                unrolled<strip_rows>([&](auto s) __attribute__((always_inline)) {
                    constexpr int distance = r - s - tensor_reach;
                    if constexpr (distance >= -tensor_reach && distance <= tensor_reach) {
                        sum[s] += weights[distance < 0 ? -distance : distance] * value;
                    }
                });
            });
            for (int s = 0; s < strip_rows; ++s) core::store(to[s] + i, sum[s]);
        }
        for (auto& row : to) {
            std::fill_n(row, tile.begin, row[tile.begin]);
            std::fill(row + tile.end, row + tile.columns + 2 * tensor_reach, row[tile.end - 1]);
        }
    }
}

Pack<float> blurred(const Pack<float> (&weights)[tensor_reach + 1], const float* middle) {
    Pack<float> sum = weights[0] * core::load(middle);
    for (int i = 1; i <= tensor_reach; ++i) {
        sum += weights[i] * (core::load(middle - i) + core::load(middle + i));
    }
    return sum;
}

/// Computes rows `first` to `end` - 1, at most band_rows.
void orient_band(const BorderedPlane& lightness, const TensorWeights& weights, index_t first,
                 index_t end, const core::View<float, 3, core::Host>& planes, Scratch& scratch) {
    Pack<float> packs[tensor_reach + 1];
    for (int i = 0; i <= tensor_reach; ++i) packs[i] = core::broadcast(weights.at[i]);
    const Shape shape = lightness.shape();
    for (index_t column = 0; column < shape.columns; column += tile_columns) {
        const Tile tile(shape, first, end, column);
        multiply_derivatives(lightness, tile, scratch);
        for (int strip = 0; strip < tile.rows; strip += strip_rows) {
            blur_columns(packs, shape.rows, tile, strip, scratch);
            for (int r = 0; r < std::min(strip_rows, tile.rows - strip); ++r) {
                float* const cosine = &planes(0, first + strip + r, column);
                float* const sine = &planes(1, first + strip + r, column);
                for (int x = 0; x < tile.columns; x += lanes) {
                    const auto tensor = [&](int p) {
                        return blurred(packs, scratch.strip[p][r] + tensor_reach + x);
                    };
                    const auto orientation = orientation_of(tensor(0), tensor(1), tensor(2));
                    signal::cpu::store_part(cosine + x, orientation.cosine, tile.columns - x);
                    signal::cpu::store_part(sine + x, orientation.sine, tile.columns - x);
                }
            }
        }
    }
}

/// With any sigma: one stage after the other, each for the whole image.
void orient_by_stages(core::Cpu& cpu, const BorderedPlane& lightness, double sigma,
                      core::Array<float, 4>& tensor, const core::View<float, 3, core::Host>& planes,
                      const std::function<void(index_t)>& row_stored) {
    const Shape shape = lightness.shape();
    tensor.reshape({2, 3, shape.rows, shape.columns});
    core::for_each_task(cpu, shape.rows, 0, [&](index_t y, std::byte*) {
        const DerivativeRows rows(lightness, y);
        for (index_t x = 0; x < shape.columns; ++x) {
            const float by_x = rows.by_x(x);
            const float by_y = rows.by_y(x);
            tensor(0, 0, y, x) = by_x * by_x;
            tensor(0, 1, y, x) = by_x * by_y;
            tensor(0, 2, y, x) = by_y * by_y;
        }
    });
    for (index_t p = 0; p < 3; ++p) {
        signal::gaussian_blur(cpu, tensor.view()[0][p], static_cast<float>(sigma),
                              tensor.view()[1][p]);
    }
    core::for_each_task(cpu, shape.rows, 0, [&](index_t y, std::byte*) {
        for (index_t x = 0; x < shape.columns; ++x) {
            const auto orientation =
                orientation_of(tensor(1, 0, y, x), tensor(1, 1, y, x), tensor(1, 2, y, x));
            planes(0, y, x) = orientation.cosine;
            planes(1, y, x) = orientation.sine;
        }
        row_stored(y);
    });
}

}  // namespace

void compute_orientations(core::Cpu& cpu, const BorderedPlane& lightness, double sigma,
                          core::Array<float, 4>& tensor,
                          const core::View<float, 3, core::Host>& planes,
                          const std::function<void(index_t)>& row_stored) {
    if (!blurs_within_reach(sigma)) {
        return orient_by_stages(cpu, lightness, sigma, tensor, planes, row_stored);
    }
    const TensorWeights weights = tensor_weights(sigma);
    const index_t rows = lightness.shape().rows;
    core::for_each_task(cpu, core::ceil_div(rows, band_rows), sizeof(Scratch),
                        [&](index_t band, std::byte* scratch) {
                            const index_t first = band * band_rows;
                            const index_t end = std::min(first + band_rows, rows);
                            orient_band(lightness, weights, first, end, planes,
                                        *reinterpret_cast<Scratch*>(scratch));
                            for (index_t y = first; y < end; ++y) row_stored(y);
                        });
}

}  // namespace aperture::corr
