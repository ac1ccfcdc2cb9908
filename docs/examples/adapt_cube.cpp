// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Simulates a small radar data cube with clutter and one target, adapts it on the CPU and prints
// the detections.
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/stap/detection.hpp"
#include "aperture/stap/pipeline.hpp"
#include "aperture/stap/simulation.hpp"
#include "aperture/stap/steering.hpp"

namespace core = aperture::core;
namespace stap = aperture::stap;

namespace {

void adapt_cube() {
    core::Cpu cpu;  // all threads; core::Cpu cpu(8) for eight

    // The cube: [channel][pulse][range cell]. Your own samples go into a core::Array<cfloat, 3>.
    stap::ClutterScene scene;
    scene.shape = {.channels = 8, .pulses = 32, .range_cells = 256};
    scene.cnr_db = 40;
    scene.targets = {{.range_cell = 100, .doppler = 0.25, .azimuth_degrees = 0, .snr_db = 0}};
    const core::Array<stap::cfloat, 3> cube = stap::simulate(cpu, scene);

    // What the run does. Everything that is not set keeps its default.
    stap::Parameters parameters;
    parameters.doppler_bins = 32;    // K
    parameters.training_block = 64;  // N_R
    parameters.detector = stap::Detector::amf;

    const std::vector<double> azimuths{-20, -10, 0, 10, 20};
    const int vectors = static_cast<int>(azimuths.size());
    const stap::Problem problem = stap::make_problem(scene.shape, parameters, vectors);

    // Steering vectors: [direction][channel * T + tap].
    const auto response =
        stap::temporal_response(parameters.taper, static_cast<int>(scene.shape.pulses),
                                problem.doppler_bins, parameters.temporal_taps);
    const core::Array<stap::cfloat, 2> steering = stap::steering_vectors(
        static_cast<int>(scene.shape.channels), scene.spacing_wavelengths, azimuths, response);

    // Memory for the results. covariance and weights stay empty and are not written.
    const core::index_t bins = problem.doppler_bins;
    const core::index_t sets = problem.training_sets;
    const core::index_t cells = problem.shape.range_cells;
    core::Array<stap::cfloat, 3> output({vectors, bins, cells});
    core::Array<float, 3> statistic({vectors, bins, cells});
    core::Array<int, 2> info({bins, sets});
    core::Array<int, 2> attempt({bins, sets});
    core::Array<float, 2> pivot_ratio({bins, sets});
    stap::Results<core::Host> results;
    results.output = output.view();
    results.statistic = statistic.view();
    results.info = info.view();
    results.attempt = attempt.view();
    results.pivot_ratio = pivot_ratio.view();

    stap::Pipeline<core::Cpu> pipeline(cpu, problem, steering.view());
    pipeline.run(cube.view(), results, nullptr);  // for every cube; a second run allocates nothing

    const double pfa = 1e-6;
    for (const stap::Detection& hit : stap::find_detections(problem, pfa, statistic.view())) {
        std::printf("range cell %d, Doppler bin %d, azimuth %.0f degrees: %.1f dB\n",
                    static_cast<int>(hit.range_cell), hit.doppler_bin,
                    azimuths[static_cast<std::size_t>(hit.steering_vector)],
                    10 * std::log10(hit.statistic));
    }
}

}  // namespace

int main() {
    try {
        adapt_cube();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "adapt_cube: %s\n", error.what());
        return 1;
    }
}
