// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <utility>

#include "libflow/cpu/prepared_system.hpp"

/// Jacobi updates of a pack of pixels: u' and v' from the sums S_u and S_v over the neighbours, and
/// coefficients of the pixels that are constant over the steps.
namespace aperture::flow {

inline core::Pack<float> square_root(core::Pack<float> x) {
    for (int lane = 0; lane < core::lanes<float>; ++lane) x[lane] = std::sqrt(x[lane]);
    return x;
}
inline core::Pack<float> magnitude(core::Pack<float> x) { return x < 0.0F ? -x : x; }

/// The factor alpha^2 that sums without weights lack.
inline float scale_of_sums(const PreparedSystem& system) {
    return system.coupling == Coupling::weighted ? 1.0F : system.smoothness;
}

/// u' = a S_u + b S_v + c, and v' likewise: five coefficients a pixel.
struct BlockUpdate {
    static constexpr int coefficients = 5;

    /// The coefficients of the pack at pixel x of row y.
    static std::array<core::Pack<float>, coefficients> of(const PreparedSystem& system, index_t y,
                                                          index_t x) {
        const SymmetricBlock<core::Pack<float>> inverse = inverse_block(
            SymmetricBlock<core::Pack<float>>{core::load(system.tensor.row(0, y) + x),
                                              core::load(system.tensor.row(1, y) + x),
                                              core::load(system.tensor.row(2, y) + x)},
            system.degrees(y, x));
        const core::Pack<float> b_u = core::load(system.right.row(0, y) + x);
        const core::Pack<float> b_v = core::load(system.right.row(1, y) + x);
        const float scale = scale_of_sums(system);
        return {scale * inverse.a11, scale * inverse.a12, scale * inverse.a22,
                inverse.a11 * b_u + inverse.a12 * b_v, inverse.a12 * b_u + inverse.a22 * b_v};
    }

    static std::pair<core::Pack<float>, core::Pack<float>> apply(const float* c,
                                                                 core::Pack<float> sum_u,
                                                                 core::Pack<float> sum_v,
                                                                 core::Pack<float>,
                                                                 core::Pack<float>) {
        constexpr int lanes = core::lanes<float>;
        const core::Pack<float> cross = core::load(c + lanes);
        return {core::load(c) * sum_u + (cross * sum_v + core::load(c + 3 * lanes)),
                cross * sum_u + (core::load(c + 2 * lanes) * sum_v + core::load(c + 4 * lanes))};
    }
};

/// J11, J12, J22, b_u and b_v of a pack of pixels.
using PixelPack = std::array<core::Pack<float>, 5>;

/// The update of a pixel with one equation, J = g g^T and b = -c g, as in brightness constancy, for
/// a constant d: u' = m_u - p t and v' = m_v - q t with t = p m_u + q m_v + r, the mean m = S / d
/// of the neighbours (Horn & Schunck's form), (p, q) = g / sqrt(d + |g|^2) and r = c / sqrt(d +
/// |g|^2): three coefficients a pixel.
template <Coupling coupling>
struct OneEquationUpdate {
    static constexpr int coefficients = 3;
    static constexpr float part_of_sum = 1.0F / (coupling == Coupling::nine ? 3.0F : 4.0F);

    /// Coefficients of a pack of J and b. `misfit` becomes positive in lanes that lack this form to
    /// rounding.
    static std::array<core::Pack<float>, coefficients> of(const PixelPack& pixels,
                                                          core::Pack<float> degrees,
                                                          core::Pack<float>& misfit) {
        constexpr float rounding = 2e-6F;
        const core::Pack<float> zero{};
        const auto& [j11, j12, j22, b_u, b_v] = pixels;
        const core::Pack<float> trace = j11 + j22;
        const core::Pack<float> divisor = degrees + trace;
        // The larger component of g from its square, the other one from their product.
        const auto across = j11 >= j22;
        const core::Pack<float> larger = square_root((across ? j11 : j22) / divisor);
        const core::Pack<float> other = larger > 0.0F ? j12 / (larger * divisor) : zero;
        const core::Pack<float> p = across ? larger : other;
        const core::Pack<float> q = across ? other : larger;
        const core::Pack<float> r = trace > 0.0F ? -(p * b_u + q * b_v) / trace : zero;

        const core::Pack<float> tensor_error = magnitude(j11 - p * p * divisor) +
                                               magnitude(j12 - p * q * divisor) +
                                               magnitude(j22 - q * q * divisor) - rounding * trace;
        const core::Pack<float> right_error = magnitude(b_u + p * r * divisor) +
                                              magnitude(b_v + q * r * divisor) -
                                              rounding * (magnitude(b_u) + magnitude(b_v));
        const core::Pack<float> error = tensor_error > right_error ? tensor_error : right_error;
        misfit = error > misfit ? error : misfit;
        return {p, q, r};
    }

    static std::pair<core::Pack<float>, core::Pack<float>> apply(const float* c,
                                                                 core::Pack<float> sum_u,
                                                                 core::Pack<float> sum_v,
                                                                 core::Pack<float>,
                                                                 core::Pack<float>) {
        constexpr int lanes = core::lanes<float>;
        const core::Pack<float> p = core::load(c);
        const core::Pack<float> q = core::load(c + lanes);
        const core::Pack<float> mean_u = part_of_sum * sum_u;
        const core::Pack<float> mean_v = part_of_sum * sum_v;
        const core::Pack<float> t = p * mean_u + (q * mean_v + core::load(c + 2 * lanes));
        return {mean_u - p * t, mean_v - q * t};
    }
};

/// u' = (S_u + b_u - J12 v) / D11, and v' likewise.
struct DiagonalUpdate {
    static constexpr int coefficients = 6;

    static std::array<core::Pack<float>, coefficients> of(const PreparedSystem& system, index_t y,
                                                          index_t x) {
        const core::Pack<float> zero{};
        const core::Pack<float> d = system.degrees(y, x);
        const core::Pack<float> d11 = core::load(system.tensor.row(0, y) + x) + d;
        const core::Pack<float> d22 = core::load(system.tensor.row(2, y) + x) + d;
        const core::Pack<float> i11 = d11 > 0.0F ? 1.0F / d11 : zero;
        const core::Pack<float> i22 = d22 > 0.0F ? 1.0F / d22 : zero;
        const core::Pack<float> cross = core::load(system.tensor.row(1, y) + x);
        const float scale = scale_of_sums(system);
        return {scale * i11,
                scale * i22,
                -i11 * cross,
                -i22 * cross,
                i11 * core::load(system.right.row(0, y) + x),
                i22 * core::load(system.right.row(1, y) + x)};
    }

    static std::pair<core::Pack<float>, core::Pack<float>> apply(const float* c,
                                                                 core::Pack<float> sum_u,
                                                                 core::Pack<float> sum_v,
                                                                 core::Pack<float> u,
                                                                 core::Pack<float> v) {
        constexpr int lanes = core::lanes<float>;
        return {core::load(c) * sum_u + (core::load(c + 2 * lanes) * v + core::load(c + 4 * lanes)),
                core::load(c + lanes) * sum_v +
                    (core::load(c + 3 * lanes) * u + core::load(c + 5 * lanes))};
    }
};

}  // namespace aperture::flow
