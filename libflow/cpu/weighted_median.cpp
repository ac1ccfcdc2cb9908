// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/weighted_median.hpp"

#include <cmath>

#include "libflow/cpu/row_loops.hpp"
#include "libflow/image_model.hpp"

namespace aperture::flow {
namespace {

using core::load;
using core::Pack;

constexpr int lanes = core::lanes<float>;

constexpr int samples = window_samples;
constexpr int spacing = window_spacing;
constexpr int width = 2 * samples + 1;
static_assert(samples * spacing <= row_margin);

/// Weights by distance of a sample from its window's centre.
struct DistanceWeights {
    float at[width][width];

    DistanceWeights() {
        for (int i = 0; i < width; ++i) {
            for (int j = 0; j < width; ++j) {
                const auto squared = static_cast<float>(
                    spacing * spacing *
                    ((i - samples) * (i - samples) + (j - samples) * (j - samples)));
                at[i][j] = std::exp(-squared * over_twice_squared(distance_sigma));
            }
        }
    }
};

/// The windows of a pack of pixels of one row.
class Windows {
  public:
    Windows(const PaddedPlanes& image, const PaddedPlanes& visibility, const PaddedPlanes& flow,
            index_t y, index_t x)
        : flow_(flow), x_(x) {
        static const DistanceWeights distance;
        const Pack<float> middle = load(image.row(0, y) + x);
        for (int i = 0; i < width; ++i) {
            const index_t at_y = y + spacing * (i - samples);
            if (at_y < 0 || at_y >= flow.shape().rows) continue;
            rows_[row_count_++] = at_y;
            for (int j = 0; j < width; ++j) {
                const index_t at_x = x + spacing * (j - samples);
                const Pack<float> step = load(image.row(0, at_y) + at_x) - middle;
                const Pack<float> weight = distance.at[i][j] *
                                           bell(step * step * over_twice_squared(grey_sigma)) *
                                           load(visibility.row(0, at_y) + at_x);
                weights_[count_++] = weight;
                half_ += 0.5F * weight;
            }
        }
    }

    Pack<float> median(index_t component) const {
        return weighted_median(half_, [&](const auto& visit) { over_samples(component, visit); });
    }

  private:
    template <class Visit>
    void over_samples(index_t component, const Visit& visit) const {
        const Pack<float>* weight = weights_;
        for (int i = 0; i < row_count_; ++i) {
            const float* values = flow_.row(component, rows_[i]) + x_ - spacing * samples;
            for (int j = 0; j < width; ++j) visit(load(values + spacing * j), *weight++);
        }
    }

    const PaddedPlanes& flow_;
    index_t x_;
    int row_count_ = 0;
    int count_ = 0;
    index_t rows_[width];
    Pack<float> weights_[width * width];
    Pack<float> half_{};
};

/// Above zero in the lanes that are near a boundary.
Pack<float> near_boundary(const PaddedPlanes& boundary, index_t y, index_t x) {
    const index_t last = std::min<index_t>(y + boundary_reach, boundary.shape().rows - 1);
    Pack<float> near{};
    for (index_t i = std::max<index_t>(y - boundary_reach, 0); i <= last; ++i) {
        for (index_t j = -boundary_reach; j <= boundary_reach; ++j) {
            near += load(boundary.row(0, i) + x + j);
        }
    }
    return near;
}

}  // namespace

void find_visibility(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& image1_warped,
                     const PaddedPlanes& flow, PaddedPlanes& visibility) {
    const Shape shape = flow.shape();
    for_rows(cpu, shape, [&](index_t y) {
        const float* u = flow.row(0, y);
        const float* v = flow.row(1, y);
        const float* v_above = flow.row(1, std::max<index_t>(y - 1, 0));
        const float* v_below = flow.row(1, std::min(y + 1, shape.rows - 1));
        const float* zero = image0.row(0, y);
        const float* one = image1_warped.row(0, y);
        float* const to = visibility.row(0, y);
        const auto rows = static_cast<int>(shape.rows);
        const auto columns = static_cast<int>(shape.columns);
        const auto row = static_cast<int>(y);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            to[x] =
                visibility_of((u[x + 1] - u[x - 1]) + (v_below[x] - v_above[x]), one[x] - zero[x],
                              lands_inside(rows, columns, row, x, u[x], v[x]));
        }
    });
}

void find_motion_boundaries(core::Cpu& cpu, const PaddedPlanes& flow, PaddedPlanes& boundary) {
    const Shape shape = flow.shape();
    for_rows(cpu, shape, [&](index_t y) {
        const index_t next = std::min(y + 1, shape.rows - 1);
        const float* here[2] = {flow.row(0, y), flow.row(1, y)};
        const float* below[2] = {flow.row(0, next), flow.row(1, next)};
        float* const to = boundary.row(0, y);
        const auto columns = static_cast<int>(shape.columns);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            float step = 0;
            for (int i = 0; i < 2; ++i) {
                step = std::max(step, std::abs(here[i][x + 1] - here[i][x]));
                step = std::max(step, std::abs(below[i][x] - here[i][x]));
            }
            to[x] = step > boundary_step ? 1.0F : 0.0F;
        }
    });
}

void filter_near_boundaries(core::Cpu& cpu, const PaddedPlanes& image,
                            const PaddedPlanes& visibility, const PaddedPlanes& boundary,
                            const PaddedPlanes& from, FlowView<core::Host> to) {
    const Shape shape = from.shape();
    for_rows(cpu, shape, [&](index_t y) {
        for (index_t x = 0; x < shape.columns; x += lanes) {
            const auto count = static_cast<int>(std::min<index_t>(lanes, shape.columns - x));
            const Pack<float> near = near_boundary(boundary, y, x);
            bool any = false;
            for (int lane = 0; lane < count; ++lane) any = any || near[lane] > 0;
            if (!any) continue;
            const Windows windows(image, visibility, from, y, x);
            for (index_t i : {0, 1}) {
                const Pack<float> median = windows.median(i);
                for (int lane = 0; lane < count; ++lane) {
                    if (near[lane] > 0) to(i, y, x + lane) = median[lane];
                }
            }
        }
    });
}

void WeightedMedian::run(core::Cpu& cpu, const PaddedPlanes& image0,
                         const PaddedPlanes& image1_warped, const PaddedPlanes& from,
                         FlowView<core::Host> to) {
    find_visibility(cpu, image0, image1_warped, from, visibility_);
    find_motion_boundaries(cpu, from, boundary_);
    filter_near_boundaries(cpu, image0, visibility_, boundary_, from, to);
}

}  // namespace aperture::flow
