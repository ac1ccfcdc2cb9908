// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/figures.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>

#include "aperture/media/plot.hpp"
#include "aperture/stap/conventional.hpp"
#include "aperture/stap/spectra.hpp"
#include "apps/stap/decibels.hpp"
#include "apps/stap/doppler_axis.hpp"

namespace aperture::apps {
namespace {

using core::Host;
using core::index_t;
using core::text;
using stap::cfloat;
using stap::EstimatedTarget;

constexpr std::size_t max_markers = 100;
constexpr int pattern_azimuths = 361;  // half a degree apart
constexpr double lowest_pattern_db = -80;
constexpr double lowest_loss_db = -60;
constexpr double statistic_span_db = 40;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Where the figures look.
struct Place {
    int vector = 0;
    int doppler_bin = 0;
    index_t range_cell = 0;
};

/// The vector whose azimuth is nearest to `azimuth`, of the elevation of `vector`.
int nearest_vector(const Configuration& setup, double azimuth, int vector) {
    const int row = vector - vector % setup.grid.row_length;
    const auto nearer = [&](double a, double b) {
        return std::abs(a - azimuth) < std::abs(b - azimuth);
    };
    const auto nearest = std::min_element(setup.azimuths.begin(), setup.azimuths.end(), nearer);
    return row + static_cast<int>(nearest - setup.azimuths.begin());
}

Place choose_place(const FigureOptions& figures, const Configuration& setup,
                   const stap::Findings& findings) {
    const stap::Problem& problem = setup.problem;
    Place place{0, 0, problem.shape.range_cells / 2};
    if (!findings.merged.targets.empty()) {
        const stap::Detection& strongest = findings.merged.targets.front().strongest;
        place = {strongest.steering_vector, strongest.doppler_bin, strongest.range_cell};
    } else if (setup.has_directions()) {
        place.vector = nearest_vector(setup, 0, 0);
    }
    if (figures.azimuth) place.vector = nearest_vector(setup, *figures.azimuth, place.vector);
    if (figures.doppler) {
        const double cycles = *figures.doppler / setup.prf_hz.value_or(1);
        const double wrapped = cycles - std::round(cycles);
        place.doppler_bin = stap::nearest_doppler_bin(wrapped, problem.doppler_bins);
    }
    if (figures.range) {
        const double cell = (*figures.range - setup.range(0)) / (setup.range(1) - setup.range(0));
        place.range_cell = std::clamp<index_t>(std::lround(cell), 0, problem.shape.range_cells - 1);
    }
    return place;
}

std::string direction_text(const Configuration& setup, int vector) {
    if (!setup.has_directions()) return text("steering vector ", vector);
    std::ostringstream words;
    words.precision(3);
    const stap::Direction& direction = setup.grid.directions[static_cast<std::size_t>(vector)];
    words << "azimuth " << direction.azimuth_degrees << " degrees";
    if (!setup.elevations.empty()) words << ", elevation " << direction.elevation_degrees;
    return words.str();
}

std::string range_text(const Configuration& setup, index_t cell) {
    if (!setup.range_bin_m) return text("range cell ", cell);
    std::ostringstream words;
    words << "range " << std::fixed << std::setprecision(setup.range_decimals())
          << setup.range(static_cast<double>(cell)) << " m";
    return words.str();
}

std::string doppler_text(const Configuration& setup, int bin) {
    std::ostringstream words;
    words << "Doppler " << setup.doppler(stap::doppler_of_bin(bin, setup.problem.doppler_bins))
          << ' ' << setup.doppler_units();
    return words.str();
}

media::Axis doppler_axis(const Configuration& setup) {
    const int bins = setup.problem.doppler_bins;
    const auto doppler_of_row = [&](int row) {
        return setup.doppler(stap::doppler_of_bin(bin_of_row(row, bins), bins));
    };
    return {text("Doppler (", setup.doppler_units(), ")"), doppler_of_row(0),
            doppler_of_row(bins - 1)};
}

/// Reorders the Doppler bins of a map [K][...] so that rows start at the most negative one.
core::Array<float, 2> centred(const core::Array<float, 2>& map) {
    const auto [bins, cells] = map.extent();
    core::Array<float, 2> rows({bins, cells});
    for (int row = 0; row < static_cast<int>(bins); ++row) {
        const float* from = map.data() + bin_of_row(row, static_cast<int>(bins)) * cells;
        std::copy_n(from, cells, rows.data() + row * cells);
    }
    return rows;
}

/// After adaptation: the statistic over its threshold, or without a detector the output power, in
/// dB. Failed cells have no value; they must not look like deep nulls.
core::Array<float, 2> adapted_map(const StapOptions& options, const Configuration& setup,
                                  const ResultArrays& results, int vector) {
    const stap::Problem& problem = setup.problem;
    const index_t cells = problem.shape.range_cells;
    const bool detector = problem.parameters.detector != stap::Detector::none;
    const std::vector<double> threshold =
        detector ? stap::detection_thresholds(problem, options.pfa) : std::vector<double>();
    core::Array<float, 2> map({problem.doppler_bins, cells});
    for (index_t k = 0; k < problem.doppler_bins; ++k) {
        for (index_t r = 0; r < cells; ++r) {
            const double value =
                detector ? results.statistic(vector, k, r) / threshold[static_cast<std::size_t>(r)]
                         : std::norm(std::complex<double>(results.output(vector, k, r)));
            const bool failed = results.info(k, stap::training_set_of(problem, r)) != 0;
            map(k, r) = failed ? nan : static_cast<float>(decibels(value));
        }
    }
    return map;
}

/// The targets whose strongest detection is in this direction.
std::vector<media::Marker> markers(const Configuration& setup, const stap::Findings& findings,
                                   int vector) {
    std::vector<media::Marker> list;
    for (const EstimatedTarget& target : findings.merged.targets) {
        if (target.strongest.steering_vector != vector || list.size() == max_markers) continue;
        list.push_back({setup.range(target.range_cell), setup.doppler(target.doppler)});
    }
    return list;
}

media::Figure draw_maps(core::Cpu& cpu, const StapOptions& options, const Configuration& setup,
                        stap::CubeView<Host> cube, const ResultArrays& results,
                        const stap::Findings& findings, const Place& place) {
    const stap::Problem& problem = setup.problem;
    const index_t cells = problem.shape.range_cells;
    core::Array<cfloat, 2> unadapted({problem.doppler_bins, cells});
    const core::View<const cfloat, 1, Host> steering_vector(
        setup.steering.data() + index_t(place.vector) * problem.order, {problem.order});
    stap::conventional_map(cpu, problem, cube, steering_vector, unadapted);

    const media::Axis range{text("range (", setup.range_units(), ")"), setup.range(0),
                            setup.range(static_cast<double>(cells - 1))};
    const media::Axis doppler = doppler_axis(setup);
    const auto before = centred(media::decibels(unadapted.view()));
    const auto after = centred(adapted_map(options, setup, results, place.vector));
    const std::string where = direction_text(setup, place.vector);
    std::vector<media::HeatMap> panels{
        {before.view(), range, doppler, "before adaptation, " + where},
        {after.view(), range, doppler, "after adaptation, " + where,
         markers(setup, findings, place.vector)}};
    if (problem.parameters.detector == stap::Detector::none) {
        return media::plot(panels, media::common_range(panels, "power (dB)"));
    }
    panels[0].scale = media::common_range(std::span(panels).first(1), "power (dB)");
    media::ColourScale over =
        media::common_range(std::span(panels).last(1), "statistic over threshold (dB)");
    // A map without targets must not look as if it were full of them.
    over.high = std::max(over.high, 0.0);
    over.low = std::max(over.low, over.high - statistic_span_db);
    panels[1].scale = over;
    return media::plot(panels);
}

double azimuth_of(const Configuration& setup, int vector) {
    return setup.grid.directions[static_cast<std::size_t>(vector)].azimuth_degrees;
}

double pattern_azimuth(index_t a) {
    return -90 + 180 * static_cast<double>(a) / (pattern_azimuths - 1);
}

/// Steering vectors [row][n]: the place's, and where directions are known before it those of
/// pattern_azimuths azimuths at the same elevation.
core::Array<cfloat, 2> vectors_for(const Configuration& setup, const Place& place) {
    const stap::Problem& problem = setup.problem;
    const cfloat* const look = setup.steering.data() + index_t(place.vector) * problem.order;
    core::Array<cfloat, 2> over;
    if (setup.has_directions()) {
        const stap::Direction& direction =
            setup.grid.directions[static_cast<std::size_t>(place.vector)];
        std::vector<stap::Direction> directions;
        for (int a = 0; a < pattern_azimuths; ++a) {
            directions.push_back({pattern_azimuth(a), direction.elevation_degrees});
        }
        const auto response = stap::temporal_response(
            problem.parameters.taper, static_cast<int>(problem.shape.pulses), problem.doppler_bins,
            problem.parameters.temporal_taps);
        over = stap::steering_vectors(setup.grid.elements, directions, response);
    }
    core::Array<cfloat, 2> vectors({over.extent()[0] + 1, problem.order});
    std::copy(over.begin(), over.end(), vectors.begin());
    std::copy_n(look, problem.order, vectors.end() - problem.order);
    return vectors;
}

/// The columns of the azimuths in dB.
core::Array<float, 2> decibels_over_azimuth(const core::Array<double, 2>& power) {
    core::Array<float, 2> db({power.extent()[0], pattern_azimuths});
    for (index_t k = 0; k < db.extent()[0]; ++k) {
        for (index_t a = 0; a < pattern_azimuths; ++a) {
            db(k, a) = static_cast<float>(decibels(power(k, a)));
        }
    }
    return db;
}

media::Figure draw_angle_doppler(const Configuration& setup,
                                 const stap::InterferenceSpectra& spectra, const Place& place) {
    const media::Axis azimuth{"azimuth (degrees)", -90, 90};
    const media::Axis doppler = doppler_axis(setup);
    const auto conventional = centred(decibels_over_azimuth(spectra.conventional));
    const auto minimum_variance = centred(decibels_over_azimuth(spectra.minimum_variance));
    const std::string where = range_text(setup, place.range_cell);
    const std::vector<media::Marker> look{
        {azimuth_of(setup, place.vector),
         setup.doppler(stap::doppler_of_bin(place.doppler_bin, setup.problem.doppler_bins))}};
    const std::vector<media::HeatMap> panels{
        {conventional.view(), azimuth, doppler, "beams and filters, " + where, look},
        {minimum_variance.view(), azimuth, doppler, "minimum variance, " + where, look}};
    return media::plot(panels, media::common_range(panels, "interference (dB)"));
}

media::Figure draw_pattern(core::Cpu& cpu, const Configuration& setup, stap::CubeView<Host> cube,
                           const core::Array<cfloat, 2>& vectors, const Place& place,
                           Console& console) {
    const stap::Problem& problem = setup.problem;
    const core::View<const cfloat, 1, Host> look = vectors.view()[pattern_azimuths];
    const std::vector<double> adapted = stap::adapted_pattern(cpu, problem, cube, place.range_cell,
                                                              place.doppler_bin, look, vectors);
    if (std::isnan(adapted.back())) {
        console.warn(text("the pattern of ", range_text(setup, place.range_cell), ", ",
                          doppler_text(setup, place.doppler_bin),
                          " lacks the adapted curve: its covariance cannot be trusted"));
    }
    media::Curve after{"adapted", {}, {}};
    media::Curve before{"not adapted", {}, {}};
    double norm = 0;
    for (index_t i = 0; i < problem.order; ++i) norm += std::norm(std::complex<double>(look(i)));
    for (index_t a = 0; a < pattern_azimuths; ++a) {
        std::complex<double> sum = 0;
        for (index_t i = 0; i < problem.order; ++i) {
            sum += std::conj(std::complex<double>(look(i))) * std::complex<double>(vectors(a, i));
        }
        after.x.push_back(pattern_azimuth(a));
        before.x.push_back(pattern_azimuth(a));
        after.y.push_back(decibels(adapted[static_cast<std::size_t>(a)]));
        before.y.push_back(decibels(std::norm(sum) / (norm * norm)));
    }
    media::CurvePlot plot{
        text(direction_text(setup, place.vector), ", ", doppler_text(setup, place.doppler_bin),
             ", ", range_text(setup, place.range_cell)),
        "azimuth (degrees)",
        "pattern (dB)",
        {after, before}};
    plot.logarithmic = false;
    plot.lowest = lowest_pattern_db;
    plot.marked_x = {azimuth_of(setup, place.vector)};
    return media::plot(plot);
}

/// Loss against the quietest cell of the minimum-variance spectrum, where only noise is left.
media::Figure draw_sinr(const Configuration& setup, const stap::InterferenceSpectra& spectra,
                        const Place& place) {
    const index_t look = spectra.conventional.extent()[1] - 1;
    double quietest = std::numeric_limits<double>::infinity();
    for (const double power : spectra.minimum_variance) quietest = std::fmin(quietest, power);
    media::Curve after{"adapted", {}, {}};
    media::Curve before{"not adapted", {}, {}};
    const int bins = setup.problem.doppler_bins;
    for (int row = 0; row < bins; ++row) {
        const int k = bin_of_row(row, bins);
        const double doppler = setup.doppler(stap::doppler_of_bin(k, bins));
        after.x.push_back(doppler);
        before.x.push_back(doppler);
        after.y.push_back(decibels(quietest / spectra.minimum_variance(k, look)));
        before.y.push_back(decibels(quietest / spectra.conventional(k, look)));
    }
    media::CurvePlot plot{
        text(direction_text(setup, place.vector), ", ", range_text(setup, place.range_cell)),
        text("Doppler (", setup.doppler_units(), ")"),
        "SINR loss (dB)",
        {after, before}};
    plot.logarithmic = false;
    plot.lowest = lowest_loss_db;
    return media::plot(plot);
}

void warn_of_missing_bins(const stap::InterferenceSpectra& spectra, const Configuration& setup,
                          const Place& place, Console& console) {
    const auto [bins, directions] = spectra.minimum_variance.extent();
    index_t missing = 0;
    for (index_t k = 0; k < bins; ++k) missing += std::isnan(spectra.minimum_variance(k, 0));
    if (missing == 0) return;
    console.warn(text("the figures of ", range_text(setup, place.range_cell), " lack ", missing,
                      " of ", bins, " Doppler bins, whose covariances cannot be trusted"));
}

}  // namespace

void add_figures(core::Cpu& cpu, const StapOptions& options, const Configuration& setup,
                 stap::CubeView<Host> cube, const ResultArrays& results,
                 const stap::Findings& findings, Console& console, media::OutputSet& outputs) {
    const FigureOptions& figures = options.figures;
    if (!figures.any()) return;
    const Place place = choose_place(figures, setup, findings);
    const auto add = [&](const std::filesystem::path& file, const media::Figure& figure) {
        outputs.add(media::new_figure(file, figure));
    };
    console.phase("drawing");
    if (figures.maps) {
        add(*figures.maps, draw_maps(cpu, options, setup, cube, results, findings, place));
    }
    if (!figures.angle_doppler && !figures.pattern && !figures.sinr) return;
    const core::Array<cfloat, 2> vectors = vectors_for(setup, place);
    if (figures.pattern) {
        add(*figures.pattern, draw_pattern(cpu, setup, cube, vectors, place, console));
    }
    if (!figures.angle_doppler && !figures.sinr) return;
    const auto spectra =
        stap::interference_spectra(cpu, setup.problem, cube, place.range_cell, vectors);
    warn_of_missing_bins(spectra, setup, place, console);
    if (figures.angle_doppler) {
        add(*figures.angle_doppler, draw_angle_doppler(setup, spectra, place));
    }
    if (figures.sinr) add(*figures.sinr, draw_sinr(setup, spectra, place));
}

}  // namespace aperture::apps
