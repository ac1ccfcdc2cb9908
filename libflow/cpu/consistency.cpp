// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/flow/consistency.hpp"

#include <array>
#include <cmath>

#include "aperture/core/shape.hpp"
#include "libflow/cpu/reductions.hpp"
#include "libflow/image_model.hpp"

namespace aperture::flow {
namespace {

/// Factor of |f|^2 + |b|^2, and offset in squared pixels (Sundaram, Brox & Keutzer 2010).
constexpr float relative_tolerance = 0.01F;
constexpr float absolute_tolerance = 0.5F;

/// Plane `i` of a flow at a position inside the image.
float sample(const ConstFlowView<core::Host>& flow, index_t i, float y, float x) {
    const auto above = static_cast<index_t>(y);
    const auto left = static_cast<index_t>(x);
    const index_t below = std::min(above + 1, flow.extent[1] - 1);
    const index_t right = std::min(left + 1, flow.extent[2] - 1);
    const float along = x - static_cast<float>(left);
    const float down = y - static_cast<float>(above);
    const auto mix = [](float a, float b, float part) { return (1 - part) * a + part * b; };
    return mix(mix(flow(i, above, left), flow(i, above, right), along),
               mix(flow(i, below, left), flow(i, below, right), along), down);
}

bool is_consistent(const ConstFlowView<core::Host>& forward,
                   const ConstFlowView<core::Host>& backward, index_t row, index_t column) {
    const float u = forward(0, row, column);
    const float v = forward(1, row, column);
    const float x = static_cast<float>(column) + u;
    const float y = static_cast<float>(row) + v;
    if (!lands_inside(static_cast<int>(forward.extent[1]), static_cast<int>(forward.extent[2]),
                      static_cast<int>(row), static_cast<int>(column), u, v)) {
        return false;
    }
    const float back_u = sample(backward, 0, y, x);
    const float back_v = sample(backward, 1, y, x);
    const float away = (u + back_u) * (u + back_u) + (v + back_v) * (v + back_v);
    const float length = u * u + v * v + back_u * back_u + back_v * back_v;
    return std::isfinite(length) && away < relative_tolerance * length + absolute_tolerance;
}

}  // namespace

index_t check_consistency(core::Cpu& cpu, ConstFlowView<core::Host> forward,
                          ConstFlowView<core::Host> backward,
                          core::View<std::uint8_t, 2, core::Host> consistent) {
    const auto [rows, columns] = consistent.extent;
    core::expects_shape("forward flow", forward, {2, rows, columns});
    core::expects_shape("backward flow", backward, {2, rows, columns});
    RowSums<1> sums(Shape{rows, columns});
    const auto count = sums.over_rows(cpu, [&](index_t row) {
        double of_row = 0;
        for (index_t column = 0; column < consistent.extent[1]; ++column) {
            const bool good = is_consistent(forward, backward, row, column);
            consistent(row, column) = good ? 255 : 0;
            of_row += good ? 1 : 0;
        }
        return std::array<double, 1>{of_row};
    });
    return static_cast<index_t>(count[0]);
}

}  // namespace aperture::flow
