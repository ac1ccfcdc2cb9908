// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The pixel update of stationary iterations, shared by all their kernels, and Jacobi's iteration
// with a kernel for each operator. The same as libflow/cpu/stationary.cpp.

#include "libflow/gpu/prepared_system.cuh"
#include "libflow/gpu/sweep_kind.hpp"

namespace aperture::flow::gpu {

struct SweepProblem {
    SystemPlanes system;
    Boundary boundary = Boundary::replicate;
    float omega = 1;  ///< of SweepKind::redblack
};

/// The value of a neighbour outside the image: the nearest pixel's or zero.
enum class Outside { nearest, zero };

/// Gauss-Seidel relaxes a border pixel with its existing neighbours only; weights across the border
/// are zero.
template <SweepKind kind, Coupling coupling>
__device__ __forceinline__ Outside outside_of(Boundary boundary) {
    constexpr bool colours = kind == SweepKind::redblack && coupling != Coupling::nine;
    if (colours || coupling == Coupling::weighted) return Outside::zero;
    return boundary == Boundary::replicate ? Outside::nearest : Outside::zero;
}

/// The two unknowns of a pixel, or sums of them.
struct Unknowns {
    float u;
    float v;
};

/// One unknown around a pixel; the diagonal neighbours for Coupling::nine only.
struct Neighbours {
    float left;
    float right;
    float above;
    float below;
    float above_left;
    float above_right;
    float below_left;
    float below_right;
};

/// Weights between a pixel and its neighbours, with alpha^2, for Coupling::weighted only.
struct NeighbourWeights {
    float left;
    float right;
    float above;
    float below;
};

/// S of one unknown; includes alpha^2 for Coupling::weighted only. The order of summation gives a
/// mirrored neighbourhood the bitwise same result.
template <Coupling coupling>
__device__ __forceinline__ float sum_of(const Neighbours& n, const NeighbourWeights& w) {
    if constexpr (coupling == Coupling::weighted) {
        return (w.left * n.left + w.right * n.right) + (w.above * n.above + w.below * n.below);
    } else {
        const float four = (n.left + n.right) + (n.above + n.below);
        if constexpr (coupling == Coupling::five) return four;
        const float diagonal = (n.above_left + n.above_right) + (n.below_left + n.below_right);
        return 0.5F * four + 0.25F * diagonal;
    }
}

/// x <- M S + c; M and c include alpha^2 and omega.
template <SweepKind kind, Coupling coupling>
struct PixelUpdate {
    float uu;
    float uv;
    float vv;
    float c_u;
    float c_v;
    /// Weight of the pixel itself in S, to be subtracted: redblack with Coupling::nine.
    float repeats;

    /// `keep` is 1 - omega.
    __device__ __forceinline__ Unknowns operator()(Unknowns sum, Unknowns here, float keep) const {
        if constexpr (kind == SweepKind::redblack) {
            if constexpr (coupling == Coupling::nine) {
                sum.u -= repeats * here.u;
                sum.v -= repeats * here.v;
            }
            return {uu * sum.u + (uv * sum.v + (keep * here.u + c_u)),
                    uv * sum.u + (vv * sum.v + (keep * here.v + c_v))};
        } else {
            return {uu * sum.u + (uv * sum.v + c_u), uv * sum.u + (vv * sum.v + c_v)};
        }
    }
};

/// u <- M11 S_u + (K_u v + c_u), and v likewise.
template <Coupling coupling>
struct PixelUpdate<SweepKind::jacobi, coupling> {
    float uu;
    float vv;
    float u_of_v;
    float v_of_u;
    float c_u;
    float c_v;

    __device__ __forceinline__ Unknowns operator()(Unknowns sum, Unknowns here, float) const {
        return {uu * sum.u + (u_of_v * here.v + c_u), vv * sum.v + (v_of_u * here.u + c_v)};
    }
};

/// The summed weights, without alpha^2, of neighbours outside the image that repeat pixel (y, x).
template <Coupling coupling>
__device__ __forceinline__ float repeats_of(const Planes<const float>& image, int y, int x) {
    if constexpr (coupling == Coupling::weighted) return 0.0F;
    const float across = (x == 0 ? 1.0F : 0.0F) + (x + 1 == columns_of(image) ? 1.0F : 0.0F);
    const float down = (y == 0 ? 1.0F : 0.0F) + (y + 1 == rows_of(image) ? 1.0F : 0.0F);
    if constexpr (coupling == Coupling::five) return across + down;
    return 0.5F * (across + down) + 0.25F * across * down;
}

/// The planes that update_of needs a pixel's block from: J for jacobi, otherwise the inverse of D.
template <SweepKind kind>
__device__ __forceinline__ const Planes<const float>& blocks_of(const SystemPlanes& system) {
    return kind == SweepKind::jacobi ? system.tensor : system.inverse;
}

/// The update of pixel (y, x); `block` and `right` are its entries of blocks_of and of b.
template <SweepKind kind, Coupling coupling>
__device__ __forceinline__ PixelUpdate<kind, coupling> update_of(const SweepProblem& problem,
                                                                 SymmetricBlock block,
                                                                 Unknowns right, int y, int x) {
    const SystemPlanes& system = problem.system;
    const float scale = coupling == Coupling::weighted ? 1.0F : system.smoothness;
    if constexpr (kind == SweepKind::jacobi) {
        const float d = degree<coupling>(system, y, x);
        const float d_u = block.a11 + d;
        const float d_v = block.a22 + d;
        const float i_u = d_u > 0.0F ? 1.0F / d_u : 0.0F;
        const float i_v = d_v > 0.0F ? 1.0F / d_v : 0.0F;
        return {scale * i_u,      scale * i_v,   -i_u * block.a12,
                -i_v * block.a12, i_u * right.u, i_v * right.v};
    } else {
        float repeats = 0.0F;
        float omega = 1.0F;
        if constexpr (kind == SweepKind::redblack) {
            omega = problem.omega;
            if (coupling != Coupling::weighted && problem.boundary == Boundary::replicate) {
                repeats = repeats_of<coupling>(system.tensor, y, x);
            }
            if (repeats > 0.0F) {
                const Planes<const float>& j = system.tensor;
                block = inverse_block({j(0, y, x), j(1, y, x), j(2, y, x)},
                                      degree<coupling>(system, y, x) - system.smoothness * repeats);
            }
        }
        const float m = omega * scale;
        return {m * block.a11,
                m * block.a12,
                m * block.a22,
                omega * (block.a11 * right.u + block.a12 * right.v),
                omega * (block.a12 * right.u + block.a22 * right.v),
                repeats};
    }
}

/// update_of with its inputs loaded from the planes.
template <SweepKind kind, Coupling coupling>
__device__ __forceinline__ PixelUpdate<kind, coupling> update_at(const SweepProblem& problem, int y,
                                                                 int x) {
    const Planes<const float>& blocks = blocks_of<kind>(problem.system);
    const Planes<const float>& right = problem.system.right;
    return update_of<kind, coupling>(problem, {blocks(0, y, x), blocks(1, y, x), blocks(2, y, x)},
                                     {right(0, y, x), right(1, y, x)}, y, x);
}

/// A neighbour of a pixel, `dy` and `dx` from it.
template <class T>
__device__ __forceinline__ float neighbour(const Planes<T>& x, int plane, Outside outside, int y,
                                           int column, int dy, int dx) {
    const int row = y + dy;
    const int beside = column + dx;
    const bool inside = row >= 0 && row < rows_of(x) && beside >= 0 && beside < columns_of(x);
    if (!inside && outside == Outside::zero) return 0.0F;
    return x(plane, min(max(row, 0), rows_of(x) - 1), min(max(beside, 0), columns_of(x) - 1));
}

/// S of one unknown from planes, as defined by sum_of.
template <Coupling coupling, class T>
__device__ __forceinline__ float sum_at(const Planes<T>& x, int plane,
                                        const Planes<const float>& weights, Outside outside, int y,
                                        int column) {
    const auto at = [&](int dy, int dx) { return neighbour(x, plane, outside, y, column, dy, dx); };
    Neighbours n{at(0, -1), at(0, 1), at(-1, 0), at(1, 0), 0, 0, 0, 0};
    NeighbourWeights w{};
    if constexpr (coupling == Coupling::nine) {
        n.above_left = at(-1, -1);
        n.above_right = at(-1, 1);
        n.below_left = at(1, -1);
        n.below_right = at(1, 1);
    }
    if constexpr (coupling == Coupling::weighted) {
        w = {column > 0 ? weights(0, y, column - 1) : 0.0F, weights(0, y, column),
             y > 0 ? weights(1, y - 1, column) : 0.0F, weights(1, y, column)};
    }
    return sum_of<coupling>(n, w);
}

/// Stores S of one unknown. A thread for a pixel, a block for prepare_rows x prepare_columns of
/// them, no shared memory. 8 bytes moved, 3 flops (8 for nine points, 7 with weights) a pixel.
/// Source: Anderson 2014, section 7.2; Horn & Schunck 1981, section 8.
template <SweepKind kind, Coupling coupling>
__global__ void sum_neighbours_kernel(SweepProblem problem, int unknown, Planes<const float> x,
                                      Planes<float> sums) {
    int y = 0;
    int column = 0;
    if (!own_pixel(rows_of(x), columns_of(x), &y, &column)) return;
    sums(unknown, y, column) =
        sum_at<coupling>(x, unknown, problem.system.weights,
                         outside_of<kind, coupling>(problem.boundary), y, column);
}

/// x <- D^-1 (S + b). A thread for a pixel, blocks as above. 44 bytes moved, 15 flops a pixel.
/// Source: Horn & Schunck 1981, equation 11; Anderson 2014, section 7.2.
template <SweepKind kind, Coupling coupling>
__global__ void update_pixels_kernel(SweepProblem problem, Planes<const float> sums,
                                     Planes<float> x) {
    int y = 0;
    int column = 0;
    if (!own_pixel(rows_of(x), columns_of(x), &y, &column)) return;
    const auto update = update_at<kind, coupling>(problem, y, column);
    const Unknowns next =
        update({sums(0, y, column), sums(1, y, column)}, {x(0, y, column), x(1, y, column)}, 0.0F);
    x(0, y, column) = next.u;
    x(1, y, column) = next.v;
}

}  // namespace aperture::flow::gpu
