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

using core::Host;

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
    core::expects(options.allow_nan, found, " (--allow-nan processes it all the same)");
    console.note(found);
    return cube;
}

RunTimes run_on_device(bool gpu, core::Cpu& cpu, const StapOptions& options,
                       const Configuration& setup, stap::CubeView<Host> cube,
                       ResultArrays<Host>& results, core::Report& report, Console& console) {
#if APERTURE_CUDA
    if (gpu) {
        core::Gpu device;
        report.device = device.name();
        return run_on(device, setup, cube, results, options.run.repeat, console);
    }
#endif
    static_cast<void>(gpu);
    report.device = cpu.name();
    report.threads = cpu.threads();
    return run_on(cpu, setup, cube, results, options.run.repeat, console);
}

int run(const StapOptions& options, const std::string& command) {
    Console console("stap", options.common.quiet);
    core::Cpu cpu(options.common.threads);
    core::Report report;
    report.program = "stap";
    double host_ms = 0;
    // What the host does around the pipeline; a stage the pipeline also has is added up.
    const auto add_stage = [&](const char* name, double ms) {
        host_ms += ms;
        for (auto& stage : report.stages) {
            if (stage.name != name) continue;
            stage.ms += ms;
            return;
        }
        report.stages.push_back({name, ms, 0, 0});
    };

    core::Stopwatch watch;
    media::CubeReader reader(options.cube, cpu.threads());
    std::vector<std::filesystem::path> inputs{options.cube.path};
    if (options.truth) inputs.push_back(*options.truth);
    check_output_files(inputs, outputs_of(options));
    const media::RadarCube& info = reader.info();
    const Configuration setup = configure(options, reader, console);
    std::optional<Truth> truth = read_truth(options, info);
    add_stage("read", watch.ms());
    watch.reset();
    const bool gpu = use_gpu(options.run.device, console);
    if (gpu) add_stage("start device", watch.ms());
    watch.reset();
    media::ResultFile file(options.common.out);
    const auto cube = read_cube(options, reader, cpu.threads(), console);
    add_stage("read", watch.ms());

    ResultArrays<Host> results(setup.problem, options.save);
    const RunTimes times = run_on_device(gpu, cpu, options, setup, cube, results, report, console);
    report.stages.insert(report.stages.end(), times.stages.begin(), times.stages.end());

    const FactorisationHealth health = factorisation_health(setup.problem, results);
    report_health(options.cube.path, setup.problem, health, console);

    std::vector<stap::Detection> detections;
    if (options.detector != stap::Detector::none) {
        watch.reset();
        detections = stap::find_detections(setup.problem, options.pfa, results.statistic.view());
        add_stage("detect", watch.ms());
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
    add_stage("write", watch.ms());

    report.parameters = describe(options, info, setup);
    report.compute_ms = times.compute_ms;
    report.transfer_ms = times.transfer_ms;
    report.total_ms = host_ms + times.compute_ms + times.transfer_ms;
    if (options.detector != stap::Detector::none) {
        report.parameters.emplace_back("pfa_held", health.holds_pfa(setup.problem.parameters));
    }
    report.accuracy = accuracy_values(health, truth);
    if (truth) report.targets = target_values(*truth, setup.problem.doppler_bins);
    add_report(options.run, report, outputs);
    outputs.commit();
    if (!options.common.quiet) {
        std::cout << summary(options, info, setup, report, health, detections, truth);
    }
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
        return run_where_it_fits<StapOptions>("stap", *options, [&](const StapOptions& chosen) {
            return run(chosen, command_line(argc, argv));
        });
    });
}
