// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interpreter's places are those of kernels on a CPU.
#define APERTURE_COMPOSE_CPU
#include "aperture/compose/operation.hpp"
#include "libcompose/kernels/elements.cuh"
#include "libcompose/launch_shape.hpp"

namespace aperture::compose {

/// action(place, i) for each element of a piece of a row, of results of these extents.
template <class Action>
void for_each_place(const Type& type, const RowPiece& piece, const Action& action) {
    const kernels::Walk walk = walk_over(type);
    const kernels::Place<false> first(walk, piece.plane * walk.rows_of_plane + piece.row);
    for (int i = 0; i < piece.count; ++i) action(first.moved(piece.column + i, 0), i);
}

}  // namespace aperture::compose
