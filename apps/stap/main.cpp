// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// stap: space-time adaptive processing of a radar data cube in an HDF5 file.
#include <iostream>

#include "aperture/core/report.hpp"
#include "aperture/media/atomic_file.hpp"
#include "apps/common/output_names.hpp"
#include "apps/common/report_file.hpp"
#include "apps/common/result_parameters.hpp"
#include "apps/stap/finite_samples.hpp"
#include "apps/stap/result_output.hpp"
#include "apps/stap/summary.hpp"

namespace aperture::apps {
namespace {

core::Array<stap::cfloat, 3> read_cube(const StapOptions& options, media::CubeReader& reader,
                                       int threads, Console& console) {
    console.phase("reading " + options.cube.path.string());
    core::Array<stap::cfloat, 3> cube(reader.info().shape());
    reader.read(cube);
    const NonFiniteSamples bad = find_non_finite(cube.view(), threads);
    console.done();
    if (bad.count == 0) return cube;
    const std::string found =
        core::text(options.cube.path.string(), ": ", bad.count,
                   " samples are NaN or infinite, the first at channel ", bad.first[0], ", pulse ",
                   bad.first[1], ", range cell ", bad.first[2]);
    core::expects(options.allow_nan, found, " (--allow-nan processes them anyway)");
    console.note(found);
    return cube;
}

/// Adds a stage of the host, or its time if the pipeline has a stage of that name.
void add_stage(core::Report& report, const char* name, double ms) {
    report.total_ms += ms;
    for (auto& stage : report.stages) {
        if (stage.name != name) continue;
        stage.ms += ms;
        return;
    }
    report.stages.push_back({name, ms, 0, 0});
}

/// Reads the cube, runs the pipeline on `executor` and writes the requested outputs. `before` are
/// the previous stages, the first of which is the reading.
template <class Executor>
void process(Executor& executor, core::Cpu& cpu, const StapOptions& options,
             media::CubeReader& reader, const Configuration& setup, std::optional<Truth> truth,
             const std::string& command, std::vector<core::Stage> before, Console& console) {
    core::Stopwatch watch;
    media::ResultFile file(options.common.out);
    const auto cube = read_cube(options, reader, cpu.threads(), console);
    before.front().ms += watch.ms();

    ResultArrays results(setup.problem, options.save);
    const RunTimes times = run_on(executor, setup, cube, results, options.run.repeat, console);
    const FactorisationHealth health = factorisation_health(setup.problem, results);
    report_health(options.cube.path, setup.problem, health, console);

    const media::RadarCube& info = reader.info();
    core::Report report = begin_report("stap", executor, times, describe(options, info, setup));
    report.total_ms = times.compute_ms + times.transfer_ms;
    for (const core::Stage& stage : before) report.total_ms += stage.ms;
    report.stages.insert(report.stages.begin(), before.begin(), before.end());

    std::vector<stap::Detection> detections;
    if (options.detector != stap::Detector::none) {
        watch.reset();
        detections = stap::find_detections(setup.problem, options.pfa, results.statistic.view());
        add_stage(report, "detect", watch.ms());
        report.parameters.emplace_back("pfa_held", health.holds_pfa(setup.problem.parameters));
    }
    if (truth) {
        truth->score =
            stap::score_detections(detections, truth->targets, setup.problem.doppler_bins);
    }
    watch.reset();
    console.phase("writing " + options.common.out.string());
    write_results(file, options, info, setup, results, health, detections, command);
    media::OutputSet outputs;
    outputs.add(file.finish());
    if (options.plot) {
        const auto picture = draw_maps(cpu, setup, cube, results, detections);
        const auto drawn = picture_name("--plot", *options.plot);
        if (drawn != *options.plot) console.note("picture: " + drawn.string());
        outputs.add(media::new_picture(drawn, picture));
    }
    console.done();
    add_stage(report, "write", watch.ms());

    report.accuracy = accuracy_values(health, truth);
    if (truth) report.targets = target_values(*truth, setup.problem.doppler_bins);
    add_report(options.run, report, outputs);
    outputs.commit();
    if (!options.common.quiet) {
        std::cout << summary(options, info, setup, report, health, detections, truth);
    }
}

int run(const StapOptions& options, const std::string& command) {
    Console console("stap", options.common.quiet);
    core::Cpu cpu(options.common.threads);
    core::Stopwatch watch;
    media::CubeReader reader(options.cube, cpu.threads());
    std::vector<std::filesystem::path> inputs{options.cube.path};
    if (options.truth) inputs.push_back(*options.truth);
    check_output_files(inputs, outputs_of(options));
    const Configuration setup = configure(options, reader, console);
    const std::optional<Truth> truth = read_truth(options, reader.info(), console);
    const double read_ms = watch.ms();
    watch.reset();
    with_executor(options.run.device, cpu, console, [&]<class Executor>(Executor& executor) {
        std::vector<core::Stage> before{{"read", read_ms, 0, 0}};
        if (is_gpu<Executor>) before.push_back({"start device", watch.ms(), 0, 0});
        process(executor, cpu, options, reader, setup, truth, command, std::move(before), console);
    });
    return exit_status(options.common, console);
}

}  // namespace
}  // namespace aperture::apps

int main(int argc, char** argv) {
    using namespace aperture::apps;
    return run_program("stap", [&] {
        aperture::media::silence_hdf5();
        const auto options = parse_stap_options(argc, argv);
        if (!options) return 0;
        return run(*options, command_line(argc, argv));
    });
}
