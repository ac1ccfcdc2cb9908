// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "libflow/solver_model.hpp"

namespace aperture::flow {
namespace {

/// Points of [0, largest] in Leja order: each maximises the product of its distances from those
/// before it (Bai, Hu & Reichel 1994). Newton's basis with these shifts stays far from linearly
/// dependent.
void assign_leja_points(int count, double largest, std::vector<double>& points) {
    constexpr int candidates = 64;
    points.clear();
    for (int i = 0; i < count; ++i) {
        double best = largest;
        double farthest = -1;
        for (int c = 0; c <= candidates; ++c) {
            // Chebyshev points, dense where polynomials grow.
            const double at = largest / 2 * (1 + std::cos(std::numbers::pi * c / candidates));
            double distance = points.empty() ? at : 1;
            for (const double point : points) distance *= std::abs(at - point) / largest;
            if (distance > farthest) {
                farthest = distance;
                best = at;
            }
        }
        points.push_back(best);
    }
}

}  // namespace

void Recurrence::assign(Basis basis, int steps, double largest) {
    const auto count = static_cast<std::size_t>(steps);
    shift.assign(count, 0);
    back.assign(count, 0);
    scale.assign(count, largest / 2);
    if (basis == Basis::newton) {
        assign_leja_points(steps, largest, shift);
        // The capacity of an interval is a quarter of its length: powers neither grow nor fade.
        scale.assign(count, largest / 4);
    } else if (basis == Basis::chebyshev) {
        // T_(k+1)(t) = 2 t T_k(t) - T_(k-1)(t), t the interval mapped to [-1, 1].
        shift.assign(count, largest / 2);
        scale.assign(count, largest / 4);
        back.assign(count, largest / 4);
        scale[0] = largest / 2;
        back[0] = 0;
    }
}

}  // namespace aperture::flow
