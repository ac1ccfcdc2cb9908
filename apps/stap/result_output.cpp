// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/result_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "apps/common/report.hpp"
#include "apps/stap/decibels.hpp"
#include "apps/stap/doppler_axis.hpp"

namespace aperture::apps {
namespace {

using core::Host;
using core::index_t;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Columns of a table of detections or targets, filled row by row.
class Rows {
  public:
    /// Adds a value to the integer column of that name, which is created in the first row.
    void count(const std::string& name, std::int64_t value, const std::string& units = "1") {
        std::get<std::vector<std::int64_t>>(column(name, std::vector<std::int64_t>(), units).values)
            .push_back(value);
    }
    void number(const std::string& name, double value, const std::string& units) {
        std::get<std::vector<double>>(column(name, std::vector<double>(), units).values)
            .push_back(value);
    }
    /// Creates the columns even if there are no rows: `fill` adds one, which is removed.
    template <class Fill>
    void declare(const Fill& fill) {
        fill();
        for (media::Column& of : columns_) {
            std::visit([](auto& values) { values.clear(); }, of.values);
        }
    }
    const std::vector<media::Column>& columns() const { return columns_; }

  private:
    template <class Values>
    media::Column& column(const std::string& name, Values empty, const std::string& units) {
        for (media::Column& of : columns_) {
            if (of.name == name) return of;
        }
        return columns_.emplace_back(media::Column{name, std::move(empty), units});
    }

    std::vector<media::Column> columns_;
};

}  // namespace

ResultOutput::ResultOutput(media::ResultFile& file, const StapOptions& options,
                           const media::RadarCube& cube, const Configuration& setup)
    : file_(file), options_(options), cube_(cube), setup_(setup) {
    vector_axis_ = !setup.has_directions()       ? "steering_vector"
                   : setup.elevations.size() > 1 ? "direction"
                                                 : "azimuth";
    write_coordinates();
}

void ResultOutput::write_coordinates() {
    const int bins = setup_.problem.doppler_bins;
    std::vector<double> doppler(static_cast<std::size_t>(bins));
    for (int k = 0; k < bins; ++k) {
        doppler[static_cast<std::size_t>(stored_bin(options_.fftshift, k, bins))] =
            setup_.doppler(stap::doppler_of_bin(k, bins));
    }
    file_.coordinates("doppler", doppler, setup_.doppler_units(), "Doppler frequency");
    file_.attribute("/doppler", "order",
                    std::string(options_.fftshift ? "ascending" : "0 up, then the negative ones"));
    std::vector<double> range(static_cast<std::size_t>(setup_.problem.shape.range_cells));
    for (std::size_t r = 0; r < range.size(); ++r) range[r] = setup_.range(static_cast<double>(r));
    file_.coordinates("range", range, setup_.range_units(), "range");
    if (vector_axis_ == "azimuth") {
        file_.coordinates("azimuth", setup_.azimuths, "degrees", "azimuth from boresight");
    }
    if (vector_axis_ != "direction") return;
    core::Array<double, 1> angles({static_cast<index_t>(setup_.grid.directions.size())});
    const auto write_angles = [&](const std::string& dataset, const char* meaning, auto angle) {
        std::transform(setup_.grid.directions.begin(), setup_.grid.directions.end(), angles.begin(),
                       angle);
        file_.write(dataset, std::as_const(angles).view(), {"direction"});
        file_.attribute(dataset, "units", std::string("degrees"));
        file_.attribute(dataset, "long_name", std::string(meaning));
    };
    write_angles("/azimuth", "azimuth from boresight",
                 [](const stap::Direction& of) { return of.azimuth_degrees; });
    write_angles("/elevation", "elevation",
                 [](const stap::Direction& of) { return of.elevation_degrees; });
}

template <class T, int Rank>
void ResultOutput::write_shifted(index_t cpi, const std::string& dataset,
                                 core::Array<T, Rank>& values, std::vector<std::string> axes) {
    const auto axis = std::find(axes.begin(), axes.end(), "doppler") - axes.begin();
    index_t block = 1;
    for (auto d = axis + 1; d < Rank; ++d) block *= values.extent()[d];
    const index_t of_all = block * values.extent()[axis];
    const int bins = setup_.problem.doppler_bins;
    const auto rotate = [&](index_t first_bin) {
        for (T* part = values.begin(); part != values.end(); part += of_all) {
            std::rotate(part, part + first_bin * block, part + of_all);
        }
    };
    const index_t first_bin = options_.fftshift ? bin_of_row(0, bins) : 0;
    if (first_bin > 0) rotate(first_bin);
    write_cpi(cpi, dataset, values, std::move(axes));
    if (first_bin > 0) rotate(bins - first_bin);
}

template <class T, int Rank>
void ResultOutput::write_cpi(index_t cpi, const std::string& dataset,
                             const core::Array<T, Rank>& values, std::vector<std::string> axes) {
    if (!cube_.has_cpi_axis) {
        file_.write(dataset, values.view(), axes);
        return;
    }
    core::Extents<Rank + 1> extent;
    extent[0] = 1;
    std::copy(values.extent().begin(), values.extent().end(), extent.begin() + 1);
    if (cpi == 0) {
        axes.insert(axes.begin(), "cpi");
        std::vector<index_t> all(extent.begin(), extent.end());
        all[0] = cube_.cpis;
        file_.create<T>(dataset, all, axes);
    }
    core::Extents<Rank + 1> first{};
    first[0] = cpi;
    file_.write_part<const T, Rank + 1>(dataset, first,
                                        core::View<const T, Rank + 1, Host>(values.data(), extent));
}

void ResultOutput::write(index_t cpi, ResultArrays& results) {
    const std::string& vector = vector_axis_;
    write_shifted(cpi, "/output", results.output, {vector, "doppler", "range"});
    if (options_.parameters.detector != stap::Detector::none) {
        write_shifted(cpi, "/statistic", results.statistic, {vector, "doppler", "range"});
    }
    if (options_.save.covariance) {
        write_shifted(cpi, "/covariance", results.covariance,
                      {"doppler", "training_set", "row", "column"});
    }
    if (options_.save.weights) {
        write_shifted(cpi, "/weights", results.weights,
                      {"doppler", "training_set", vector, "element"});
    }
    write_shifted(cpi, "/info", results.info, {"doppler", "training_set"});
    if (setup_.problem.parameters.precision == stap::Precision::automatic) {
        write_shifted(cpi, "/attempt", results.attempt, {"doppler", "training_set"});
    }
    if (options_.save.info) {
        write_shifted(cpi, "/pivot_ratio", results.pivot_ratio, {"doppler", "training_set"});
    }
}

void ResultOutput::write_detections(const std::vector<stap::Findings>& findings) {
    const int bins = setup_.problem.doppler_bins;
    Rows rows;
    const auto add = [&](index_t cpi, const stap::Detection& d, bool loaded, index_t target) {
        const auto vector = static_cast<std::size_t>(d.steering_vector);
        const stap::Direction direction = setup_.has_directions()
                                              ? setup_.grid.directions[vector]
                                              : stap::Direction{unknown, unknown};
        if (cube_.has_cpi_axis) rows.count("cpi", cpi);
        rows.count("steering_vector", d.steering_vector);
        rows.number("azimuth_degrees", direction.azimuth_degrees, "degrees");
        if (!setup_.elevations.empty()) {
            rows.number("elevation_degrees", direction.elevation_degrees, "degrees");
        }
        const double doppler = stap::doppler_of_bin(d.doppler_bin, bins);
        rows.count("doppler_bin", stored_bin(options_.fftshift, d.doppler_bin, bins));
        rows.number("doppler", doppler, "cycles per pulse");
        if (setup_.prf_hz) rows.number("doppler_hz", setup_.doppler(doppler), "Hz");
        rows.count("range_cell", d.range_cell, "cells");
        if (setup_.range_bin_m) {
            rows.number("range_m", setup_.range(static_cast<double>(d.range_cell)), "m");
        }
        rows.number("statistic_db", decibels(d.statistic), "dB");
        rows.number("threshold_db", decibels(d.threshold), "dB");
        rows.count("loaded", loaded);
        rows.count("target", target);
    };
    rows.declare([&] { add(0, {}, false, 0); });
    index_t targets_before = 0;
    for (std::size_t cpi = 0; cpi < findings.size(); ++cpi) {
        const stap::Findings& found = findings[cpi];
        for (std::size_t i = 0; i < found.detections.size(); ++i) {
            add(static_cast<index_t>(cpi), found.detections[i], found.loaded[i],
                targets_before + found.merged.target_of[i]);
        }
        targets_before += static_cast<index_t>(found.merged.targets.size());
    }
    file_.table("/detections", rows.columns());
}

void ResultOutput::write_targets(const std::vector<stap::Findings>& findings) {
    Rows rows;
    const auto add = [&](index_t cpi, const stap::EstimatedTarget& t) {
        if (cube_.has_cpi_axis) rows.count("cpi", cpi);
        rows.number("range_cell", t.range_cell, "cells");
        if (setup_.range_bin_m) rows.number("range_m", setup_.range(t.range_cell), "m");
        rows.number("doppler", t.doppler, "cycles per pulse");
        if (setup_.prf_hz) rows.number("doppler_hz", setup_.doppler(t.doppler), "Hz");
        rows.number("azimuth_degrees", t.azimuth_degrees, "degrees");
        if (!setup_.elevations.empty()) {
            rows.number("elevation_degrees", t.elevation_degrees, "degrees");
        }
        rows.number("statistic_db", decibels(t.statistic), "dB");
        rows.number("threshold_db", decibels(t.strongest.threshold), "dB");
        rows.count("detections", t.detections);
    };
    rows.declare([&] { add(0, {}); });
    for (std::size_t cpi = 0; cpi < findings.size(); ++cpi) {
        for (const auto& target : findings[cpi].merged.targets) {
            add(static_cast<index_t>(cpi), target);
        }
    }
    file_.table("/targets", rows.columns());
}

void ResultOutput::write_tables(const std::vector<stap::Findings>& findings,
                                const ReportValues& values) {
    if (options_.parameters.detector != stap::Detector::none) {
        write_detections(findings);
        write_targets(findings);
    }
    if (options_.save.steering) {
        file_.write("/steering", setup_.steering.view(), {vector_axis_, "element"});
    }
    ResultParameters attributes = describe(options_, cube_, setup_);
    for (const auto& value : values) attributes.emplace_back(value);
    write_parameters(file_, options_.common, input_files(options_), attributes);
}

}  // namespace aperture::apps
