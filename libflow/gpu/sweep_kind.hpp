// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/flow/stencil.hpp"

namespace aperture::flow::gpu {

/// Pixel-wise iterations.
enum class SweepKind {
    jacobi,    ///< Solver::jacobi: diagonal scaling only
    block2x2,  ///< Solver::block2x2: the two unknowns of a pixel are solved together
    redblack,  ///< Solver::redblack: Gauss-Seidel on the 2x2 blocks, two colours or four, and SOR
};

/// Stages of a sweep: its colours, or one. A value propagates by one pixel a stage.
constexpr int stages_of(SweepKind kind, Coupling coupling) {
    if (kind != SweepKind::redblack) return 1;
    return coupling == Coupling::nine ? 4 : 2;
}

}  // namespace aperture::flow::gpu
