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

void write_detections(media::ResultFile& file, const StapOptions& options,
                      const Configuration& setup, const ResultArrays& results,
                      const std::vector<stap::Detection>& detections) {
    const int bins = setup.problem.doppler_bins;
    std::vector<std::int64_t> vector, bin, cell, loaded;
    std::vector<double> azimuth, doppler, doppler_hz, range_m, statistic_db, threshold_db;
    for (const auto& d : detections) {
        vector.push_back(d.steering_vector);
        azimuth.push_back(setup.azimuths.empty()
                              ? std::numeric_limits<double>::quiet_NaN()
                              : setup.azimuths[static_cast<std::size_t>(d.steering_vector)]);
        bin.push_back(stored_bin(options.fftshift, d.doppler_bin, bins));
        doppler.push_back(doppler_of_bin(d.doppler_bin, bins));
        doppler_hz.push_back(setup.doppler(doppler.back()));
        cell.push_back(d.range_cell);
        range_m.push_back(setup.range(static_cast<double>(d.range_cell)));
        statistic_db.push_back(10 * std::log10(d.statistic));
        threshold_db.push_back(10 * std::log10(d.threshold));
        loaded.push_back(is_loaded(setup.problem, results, d.doppler_bin, d.range_cell));
    }
    std::vector<media::Column> columns{{"steering_vector", vector, "1"},
                                       {"azimuth_degrees", azimuth, "degrees"},
                                       {"doppler_bin", bin, "1"},
                                       {"doppler", doppler, "cycles per pulse"}};
    if (setup.prf_hz) columns.push_back({"doppler_hz", doppler_hz, "Hz"});
    columns.push_back({"range_cell", cell, "cells"});
    if (setup.range_bin_m) columns.push_back({"range_m", range_m, "m"});
    columns.push_back({"statistic_db", statistic_db, "dB"});
    columns.push_back({"threshold_db", threshold_db, "dB"});
    columns.push_back({"loaded", loaded, "1"});
    file.table("/detections", columns);
}

void write_coordinates(media::ResultFile& file, const StapOptions& options,
                       const Configuration& setup) {
    const int bins = setup.problem.doppler_bins;
    std::vector<double> doppler(static_cast<std::size_t>(bins));
    for (int k = 0; k < bins; ++k) {
        doppler[static_cast<std::size_t>(stored_bin(options.fftshift, k, bins))] =
            setup.doppler(doppler_of_bin(k, bins));
    }
    file.coordinates("doppler", doppler, setup.doppler_units(), "Doppler frequency");
    file.attribute("/doppler", "order",
                   std::string(options.fftshift ? "ascending" : "0 up, then the negative ones"));
    std::vector<double> range(static_cast<std::size_t>(setup.problem.shape.range_cells));
    for (std::size_t r = 0; r < range.size(); ++r) range[r] = setup.range(static_cast<double>(r));
    file.coordinates("range", range, setup.range_units(), "range");
    if (!setup.azimuths.empty()) {
        file.coordinates("azimuth", setup.azimuths, "degrees", "azimuth from boresight");
    }
}

/// Writes results with Doppler bins along one of their axes.
class DopplerResults {
  public:
    DopplerResults(media::ResultFile& file, const StapOptions& options, int bins)
        : file_(file), shift_(options.fftshift ? bin_of_row(0, bins) : 0) {}

    /// Shifts the bins of `values` in place.
    template <class T, int Rank>
    void write(const std::string& dataset, core::Array<T, Rank>& values,
               const std::vector<std::string>& axes) {
        const auto axis = std::find(axes.begin(), axes.end(), "doppler") - axes.begin();
        index_t block = 1;
        for (auto d = axis + 1; d < Rank; ++d) block *= values.extent()[d];
        const index_t of_all = block * values.extent()[axis];
        if (shift_ > 0) {
            for (T* part = values.begin(); part != values.end(); part += of_all) {
                std::rotate(part, part + shift_ * block, part + of_all);
            }
        }
        file_.write(dataset, std::as_const(values).view(), axes);
    }

  private:
    media::ResultFile& file_;
    index_t shift_;  ///< the bin written first
};

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
                   const media::RadarCube& cube, const Configuration& setup, ResultArrays& results,
                   const FactorisationHealth& health,
                   const std::vector<stap::Detection>& detections) {
    const char* const vector = setup.azimuths.empty() ? "steering_vector" : "azimuth";
    write_coordinates(file, options, setup);
    if (options.parameters.detector != stap::Detector::none) {
        write_detections(file, options, setup, results, detections);
    }
    DopplerResults shifted(file, options, setup.problem.doppler_bins);
    shifted.write("/output", results.output, {vector, "doppler", "range"});
    if (options.parameters.detector != stap::Detector::none) {
        shifted.write("/statistic", results.statistic, {vector, "doppler", "range"});
    }
    if (options.save.covariance) {
        shifted.write("/covariance", results.covariance,
                      {"doppler", "training_set", "row", "column"});
    }
    if (options.save.weights) {
        shifted.write("/weights", results.weights, {"doppler", "training_set", vector, "element"});
    }
    shifted.write("/info", results.info, {"doppler", "training_set"});
    if (setup.problem.parameters.precision == stap::Precision::automatic) {
        shifted.write("/attempt", results.attempt, {"doppler", "training_set"});
    }
    if (options.save.info) {
        shifted.write("/pivot_ratio", results.pivot_ratio, {"doppler", "training_set"});
    }
    if (options.save.steering) {
        file.write("/steering", setup.steering.view(), {vector, "element"});
    }
    ResultParameters attributes = describe(options, cube, setup);
    for (const auto& value : result_values(setup.problem, health, detections)) {
        attributes.emplace_back(value);
    }
    write_parameters(file, options.common, input_files(options), attributes);
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

    const media::Axis range{core::text("range (", setup.range_units(), ")"), setup.range(0),
                            setup.range(static_cast<double>(cells - 1))};
    const auto doppler_of_row = [&](int row) {
        return setup.doppler(
            doppler_of_bin(bin_of_row(row, problem.doppler_bins), problem.doppler_bins));
    };
    const media::Axis doppler{core::text("Doppler (", setup.doppler_units(), ")"),
                              doppler_of_row(0), doppler_of_row(problem.doppler_bins - 1)};
    std::vector<media::Marker> markers;
    for (const auto& d : detections) {
        if (d.steering_vector != vector || markers.size() == max_markers) continue;
        markers.push_back({setup.range(static_cast<double>(d.range_cell)),
                           setup.doppler(doppler_of_bin(d.doppler_bin, problem.doppler_bins))});
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
