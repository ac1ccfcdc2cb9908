// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/summary.hpp"

#include <cmath>
#include <iomanip>
#include <sstream>

#include "aperture/stap/attempts.hpp"
#include "apps/stap/doppler_axis.hpp"

namespace aperture::apps {
namespace {

using core::index_t;

void describe_covariance(std::ostringstream& line, const Configuration& setup,
                         const FactorisationHealth& health) {
    line << "covariance  " << health.matrices << " of order " << setup.problem.order << ", ";
    if (health.failed > 0) {
        line << health.failed << " failed (output 0)";
    } else {
        line << "all factored";
    }
    if (health.repeated > 0) line << ", " << health.repeated << " repeated in fp64";
    if (health.loaded > 0) line << ", " << health.loaded << " loaded automatically";
    if (health.failed == 0) {
        line << ", worst pivot ratio " << std::scientific << std::setprecision(1)
             << health.worst_pivot_ratio << std::defaultfloat << " (Doppler bin "
             << health.worst_doppler_bin << ", training set " << health.worst_training_set << ")";
    }
    line << ", loading " << to_string(setup.problem.parameters.loading) << '\n';
}

void describe_array(std::ostringstream& line, const Configuration& setup) {
    line << "array       ";
    if (setup.azimuths.empty()) {
        line << "steering vectors of the file";
    } else {
        line << "spacing " << setup.spacing_wavelengths << " wavelengths"
             << (setup.spacing_assumed ? " (assumed)" : "");
    }
    if (setup.prf_hz) {
        line << ", PRF " << *setup.prf_hz << " Hz";
    } else {
        line << ", PRF unknown";
    }
    if (setup.range_bin_m) {
        line << ", range cells of " << *setup.range_bin_m << " m from " << setup.range_start_m
             << " m";
    }
    line << '\n';
}

/// Formats "12 of 3200 covariances".
std::string share_of(long long some, long long all) {
    return core::text(some, " of ", all, all == 1 ? " covariance" : " covariances");
}

/// A suggestion for matrices that fail or are loaded.
std::string remedy(const stap::Problem& problem) {
    const stap::Parameters& p = problem.parameters;
    if (p.precision == stap::Precision::fp32) return "--precision auto repeats them in fp64";
    const bool few = p.training != stap::Training::all && p.training_block < 2 * problem.order;
    if (few) return core::text("--training-block ", 2 * problem.order, " trains on more cells");
    if (p.precision == stap::Precision::mixed)
        return "--precision auto applies the smallest loading that works";
    return "check for channels that are zero, equal or NaN";
}

void describe_results(std::ostringstream& line, const StapOptions& options,
                      const Configuration& setup, const std::vector<stap::Detection>& detections) {
    line << "result      " << options.common.out.string();
    if (options.parameters.detector == stap::Detector::none) {
        line << ": " << setup.problem.steering_vectors << " vectors x "
             << setup.problem.doppler_bins << " Doppler bins x " << setup.problem.shape.range_cells
             << " range cells\n";
        return;
    }
    line << ": " << detections.size() << (detections.size() == 1 ? " detection" : " detections");
    if (!detections.empty()) {
        const auto& strongest = detections.front();
        line << ", strongest at range cell " << strongest.range_cell << ", Doppler bin "
             << stored_bin(options.fftshift, strongest.doppler_bin, setup.problem.doppler_bins)
             << std::fixed << std::setprecision(1);
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

void describe_targets(std::ostringstream& line, const Truth& truth, bool fftshift,
                      int doppler_bins) {
    const stap::DetectionScore& score = truth.score;
    line << "targets     " << score.found_targets << " of " << truth.targets.size() << " found, "
         << score.false_detections << " false detection" << plural(score.false_detections);
    const char* separator = "; missed: ";
    for (std::size_t t = 0; t < truth.targets.size(); ++t) {
        if (score.found[t]) continue;
        line << separator << "range cell " << truth.targets[t].range_cell << ", Doppler bin "
             << stored_bin(fftshift,
                           stap::nearest_doppler_bin(truth.targets[t].doppler, doppler_bins),
                           doppler_bins);
        separator = "; ";
    }
    line << '\n';
}

}  // namespace

FactorisationHealth factorisation_health(const stap::Problem& problem,
                                         const ResultArrays& results) {
    const bool automatic = problem.parameters.precision == stap::Precision::automatic;
    // Training on all cells always uses fp64.
    const bool fp32 = problem.parameters.precision == stap::Precision::fp32 &&
                      problem.parameters.training != stap::Training::all;
    FactorisationHealth health;
    const auto [bins, sets] = results.info.extent();
    health.matrices = bins * sets;
    for (index_t i = 0; i < bins * sets; ++i) {
        const int info = results.info.data()[i];
        const float ratio = results.pivot_ratio.data()[i];
        const bool failed = info != 0;
        const bool worst = health.failed == 0 && (failed || ratio > health.worst_pivot_ratio);
        if (!failed && ratio > health.worst_pivot_ratio) health.worst_pivot_ratio = ratio;
        health.failed += failed;
        if (automatic) {
            const int attempt = results.attempt.data()[i];
            health.repeated += attempt >= stap::fp64_attempt;
            health.loaded += !failed && attempt >= stap::first_loaded_attempt;
        } else {
            const int attempt = fp32 ? stap::first_attempt : stap::fp64_attempt;
            health.untrusted += !failed && stap::needs_another(attempt, info, ratio, problem.order);
        }
        if (!worst) continue;
        health.worst_doppler_bin = static_cast<int>(i / sets);
        health.worst_training_set = i % sets;
    }
    return health;
}

void report_health(const std::filesystem::path& cube, const stap::Problem& problem,
                   const FactorisationHealth& health, Console& console) {
    const stap::Parameters& p = problem.parameters;
    core::expects(health.failed < health.matrices, cube.string(), ": all ", health.matrices,
                  " covariances failed; ", remedy(problem));
    if (health.failed > 0) {
        console.warn_incomplete(core::text(share_of(health.failed, health.matrices),
                                           " failed, their output is 0 (the first: Doppler bin ",
                                           health.worst_doppler_bin, ", training set ",
                                           health.worst_training_set, "); ", remedy(problem)));
    }
    if (health.loaded > 0) {
        console.warn(core::text(share_of(health.loaded, health.matrices), " required loading; ",
                                remedy(problem)));
    }
    if (health.untrusted > 0) {
        console.warn(core::text(share_of(health.untrusted, health.matrices),
                                " are unreliable in this precision, worst pivot ratio ",
                                health.worst_pivot_ratio, "; --precision auto repeats them"));
    }
    constexpr long long hundredth = 100;
    if (health.repeated * hundredth > health.matrices) {
        console.warn(
            core::text(share_of(health.repeated, health.matrices),
                       " were repeated in fp64; --precision mixed saves the first attempt"));
    }
    if (p.detector != stap::Detector::none && p.loading.value > 0) {
        console.warn("with diagonal loading the false-alarm probability differs from --pfa");
    }
}

ReportValues result_values(const stap::Problem& problem, const FactorisationHealth& health,
                           const std::vector<stap::Detection>& detections) {
    ReportValues values{{"failed_matrices", health.failed},
                        {"repeated_matrices", health.repeated},
                        {"loaded_matrices", health.loaded},
                        {"worst_pivot_ratio", health.worst_pivot_ratio}};
    if (problem.parameters.detector != stap::Detector::none) {
        values["detections"] = integer(detections.size());
        values["pfa_held"] = health.holds_pfa(problem.parameters);
    }
    return values;
}

ReportValues accuracy_values(const Truth& truth) {
    return {{"planted_targets", integer(truth.targets.size())},
            {"found_targets", integer(truth.score.found_targets)},
            {"false_detections", integer(truth.score.false_detections)}};
}

std::vector<ReportValues> target_values(const Truth& truth, bool fftshift, int doppler_bins) {
    std::vector<ReportValues> list;
    for (std::size_t t = 0; t < truth.targets.size(); ++t) {
        const stap::Target& target = truth.targets[t];
        const int bin = stap::nearest_doppler_bin(target.doppler, doppler_bins);
        list.push_back({{"range_cell", integer(target.range_cell)},
                        {"doppler_bin", integer(stored_bin(fftshift, bin, doppler_bins))},
                        {"found", bool(truth.score.found[t])}});
    }
    return list;
}

std::string summary(const StapOptions& options, const media::RadarCube& cube,
                    const Configuration& setup, const Report& report,
                    const FactorisationHealth& health,
                    const std::vector<stap::Detection>& detections,
                    const std::optional<Truth>& truth) {
    std::ostringstream lines;
    lines << "cube        " << cube.path.string() << ':' << cube.dataset << ": " << cube.channels
          << " channels x " << cube.pulses
          << (cube.domain == media::Domain::pulse ? " pulses x " : " Doppler bins x ")
          << cube.range_cells << " range cells, " << cube.element << ", axes " << cube.axes << " ("
          << media::name(cube.axis_rule) << ")\n";
    describe_array(lines, setup);
    lines << "device      " << report.device.name << '\n';
    lines << report.stage_line();
    describe_covariance(lines, setup, health);
    describe_results(lines, options, setup, detections);
    if (options.plot) lines << "plot        " << options.plot->string() << '\n';
    if (truth) describe_targets(lines, *truth, options.fftshift, setup.problem.doppler_bins);
    return lines.str();
}

}  // namespace aperture::apps
