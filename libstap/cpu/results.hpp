// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/shape.hpp"
#include "aperture/stap/pipeline.hpp"

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
    const index_t directions = problem.steering_vectors;
    const core::Extents<3> map = {directions, bins, problem.shape.range_cells};
    constexpr auto unit_last = core::Strides::unit_last;
    core::expects_shape("output", results.output, map, unit_last);
    core::expects_shape("info", results.info, {bins, sets});
    core::expects_shape("pivot_ratio", results.pivot_ratio, {bins, sets});
    if (problem.parameters.precision == Precision::automatic) {
        core::expects_shape("attempt", results.attempt, {bins, sets});
    }
    if (!results.covariance.empty()) {
        core::expects_shape("covariance", results.covariance, {bins, sets, n, n}, unit_last);
    }
    if (!results.weights.empty()) {
        core::expects(problem.parameters.training != Training::all,
                      "training on all cells does not store weights");
        core::expects_shape("weights", results.weights, {bins, sets, directions, n}, unit_last);
    }
    if (problem.parameters.detector != Detector::none) {
        core::expects_shape("statistic", results.statistic, map, unit_last);
    }
}

/// Rounds to fp32 into a result [k][b][row][column], unless `to` is empty.
template <class Real>
void copy_where_wanted(const core::View<const std::complex<Real>, 4, core::Host>& from,
                       const core::View<cfloat, 4, core::Host>& to) {
    if (to.empty()) return;
    for (index_t k = 0; k < from.extent[0]; ++k)
        for (index_t b = 0; b < from.extent[1]; ++b)
            for (index_t i = 0; i < from.extent[2]; ++i)
                for (index_t j = 0; j < from.extent[3]; ++j)
                    to(k, b, i, j) = cfloat(from(k, b, i, j));
}

/// Bytes that detection reads and writes; its arithmetic equals that of the weights.
inline Work detect_work(const Problem& problem) {
    const double cells = double(problem.doppler_bins) * double(problem.shape.range_cells);
    const double bytes = cells * problem.steering_vectors * (sizeof(cfloat) + sizeof(float));
    return {0, bytes * 1e-6};
}

}  // namespace aperture::stap
