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
template <class Field>
__device__ __forceinline__ auto value_at(Boundary boundary, int rows, int columns, int y, int x,
                                         const Field& field) {
    if (boundary == Boundary::replicate) {
        return field(min(max(y, 0), rows - 1), min(max(x, 0), columns - 1));
    }
    const bool inside = y >= 0 && y < rows && x >= 0 && x < columns;
    return inside ? field(y, x) : decltype(field(y, x)){};
}

/// Weights between a pixel and its neighbours, with alpha^2, for Coupling::weighted only.
struct EdgeWeights {
    float left;
    float right;
    float above;
    float below;
};

template <Coupling coupling>
__device__ __forceinline__ EdgeWeights edge_weights(const SystemPlanes& system, int y, int x) {
    if constexpr (coupling != Coupling::weighted) return {};
    const Planes<const float>& w = system.weights;
    return {x > 0 ? w(0, y, x - 1) : 0.0F, w(0, y, x), y > 0 ? w(1, y - 1, x) : 0.0F, w(1, y, x)};
}

/// S of a pixel from at(dy, dx), the surrounding values of one unknown or of both; without alpha^2
/// for Coupling::five and Coupling::nine. The order of summation gives a mirrored neighbourhood the
/// bitwise same result.
template <Coupling coupling, class Around>
__device__ __forceinline__ auto sum_around(const EdgeWeights& w, const Around& at) {
    if constexpr (coupling == Coupling::weighted) {
        return (w.left * at(0, -1) + w.right * at(0, 1)) +
               (w.above * at(-1, 0) + w.below * at(1, 0));
    } else {
        const auto four = (at(0, -1) + at(0, 1)) + (at(-1, 0) + at(1, 0));
        if constexpr (coupling == Coupling::five) return four;
        const auto diagonal = (at(-1, -1) + at(-1, 1)) + (at(1, -1) + at(1, 1));
        return 0.5F * four + 0.25F * diagonal;
    }
}

/// The same from field(y, x), defined for pixels inside the image.
template <Coupling coupling, class Field>
__device__ __forceinline__ auto neighbour_sum(Boundary boundary, const SystemPlanes& system, int y,
                                              int x, const Field& field) {
    return sum_around<coupling>(edge_weights<coupling>(system, y, x), [&](int dy, int dx) {
        return value_at(boundary, rows_of(system.tensor), columns_of(system.tensor), y + dy, x + dx,
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
        return system.smoothness * (weight_of_neighbours(coupling) * here - sum);
    }
}

/// The same from field(y, x).
template <Coupling coupling, Boundary boundary, class Field>
__device__ __forceinline__ Pair flux(const SystemPlanes& system, int y, int x, Pair here,
                                     const Field& field) {
    return flux_of<coupling>(system, y, x, here,
                             neighbour_sum<coupling>(boundary, system, y, x, field));
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

/// Calls function(coupling, boundary), both std::integral_constant. Weights between pixels always
/// have replicated borders.
template <class Function>
void with_stencil(Coupling coupling, Boundary boundary, const Function& function) {
    using Replicate = std::integral_constant<Boundary, Boundary::replicate>;
    using Zero = std::integral_constant<Boundary, Boundary::zero>;
    with_coupling(coupling, [&](auto kind) {
        if constexpr (decltype(kind)::value != Coupling::weighted) {
            if (boundary == Boundary::zero) return function(kind, Zero{});
        }
        function(kind, Replicate{});
    });
}

}  // namespace aperture::flow::gpu
