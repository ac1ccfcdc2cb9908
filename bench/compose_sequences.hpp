// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Registers the ten sequences of BLAS calls of Filipovic, Madzin, Fousek & Matyska 2015 as array
/// programs: a kernel for each call, as many calls in a row as can be, and planned. Rates are of
/// the least bytes, of which a copy is measured in the same minutes.
void register_composed_sequences();

}  // namespace aperture::bench
