// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/prepared_system.hpp"

#include <algorithm>

#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {

void PreparedSystem::load_form(core::Cpu& cpu, const LinearSystem<core::Host>& system) {
    boundary = system.boundary;
    coupling = coupling_of(system);
    smoothness = system.smoothness;
    if (coupling != Coupling::weighted) return;
    if (weights.shape() != shape) weights = PaddedPlanes(2, shape);
    for_rows(cpu, shape, [&](index_t y) {
        float* const right_of = weights.row(0, y);
        float* const below = weights.row(1, y);
        for (index_t x = 0; x < shape.columns; ++x) {
            right_of[x] = x + 1 < shape.columns ? smoothness * system.coupling(0, y, x) : 0.0F;
            below[x] = y + 1 < shape.rows ? smoothness * system.coupling(1, y, x) : 0.0F;
        }
    });
}

void PreparedSystem::load_pixels(core::Cpu& cpu, const LinearSystem<core::Host>& system,
                                 bool with_inverse) {
    if (tensor.shape() != shape) {
        tensor = PaddedPlanes(3, shape);
        right = PaddedPlanes(2, shape);
    }
    if (with_inverse && inverse.shape() != shape) inverse = PaddedPlanes(3, shape);
    for_rows(cpu, shape, [&](index_t y) {
        for (index_t i : {0, 1, 2}) {
            std::copy_n(&system.tensor(i, y, 0), shape.columns, tensor.row(i, y));
        }
        for (index_t i : {0, 1}) {
            std::copy_n(&system.right(i, y, 0), shape.columns, right.row(i, y));
        }
        if (with_inverse) invert_row(y);
    });
}

void PreparedSystem::invert_row(index_t y) {
    for (index_t x = 0; x < shape.columns; x += core::lanes<float>) {
        const SymmetricBlock inverted = inverse_block(load_block(tensor, y, x), degrees(y, x));
        // Lanes behind the last pixel must not contribute: their inverse stays zero.
        core::Pack<float> kept = core::Pack<float>{} + 1.0F;
        for (index_t lane = shape.columns - x; lane < core::lanes<float>; ++lane) kept[lane] = 0.0F;
        core::store(inverse.row(0, y) + x, kept * inverted.a11);
        core::store(inverse.row(1, y) + x, kept * inverted.a12);
        core::store(inverse.row(2, y) + x, kept * inverted.a22);
    }
}

core::Pack<float> PreparedSystem::degrees(index_t y, index_t x) const {
    using core::load;
    if (coupling != Coupling::weighted) {
        return core::broadcast(weight_of_neighbours(coupling) * smoothness);
    }
    const core::Pack<float> across = load(weights.row(0, y) + x) + load(weights.row(0, y) + x - 1);
    const core::Pack<float> below = load(weights.row(1, y) + x);
    return y > 0 ? across + (below + load(weights.row(1, y - 1) + x)) : across + below;
}

}  // namespace aperture::flow
