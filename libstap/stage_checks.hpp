// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/stap/stages.hpp"

/// What the stages expect of their arguments, on either executor.
namespace aperture::stap {

inline void check_block_training(const Problem& problem) {
    core::expects(problem.parameters.training == Training::block,
                  "the stages support only block training; use Pipeline");
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

template <class T, class Space>
void check_weights(const Problem& p, const core::View<const cfloat, 2, Space>& steering,
                   const core::View<T, 4, Space>& weights, core::Strides strides) {
    check_block_training(p);
    core::expects_shape("steering", steering, {p.steering_vectors, p.order});
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

/// The taper's weight of every pulse of a problem in the pulse domain.
inline core::Array<float, 1> pulse_weights(const Problem& p) {
    core::expects(p.shape.domain == Domain::pulse, "the cube is in the Doppler domain already");
    core::Array<float, 1> weights({p.shape.pulses});
    index_t pulse = 0;
    for (double weight :
         signal::taper_weights(p.parameters.taper, static_cast<int>(p.shape.pulses)))
        weights(pulse++) = static_cast<float>(weight);
    return weights;
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
