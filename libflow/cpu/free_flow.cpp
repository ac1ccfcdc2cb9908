// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/free_flow.hpp"

#include <array>
#include <cmath>

#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {

void FreeFlow::load(core::Cpu& cpu, const LinearSystem<core::Host>& system,
                    ConstFlowView<core::Host> flow) {
    // Below this ratio of eigenvalues the smaller one is rounding noise.
    constexpr double rounding = 2e-6;
    count_ = 0;
    if (system.boundary == Boundary::zero) return;
    const auto [j11, j12, j22] = tensor_sums_.over_rows(cpu, [&](index_t y) {
        std::array<double, 3> sums{};
        for (std::size_t i = 0; i < 3; ++i) {
            sums[i] = row_sum(&system.tensor(i, y, 0), system.tensor.extent[2]);
        }
        return sums;
    });
    const double mean = (j11 + j22) / 2;
    const double radius = std::hypot((j11 - j22) / 2, j12);
    if (mean - radius > rounding * (mean + radius)) return;
    if (mean == 0) {
        directions_ = {Direction{1, 0}, Direction{0, 1}};
        count_ = 2;
    } else {
        // Perpendicular to the gradients; their angle is half that of (j11 - j22, 2 j12).
        const double angle = std::atan2(2 * j12, j11 - j22) / 2;
        directions_[0] = {-std::sin(angle), std::cos(angle)};
        count_ = 1;
    }
    start_ = this->mean(cpu, flow);
}

void FreeFlow::restore(core::Cpu& cpu, FlowView<core::Host> flow) {
    if (count_ == 0) return;
    const Direction now = mean(cpu, flow);
    Direction change{};
    for (int i = 0; i < count_; ++i) {
        const Direction& d = directions_[static_cast<std::size_t>(i)];
        const double missing = d[0] * (start_[0] - now[0]) + d[1] * (start_[1] - now[1]);
        change[0] += missing * d[0];
        change[1] += missing * d[1];
    }
    for_rows(cpu, Shape{flow.extent[1], flow.extent[2]}, [&](index_t y) {
        for (std::size_t unknown : {0U, 1U}) {
            const auto added = static_cast<float>(change[unknown]);
            for (index_t x = 0; x < flow.extent[2]; ++x) flow(unknown, y, x) += added;
        }
    });
}

FreeFlow::Direction FreeFlow::mean(core::Cpu& cpu, ConstFlowView<core::Host> flow) {
    const auto pixels = static_cast<double>(flow.extent[1] * flow.extent[2]);
    const auto sums = flow_sums_.over_rows(cpu, [&](index_t y) {
        return Direction{row_sum(&flow(0, y, 0), flow.extent[2]),
                         row_sum(&flow(1, y, 0), flow.extent[2])};
    });
    return {sums[0] / pixels, sums[1] / pixels};
}

}  // namespace aperture::flow
