// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/media/atomic_file.hpp"
#include "aperture/stap/targets.hpp"
#include "apps/stap/run.hpp"

namespace aperture::apps {

/// Draws the requested figures of one CPI and adds them to `outputs`. Warns of Doppler bins that
/// they lack.
void add_figures(core::Cpu& cpu, const StapOptions& options, const Configuration& setup,
                 stap::CubeView<core::Host> cube, const ResultArrays& results,
                 const stap::Findings& findings, Console& console, media::OutputSet& outputs);

}  // namespace aperture::apps
