// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tests/stap/kernel_cases.hpp"

/// The kernels' accuracy on the input of the PERFECT suite, whose neighbouring Doppler bins are
/// alike: every stage judged on what it was given.
namespace aperture::stap::kernel_cases {

/// One run of the pipeline on host arrays, whatever executes it: problem, cube, steering vectors.
using Run = std::function<HostResults(const Problem&, const core::Array<cfloat, 3>&,
                                      const core::Array<cfloat, 2>&)>;

/// Covariances reach 130 dB, weights min(110, 150 - 20 log10 cond) dB in every matrix.
void expect_perfect_accuracy(const char* name, Implementation implementation, const Run& run);

/// The products of weights and white cells reach 125 dB of the output in every matrix. Gains are
/// left out: each vector's outputs are compared but for a common factor.
void expect_perfect_weighting(const char* name, Implementation implementation, const Run& run);

}  // namespace aperture::stap::kernel_cases
