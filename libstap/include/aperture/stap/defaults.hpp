// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/stap/parameters.hpp"

/// Parameters for a caller who does not choose them. They fit the cube where anything can.
namespace aperture::stap {

/// Parameters::temporal_taps of its default, or 1 if channels or pulses are too many or too few for
/// that.
int default_temporal_taps(const CubeShape& shape);

/// Parameters::training_block: its default or, if that is more, twice the order, which keeps the
/// estimation loss below 3 dB (Reed, Mallett & Brennan 1974).
int default_training_block(const CubeShape& shape, int temporal_taps);

/// `wanted`, or as many cells as a cube has room for with training, guard cells and detector of
/// `parameters`.
int fitting_training_block(const CubeShape& shape, const Parameters& parameters, int wanted);

/// Training cells of an estimate with block training: without the cell under test of a detector.
int cells_of_block(const Parameters& parameters);

/// No loading, or 20 dB below the mean power of a snapshot's element where training cells are fewer
/// than the order, so that estimates would be singular.
DiagonalLoading default_loading(const CubeShape& shape, const Parameters& parameters);

/// What default_loading returns for singular estimates.
inline constexpr DiagonalLoading rescue_loading{.value = 1e-2, .relative = true};

}  // namespace aperture::stap
