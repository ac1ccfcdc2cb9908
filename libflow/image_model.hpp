// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The model of the images at one pixel, for the CPU and for kernels: its constants, and what is
// computed from them in one form.

#include "aperture/core/portable.hpp"

#if !defined(__CUDACC_RTC__)
#include <cmath>
#endif

namespace aperture::flow {

/// Gradients below this are rounding noise, grey levels a pixel.
inline constexpr float no_gradient = 1e-4F;
/// Factor of twelve_derivatives.
inline constexpr float twelfth = 1.0F / 12.0F;

/// Planes of a linearised data term: J11, J12, J22 and both right-hand sides.
inline constexpr int term_planes = 5;

/// Windows with a smaller eigenvalue below this have no texture: squared grey levels a pixel, per
/// pixel of the window.
inline constexpr float least_eigenvalue = 0.01F;

/// Structure-texture decomposition: weight of the image, step of the dual in units of it, and
/// iterations.
inline constexpr float texture_theta = 127.5F / 8;
inline constexpr float texture_dual_step = 0.25F;
inline constexpr int texture_iterations = 100;

/// Constancy: zeta^2 of the normalisation, squared grey levels a pixel.
inline constexpr float least_slope_squared = 1;

/// Charbonnier penalties: epsilon of the data term and of flow differences, pixels.
inline constexpr float data_epsilon = 0.1F;
inline constexpr float smoothness_epsilon = 0.005F;

/// Weighted median: samples on either side of a window's centre, and their spacing in pixels.
inline constexpr int window_samples = 3;
inline constexpr int window_spacing = 2;
/// Standard deviations of its weights: distance, pixels; grey-level difference; and for visibility,
/// shrinkage of an area by the flow and grey-level difference to the warped image.
inline constexpr float distance_sigma = 5;
inline constexpr float grey_sigma = 5;
inline constexpr float shrinkage_sigma = 0.3F;
inline constexpr float difference_sigma = 20;
inline constexpr float least_visibility = 1e-3F;
/// Flow difference of neighbours at a motion boundary, and the reach of a boundary, both in pixels.
inline constexpr float boundary_step = 0.25F;
inline constexpr int boundary_reach = 2;
inline constexpr int median_bisections = 8;

constexpr float over_twice_squared(float sigma) { return 0.5F / (sigma * sigma); }

/// Approximates exp(-t) for t >= 0 by (1 - t / 16)^16, and by zero beyond t = 16. `Values` is float
/// or a pack.
template <class Values>
APERTURE_HD Values bell(Values t) {
    Values power = 1.0F - t * 0.0625F;
    power = power > 0.0F ? power : Values{};
    for (int i = 0; i < 4; ++i) power *= power;
    return power;
}

/// In (0, 1]: the visibility in image 1 of a pixel's content, from the flow's divergence, the
/// `difference` of image 1, warped, to image 0, and whether the flow stays `inside`.
APERTURE_HD float visibility_of(float twice_divergence, float difference, bool inside) {
    const float divergence = 0.5F * twice_divergence;
    const float shrinkage = divergence > 0.0F ? 0.0F : divergence;
    const float seen = bell(shrinkage * shrinkage * over_twice_squared(shrinkage_sigma) +
                            difference * difference * over_twice_squared(difference_sigma));
    const bool visible = inside & (seen > least_visibility);
    return visible ? seen : least_visibility;
}

/// 12 times the derivative of at(i), the value `i` pixels further, by the filter (1, -8, 0, 8, -1)
/// / 12 (Barron, Fleet & Beauchemin 1994).
template <class Value>
APERTURE_HD float twelve_derivatives(const Value& at) {
    return 8 * (at(1) - at(-1)) - (at(2) - at(-2));
}

/// Replaces derivatives that are rounding noise by zero.
APERTURE_HD float unless_rounding(float derivative) {
    return fabsf(derivative) > no_gradient ? derivative : 0.0F;
}

/// The derivative from twelve_derivatives, unless it is rounding noise.
APERTURE_HD float slope_of(float twelve) { return unless_rounding(twelfth * twelve); }

/// Whether pixel (y, x), moved by (u, v), is still in the image; not if either is NaN.
APERTURE_HD bool lands_inside(int rows, int columns, int y, int x, float u, float v) {
    const float at_x = static_cast<float>(x) + u;
    const float at_y = static_cast<float>(y) + v;
    // Without branches, which would keep loops on the CPU from SIMD.
    return (at_x >= 0) & (at_x <= static_cast<float>(columns - 1)) & (at_y >= 0) &
           (at_y <= static_cast<float>(rows - 1));
}

/// J11, J12, J22 and both right-hand sides of a pixel.
struct Terms {
    float j11, j12, j22, b_u, b_v;
};

/// Brightness constancy, gx du + gy dv + gt = 0, about the flow (u, v), from the sums of
/// twelve_derivatives of both images. Zero for a pixel that moves out of the image. `whole` is 1
/// for terms of the whole flow, 0 for an increment.
APERTURE_HD Terms brightness_terms(bool inside, float across, float down, float gt, float u,
                                   float v, float whole) {
    const float weight = inside ? 0.5F * twelfth : 0.0F;
    const float gx = unless_rounding(weight * across);
    const float gy = unless_rounding(weight * down);
    const float c = gt - whole * (gx * u + gy * v);
    return {gx * gx, gx * gy, gy * gy, -gx * c, -gy * c};
}

/// A constancy constraint on an increment: x du + y dv + t should be zero.
struct Constraint {
    float x, y, t;

    APERTURE_HD float error(float du, float dv) const { return x * du + y * dv + t; }
};

/// x du + y dv + factor t = 0 times `weight`, normalised: for slopes well above a grey level its
/// error is then a distance in pixels (Zimmer, Bruhn & Weickert 2011, section 2.3).
APERTURE_HD Constraint normalised(float weight, float x, float y, float t, float factor = 1) {
    const float scale = weight / sqrtf(x * x + y * y + least_slope_squared);
    return {scale * x, scale * y, scale * factor * t};
}

/// Twice the derivative of Charbonnier's penalty sqrt(s^2 + epsilon^2) by s^2.
APERTURE_HD float charbonnier_weight(float error_squared, float epsilon) {
    return 1.0F / sqrtf(error_squared + epsilon * epsilon);
}

/// Terms of the whole flow from the constraints of the brightness and of its derivatives `across`
/// and `down` about the flow (u0, v0), weighted by their errors at (u, v). Both derivatives share a
/// weight; brightness has the factor `brightness` (Brox et al. 2004, section 3).
[[gnu::always_inline]] APERTURE_HD Terms robust_terms(const Constraint& value,
                                                      const Constraint& across,
                                                      const Constraint& down, float u0, float v0,
                                                      float u, float v, float brightness) {
    const float of_value = value.error(u - u0, v - v0);
    const float of_across = across.error(u - u0, v - v0);
    const float of_down = down.error(u - u0, v - v0);
    const float b = brightness * charbonnier_weight(of_value * of_value, data_epsilon);
    const float s = charbonnier_weight(of_across * of_across + of_down * of_down, data_epsilon);
    const float j11 = b * value.x * value.x + s * (across.x * across.x + down.x * down.x);
    const float j12 = b * value.x * value.y + s * (across.x * across.y + down.x * down.y);
    const float j22 = b * value.y * value.y + s * (across.y * across.y + down.y * down.y);
    const float xt = b * value.x * value.t + s * (across.x * across.t + down.x * down.t);
    const float yt = b * value.y * value.t + s * (across.y * across.t + down.y * down.t);
    return {j11, j12, j22, (j11 * u0 + j12 * v0) - xt, (j12 * u0 + j22 * v0) - yt};
}

/// Factor of a grey-level step in edge_weight.
APERTURE_HD float edge_decay(float contrast) { return contrast > 0 ? 0.5F / contrast : 0.0F; }

/// Weight between neighbours whose flow differs by (du, dv) and whose grey level by `step`: motion
/// changes at image edges (Werlberger et al. 2009).
APERTURE_HD float edge_weight(float du, float dv, float step, float decay) {
    const float edge = 1.0F + decay * fabsf(step);
    return charbonnier_weight(du * du + dv * dv, smoothness_epsilon) / (edge * edge);
}

struct Increment {
    float u, v;
};

/// Safeguards of a window's normal equations: the term added to their diagonal, and the smaller
/// eigenvalue below which the increment is zero.
struct WindowGuard {
    float added = 0;
    float least = 0;
};
inline WindowGuard window_guard(int window, double regularisation) {
    const auto side = static_cast<float>(window);
    const float pixels = side * side;
    return {static_cast<float>(regularisation) * pixels, least_eigenvalue * pixels};
}

/// The least-squares solution for the summed terms of a window (Lucas & Kanade 1981).
APERTURE_HD Increment solve_window(const Terms& sum, const WindowGuard& guard) {
    const float half_trace = 0.5F * (sum.j11 + sum.j22);
    const float half_difference = 0.5F * (sum.j11 - sum.j22);
    const float smaller = half_trace - sqrtf(half_difference * half_difference + sum.j12 * sum.j12);
    const float d11 = sum.j11 + guard.added;
    const float d22 = sum.j22 + guard.added;
    const float determinant = d11 * d22 - sum.j12 * sum.j12;
    const bool textured = smaller >= guard.least && determinant > 0;
    const float scale = textured ? 1.0F / determinant : 0.0F;
    return {scale * (d22 * sum.b_u - sum.j12 * sum.b_v),
            scale * (d11 * sum.b_v - sum.j12 * sum.b_u)};
}

/// A component of the flow after a warp: `before` plus the change, limited to `most`. `now` is the
/// new flow if `whole`, else an increment.
APERTURE_HD float limited_change(float before, float now, bool whole, float most) {
    float change = whole ? now - before : now;
    // Not fminf and fmaxf, which would drop NaN.
    change = change < -most ? -most : change;
    return before + (change > most ? most : change);
}

/// The weighted median of samples with non-negative weights, whose sum is twice `half`:
/// over_samples(visit) calls visit(value, weight) for each. It is one of the samples: the least of
/// those above all values with less than half of the weight below them, as far as
/// median_bisections bisections of their range separate values. `Values` is float or a pack.
template <class Values, class OverSamples>
APERTURE_HD Values weighted_median(Values half, const OverSamples& over_samples) {
    const Values infinite = Values{} + 3.40282347e+38F;
    Values low = infinite;
    Values high = -infinite;
    over_samples([&](Values value, Values weight) {
        low = ((weight > 0.0F) & (value < low)) ? value : low;
        high = ((weight > 0.0F) & (value > high)) ? value : high;
    });
    // Invariant: the weight below `low` is less than half; the weight below `high` is half or more,
    // or `high` is the largest value.
    for (int i = 0; i < median_bisections; ++i) {
        const Values between = 0.5F * low + 0.5F * high;
        Values below{};
        over_samples(
            [&](Values value, Values weight) { below += value < between ? weight : Values{}; });
        low = below < half ? between : low;
        high = below < half ? high : between;
    }
    Values least = infinite;
    over_samples([&](Values value, Values weight) {
        least = ((weight > 0.0F) & (value >= low) & (value < least)) ? value : least;
    });
    return least;
}

/// Weights of four samples at a fraction `t` beyond the second: cubic convolution, a = -1/2 (Keys
/// 1981).
template <class Values>
APERTURE_HD void cubic_weights(Values t, Values (&weights)[4]) {
    const Values t2 = t * t;
    const Values t3 = t2 * t;
    weights[0] = -0.5F * t3 + t2 - 0.5F * t;
    weights[1] = 1.5F * t3 - 2.5F * t2 + 1.0F;
    weights[2] = -1.5F * t3 + 2.0F * t2 + 0.5F * t;
    weights[3] = 0.5F * t3 - 0.5F * t2;
}

}  // namespace aperture::flow
