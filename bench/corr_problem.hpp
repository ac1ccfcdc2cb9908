// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/corr/correlator.hpp"

/// Test problems of the correlation benchmarks and their reference.
namespace aperture::bench {

using Planes = core::Array<float, 3>;
using Sums = core::Array<double, 3>;

/// Four planes of `extent` x `extent` pixels with `lags` displacements along each axis.
corr::Problem square_problem(corr::index_t extent, corr::index_t lags);

/// 500 x 500 pixels, 250 x 250 displacements; smaller with --smoke.
corr::Problem main_problem();

/// Normal values: the same for all images, rotated by one more position in each.
Planes random_planes(const corr::Problem& problem);

/// The result array of `problem`, whose planes form one surface.
Sums sums_of(const corr::Problem& problem);

/// Whether some sums of the first and the last image equal the definition in double precision, with
/// a tolerance relative to the energy.
bool verifies(const Planes& planes, const corr::Problem& problem, const Sums& sums,
              double tolerance);

}  // namespace aperture::bench
