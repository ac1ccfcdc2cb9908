// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace aperture::bench {

/// How program 9 of Anderson 2014 is written.
enum class StapForm { one_pass, stages, snapshots };
/// Its text, for a size of the PERFECT suite: inputs cube and steering.
std::string stap_program(const std::string& size, StapForm form);

/// Registers STAP as an array program, in one pass, in stages and with snapshots in memory, beside
/// the library's pipelines, for the sizes of the PERFECT suite.
void register_composed_stap();

}  // namespace aperture::bench
