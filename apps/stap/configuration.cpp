// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/configuration.hpp"

#include <algorithm>

#include "aperture/stap/defaults.hpp"
#include "aperture/stap/detection.hpp"
#include "aperture/stap/steering.hpp"
#include "apps/stap/positions.hpp"

namespace aperture::apps {
namespace {

using core::index_t;
using core::text;

int choose_doppler_bins(const StapOptions& options, const media::RadarCube& cube) {
    if (options.doppler_bins) return *options.doppler_bins;
    if (cube.domain == media::Domain::doppler) return 0;
    return static_cast<int>(cube.doppler_bins.value_or(0));
}

int choose_temporal_taps(const StapOptions& options, const media::RadarCube& cube,
                         const stap::CubeShape& shape, Console& console) {
    if (options.temporal_taps) return *options.temporal_taps;
    if (cube.steering && options.takes_steering_of_file()) {
        for (const int taps : {1, 3, 5}) {
            if ((*cube.steering)[1] == cube.channels * taps) return taps;
        }
    }
    const int taps = stap::default_temporal_taps(shape);
    if (taps == 1) {
        console.note(text(cube.channels, " channels and ", cube.pulses,
                          " pulses allow only one temporal tap: using --tdof 1"));
    }
    return taps;
}

int choose_training_block(const StapOptions& options, const media::RadarCube& cube,
                          const stap::CubeShape& shape, const stap::Parameters& parameters,
                          Console& console) {
    if (options.training_block) return *options.training_block;
    const auto wanted = static_cast<int>(cube.training_block.value_or(
        stap::default_training_block(shape, parameters.temporal_taps)));
    const int block = stap::fitting_training_block(shape, parameters, wanted);
    if (block != wanted) {
        console.note(text("the cube has ", cube.range_cells,
                          " range cells: using --training-block ", block, " instead of ", wanted));
    }
    return block;
}

/// Loads a covariance that would be singular, unless the user or the file chose the training.
stap::DiagonalLoading choose_loading(const StapOptions& options, const media::RadarCube& cube,
                                     const stap::CubeShape& shape,
                                     const stap::Parameters& parameters, Console& console) {
    if (options.loading) return *options.loading;
    const bool shrunk = parameters.training_block < cube.training_block.value_or(0);
    if (options.training_block || options.training || options.guard ||
        (cube.training_block && !shrunk)) {
        return {};
    }
    const stap::DiagonalLoading loading = stap::default_loading(shape, parameters);
    if (loading.value > 0) {
        console.note(text(stap::cells_of_block(parameters),
                          " training cells are fewer than the order ",
                          cube.channels * parameters.temporal_taps,
                          " of the covariance: using --loading ", to_string(loading)));
    }
    return loading;
}

stap::Parameters choose_parameters(const StapOptions& options, const media::RadarCube& cube,
                                   const stap::CubeShape& shape, Console& console) {
    core::expects(cube.domain == media::Domain::pulse ||
                      options.parameters.taper.kind == signal::Taper::Kind::none,
                  "--taper requires a cube in the pulse domain");
    stap::Parameters parameters = options.parameters;
    parameters.doppler_bins = choose_doppler_bins(options, cube);
    parameters.training = options.training.value_or(parameters.training);
    parameters.guard = options.guard.value_or(parameters.guard);
    parameters.temporal_taps = choose_temporal_taps(options, cube, shape, console);
    parameters.training_block = choose_training_block(options, cube, shape, parameters, console);
    parameters.loading = choose_loading(options, cube, shape, parameters, console);
    return parameters;
}

void choose_steering(media::CubeReader& reader, Configuration& setup) {
    const stap::Problem& problem = setup.problem;
    if (!setup.has_directions()) {
        setup.steering = std::move(*reader.steering());
        core::expects(setup.steering.extent()[1] == problem.order, "/steering has ",
                      setup.steering.extent()[1], " elements per vector, expected ", problem.order,
                      " (", problem.shape.channels, " channels x ",
                      problem.parameters.temporal_taps,
                      " taps); change --tdof, or set --azimuth to ignore /steering");
        return;
    }
    const auto response =
        stap::temporal_response(problem.parameters.taper, static_cast<int>(problem.shape.pulses),
                                problem.doppler_bins, problem.parameters.temporal_taps);
    setup.steering = stap::steering_vectors(setup.grid.elements, setup.grid.directions, response);
}

std::vector<stap::ElementPosition> choose_elements(const StapOptions& options,
                                                   const media::RadarCube& cube, double spacing) {
    if (!options.positions) return stap::uniform_line(static_cast<int>(cube.channels), spacing);
    auto positions = read_positions(*options.positions);
    core::expects(index_t(positions.size()) == cube.channels, "the cube has ", cube.channels,
                  " channels, but ", options.positions->string(), " has ", positions.size(),
                  " positions");
    return positions;
}

/// Sets elements, azimuths, elevations and directions.
void choose_directions(const StapOptions& options, const media::RadarCube& cube,
                       Configuration& setup) {
    if (cube.steering && options.takes_steering_of_file()) return;
    setup.grid.elements = choose_elements(options, cube, setup.spacing_wavelengths);
    setup.azimuths = options.azimuths.value_or(stap::default_azimuths());
    setup.elevations = options.elevations.value_or(std::vector<double>());
    const auto count = static_cast<index_t>(setup.azimuths.size() *
                                            std::max<std::size_t>(setup.elevations.size(), 1));
    core::expects(count <= stap::max_steering_vectors, count, " directions exceed the maximum of ",
                  stap::max_steering_vectors);
    setup.grid.row_length = static_cast<int>(setup.azimuths.size());
    for (const double elevation : options.elevations.value_or(std::vector{0.0}))
        for (const double azimuth : setup.azimuths)
            setup.grid.directions.push_back({azimuth, elevation});
}

/// Rejects figures over angles that are unknown.
void check_figures(const FigureOptions& figures, const Configuration& setup) {
    core::expects(
        setup.has_directions() || (!figures.angle_doppler && !figures.pattern && !figures.azimuth),
        "the directions of /steering are unknown: --plot-angle-doppler, --plot-pattern "
        "and --plot-azimuth require --azimuth");
    if (!figures.range) return;
    const auto last = static_cast<double>(setup.problem.shape.range_cells - 1);
    core::expects(*figures.range >= setup.range(0) && *figures.range <= setup.range(last),
                  "--plot-range ", *figures.range, ": the cube reaches from ", setup.range(0),
                  " to ", setup.range(last), ' ', setup.range_units());
}

/// Before the computation, rejects a detector whose threshold cannot be set.
void check_detector(const StapOptions& options, const stap::Problem& problem) {
    if (options.parameters.detector == stap::Detector::none) return;
    stap::detection_thresholds(problem, options.pfa);
}

/// If loading would help, the error names the flags.
stap::Problem checked_problem(const stap::CubeShape& shape, const stap::Parameters& parameters,
                              int vectors) {
    try {
        return stap::make_problem(shape, parameters, vectors);
    } catch (const core::InvalidArgument& singular) {
        stap::Parameters loaded = parameters;
        loaded.loading.value = 1;
        stap::make_problem(shape, loaded, vectors);
        throw core::InvalidArgument(text(singular.what(), " (--training-block, --tdof, --loading ",
                                         to_string(stap::rescue_loading), ")"));
    }
}

/// Warns of extents that no radar is likely to have in this order, if nothing says the order.
void warn_of_extents(const media::RadarCube& cube, Console& console) {
    constexpr index_t unlikely = 4;
    const bool told =
        cube.axis_rule != media::AxisRule::canonical && cube.axis_rule != media::AxisRule::matlab;
    const bool likely = unlikely * cube.range_cells >= cube.pulses &&
                        cube.range_cells >= cube.channels &&
                        unlikely * cube.pulses >= cube.channels;
    if (told || likely) return;
    console.warn(text(cube.path.string(), ": ", cube.channels, " channels x ", cube.pulses,
                      " pulses x ", cube.range_cells,
                      " range cells look swapped; --axes names the order"));
}

Configuration configure_checked(const StapOptions& options, media::CubeReader& reader,
                                Console& console) {
    const media::RadarCube& cube = reader.info();
    warn_of_extents(cube, console);
    Configuration setup;
    setup.spacing_wavelengths = options.spacing_wavelengths.value_or(
        cube.element_spacing_wavelengths.value_or(stap::default_spacing_wavelengths));
    setup.spacing_assumed =
        !options.positions && !options.spacing_wavelengths && !cube.element_spacing_wavelengths;
    setup.prf_hz = options.prf_hz ? options.prf_hz : cube.prf_hz;
    setup.range_bin_m = cube.range_bin_m;
    if (cube.range_bin_m) setup.range_start_m = cube.range_start_m;
    choose_directions(options, cube, setup);
    const index_t vectors =
        setup.has_directions() ? index_t(setup.grid.directions.size()) : (*cube.steering)[0];
    core::expects(vectors <= stap::max_steering_vectors, vectors,
                  " steering vectors exceed the maximum of ", stap::max_steering_vectors);

    const stap::CubeShape shape{
        cube.channels, cube.pulses, cube.range_cells,
        cube.domain == media::Domain::pulse ? stap::Domain::pulse : stap::Domain::doppler};
    setup.problem = checked_problem(shape, choose_parameters(options, cube, shape, console),
                                    static_cast<int>(vectors));
    choose_steering(reader, setup);
    check_detector(options, setup.problem);
    check_figures(options.figures, setup);
    return setup;
}

}  // namespace

Configuration configure(const StapOptions& options, media::CubeReader& reader, Console& console) {
    core::expects(
        !options.save.weights || options.training != stap::Training::all,
        "--save weights cannot be combined with --training all, which does not store them");
    try {
        return configure_checked(options, reader, console);
    } catch (const core::InvalidArgument& error) {
        throw core::InvalidArgument(text(options.cube.path.string(), ": ", error.what()));
    }
}

ResultParameters describe(const StapOptions& options, const media::RadarCube& cube,
                          const Configuration& setup) {
    const stap::Problem& problem = setup.problem;
    const stap::Parameters& p = problem.parameters;
    ResultParameters list{
        {"dataset", cube.dataset},
        {"axes", cube.axes},
        {"axis_rule", std::string(media::name(cube.axis_rule))},
        {"domain", std::string(media::name(cube.domain))},
        {"channels", integer(cube.channels)},
        {"pulses", integer(cube.pulses)},
        {"range_cells", integer(cube.range_cells)},
        {"doppler_bins", integer(problem.doppler_bins)},
        {"training", choice_name(stap::training_choices, p.training)},
        {"training_block", integer(p.training_block)},
        {"guard", integer(p.guard)},
        {"tdof", integer(p.temporal_taps)},
        {"order", integer(problem.order)},
        {"steering_vectors", integer(problem.steering_vectors)},
        {"spacing_assumed", setup.spacing_assumed},
        {"loading", to_string(p.loading)},
        {"taper", signal::to_string(p.taper)},
        {"solver", choice_name(stap::solver_choices, p.solver)},
        {"implementation", choice_name(stap::implementation_choices, p.implementation)},
        {"precision", choice_name(stap::precision_choices, p.precision)},
        {"detector", choice_name(stap::detector_choices, p.detector)}};
    if (!options.positions) {
        list.emplace_back("element_spacing_wavelengths", setup.spacing_wavelengths);
    }
    if (cube.has_cpi_axis) list.emplace_back("cpis", integer(cube.cpis));
    if (setup.elevations.size() == 1) list.emplace_back("elevation_degrees", setup.elevations[0]);
    if (setup.prf_hz) list.emplace_back("prf_hz", *setup.prf_hz);
    if (setup.range_bin_m) {
        list.insert(list.end(),
                    {{"range_bin_m", *setup.range_bin_m}, {"range_start_m", setup.range_start_m}});
    }
    list.emplace_back("fftshift", options.fftshift);
    if (p.detector != stap::Detector::none) list.emplace_back("pfa", options.pfa);
    return list;
}

}  // namespace aperture::apps
