// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/stap/parameters.hpp"
#include "aperture/stap/stages.hpp"

namespace aperture::stap {

/// The range-Doppler map without adaptation, to see what adaptation gains: y(k,r) = v^H S(r,k) /
/// (v^H v), which is what Pipeline gives with the identity for a covariance and so on the same
/// scale as its output. `cube` is that of the problem, in either domain; `steering_vector` is [n],
/// not all zero; `map` is [K][N]. Synchronous; allocates a Doppler-domain cube where `cube` holds
/// pulses.
void conventional_map(core::Cpu& cpu, const Problem& problem, CubeView<core::Host> cube,
                      core::View<const cfloat, 1, core::Host> steering_vector,
                      core::View<cfloat, 2, core::Host> map);

}  // namespace aperture::stap
