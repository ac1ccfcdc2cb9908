// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aperture/core/portable.hpp"

namespace aperture::bench {

/// ||A B c|| (D E + D) of so many 3 x 3 and 5 x 5 matrices (Fousek et al. 2011).
std::string listing1(core::index_t problems);

/// Registers programs of batches: Listing 1 of Fousek et al. and a step of Kalman's filter, as one
/// kernel and as one a call, and products and solutions of small orders beside libdense's.
void register_composed_batches();

}  // namespace aperture::bench
