// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>

#include "libflow/cpu/prepared_system.hpp"

/// Jacobi updates of a pack of pixels: u' and v' from the sums S_u and S_v over the neighbours, and
/// coefficients of the pixels that are constant over the steps.
namespace aperture::flow {

inline core::Pack<float> square_root(core::Pack<float> x) {
    for (int lane = 0; lane < core::lanes<float>; ++lane) x[lane] = std::sqrt(x[lane]);
    return x;
}
inline core::Pack<float> magnitude(core::Pack<float> x) { return x < 0.0F ? -x : x; }

/// J11, J12, J22, b_u and b_v of a pack of pixels, the sum d of their weights with alpha^2, and the
/// factor alpha^2 that sums without weights lack.
struct PixelPack {
    SymmetricBlock tensor;
    PackPair right;
    core::Pack<float> degrees;
    float scale;
};

/// u' = a S_u + b S_v + c, and v' likewise: five coefficients a pixel.
struct BlockUpdate {
    static constexpr int coefficients = 5;

    static std::array<core::Pack<float>, coefficients> of(const PixelPack& pixels,
                                                          core::Pack<float>&) {
        const SymmetricBlock inverse = inverse_block(pixels.tensor, pixels.degrees);
        const PackPair constant = inverse * pixels.right;
        return {pixels.scale * inverse.a11, pixels.scale * inverse.a12, pixels.scale * inverse.a22,
                constant.u, constant.v};
    }

    static PackPair apply(const float* c, const PackPair& sum, const PackPair&) {
        constexpr int lanes = core::lanes<float>;
        const core::Pack<float> cross = core::load(c + lanes);
        return {core::load(c) * sum.u + (cross * sum.v + core::load(c + 3 * lanes)),
                cross * sum.u + (core::load(c + 2 * lanes) * sum.v + core::load(c + 4 * lanes))};
    }
};

/// The update of a pixel with one equation, J = g g^T and b = -c g, as in brightness constancy, for
/// a constant d: u' = m_u - p t and v' = m_v - q t with t = p m_u + q m_v + r, the mean m = S / d
/// of the neighbours (Horn & Schunck's form), (p, q) = g / sqrt(d + |g|^2) and r = c / sqrt(d +
/// |g|^2): three coefficients a pixel.
template <Coupling coupling>
struct OneEquationUpdate {
    static constexpr int coefficients = 3;
    static constexpr float part_of_sum = 1.0F / weight_of_neighbours(coupling);

    /// `misfit` becomes positive in lanes that lack this form to rounding.
    static std::array<core::Pack<float>, coefficients> of(const PixelPack& pixels,
                                                          core::Pack<float>& misfit) {
        constexpr float rounding = 2e-6F;
        const core::Pack<float> zero{};
        const auto& [j11, j12, j22] = pixels.tensor;
        const auto& [b_u, b_v] = pixels.right;
        const core::Pack<float> trace = j11 + j22;
        const core::Pack<float> divisor = pixels.degrees + trace;
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

    static PackPair apply(const float* c, const PackPair& sum, const PackPair&) {
        constexpr int lanes = core::lanes<float>;
        const core::Pack<float> p = core::load(c);
        const core::Pack<float> q = core::load(c + lanes);
        const core::Pack<float> mean_u = part_of_sum * sum.u;
        const core::Pack<float> mean_v = part_of_sum * sum.v;
        const core::Pack<float> t = p * mean_u + (q * mean_v + core::load(c + 2 * lanes));
        return {mean_u - p * t, mean_v - q * t};
    }
};

/// u' = (S_u + b_u - J12 v) / D11, and v' likewise.
struct DiagonalUpdate {
    static constexpr int coefficients = 6;

    static std::array<core::Pack<float>, coefficients> of(const PixelPack& pixels,
                                                          core::Pack<float>&) {
        const core::Pack<float> zero{};
        const core::Pack<float> d11 = pixels.tensor.a11 + pixels.degrees;
        const core::Pack<float> d22 = pixels.tensor.a22 + pixels.degrees;
        const core::Pack<float> i11 = d11 > 0.0F ? 1.0F / d11 : zero;
        const core::Pack<float> i22 = d22 > 0.0F ? 1.0F / d22 : zero;
        return {pixels.scale * i11,       pixels.scale * i22,   -i11 * pixels.tensor.a12,
                -i22 * pixels.tensor.a12, i11 * pixels.right.u, i22 * pixels.right.v};
    }

    static PackPair apply(const float* c, const PackPair& sum, const PackPair& here) {
        constexpr int lanes = core::lanes<float>;
        return {core::load(c) * sum.u +
                    (core::load(c + 2 * lanes) * here.v + core::load(c + 4 * lanes)),
                core::load(c + lanes) * sum.v +
                    (core::load(c + 3 * lanes) * here.u + core::load(c + 5 * lanes))};
    }
};

}  // namespace aperture::flow
