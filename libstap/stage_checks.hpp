// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/shape.hpp"
#include "aperture/stap/pipeline.hpp"

/// What the stages and the pipeline expect of their arguments, on either executor.
namespace aperture::stap {

inline void check_block_training(const Problem& problem) {
    core::expects(problem.parameters.training == Training::block,
                  "the stages support only block training; use Pipeline");
}

inline void check_vectors_of_run(const Problem& problem) {
    core::expects(problem.steering_vectors <= max_vectors_of_run, problem.steering_vectors,
                  " steering vectors, at most ", max_vectors_of_run,
                  " in one run; run parts of the vectors one after another");
}

template <class Space>
void check_cube(const Problem& p, const CubeView<Space>& cube) {
    core::expects_shape("cube of Doppler bins", cube,
                        {p.shape.channels, p.doppler_bins, p.shape.range_cells},
                        core::Strides::unit_last);
}

template <class Space>
void check_snapshots(const Problem& p, const CubeView<Space>& cube,
                     const core::View<cfloat, 4, Space>& snapshots) {
    check_cube(p, cube);
    check_block_training(p);
    core::expects_shape("snapshots", snapshots,
                        {p.doppler_bins, p.training_sets, p.order, p.parameters.training_block},
                        core::Strides::unit_last);
}

template <class T, class Space>
void check_covariance(const Problem& p, const core::View<T, 4, Space>& covariance) {
    check_block_training(p);
    core::expects_shape("covariance", covariance,
                        {p.doppler_bins, p.training_sets, p.order, p.order}, core::Strides::dense);
}

template <class Space>
void check_steering(const Problem& p, const core::View<const cfloat, 2, Space>& steering) {
    check_block_training(p);
    check_vectors_of_run(p);
    core::expects_shape("steering", steering, {p.steering_vectors, p.order});
}

template <class T, class Space>
void check_weights(const Problem& p, const core::View<const cfloat, 2, Space>& steering,
                   const core::View<T, 4, Space>& weights, core::Strides strides) {
    check_steering(p, steering);
    core::expects_shape("weights", weights,
                        {p.doppler_bins, p.training_sets, p.steering_vectors, p.order}, strides);
}

template <class Space>
void check_report(const Problem& p, const core::View<int, 2, Space>& info,
                  const core::View<float, 2, Space>& pivot_ratio) {
    core::expects_shape("info", info, {p.doppler_bins, p.training_sets});
    core::expects_shape("pivot_ratio", pivot_ratio, {p.doppler_bins, p.training_sets});
}

template <class T, class Space>
void check_map(const char* name, const Problem& p, const core::View<T, 3, Space>& map) {
    core::expects_shape(name, map, {p.steering_vectors, p.doppler_bins, p.shape.range_cells},
                        core::Strides::unit_last);
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

template <class Space>
void check_transform(const Problem& p, const CubeView<Space>& pulses,
                     const core::View<cfloat, 3, Space>& cube) {
    const CubeShape& shape = p.shape;
    core::expects_shape("cube of pulses", pulses, {shape.channels, shape.pulses, shape.range_cells},
                        core::Strides::unit_last);
    core::expects_shape("cube of Doppler bins", cube,
                        {shape.channels, p.doppler_bins, shape.range_cells}, core::Strides::dense);
}

}  // namespace aperture::stap
