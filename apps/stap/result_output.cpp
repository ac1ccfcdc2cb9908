// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/result_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>

#include "aperture/media/plot.hpp"
#include "aperture/stap/attempts.hpp"
#include "aperture/stap/conventional.hpp"
#include "apps/common/report.hpp"
#include "apps/stap/doppler_axis.hpp"

namespace aperture::apps {
namespace {

using core::Host;
using core::index_t;
using stap::cfloat;

constexpr std::size_t max_markers = 100;

/// Whether a cell's covariance has automatic loading.
bool is_loaded(const stap::Problem& problem, const ResultArrays& results, int bin, index_t cell) {
    return problem.parameters.precision == stap::Precision::automatic &&
           results.attempt(bin, stap::training_set_of(problem, cell)) >= stap::first_loaded_attempt;
}

void write_detections(media::ResultFile& file, const Configuration& setup,
                      const ResultArrays& results, const std::vector<stap::Detection>& detections) {
    const int bins = setup.problem.doppler_bins;
    std::vector<std::int64_t> vector, bin, cell, loaded;
    std::vector<double> azimuth, doppler, doppler_hz, statistic_db, threshold_db;
    for (const auto& d : detections) {
        vector.push_back(d.steering_vector);
        azimuth.push_back(setup.azimuths.empty()
                              ? std::numeric_limits<double>::quiet_NaN()
                              : setup.azimuths[static_cast<std::size_t>(d.steering_vector)]);
        bin.push_back(d.doppler_bin);
        doppler.push_back(doppler_of_bin(d.doppler_bin, bins));
        doppler_hz.push_back(doppler.back() * setup.prf_hz.value_or(0));
        cell.push_back(d.range_cell);
        statistic_db.push_back(10 * std::log10(d.statistic));
        threshold_db.push_back(10 * std::log10(d.threshold));
        loaded.push_back(is_loaded(setup.problem, results, d.doppler_bin, d.range_cell));
    }
    std::vector<media::Column> columns{{"steering_vector", vector},
                                       {"azimuth_degrees", azimuth},
                                       {"doppler_bin", bin},
                                       {"doppler", doppler}};
    if (setup.prf_hz) columns.push_back({"doppler_hz", doppler_hz});
    columns.push_back({"range_cell", cell});
    columns.push_back({"statistic_db", statistic_db});
    columns.push_back({"threshold_db", threshold_db});
    columns.push_back({"loaded", loaded});
    file.table("/detections", columns);
}

/// A map [K][N] of complex amplitudes in dB; rows start at the most negative Doppler.
core::Array<float, 2> centred_decibels(core::View<const cfloat, 2, Host> map) {
    const auto [bins, cells] = map.extent;
    const core::Array<float, 2> db = media::decibels(map);
    core::Array<float, 2> centred({bins, cells});
    for (int row = 0; row < static_cast<int>(bins); ++row) {
        const float* from = db.data() + bin_of_row(row, static_cast<int>(bins)) * cells;
        std::copy_n(from, cells, centred.data() + row * cells);
    }
    return centred;
}

std::string direction(const Configuration& setup, int vector) {
    std::ostringstream words;
    if (setup.azimuths.empty()) {
        words << "steering vector " << vector;
    } else {
        words.precision(3);
        words << "azimuth " << setup.azimuths[static_cast<std::size_t>(vector)] << " degrees";
    }
    return words.str();
}

}  // namespace

void write_results(media::ResultFile& file, const StapOptions& options,
                   const media::RadarCube& cube, const Configuration& setup,
                   const ResultArrays& results, const FactorisationHealth& health,
                   const std::vector<stap::Detection>& detections) {
    file.write("/output", results.output.view(), {"vector", "doppler", "range"});
    if (!setup.azimuths.empty()) {
        const core::View<const double, 1, Host> azimuths(setup.azimuths.data(),
                                                         {index_t(setup.azimuths.size())});
        file.write("/azimuth_degrees", azimuths, {"vector"});
    }
    if (options.parameters.detector != stap::Detector::none) {
        file.write("/statistic", results.statistic.view(), {"vector", "doppler", "range"});
        write_detections(file, setup, results, detections);
    }
    if (options.save.covariance) {
        file.write("/covariance", results.covariance.view(),
                   {"doppler", "training_set", "row", "column"});
    }
    if (options.save.weights) {
        file.write("/weights", results.weights.view(),
                   {"doppler", "training_set", "vector", "element"});
    }
    file.write("/info", results.info.view(), {"doppler", "training_set"});
    if (setup.problem.parameters.precision == stap::Precision::automatic) {
        file.write("/attempt", results.attempt.view(), {"doppler", "training_set"});
    }
    if (options.save.info) {
        file.write("/pivot_ratio", results.pivot_ratio.view(), {"doppler", "training_set"});
    }
    if (options.save.steering) {
        file.write("/steering", setup.steering.view(), {"vector", "element"});
    }
    ResultParameters parameters = describe(options, cube, setup);
    parameters.emplace_back("failed_matrices", health.failed);
    parameters.emplace_back("repeated_matrices", health.repeated);
    parameters.emplace_back("loaded_matrices", health.loaded);
    if (options.parameters.detector != stap::Detector::none) {
        parameters.emplace_back("pfa_held", health.holds_pfa(setup.problem.parameters));
    }
    write_parameters(file, "stap", options.common, parameters);
}

media::Picture draw_maps(core::Cpu& cpu, const Configuration& setup, stap::CubeView<Host> cube,
                         const ResultArrays& results,
                         const std::vector<stap::Detection>& detections) {
    const stap::Problem& problem = setup.problem;
    const index_t bins = problem.doppler_bins;
    const index_t cells = problem.shape.range_cells;
    const int vector = detections.empty() ? 0 : detections.front().steering_vector;

    core::Array<cfloat, 2> unadapted({bins, cells});
    const core::View<const cfloat, 1, Host> steering_vector(
        setup.steering.data() + index_t(vector) * problem.order, {problem.order});
    stap::conventional_map(cpu, problem, cube, steering_vector, unadapted);
    // Failed cells have no value; they must not look like deep nulls.
    core::Array<cfloat, 2> adapted({bins, cells});
    for (index_t k = 0; k < bins; ++k) {
        for (index_t r = 0; r < cells; ++r) {
            const bool failed = results.info(k, stap::training_set_of(problem, r)) > 0;
            adapted(k, r) = failed ? cfloat(std::numeric_limits<float>::quiet_NaN())
                                   : results.output(vector, k, r);
        }
    }

    const double scale = setup.prf_hz.value_or(1);
    const media::Axis range{"range cell", 0, static_cast<double>(cells - 1)};
    const media::Axis doppler{
        setup.prf_hz ? "Doppler (Hz)" : "Doppler (cycles per pulse)",
        scale * doppler_of_bin(bin_of_row(0, problem.doppler_bins), problem.doppler_bins),
        scale * doppler_of_bin(bin_of_row(problem.doppler_bins - 1, problem.doppler_bins),
                               problem.doppler_bins)};
    std::vector<media::Marker> markers;
    for (const auto& d : detections) {
        if (d.steering_vector != vector || markers.size() == max_markers) continue;
        markers.push_back({static_cast<double>(d.range_cell),
                           scale * doppler_of_bin(d.doppler_bin, problem.doppler_bins)});
    }
    const auto before = centred_decibels(unadapted.view());
    const auto after = centred_decibels(adapted.view());
    const std::string where = direction(setup, vector);
    const std::vector<media::HeatMap> panels{
        {before.view(), range, doppler, "before adaptation, " + where},
        {after.view(), range, doppler, "after adaptation, " + where, markers}};
    return media::plot(panels);
}

}  // namespace aperture::apps
