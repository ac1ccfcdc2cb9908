// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/conventional.hpp"

#include "aperture/core/shape.hpp"
#include "libstap/cpu/doppler_cube.hpp"

namespace aperture::stap {
namespace {

using core::Host;

/// The same cube without temporal taps, with one training set for all cells and one steering
/// vector.
Problem spatial_problem(const Problem& problem) {
    Parameters parameters = problem.parameters;
    parameters.temporal_taps = 1;
    parameters.training = Training::block;
    parameters.training_block = static_cast<int>(problem.shape.range_cells);
    parameters.guard = 0;
    parameters.detector = Detector::none;
    parameters.loading = {.value = 1};  // no covariance is estimated, so none can be singular
    return make_problem(problem.shape, parameters, 1);
}

}  // namespace

void conventional_map(core::Cpu& cpu, const Problem& problem, CubeView<Host> cube,
                      core::View<const cfloat, 1, Host> steering_vector,
                      core::View<cfloat, 2, Host> map) {
    const Problem spatial = spatial_problem(problem);
    const index_t bins = spatial.doppler_bins;
    const index_t cells = spatial.shape.range_cells;
    const index_t channels = spatial.order;
    const index_t taps = problem.parameters.temporal_taps;
    core::expects_shape("steering vector", steering_vector, {problem.order});
    core::expects_shape("map", map, {bins, cells});

    core::Array<cfloat, 3> filtered;
    const CubeView<Host> doppler_cube = cpu::in_doppler_domain(cpu, spatial, cube, filtered);
    const cfloat* middle = steering_vector.data + (taps - 1) / 2 * steering_vector.stride[0];
    const index_t stride = taps * steering_vector.stride[0];
    const core::View<const cfloat, 2, Host> steering(middle, {1, channels}, {0, stride});
    // Stride 0 repeats the vector for every Doppler bin.
    const core::View<const cfloat, 4, Host> weights(middle, {bins, 1, 1, channels},
                                                    {0, 0, 0, stride});
    const core::View<cfloat, 3, Host> output(map.data, {1, bins, cells},
                                             {0, map.stride[0], map.stride[1]});
    apply_weights<float>(cpu, spatial, doppler_cube, steering, weights, output);
}

}  // namespace aperture::stap
