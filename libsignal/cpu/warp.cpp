// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/warp.hpp"

#include <algorithm>

#include "libcore/cpu/worker_tasks.hpp"
#include "libsignal/bicubic_sample.hpp"
#include "libsignal/image_checks.hpp"

namespace aperture::signal {
namespace {

using core::index_t;
using Input = core::View<const float, 2, core::Host>;

/// Outputs of a row that are computed together.
constexpr int side_by_side = 16;

/// Outputs (y, x) to (y, x + side_by_side - 1) in loops that g++ vectorises. Returns false, with
/// nothing stored, unless all pixels that they need are in the image.
bool warp_inner(const Input& from, const PixelMap& map, double y, double x, float* to) {
    const auto& m = map.at;
    // Where the middle two of the four pixels about a place are in the image, so are all, less one.
    const auto last_y = static_cast<double>(from.extent[0] - 2);
    const auto last_x = static_cast<double>(from.extent[1] - 2);
    int row[side_by_side], column[side_by_side];
    float down[side_by_side], across[side_by_side];
    int outside = 0;
#pragma omp simd reduction(+ : outside)
    for (int i = 0; i < side_by_side; ++i) {
        const double at = x + i;
        const double depth = m[2][0] * y + m[2][1] * at + m[2][2];
        const double to_y = (m[0][0] * y + m[0][1] * at + m[0][2]) / depth;
        const double to_x = (m[1][0] * y + m[1][1] * at + m[1][2]) / depth;
        const bool inner =
            (depth > 0) & (to_y >= 1) & (to_y < last_y) & (to_x >= 1) & (to_x < last_x);
        outside += inner ? 0 : 1;
        const double safe_y = inner ? to_y : 1;
        const double safe_x = inner ? to_x : 1;
        row[i] = static_cast<int>(safe_y);
        column[i] = static_cast<int>(safe_x);
        down[i] = static_cast<float>(safe_y - row[i]);
        across[i] = static_cast<float>(safe_x - column[i]);
    }
    if (outside > 0) return false;
    const auto sample = [&](const auto& first_of) __attribute__((always_inline)) {
        const index_t stride = from.stride[0];
#pragma omp simd
        for (int i = 0; i < side_by_side; ++i) {
            const CubicWeights<float> rows(down[i]);
            const CubicWeights<float> columns(across[i]);
            const float* const first = first_of(i);
            float sum = 0;
            for (int j = 0; j < 4; ++j) {
                const float* const of = first + j * stride;
                sum += rows.of[j] * (columns.of[0] * of[0] + columns.of[1] * of[1] +
                                     columns.of[2] * of[2] + columns.of[3] * of[3]);
            }
            to[i] = sum;
        }
    };
    // Mostly neighbours lie beside one another in the image, too: loads instead of gathers.
    bool beside = true;
    for (int i = 1; i < side_by_side; ++i) {
        beside &= (row[i] == row[0]) & (column[i] == column[0] + i);
    }
    const auto first_of = [&](int i) { return &from(row[i] - 1, column[i] - 1); };
    if (beside) {
        sample([first = first_of(0)](int i) { return first + i; });
    } else {
        sample(first_of);
    }
    return true;
}

}  // namespace

void warp(core::Cpu& cpu, Input from, const PixelMap& map, float outside,
          core::View<float, 2, core::Host> to) {
    check_resampling("warp", from, to);
    core::for_each_task(cpu, to.extent[0], 0, [&](index_t y, std::byte*) {
        for (index_t begin = 0; begin < to.extent[1]; begin += side_by_side) {
            const index_t end = std::min(begin + side_by_side, to.extent[1]);
            if (end - begin == side_by_side &&
                warp_inner(from, map, static_cast<double>(y), static_cast<double>(begin),
                           &to(y, begin))) {
                continue;
            }
            for (index_t x = begin; x < end; ++x) {
                Place place;
                to(y, x) = maps_inside(map, static_cast<double>(y), static_cast<double>(x),
                                       from.extent, place)
                               ? bicubic_sample(from, place)
                               : outside;
            }
        }
    });
}

}  // namespace aperture::signal
