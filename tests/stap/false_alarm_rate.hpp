// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <functional>
#include <ostream>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/stap/pipeline.hpp"
#include "aperture/stap/simulation.hpp"

/// How often a detector's statistic exceeds its threshold without a target.
namespace aperture::stap::false_alarms {

struct Case {
    double cnr_db = 0;
    int channels = 8;
    int taps = 3;
    int training_block = 64;
    Detector detector = Detector::amf;
    Training training = Training::block;
    dense::Factorisation solver = dense::Factorisation::cholesky;
    Implementation implementation = Implementation::fused;
    Precision precision = Precision::automatic;
    int guard = 0;

    int order() const { return channels * taps; }
};
std::ostream& operator<<(std::ostream& out, const Case& c);

/// Cases that cover every pair of values of detector, training, solver, CNR (0, 40, 53, 60, 80 dB),
/// order (4, 24, 60) and cells (n + 2, 2 n, 64).
std::vector<Case> covering_cases();

/// The problem of a case, with 16 pulses and one steering vector.
Problem problem_of(const Case& c, index_t range_cells);
core::Array<cfloat, 2> steering_of(const Problem& problem);
/// A cube of clutter and noise, without targets.
core::Array<cfloat, 3> draw(core::Cpu& cpu, const Case& c, index_t range_cells, int seed);

/// Runs a pipeline on some executor: problem, cube and steering vectors to results.
using Run =
    std::function<void(const Problem&, core::View<const cfloat, 3, core::Host>,
                       core::View<const cfloat, 2, core::Host>, const Results<core::Host>&)>;
Run on_cpu(core::Cpu& cpu);
#if APERTURE_CUDA
Run on_gpu(core::Gpu& gpu);
#endif

/// The share of cells above their threshold, relative to the requested probability.
struct Rate {
    double pfa = 0;
    double ratio = 0;  ///< 1 if the share is as requested
    double error = 0;  ///< standard error of the ratio, from the spread over seeds

    /// Within four standard errors plus 2 %, because the spread is itself estimated.
    bool holds() const { return std::abs(ratio - 1) <= 4 * error + 0.02; }
};

/// Draws a clutter scene without targets for each of `seeds` seeds, with `range_cells` range cells
/// and 16 pulses, and counts exceedances in one direction.
std::vector<Rate> measure(core::Cpu& cpu, const Run& run, const Case& c,
                          const std::vector<double>& pfa, int seeds, index_t range_cells);

}  // namespace aperture::stap::false_alarms
