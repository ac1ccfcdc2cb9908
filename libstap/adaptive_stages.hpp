// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/stap/pipeline.hpp"
#include "libstap/cpu/results.hpp"

namespace aperture::stap {

/// The stages behind Doppler processing, on any executor. `run` is bound to a cube and results:
///   adapt(): the first attempt at outputs and, with Implementation::fused, at the statistics of an
///     adaptive detector; detect(): these statistics where separate stages computed the outputs;
///   repeat(): later attempts at the matrices that fp32 cannot be trusted with;
///   average(): Detector::cfar.
template <class Run>
void run_adaptive_stages(const Problem& problem, Run run) {
    const Parameters& p = problem.parameters;
    run.adapt();
    if (is_adaptive(p.detector) && p.implementation != Implementation::fused) run.detect();
    if (p.precision == Precision::automatic && p.training != Training::all) run.repeat();
    if (p.detector == Detector::cfar) run.average();
}

}  // namespace aperture::stap
