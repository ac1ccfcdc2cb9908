// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/flow/accuracy.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "aperture/core/shape.hpp"
#include "libflow/cpu/reductions.hpp"

namespace aperture::flow {

Accuracy compare(core::Cpu& cpu, ConstFlowView<core::Host> flow, ConstFlowView<core::Host> truth) {
    core::expects_shape("flow", flow, truth.extent);
    core::expects(truth.extent[0] == 2, "a flow has 2 planes, not ", truth.extent[0]);
    enum Sum { known, non_finite, angle, distance, square, above_half, above_one, above_two };
    RowSums<8> sums(Shape{truth.extent[1], truth.extent[2]});
    const auto all = sums.over_rows(cpu, [&](index_t y) {
        std::array<double, 8> s{};
        for (index_t x = 0; x < truth.extent[2]; ++x) {
            if (!is_known(truth(0, y, x), truth(1, y, x))) continue;
            const double tu = truth(0, y, x);
            const double tv = truth(1, y, x);
            s[known] += 1;
            const double u = flow(0, y, x);
            const double v = flow(1, y, x);
            if (!std::isfinite(u) || !std::isfinite(v)) {
                s[non_finite] += 1;
                continue;
            }
            const double cosine =
                (u * tu + v * tv + 1) / std::sqrt((u * u + v * v + 1) * (tu * tu + tv * tv + 1));
            // The square of a float does not overflow a double.
            const double away = std::sqrt((u - tu) * (u - tu) + (v - tv) * (v - tv));
            s[angle] += std::acos(std::min(std::max(cosine, -1.0), 1.0));
            s[distance] += away;
            s[square] += away * away;
            s[above_half] += away > 0.5 ? 1 : 0;
            s[above_one] += away > 1 ? 1 : 0;
            s[above_two] += away > 2 ? 1 : 0;
        }
        return s;
    });
    const double pixels = all[known];
    const double finite = pixels - all[non_finite];
    Accuracy result;
    result.known = static_cast<index_t>(pixels);
    result.non_finite = static_cast<index_t>(all[non_finite]);
    result.aae = all[angle] / finite * 180 / std::numbers::pi;
    result.epe = all[distance] / finite;
    result.rmse = std::sqrt(all[square] / finite);
    result.r05 = (all[above_half] + all[non_finite]) / pixels;
    result.r1 = (all[above_one] + all[non_finite]) / pixels;
    result.r2 = (all[above_two] + all[non_finite]) / pixels;
    return result;
}

}  // namespace aperture::flow
