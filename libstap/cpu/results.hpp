// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/stap/pipeline.hpp"
#include "libstap/stage_checks.hpp"

namespace aperture::stap {

/// Detectors based on quadratic forms in the inverse covariance.
inline bool is_adaptive(Detector detector) {
    return detector == Detector::amf || detector == Detector::ace || detector == Detector::glrt;
}

/// Throws core::InvalidArgument if a view of the results does not fit the problem.
template <class Space>
void check_results(const Problem& problem, const Results<Space>& results) {
    const index_t bins = problem.doppler_bins;
    const index_t sets = problem.training_sets;
    const index_t n = problem.order;
    constexpr auto unit_last = core::Strides::unit_last;
    check_map("output", problem, results.output);
    check_report(problem, results.info, results.pivot_ratio);
    if (problem.parameters.precision == Precision::automatic) {
        core::expects_shape("attempt", results.attempt, {bins, sets});
    }
    if (!results.covariance.empty()) {
        core::expects_shape("covariance", results.covariance, {bins, sets, n, n}, unit_last);
    }
    if (!results.weights.empty()) {
        core::expects(problem.parameters.training != Training::all,
                      "training on all cells does not store weights");
        core::expects_shape("weights", results.weights, {bins, sets, problem.steering_vectors, n},
                            unit_last);
    }
    if (problem.parameters.detector != Detector::none) {
        check_map("statistic", problem, results.statistic);
    }
}

/// The loading of a covariance with this trace; `more` is loading relative to trace / n.
inline double loading_of(const Problem& problem, double more, double trace) {
    const DiagonalLoading& wanted = problem.parameters.loading;
    const double relative = (wanted.relative ? wanted.value : 0) + more;
    const double absolute = wanted.relative ? 0 : wanted.value;
    return relative == 0 ? absolute
                         : absolute + relative * (trace / static_cast<double>(problem.order));
}

/// Bytes that detection reads and writes; its arithmetic equals that of the weights.
inline Work detect_work(const Problem& problem) {
    const double cells = double(problem.doppler_bins) * double(problem.shape.range_cells);
    const double bytes = cells * problem.steering_vectors * (sizeof(cfloat) + sizeof(float));
    return {0, bytes * 1e-6};
}

}  // namespace aperture::stap
