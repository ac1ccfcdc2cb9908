// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The pixel update of stationary iterations and Gauss-Seidel, shared by all their kernels, and
// kernels for each operator and each colour. The same as libflow/cpu/stationary.cpp and
// libflow/cpu/checkered_level.cpp.

#include "libflow/gpu/operator.cuh"
#include "libflow/gpu/sweep_tuning.hpp"

namespace aperture::flow::gpu {

struct SweepProblem {
    SystemPlanes system;
    Boundary boundary = Boundary::replicate;
    float omega = 1;  ///< of Solver::redblack
};

/// How a sweep extends the image. Gauss-Seidel relaxes a border pixel with its existing neighbours
/// only; weights across the border are zero.
template <Solver kind, Coupling coupling>
__device__ __forceinline__ Boundary outside_of(Boundary boundary) {
    constexpr bool colours = kind == Solver::redblack && coupling != Coupling::nine;
    if (colours || coupling == Coupling::weighted) return Boundary::zero;
    return boundary;
}

/// x <- M S + c; M and c include alpha^2 and omega.
template <Solver kind, Coupling coupling>
struct PixelUpdate {
    float uu;
    float uv;
    float vv;
    float c_u;
    float c_v;
    /// Weight of the pixel itself in S, to be subtracted: redblack with Coupling::nine.
    float repeats;

    /// `keep` is 1 - omega.
    __device__ __forceinline__ Pair operator()(Pair sum, Pair here, float keep) const {
        if constexpr (kind == Solver::redblack) {
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
struct PixelUpdate<Solver::jacobi, coupling> {
    float uu;
    float vv;
    float u_of_v;
    float v_of_u;
    float c_u;
    float c_v;

    __device__ __forceinline__ Pair operator()(Pair sum, Pair here, float) const {
        return {uu * sum.u + (u_of_v * here.v + c_u), vv * sum.v + (v_of_u * here.u + c_v)};
    }
};

/// The planes that update_of needs a pixel's block from: J for jacobi, otherwise the inverse of D.
template <Solver kind>
__device__ __forceinline__ const Planes<const float>& blocks_of(const SystemPlanes& system) {
    return kind == Solver::jacobi ? system.tensor : system.inverse;
}

/// The update of pixel (y, x); `block` and `right` are its entries of blocks_of and of b.
template <Solver kind, Coupling coupling>
__device__ __forceinline__ PixelUpdate<kind, coupling> update_of(const SweepProblem& problem,
                                                                 SymmetricBlock block, Pair right,
                                                                 int y, int x) {
    const SystemPlanes& system = problem.system;
    const float scale = coupling == Coupling::weighted ? 1.0F : system.smoothness;
    if constexpr (kind == Solver::jacobi) {
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
        if constexpr (kind == Solver::redblack) {
            omega = problem.omega;
            if (coupling != Coupling::weighted && problem.boundary == Boundary::replicate) {
                repeats = weight_of_repeats(coupling, rows_of(system.tensor),
                                            columns_of(system.tensor), y, x);
            }
            if (repeats > 0.0F) {
                block = inverse_block(block_at(system.tensor, y, x),
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
template <Solver kind, Coupling coupling>
__device__ __forceinline__ PixelUpdate<kind, coupling> update_at(const SweepProblem& problem, int y,
                                                                 int x) {
    return update_of<kind, coupling>(problem, block_at(blocks_of<kind>(problem.system), y, x),
                                     pair_at(problem.system.right, y, x), y, x);
}

/// Stores S of one unknown. A thread for a pixel, a block for prepare_rows x prepare_columns of
/// them, no shared memory. 8 bytes moved, 3 flops (8 for nine points, 7 with weights) a pixel.
/// Source: Anderson 2014, section 7.2; Horn & Schunck 1981, section 8.
template <Solver kind, Coupling coupling>
__global__ void sum_neighbours_kernel(SweepProblem problem, int unknown, Planes<const float> x,
                                      Planes<float> sums) {
    for_one_pixel(rows_of(x), columns_of(x), [&](int y, int column) {
        sums(unknown, y, column) =
            neighbour_sum<coupling>(outside_of<kind, coupling>(problem.boundary), problem.system, y,
                                    column, [&](int i, int j) { return x(unknown, i, j); });
    });
}

/// x <- D^-1 (S + b). A thread for a pixel, blocks as above. 44 bytes moved, 15 flops a pixel.
/// Source: Horn & Schunck 1981, equation 11; Anderson 2014, section 7.2.
template <Solver kind, Coupling coupling>
__global__ void update_pixels_kernel(SweepProblem problem, Planes<const float> sums,
                                     Planes<float> x) {
    for_one_pixel(rows_of(x), columns_of(x), [&](int y, int column) {
        const auto update = update_at<kind, coupling>(problem, y, column);
        store_pair(x, y, column, update(pair_at(sums, y, column), pair_at(x, y, column), 0.0F));
    });
}

/// Whether pixel (y, x) has a stage's colour: of a chess board, or for Coupling::nine its position
/// in a 2x2 block. Always true for kinds without colours.
template <Solver kind, Coupling coupling>
APERTURE_HD constexpr bool has_colour(int stage, int y, int x) {
    if (kind != Solver::redblack) return true;
    return coupling == Coupling::nine ? (y % 2) * 2 + x % 2 == stage : (y + x) % 2 == stage;
}

/// x += omega (D^-1 (S(x) + b) - x) on the pixels of one colour, in place; no two of them are
/// neighbours. A thread for a pixel of the colour, a block for prepare_rows rows (every other one
/// for nine points) of 2 prepare_columns columns, no shared memory. 60 bytes moved (76 for nine
/// points), 26 flops a pixel.
/// Source: Young 1971 (successive over-relaxation); Anderson 2014, section 7.2.
template <Coupling coupling>
__global__ void relax_colour_kernel(SweepProblem problem, int colour, Planes<float> x) {
    constexpr Solver kind = Solver::redblack;
    int y = static_cast<int>(blockIdx.y) * prepare_rows + static_cast<int>(threadIdx.y);
    int column =
        2 * (static_cast<int>(blockIdx.x) * prepare_columns + static_cast<int>(threadIdx.x));
    if constexpr (coupling == Coupling::nine) {
        y = 2 * y + colour / 2;
        column += colour % 2;
    } else {
        column += (y + colour) % 2;
    }
    if (y >= rows_of(x) || column >= columns_of(x)) return;
    const Pair sum =
        neighbour_sum<coupling>(outside_of<kind, coupling>(problem.boundary), problem.system, y,
                                column, [&](int i, int j) { return pair_at(x, i, j); });
    const auto update = update_at<kind, coupling>(problem, y, column);
    store_pair(x, y, column, update(sum, pair_at(x, y, column), 1.0F - problem.omega));
}

}  // namespace aperture::flow::gpu
