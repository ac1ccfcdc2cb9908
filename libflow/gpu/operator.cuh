// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The matrix of a flow's linear system at one pixel, for unknowns in any memory. The kernels of all
// solvers use it.

#include "libflow/gpu/prepared_system.cuh"

namespace aperture::flow::gpu {

/// Both unknowns of a pixel, or any quantity with a component along each axis. Aligned so that both
/// are one memory access.
struct alignas(8) Pair {
    float u;
    float v;
};

APERTURE_HD Pair operator+(Pair a, Pair b) { return {a.u + b.u, a.v + b.v}; }
APERTURE_HD Pair operator-(Pair a, Pair b) { return {a.u - b.u, a.v - b.v}; }
APERTURE_HD Pair operator*(float a, Pair b) { return {a * b.u, a * b.v}; }
APERTURE_HD Pair operator*(const SymmetricBlock& m, Pair b) {
    return {m.a11 * b.u + m.a12 * b.v, m.a12 * b.u + m.a22 * b.v};
}
APERTURE_HD float dot(Pair a, Pair b) { return a.u * b.u + a.v * b.v; }

template <class T>
__device__ __forceinline__ Pair pair_at(const Planes<T>& planes, int y, int x) {
    return {planes(0, y, x), planes(1, y, x)};
}
__device__ __forceinline__ void store_pair(const Planes<float>& planes, int y, int x, Pair value) {
    planes(0, y, x) = value.u;
    planes(1, y, x) = value.v;
}
__device__ __forceinline__ SymmetricBlock block_at(const Planes<const float>& planes, int y,
                                                   int x) {
    return {planes(0, y, x), planes(1, y, x), planes(2, y, x)};
}

/// The value of `field` at (y, x), which may be one pixel outside the image; field(y, x) is called
/// for pixels inside only.
template <Boundary boundary, class Field>
__device__ __forceinline__ Pair value_at(int rows, int columns, int y, int x, const Field& field) {
    if constexpr (boundary == Boundary::replicate) {
        return field(min(max(y, 0), rows - 1), min(max(x, 0), columns - 1));
    } else {
        const bool inside = y >= 0 && y < rows && x >= 0 && x < columns;
        return inside ? field(y, x) : Pair{0.0F, 0.0F};
    }
}

/// S of pixel (y, x) from at(dy, dx), the surrounding values; without alpha^2 for Coupling::five
/// and Coupling::nine.
template <Coupling coupling, class Around>
__device__ __forceinline__ Pair sum_around(const SystemPlanes& system, int y, int x,
                                           const Around& at) {
    const Pair left = at(0, -1);
    const Pair right = at(0, 1);
    const Pair above = at(-1, 0);
    const Pair below = at(1, 0);
    if constexpr (coupling == Coupling::weighted) {
        const Planes<const float>& w = system.weights;
        const float to_left = x > 0 ? w(0, y, x - 1) : 0.0F;
        const float to_above = y > 0 ? w(1, y - 1, x) : 0.0F;
        return (w(0, y, x) * right + to_left * left) + (w(1, y, x) * below + to_above * above);
    } else {
        const Pair four = (left + right) + (above + below);
        if constexpr (coupling == Coupling::five) return four;
        const Pair diagonal = (at(-1, -1) + at(-1, 1)) + (at(1, -1) + at(1, 1));
        return 0.5F * four + 0.25F * diagonal;
    }
}

/// The same from field(y, x), defined for pixels inside the image.
template <Coupling coupling, Boundary boundary, class Field>
__device__ __forceinline__ Pair neighbour_sum(const SystemPlanes& system, int y, int x,
                                              const Field& field) {
    return sum_around<coupling>(system, y, x, [&](int dy, int dx) {
        return value_at<boundary>(rows_of(system.tensor), columns_of(system.tensor), y + dy, x + dx,
                                  field);
    });
}

/// d x - S at pixel (y, x): the flux to its neighbours. `here` is x and `sum` is S from sum_around.
template <Coupling coupling>
__device__ __forceinline__ Pair flux_of(const SystemPlanes& system, int y, int x, Pair here,
                                        Pair sum) {
    if constexpr (coupling == Coupling::weighted) {
        return degree<coupling>(system, y, x) * here - sum;
    } else {
        constexpr float neighbours = coupling == Coupling::nine ? 3.0F : 4.0F;
        return system.smoothness * (neighbours * here - sum);
    }
}

/// The same from field(y, x).
template <Coupling coupling, Boundary boundary, class Field>
__device__ __forceinline__ Pair flux(const SystemPlanes& system, int y, int x, Pair here,
                                     const Field& field) {
    return flux_of<coupling>(system, y, x, here,
                             neighbour_sum<coupling, boundary>(system, y, x, field));
}

/// A x at pixel (y, x), where x is `here`. Five points: 10 flops an unknown.
template <Coupling coupling, Boundary boundary, class Field>
__device__ __forceinline__ Pair multiply(const SystemPlanes& system, int y, int x, Pair here,
                                         const Field& field) {
    return block_at(system.tensor, y, x) * here +
           flux<coupling, boundary>(system, y, x, here, field);
}

/// b - A x at pixel (y, x).
template <Coupling coupling, Boundary boundary, class Field>
__device__ __forceinline__ Pair residual_at(const SystemPlanes& system, int y, int x,
                                            const Field& field) {
    return pair_at(system.right, y, x) -
           multiply<coupling, boundary>(system, y, x, field(y, x), field);
}

#if !defined(__CUDACC_RTC__)

/// Calls function(coupling, boundary), both std::integral_constant. Weights between pixels always
/// have replicated borders.
template <class Function>
void with_stencil(Coupling coupling, Boundary boundary, const Function& function) {
    using Replicate = std::integral_constant<Boundary, Boundary::replicate>;
    gpu::with_coupling(coupling, [&](auto kind) {
        if constexpr (decltype(kind)::value == Coupling::weighted) {
            function(kind, Replicate{});
        } else {
            gpu::with_boundary(boundary, [&](auto border) { function(kind, border); });
        }
    });
}

#endif

}  // namespace aperture::flow::gpu
