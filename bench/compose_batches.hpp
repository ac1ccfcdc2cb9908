// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Registers programs of batches: Listing 1 of Fousek et al. and a step of Kalman's filter, as one
/// kernel and as one a call, and products and solutions of small orders beside libdense's.
void register_composed_batches();

}  // namespace aperture::bench
