// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/corr/correlator.hpp"

/// What correlations are measured on, and what they are checked against.
namespace aperture::bench {

using Planes = core::Array<float, 3>;
using Sums = core::Array<double, 3>;

/// Four planes of `extent` x `extent` pixels and as many displacements as `lags` along both axes.
corr::Problem square_problem(corr::index_t extent, corr::index_t lags);

/// 500 x 500 pixels, 250 x 250 displacements; small where the program runs for --smoke.
corr::Problem main_problem();

/// Normal values for all images: the same ones in all of them, each rotated by one more place.
Planes random_planes(const corr::Problem& problem);

/// Of the sums of products of `problem`, in which all planes make one surface.
Sums sums_of(const corr::Problem& problem);

/// Whether some entries of the first and of the last image are those of the definition in double
/// precision; the tolerance is relative to the energy.
bool verifies(const Planes& planes, const corr::Problem& problem, const Sums& sums,
              double tolerance);

}  // namespace aperture::bench
