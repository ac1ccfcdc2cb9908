// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Registers STAP as an array program, with snapshots in memory and without, beside the library's
/// pipelines, for the sizes of the PERFECT suite.
void register_composed_stap();

}  // namespace aperture::bench
