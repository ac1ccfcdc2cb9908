// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/stap/parameters.hpp"

namespace aperture::stap {

/// The taper's weight of every pulse of a problem in the pulse domain.
inline core::Array<float, 1> pulse_weights(const Problem& p) {
    core::expects(p.shape.domain == Domain::pulse, "the cube is in the Doppler domain already");
    core::Array<float, 1> weights({p.shape.pulses});
    index_t pulse = 0;
    for (double weight :
         signal::taper_weights(p.parameters.taper, static_cast<int>(p.shape.pulses)))
        weights(pulse++) = static_cast<float>(weight);
    return weights;
}

}  // namespace aperture::stap
