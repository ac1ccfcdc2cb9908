// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/stap/parameters.hpp"
#include "aperture/stap/stages.hpp"

/// What the covariance of one range cell says of the interference, for figures. The covariance R(k)
/// is that of the cell's weights (see Training), with the problem's loading, in fp64. Where fp64
/// cannot be trusted with it (is_trusted), results are NaN; no loading is added to repair it.
namespace aperture::stap {

/// Power over Doppler bin and direction, [K][A], in units of a snapshot element's power.
struct InterferenceSpectra {
    core::Array<double, 2> conventional;      ///< v^H R v / (v^H v)
    core::Array<double, 2> minimum_variance;  ///< v^H v / (v^H R^-1 v) (Capon 1969)
};

/// Both spectra are sigma^2 for R = sigma^2 I. `cube` is the problem's, in either domain;
/// `directions` are steering vectors v, [A][n], any number of them, NaN in the results where v is
/// zero. Throws core::InvalidArgument for views of other extents and a range cell outside of the
/// cube. Synchronous; allocates.
InterferenceSpectra interference_spectra(core::Cpu& cpu, const Problem& problem,
                                         CubeView<core::Host> cube, index_t range_cell,
                                         core::View<const cfloat, 2, core::Host> directions);

/// The adapted power pattern |w^H v|^2 / |w^H v0|^2, [A], of the weights w = R^-1 v0 for
/// `steering_vector` v0, [n], in one Doppler bin. Arguments and errors as above.
std::vector<double> adapted_pattern(core::Cpu& cpu, const Problem& problem,
                                    CubeView<core::Host> cube, index_t range_cell, int doppler_bin,
                                    core::View<const cfloat, 1, core::Host> steering_vector,
                                    core::View<const cfloat, 2, core::Host> directions);

}  // namespace aperture::stap
