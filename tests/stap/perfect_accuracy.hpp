// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tests/stap/kernel_cases.hpp"

/// The kernels' accuracy on the input of the PERFECT suite, whose neighbouring Doppler bins are
/// similar. Every stage is checked relative to its own input.
namespace aperture::stap::kernel_cases {

/// Runs the pipeline on host arrays, on any executor: problem, cube, steering vectors.
using Run = std::function<HostResults(const Problem&, const core::Array<cfloat, 3>&,
                                      const core::Array<cfloat, 2>&)>;

/// Covariances reach 130 dB, weights min(110, 150 - 20 log10 cond) dB in every matrix.
void expect_perfect_accuracy(const char* name, Implementation implementation, const Run& run);

/// Products of weights and white cells reach 125 dB relative to the output in every matrix. Gains
/// do not matter: each vector's outputs are compared up to a common factor.
void expect_perfect_weighting(const char* name, Implementation implementation, const Run& run);

}  // namespace aperture::stap::kernel_cases
