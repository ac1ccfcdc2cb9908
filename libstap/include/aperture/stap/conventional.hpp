// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/stap/parameters.hpp"
#include "aperture/stap/stages.hpp"

namespace aperture::stap {

/// The range-Doppler map without adaptation, to see what adaptation gains: tapered Doppler filters
/// and a fixed beam, y(k,r) = v0^H X(k,r) / (v0^H v0) with v0 the middle taps of v, on the same
/// scale as the output of Pipeline. Further taps take no part: neighbouring Doppler bins overlap
/// where K > P or with a taper, and v^H S would lay a second taper over the pulses, another for
/// every T. `cube` is that of the problem, in either domain; `steering_vector` is v, [n]; `map` is
/// [K][N], zero where v0 is. Synchronous; allocates a Doppler-domain cube where `cube` holds
/// pulses.
void conventional_map(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                      core::View<const cfloat, 1, core::Host> steering_vector,
                      core::View<cfloat, 2, core::Host> map);

}  // namespace aperture::stap
