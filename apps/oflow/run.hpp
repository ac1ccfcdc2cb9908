// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aperture/flow/accuracy.hpp"
#include "apps/oflow/inputs.hpp"
#include "apps/oflow/pair_estimator.hpp"

namespace aperture::apps {

/// The results of `oflow`.
struct OflowResults {
    core::Array<float, 3> flow;
    RunTimes times;                           ///< of computing `flow`
    std::optional<flow::Accuracy> accuracy;   ///< with a true flow
    core::Array<std::uint8_t, 2> consistent;  ///< 255 if the backward flow agrees, else 0
    std::optional<core::index_t> consistent_pixels;
    double backward_ms = 0;         ///< for the backward flow and its comparison
    std::vector<double> residuals;  ///< at the start and after every iteration
    double largest_motion = 0;      ///< pixels
};

/// Estimates the flow on `executor`, as often as the options say, and does the other requested work
/// on `cpu`. The times are those of the estimation alone.
template <class Executor>
OflowResults run_on(Executor& executor, core::Cpu& cpu, const OflowOptions& options,
                    const OflowInputs& inputs, Console& console);

/// Compares the flow in `results` with the flow from image 1 to image 0.
template <class Executor>
void check_backward_flow(core::Cpu& cpu, PairEstimator<Executor>& estimator,
                         const OflowInputs& inputs, OflowResults& results);

}  // namespace aperture::apps
