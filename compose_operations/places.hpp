// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interpreter's places are those of kernels on a CPU.
#define APERTURE_COMPOSE_CPU
#include "aperture/compose/operation.hpp"
#include "libcompose/kernels/elements.cuh"

namespace aperture::compose {

/// action(place, i) for each element of a piece of a row, of results of these extents, of rank 2 or
/// more.
template <class Action>
void for_each_place(const Type& type, const RowPiece& piece, const Action& action) {
    const auto rank = static_cast<std::size_t>(type.rank);
    kernels::Walk walk;
    walk.rows_of_plane = type.extent[rank - 2];
    walk.columns = type.extent[rank - 1];
    const kernels::Place<false> first(walk, piece.plane * walk.rows_of_plane + piece.row);
    for (int i = 0; i < piece.count; ++i) action(first.moved(piece.column + i, 0), i);
}

}  // namespace aperture::compose
