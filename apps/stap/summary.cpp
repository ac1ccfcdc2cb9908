// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/summary.hpp"

#include <cmath>
#include <iomanip>
#include <sstream>

#include "apps/stap/doppler_axis.hpp"

namespace aperture::apps {
namespace {

using core::index_t;

void describe_covariance(std::ostringstream& line, const Configuration& setup,
                         const FactorisationHealth& health) {
    line << "covariance  " << health.matrices << " of order " << setup.problem.order << ", ";
    if (health.failed > 0) {
        line << health.failed << " failed (the first: Doppler bin " << health.worst_doppler_bin
             << ", training set " << health.worst_training_set << "), output 0 there"
             << (setup.problem.parameters.loading.value > 0 ? "" : "; try --loading rel:1e-3");
    } else {
        line << "all factored, worst pivot ratio " << std::scientific << std::setprecision(1)
             << health.worst_pivot_ratio << std::defaultfloat << " (Doppler bin "
             << health.worst_doppler_bin << ", training set " << health.worst_training_set << ")";
    }
    line << ", loading " << to_string(setup.problem.parameters.loading) << '\n';
}

void describe_results(std::ostringstream& line, const StapOptions& options,
                      const Configuration& setup, const std::vector<stap::Detection>& detections) {
    line << "result      " << options.common.out.string();
    if (options.detector == stap::Detector::none) {
        line << ": " << setup.problem.steering_vectors << " vectors x "
             << setup.problem.doppler_bins << " Doppler bins x " << setup.problem.shape.range_cells
             << " range cells\n";
        return;
    }
    line << ": " << detections.size() << (detections.size() == 1 ? " detection" : " detections");
    if (!detections.empty()) {
        const auto& strongest = detections.front();
        line << ", strongest at range cell " << strongest.range_cell << ", Doppler bin "
             << strongest.doppler_bin << std::fixed << std::setprecision(1);
        if (setup.prf_hz) {
            line << " ("
                 << doppler_of_bin(strongest.doppler_bin, setup.problem.doppler_bins) *
                        *setup.prf_hz
                 << " Hz)";
        }
        if (setup.azimuths.empty()) {
            line << ", steering vector " << strongest.steering_vector;
        } else {
            line << ", azimuth "
                 << setup.azimuths[static_cast<std::size_t>(strongest.steering_vector)];
        }
        line << ": " << 10 * std::log10(strongest.statistic) << " dB, threshold "
             << 10 * std::log10(strongest.threshold) << " dB";
    }
    line << '\n';
}

}  // namespace

FactorisationHealth factorisation_health(const ResultArrays<core::Host>& results) {
    FactorisationHealth health;
    const auto [bins, sets] = results.info.extent();
    health.matrices = bins * sets;
    for (index_t i = 0; i < bins * sets; ++i) {
        const bool failed = results.info.data()[i] != 0;
        const double ratio = results.pivot_ratio.data()[i];
        const bool worst =
            failed ? health.failed == 0 : health.failed == 0 && ratio > health.worst_pivot_ratio;
        if (!failed && ratio > health.worst_pivot_ratio) health.worst_pivot_ratio = ratio;
        health.failed += failed;
        if (!worst) continue;
        health.worst_doppler_bin = static_cast<int>(i / sets);
        health.worst_training_set = i % sets;
    }
    return health;
}

std::string summary(const StapOptions& options, const media::RadarCube& cube,
                    const Configuration& setup, const core::Report& report,
                    const FactorisationHealth& health,
                    const std::vector<stap::Detection>& detections) {
    std::ostringstream lines;
    lines << "cube        " << cube.path.string() << ':' << cube.dataset << ": " << cube.channels
          << " channels x " << cube.pulses
          << (cube.domain == media::Domain::pulse ? " pulses x " : " Doppler bins x ")
          << cube.range_cells << " range cells, " << cube.element << ", axes " << cube.axes << " ("
          << media::name(cube.axis_rule) << ")\n";
    lines << "device      " << report.device << '\n';
    lines << stage_line(report);
    describe_covariance(lines, setup, health);
    describe_results(lines, options, setup, detections);
    return lines.str();
}

}  // namespace aperture::apps
