// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// stap: space-time adaptive processing of a radar data cube in an HDF5 file.
#include <algorithm>
#include <cmath>

#include "apps/common/file_names.hpp"
#include "apps/stap/result_output.hpp"
#include "apps/stap/summary.hpp"

namespace aperture::apps {
namespace {

bool is_finite(stap::cfloat sample) {
    return std::isfinite(sample.real()) && std::isfinite(sample.imag());
}

/// The samples of a cube with a NaN or infinite part.
core::index_t count_non_finite(const core::Array<stap::cfloat, 3>& cube, int threads) {
    core::index_t count = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : count)
    for (core::index_t i = 0; i < cube.size(); ++i) count += !is_finite(cube.data()[i]);
    return count;
}

core::Array<stap::cfloat, 3> read_cube(const StapOptions& options, media::CubeReader& reader,
                                       int threads, Console& console) {
    console.phase("reading " + options.cube.path.string());
    core::Array<stap::cfloat, 3> cube(reader.info().shape());
    reader.read(cube);
    const core::index_t bad = count_non_finite(cube, threads);
    console.done();
    if (bad == 0) return cube;
    const core::index_t first =
        std::find_if_not(cube.begin(), cube.end(), is_finite) - cube.begin();
    const auto [channels, pulses, range_cells] = cube.extent();
    const std::string found = core::text(
        options.cube.path.string(), ": ", bad,
        " samples are NaN or infinite, the first at channel ", first / range_cells / pulses,
        ", pulse ", first / range_cells % pulses, ", range cell ", first % range_cells);
    core::expects(options.allow_nan, found, " (--allow-nan processes them anyway)");
    console.note(found);
    return cube;
}

/// Reads the cube, runs the pipeline on `executor` and writes the requested outputs. `read_ms` and
/// `start_ms`: times before, to read the metadata and to start the device.
template <class Executor>
void process(Executor& executor, core::Cpu& cpu, const StapOptions& options,
             media::CubeReader& reader, const Configuration& setup, std::optional<Truth> truth,
             double read_ms, double start_ms, Console& console) {
    core::Stopwatch watch;
    media::ResultFile file(options.common.out);
    const auto cube = read_cube(options, reader, cpu.threads(), console);
    read_ms += watch.ms();

    ResultArrays results(setup.problem, options.save);
    const RunTimes times = run_on(executor, setup, cube, results, options.common.repeat, console);
    const FactorisationHealth health = factorisation_health(setup.problem, results);
    report_health(options.cube.path, setup.problem, health, console);

    const media::RadarCube& info = reader.info();
    Report report = begin_report(executor, options, times, describe(options, info, setup));
    if (is_gpu<Executor>) report.add_first_stage("start device", start_ms);
    report.add_first_stage("read", read_ms);

    std::vector<stap::Detection> detections;
    if (options.parameters.detector != stap::Detector::none) {
        watch.reset();
        detections = stap::find_detections(setup.problem, options.pfa, results.statistic.view());
        report.add_stage("detect", watch.ms());
    }
    if (truth) {
        truth->score =
            stap::score_detections(detections, truth->targets, setup.problem.doppler_bins);
    }
    watch.reset();
    console.phase("writing " + options.common.out.string());
    media::OutputSet outputs;
    if (options.plot) {
        const auto picture = draw_maps(cpu, setup, cube, results, detections);
        outputs.add(media::new_picture(*options.plot, picture));
    }
    write_results(file, options, info, setup, results, health, detections);
    outputs.add(file.finish());
    console.done();
    report.add_stage("write", watch.ms());

    report.results = result_values(setup.problem, health, detections);
    if (truth) {
        report.accuracy = accuracy_values(*truth);
        report.targets = target_values(*truth, options.fftshift, setup.problem.doppler_bins);
    }
    commit_outputs(options.common, report, console, outputs,
                   summary(options, info, setup, report, health, detections, truth));
}

void run(const StapOptions& options, core::Cpu& cpu, Console& console) {
    core::Stopwatch watch;
    media::CubeReader reader(options.cube, cpu.threads());
    check_output_files(input_files(options), output_files(options), options.common);
    const Configuration setup = configure(options, reader, console);
    const std::optional<Truth> truth = read_truth(options, reader.info(), console);
    const double read_ms = watch.ms();
    watch.reset();
    with_executor(options.common.device, cpu, console, [&](auto& executor) {
        process(executor, cpu, options, reader, setup, truth, read_ms, watch.ms(), console);
    });
}

}  // namespace
}  // namespace aperture::apps

int main(int argc, char** argv) {
    using namespace aperture::apps;
    aperture::media::silence_hdf5();
    return run_program("stap", argc, argv, parse_stap_options, run);
}
