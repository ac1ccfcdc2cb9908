// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// stap_sim: writes radar data cubes with known truth.
#include "aperture/media/result_file.hpp"
#include "aperture/stap/simulation.hpp"
#include "apps/common/report.hpp"
#include "apps/programs.hpp"
#include "apps/stap_sim/options.hpp"

namespace aperture::apps {
namespace {

using core::index_t;

constexpr index_t max_covariance_order = 4096;  // 256 MiB

void write_truth(media::ResultFile& file, const stap::ClutterScene& scene) {
    std::vector<std::int64_t> range_cell;
    std::vector<double> doppler, azimuth, snr;
    for (const auto& target : scene.targets) {
        range_cell.push_back(target.range_cell);
        doppler.push_back(target.doppler);
        azimuth.push_back(target.azimuth_degrees);
        snr.push_back(target.snr_db);
    }
    file.table("/truth", {{"range_cell", range_cell, "cells"},
                          {"doppler", doppler, "cycles per pulse"},
                          {"azimuth_degrees", azimuth, "degrees"},
                          {"snr_db", snr, "dB"}});
    std::vector<double> jammer_azimuth, jnr;
    for (const auto& jammer : scene.jammers) {
        jammer_azimuth.push_back(jammer.azimuth_degrees);
        jnr.push_back(jammer.jnr_db);
    }
    file.table("/jammers", {{"azimuth_degrees", jammer_azimuth, "degrees"}, {"jnr_db", jnr, "dB"}});
    file.attribute("/cube", "element_spacing_wavelengths", scene.spacing_wavelengths);
    file.attribute("/cube", "cnr_db", scene.cnr_db);
    file.attribute("/cube", "beta", scene.beta);
    file.attribute("/cube", "motion_std", scene.motion_std);
    file.attribute("/cube", "patches", static_cast<std::int64_t>(scene.patches));
    file.attribute("/cube", "seed", static_cast<std::int64_t>(scene.seed));
}

void write_true_covariance(media::ResultFile& file, const stap::ClutterScene& scene,
                           Console& console) {
    const index_t order = scene.shape.channels * scene.shape.pulses;
    if (order > max_covariance_order) {
        console.warn_incomplete(core::text("/true_covariance of order ", order,
                                           " is not written: the maximum order is ",
                                           max_covariance_order));
        return;
    }
    console.phase("computing the true covariance");
    file.write("/true_covariance", stap::true_covariance(scene).view(), {"row", "column"});
}

void write_cube(media::ResultFile& file, const SimulationOptions& options,
                const core::Array<stap::cfloat, 3>& cube) {
    file.write("/cube", cube.view(), {"channel", "pulse", "range"});
    file.attribute("/cube", "domain", std::string("pulse"));
    if (options.doppler_bins) {
        file.attribute("/cube", "doppler_bins", std::int64_t(*options.doppler_bins));
    }
    if (options.training_block) {
        file.attribute("/cube", "training_block", std::int64_t(*options.training_block));
    }
    if (options.prf_hz) file.attribute("/cube", "prf_hz", *options.prf_hz);
}

ResultParameters describe(const SimulationOptions& options) {
    const stap::ClutterScene& scene = options.scene;
    ResultParameters list{{"channels", integer(scene.shape.channels)},
                          {"pulses", integer(scene.shape.pulses)},
                          {"range_cells", integer(scene.shape.range_cells)}};
    if (!options.clutter) return list;
    list.insert(list.end(), {{"spacing_wavelengths", scene.spacing_wavelengths},
                             {"cnr_db", scene.cnr_db},
                             {"beta", scene.beta},
                             {"motion_std", scene.motion_std},
                             {"patches", integer(scene.patches)},
                             {"jammers", integer(scene.jammers.size())},
                             {"targets", integer(scene.targets.size())},
                             {"seed", integer(scene.seed)}});
    return list;
}

std::string summary(const SimulationOptions& options) {
    const stap::ClutterScene& scene = options.scene;
    const auto jammers = integer(scene.jammers.size());
    const auto targets = integer(scene.targets.size());
    return core::text(options.common.out.string(), ": ", scene.shape.channels, " channels x ",
                      scene.shape.pulses, " pulses x ", scene.shape.range_cells, " range cells, ",
                      options.clutter
                          ? core::text("clutter of ", scene.cnr_db, " dB, ", jammers, " jammer",
                                       plural(jammers), ", ", targets, " target", plural(targets))
                          : std::string("white input"),
                      '\n');
}

void run(SimulationOptions options, core::Cpu& cpu, Console& console) {
    stap::ClutterScene& scene = options.scene;
    if (!options.perfect.empty()) {
        const stap::PerfectSize size = stap::perfect_size(options.perfect);
        scene.shape = size.shape;
        if (!options.doppler_bins) options.doppler_bins = size.doppler_bins;
        if (!options.training_block) options.training_block = size.training_block;
    }
    core::expects(options.doppler_bins.value_or(scene.shape.pulses) >= scene.shape.pulses,
                  "--doppler-bins ", options.doppler_bins.value_or(0), ": fewer than the ",
                  scene.shape.pulses, " pulses");
    for (const auto& target : scene.targets) {
        core::expects(target.range_cell < scene.shape.range_cells, "--target range cell ",
                      target.range_cell, ": the cube has ", scene.shape.range_cells);
    }
    check_output_files(input_files(options), output_files(options), options.common);
    media::ResultFile file(options.common.out);
    core::Stopwatch watch;
    console.phase("simulating");
    const core::Array<stap::cfloat, 3> cube =
        options.clutter ? stap::simulate(cpu, scene) : stap::perfect_cube(scene.shape);
    const double simulate_ms = watch.ms();
    watch.reset();
    console.phase("writing " + options.common.out.string());
    write_cube(file, options, cube);
    if (options.clutter) {
        write_truth(file, scene);
        write_true_covariance(file, scene, console);
    }
    write_parameters(file, options.common, input_files(options), {});
    media::OutputSet outputs;
    outputs.add(file.finish());
    console.done();

    Report report = begin_report(cpu, options, {{}, simulate_ms, 0}, describe(options));
    report.times.stages.push_back({"simulate", simulate_ms, 0, 0});
    report.add_stage("write", watch.ms());
    commit_outputs(options.common, report, console, outputs, summary(options));
}

}  // namespace

int stap_sim_main(int argc, char** argv) {
    return run_program("stap_sim", argc, argv, parse_simulation_options, run);
}

}  // namespace aperture::apps
