// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/summary.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "aperture/stap/attempts.hpp"
#include "apps/stap/decibels.hpp"
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

void describe_array(std::ostringstream& line, const StapOptions& options,
                    const Configuration& setup) {
    line << "array       ";
    if (!setup.has_directions()) {
        line << "steering vectors of the file";
    } else if (options.positions) {
        line << "positions of " << options.positions->string();
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

struct Counts {
    long long detections = 0;
    long long targets = 0;
};

Counts count(const std::vector<stap::Findings>& findings) {
    Counts counts;
    for (const stap::Findings& found : findings) {
        counts.detections += integer(found.detections.size());
        counts.targets += integer(found.merged.targets.size());
    }
    return counts;
}

void describe_position(std::ostringstream& line, const Configuration& setup,
                       const stap::EstimatedTarget& target) {
    line << std::fixed << std::setprecision(setup.range_decimals())
         << (setup.range_bin_m ? "range " : "range cell ") << setup.range(target.range_cell)
         << (setup.range_bin_m ? " m" : "");
    line << ", Doppler " << std::setprecision(setup.prf_hz ? 1 : 3) << setup.doppler(target.doppler)
         << ' ' << setup.doppler_units() << std::setprecision(1);
    if (setup.has_directions()) {
        line << ", azimuth " << target.azimuth_degrees << " degrees";
    } else {
        line << ", steering vector " << target.strongest.steering_vector;
    }
    if (!setup.elevations.empty()) line << ", elevation " << target.elevation_degrees << " degrees";
    line << ": " << decibels(target.statistic) << " dB, threshold "
         << decibels(target.strongest.threshold) << " dB";
}

void describe_results(std::ostringstream& line, const StapOptions& options,
                      const media::RadarCube& cube, const Configuration& setup,
                      const std::vector<stap::Findings>& findings) {
    line << "result      " << options.common.out.string();
    if (options.parameters.detector == stap::Detector::none) {
        line << ": ";
        if (cube.has_cpi_axis) line << cube.cpis << " CPI" << plural(cube.cpis) << " x ";
        line << setup.problem.steering_vectors << " vectors x " << setup.problem.doppler_bins
             << " Doppler bins x " << setup.problem.shape.range_cells << " range cells\n";
        return;
    }
    const auto [detections, targets] = count(findings);
    line << ": " << detections << " detection" << plural(detections) << " of " << targets
         << " target" << plural(targets);
    const stap::EstimatedTarget* strongest = nullptr;
    for (const stap::Findings& found : findings) {
        if (found.merged.targets.empty()) continue;
        const stap::EstimatedTarget& first = found.merged.targets.front();
        if (strongest == nullptr || first.statistic > strongest->statistic) strongest = &first;
    }
    if (strongest != nullptr) {
        line << ", strongest at ";
        describe_position(line, setup, *strongest);
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

void FactorisationHealth::add(const FactorisationHealth& other, long long cpi) {
    const bool worse =
        other.failed > 0
            ? failed == 0
            : failed == 0 && (matrices == 0 || other.worst_pivot_ratio > worst_pivot_ratio);
    worst_pivot_ratio = std::max(worst_pivot_ratio, other.worst_pivot_ratio);
    if (worse) {
        worst_doppler_bin = other.worst_doppler_bin;
        worst_training_set = other.worst_training_set;
        worst_cpi = cpi;
    }
    matrices += other.matrices;
    failed += other.failed;
    repeated += other.repeated;
    loaded += other.loaded;
    untrusted += other.untrusted;
}

void expects_factored(const std::filesystem::path& cube, const stap::Problem& problem,
                      const FactorisationHealth& health) {
    core::expects(health.failed < health.matrices, cube.string(), ": all ", health.matrices,
                  " covariances failed; ", remedy(problem));
}

void report_health(const std::filesystem::path& cube, const stap::Problem& problem,
                   const FactorisationHealth& health, Console& console) {
    const stap::Parameters& p = problem.parameters;
    expects_factored(cube, problem, health);
    if (health.failed > 0) {
        console.warn_incomplete(core::text(
            share_of(health.failed, health.matrices), " failed, their output is 0 (the first: ",
            health.worst_cpi > 0 ? core::text("CPI ", health.worst_cpi, ", ") : std::string(),
            "Doppler bin ", health.worst_doppler_bin, ", training set ", health.worst_training_set,
            "); ", remedy(problem)));
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
                           const std::vector<stap::Findings>& findings) {
    ReportValues values{{"failed_matrices", health.failed},
                        {"repeated_matrices", health.repeated},
                        {"loaded_matrices", health.loaded},
                        {"worst_pivot_ratio", health.worst_pivot_ratio}};
    if (problem.parameters.detector != stap::Detector::none) {
        const auto [detections, targets] = count(findings);
        values["detections"] = detections;
        values["targets"] = targets;
        values["pfa_held"] = health.holds_pfa(problem.parameters);
    }
    return values;
}

ReportValues accuracy_values(const Truth& truth) {
    return {{"planted_targets", integer(truth.targets.size())},
            {"found_targets", integer(truth.score.found_targets)},
            {"false_detections", integer(truth.score.false_detections)},
            {"f_measure", truth.score.f_measure()}};
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
                    const FactorisationHealth& health, const std::vector<stap::Findings>& findings,
                    const std::optional<Truth>& truth) {
    std::ostringstream lines;
    lines << "cube        " << cube.path.string() << ':' << cube.dataset << ": ";
    if (cube.has_cpi_axis) lines << cube.cpis << " CPI" << plural(cube.cpis) << " x ";
    lines << cube.channels << " channels x " << cube.pulses
          << (cube.domain == media::Domain::pulse ? " pulses x " : " Doppler bins x ")
          << cube.range_cells << " range cells, " << cube.element << ", axes " << cube.axes << " ("
          << media::name(cube.axis_rule) << ")\n";
    describe_array(lines, options, setup);
    lines << "device      " << report.device.name << '\n';
    lines << report.stage_line();
    describe_covariance(lines, setup, health);
    describe_results(lines, options, cube, setup, findings);
    const FigureOptions& figures = options.figures;
    for (const auto& file : {figures.maps, figures.angle_doppler, figures.pattern, figures.sinr}) {
        if (file) lines << "figure      " << file->string() << '\n';
    }
    if (truth) describe_targets(lines, *truth, options.fftshift, setup.problem.doppler_bins);
    return lines.str();
}

}  // namespace aperture::apps
