// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// Registers STAP as an array program, in one pass, in stages and with snapshots in memory, beside
/// the library's pipelines, for the sizes of the PERFECT suite.
void register_composed_stap();

}  // namespace aperture::bench
