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
std::vector<double> leja_points(int count, double largest) {
    constexpr int candidates = 64;
    std::vector<double> points;
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
    return points;
}

}  // namespace

Recurrence basis_recurrence(Basis basis, int steps, double largest) {
    const auto count = static_cast<std::size_t>(steps);
    Recurrence recurrence{std::vector<double>(count, 0), std::vector<double>(count, 0),
                          std::vector<double>(count, largest / 2)};
    if (basis == Basis::newton) {
        recurrence.shift = leja_points(steps, largest);
        // The capacity of an interval is a quarter of its length: powers neither grow nor fade.
        recurrence.scale.assign(count, largest / 4);
    } else if (basis == Basis::chebyshev) {
        // T_(k+1)(t) = 2 t T_k(t) - T_(k-1)(t), t the interval mapped to [-1, 1].
        recurrence.shift.assign(count, largest / 2);
        recurrence.scale.assign(count, largest / 4);
        recurrence.back.assign(count, largest / 4);
        recurrence.scale[0] = largest / 2;
        recurrence.back[0] = 0;
    }
    return recurrence;
}

}  // namespace aperture::flow
