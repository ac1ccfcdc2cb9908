// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "libstap/stage_checks.hpp"

namespace aperture::stap::cpu {

/// The cube after Doppler processing, in `filtered` if the problem's cube holds pulses.
inline CubeView<core::Host> in_doppler_domain(core::Cpu& cpu, const Problem& problem,
                                              CubeView<core::Host> cube,
                                              core::Array<cfloat, 3>& filtered) {
    const CubeShape& shape = problem.shape;
    core::expects_shape("cube", cube, {shape.channels, shape.pulses, shape.range_cells},
                        core::Strides::unit_last);
    if (shape.domain == Domain::doppler) return cube;
    filtered.reshape({shape.channels, problem.doppler_bins, shape.range_cells});
    DopplerFilter<core::Cpu>(cpu, problem).run(cube, filtered);
    return filtered;
}

}  // namespace aperture::stap::cpu
