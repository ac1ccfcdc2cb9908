// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/stap/stages.hpp"

/// The covariances of single range cells in fp64, for what follows a run.
namespace aperture::stap::cpu {

/// A range cell in a Doppler bin.
struct Place {
    index_t doppler_bin = 0;
    index_t range_cell = 0;
    double automatic_loading = 0;  ///< see attempts.hpp
    /// Of block training, whether the cell itself is left out, as the detectors leave it out. The
    /// other ways to train always do.
    bool without_cell = false;
};

/// R w = v for a batch of places.
struct CellSystems {
    core::Array<std::complex<double>, 3> covariance;  ///< R, [place][n][n], both triangles
    core::Array<std::complex<double>, 3> vectors;     ///< v, then w, [place][vector][n]
    core::Array<int, 1> info;                         ///< [place], as in dense::solve
    core::Array<double, 1> pivot_ratio;
};

/// Places whose systems fit in some MiB; at least one.
index_t places_at_a_time(const Problem& problem, index_t vectors);

/// The cells that the training of `range_cell` reads: block, window or all.
RangeSpan cells_read_for(const Problem& problem, index_t range_cell);

/// Estimates the covariance of every place and solves for `systems.vectors`, whose first extent is
/// the number of places. R is the mean over the cell's training cells, with the problem's loading
/// (README.md). `cube` is in the Doppler domain. Places of one Doppler bin should follow each
/// other: with Training::all they share the sum over all cells.
void solve_cells(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                 const std::vector<Place>& places, CellSystems& systems);

}  // namespace aperture::stap::cpu
