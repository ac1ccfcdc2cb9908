// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/padded_planes.hpp"
#include "libflow/solver_model.hpp"

namespace aperture::flow {

/// Both unknowns of a pack of pixels.
struct PackPair {
    core::Pack<float> u;
    core::Pack<float> v;
};

using SymmetricBlock = SymmetricMatrix<core::Pack<float>>;

inline PackPair operator+(const PackPair& a, const PackPair& b) { return {a.u + b.u, a.v + b.v}; }
inline PackPair operator-(const PackPair& a, const PackPair& b) { return {a.u - b.u, a.v - b.v}; }
inline PackPair operator*(float a, const PackPair& b) { return {a * b.u, a * b.v}; }
inline PackPair operator*(const SymmetricBlock& m, const PackPair& b) {
    return {m.a11 * b.u + m.a12 * b.v, m.a12 * b.u + m.a22 * b.v};
}

/// The pack of pixels at (y, x) of two planes, or of three.
inline PackPair load_pair(const PaddedPlanes& planes, index_t y, index_t x) {
    return {core::load(planes.row(0, y) + x), core::load(planes.row(1, y) + x)};
}
inline SymmetricBlock load_block(const PaddedPlanes& planes, index_t y, index_t x) {
    return {core::load(planes.row(0, y) + x), core::load(planes.row(1, y) + x),
            core::load(planes.row(2, y) + x)};
}

/// Row y of two planes for loops that store: a store of a pack may alias the planes' own members.
struct PairRow {
    float* u;
    float* v;

    PairRow(PaddedPlanes& planes, index_t y) : u(planes.row(0, y)), v(planes.row(1, y)) {}
    PackPair load(index_t x) const { return {core::load(u + x), core::load(v + x)}; }
    void store(index_t x, const PackPair& pair) const {
        core::store(u + x, pair.u);
        core::store(v + x, pair.v);
    }
};

/// (J + d I)^-1 of a positive semi-definite J and d >= 0; the pseudo-inverse if that is singular to
/// rounding, as for a pixel without neighbours.
inline SymmetricBlock inverse_block(const SymmetricBlock& j, core::Pack<float> d) {
    using core::Pack;
    const Pack<float> one = core::broadcast(1.0F);
    const Pack<float> trace = j.a11 + j.a22;
    const Pack<float> determinant = determinant_of(j, d);
    const auto regular = determinant > 0.0F;
    const Pack<float> scale = 1.0F / (regular ? determinant : (trace > 0.0F ? trace * trace : one));
    return {scale * (regular ? j.a22 + d : j.a11), scale * (regular ? -j.a12 : j.a12),
            scale * (regular ? j.a11 + d : j.a22)};
}

/// A system in the storage of the row-wise solvers. With D = J + d I, d the sum of a pixel's
/// weights times alpha^2, and S the sum of its neighbours' values times their weights and alpha^2,
/// the matrix is A x = D x - S(x). A neighbour outside the image is the pixel itself (replicate) or
/// zero, and counts in d either way; weights given by the caller are zero there.
struct PreparedSystem {
    Shape shape;
    Boundary boundary = Boundary::replicate;
    Coupling coupling = Coupling::five;
    float smoothness = 1;
    PaddedPlanes tensor;   ///< J: J11, J12, J22
    PaddedPlanes inverse;  ///< of D, in the same order
    PaddedPlanes right;    ///< b
    PaddedPlanes weights;  ///< alpha^2 w to the right and below; margins and the last row are zero

    PreparedSystem() = default;
    /// Planes are allocated by the first system that needs them.
    explicit PreparedSystem(Shape extents) : shape(extents) {}

    /// Copies all but J, its inverse and b.
    void load_form(core::Cpu& cpu, const LinearSystem<core::Host>& system);
    /// Copies J and b, after load_form, and computes `inverse` on request.
    void load_pixels(core::Cpu& cpu, const LinearSystem<core::Host>& system, bool with_inverse);
    void load(core::Cpu& cpu, const LinearSystem<core::Host>& system, bool with_inverse) {
        load_form(cpu, system);
        load_pixels(cpu, system, with_inverse);
    }
    /// d of the pack of pixels at (y, x).
    core::Pack<float> degrees(index_t y, index_t x) const;

  private:
    void invert_row(index_t y);
};

/// The rows that contain the neighbours of row y.
struct RowPointers {
    const float* above;
    const float* middle;
    const float* below;
};

/// S of a row, a pack at a time; includes alpha^2 for Coupling::weighted only.
template <Coupling coupling>
struct NeighbourSum {
    NeighbourSum(const PreparedSystem& system, index_t y) {
        if constexpr (coupling == Coupling::weighted) {
            right = system.weights.row(0, y);
            below = system.weights.row(1, y);
            above = y > 0 ? system.weights.row(1, y - 1) : nullptr;
        }
    }

    core::Pack<float> operator()(const RowPointers& rows, index_t x) const {
        using core::load;
        return (*this)(x, load(rows.middle + x - 1), load(rows.middle + x + 1),
                       load(rows.above + x), load(rows.below + x), [&] {
                           return (load(rows.above + x - 1) + load(rows.above + x + 1)) +
                                  (load(rows.below + x - 1) + load(rows.below + x + 1));
                       });
    }
    /// The same for given values; diagonal() returns the sum of the four diagonal neighbours.
    template <class Diagonal>
    core::Pack<float> operator()(index_t x, core::Pack<float> left_value,
                                 core::Pack<float> right_value, core::Pack<float> above_value,
                                 core::Pack<float> below_value, const Diagonal& diagonal) const {
        using core::load;
        if constexpr (coupling == Coupling::weighted) {
            core::Pack<float> sum =
                load(right + x) * right_value + load(right + x - 1) * left_value;
            sum += load(below + x) * below_value;
            if (above != nullptr) sum += load(above + x) * above_value;
            return sum;
        } else if constexpr (coupling == Coupling::nine) {
            return 0.5F * ((left_value + right_value) + (above_value + below_value)) +
                   0.25F * diagonal();
        } else {
            return (left_value + right_value) + (above_value + below_value);
        }
    }

    const float* right = nullptr;
    const float* below = nullptr;
    const float* above = nullptr;
};

/// d x - S(x) of a row, a pack at a time, with alpha^2: the flux to the neighbours.
template <Coupling coupling>
struct Flux {
    Flux(const PreparedSystem& system, index_t y) : sum(system, y), smoothness(system.smoothness) {}

    core::Pack<float> operator()(const RowPointers& rows, index_t x) const {
        using core::load;
        const core::Pack<float> here = load(rows.middle + x);
        if constexpr (coupling == Coupling::weighted) {
            core::Pack<float> flux = load(sum.right + x) * (here - load(rows.middle + x + 1)) +
                                     load(sum.right + x - 1) * (here - load(rows.middle + x - 1));
            flux += load(sum.below + x) * (here - load(rows.below + x));
            if (sum.above != nullptr) flux += load(sum.above + x) * (here - load(rows.above + x));
            return flux;
        } else {
            return smoothness * (weight_of_neighbours(coupling) * here - sum(rows, x));
        }
    }

    NeighbourSum<coupling> sum;
    float smoothness;
};

}  // namespace aperture::flow
