// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// stap: space-time adaptive processing of a radar data cube in an HDF5 file.
#include <algorithm>
#include <cmath>

#include "apps/common/file_names.hpp"
#include "apps/stap/figures.hpp"
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

void read_cube(const StapOptions& options, media::CubeReader& reader, core::index_t cpi,
               int threads, Console& console, core::Array<stap::cfloat, 3>& cube) {
    const media::RadarCube& info = reader.info();
    const std::string which = info.has_cpi_axis ? core::text("CPI ", cpi, ", ") : std::string();
    console.phase(core::text("reading ", which, options.cube.path.string()));
    reader.read(cube, cpi);
    const core::index_t bad = count_non_finite(cube, threads);
    console.done();
    if (bad == 0) return;
    const core::index_t first =
        std::find_if_not(cube.begin(), cube.end(), is_finite) - cube.begin();
    const auto [channels, pulses, range_cells] = cube.extent();
    const std::string found = core::text(
        options.cube.path.string(), ": ", bad, " samples are NaN or infinite, the first at ", which,
        "channel ", first / range_cells / pulses, ", pulse ", first / range_cells % pulses,
        ", range cell ", first % range_cells);
    core::expects(options.allow_nan, found, " (--allow-nan processes them anyway)");
    console.note(found);
}

/// What the CPIs have given so far.
struct Progress {
    std::vector<RunTimes> times;  ///< with the stages of the host
    double total_ms = 0;
    FactorisationHealth health;
    std::vector<Findings> findings;
};

/// Reads a CPI, runs the pipeline on it and writes its results.
template <class Executor>
void process_cpi(Executor& executor, core::Cpu& cpu, const StapOptions& options,
                 media::CubeReader& reader, const Configuration& setup, core::index_t cpi,
                 core::Array<stap::cfloat, 3>& cube, ResultArrays& results, ResultOutput& output,
                 media::OutputSet& figures, Progress& progress, Console& console) {
    core::Stopwatch watch;
    read_cube(options, reader, cpi, cpu.threads(), console, cube);
    const double read_ms = watch.ms();
    RunTimes times =
        run_on(executor, setup, options.save, cube, results, options.common.repeat, console);
    const double run_ms = times.compute_ms + times.transfer_ms;
    progress.health.add(factorisation_health(setup.problem, results), cpi);

    watch.reset();
    progress.findings.push_back(find_targets(cpu, setup, options.pfa, cube, results));
    const double detect_ms = watch.ms();
    watch.reset();
    if (cpi == 0) {
        add_figures(cpu, options, setup, cube, results, progress.findings.front(), console,
                    figures);
    }
    console.phase("writing " + options.common.out.string());
    output.write(cpi, results);
    console.done();
    const double write_ms = watch.ms();

    times.stages.insert(times.stages.begin(), {"read", read_ms, 0, 0});
    if (options.parameters.detector != stap::Detector::none) times.add_stage("detect", detect_ms);
    times.add_stage("write", write_ms);
    progress.times.push_back(times);
    progress.total_ms += read_ms + run_ms + detect_ms + write_ms;
}

/// Processes all CPIs on `executor` and writes the requested outputs. `read_ms` and `start_ms`:
/// times before, to read the metadata and to start the device.
template <class Executor>
void process(Executor& executor, core::Cpu& cpu, const StapOptions& options,
             media::CubeReader& reader, const Configuration& setup, std::optional<Truth> truth,
             double read_ms, double start_ms, Console& console) {
    const media::RadarCube& info = reader.info();
    media::ResultFile file(options.common.out);
    ResultOutput output(file, options, info, setup);
    media::OutputSet outputs;
    core::Array<stap::cfloat, 3> cube(info.shape());
    ResultArrays results(setup.problem, options.save);
    Progress progress;
    const core::Stopwatch all;
    for (core::index_t cpi = 0; cpi < info.cpis; ++cpi) {
        process_cpi(executor, cpu, options, reader, setup, cpi, cube, results, output, outputs,
                    progress, console);
        if (info.cpis > 1) {
            console.progress(progress_text("CPI", cpi + 1, info.cpis, all.seconds()));
        }
    }
    report_health(options.cube.path, setup.problem, progress.health, console);
    if (info.cpis > 1 && options.figures.any()) console.note("the figures show CPI 0");
    if (truth) {
        truth->score = stap::score_detections(progress.findings.front().detections, truth->targets,
                                              setup.problem.doppler_bins);
    }

    core::Stopwatch watch;
    const ReportValues values = result_values(setup.problem, progress.health, progress.findings);
    output.write_tables(progress.findings, values);
    outputs.add(file.finish());
    console.done();

    Report report = begin_report(executor, options, median_times(progress.times),
                                 describe(options, info, setup));
    report.total_ms = progress.total_ms;
    report.times.stages.front().ms += read_ms;
    report.total_ms += read_ms;
    if (is_gpu<Executor>) report.add_first_stage("start device", start_ms);
    report.add_stage("write", watch.ms());
    report.results = values;
    if (truth) {
        report.accuracy = accuracy_values(*truth);
        report.targets = target_values(*truth, options.fftshift, setup.problem.doppler_bins);
    }
    commit_outputs(
        options.common, report, console, outputs,
        summary(options, info, setup, report, progress.health, progress.findings, truth));
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
