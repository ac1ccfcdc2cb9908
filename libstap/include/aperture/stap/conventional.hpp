// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/stap/parameters.hpp"
#include "aperture/stap/stages.hpp"

namespace aperture::stap {

/// The range-Doppler map without adaptation, as a reference for the gain of adaptation: tapered
/// Doppler filters and a fixed beam, y(k,r) = v0^H X(k,r) / (v0^H v0). v0 is the middle taps of v;
/// the scale is that of Pipeline's output. Other taps are unused: neighbouring Doppler bins overlap
/// if K > P or with a taper, so that v^H S would apply a second taper to the pulses, a different
/// one for every T. `cube` is the problem's, in either domain; `steering_vector` is v, [n]; `map`
/// is [K][N], zero if v0 is. Synchronous; allocates a Doppler-domain cube if `cube` holds pulses.
void conventional_map(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                      core::View<const cfloat, 1, core::Host> steering_vector,
                      core::View<cfloat, 2, core::Host> map);

}  // namespace aperture::stap
