// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// bgsub: the background of a video, and what moves before it.
#include <iostream>

#include "apps/bgsub/summary.hpp"
#include "apps/common/report_file.hpp"

namespace aperture::apps {
namespace {

int run(const BgsubOptions& options, const std::string& command_line) {
    Console console("bgsub", options.common.quiet);
    core::Cpu cpu(options.common.threads);
    SeparationDevice device(cpu, options, console);
    media::OutputSet outputs;
    const BgsubResults results = run_bgsub(device, options, command_line, console, outputs);

    core::Report report;
    report.program = "bgsub";
    report.parameters = describe(options, results.shape, results.solved_frames);
    report.device = device.name();
    report.threads = device.threads();
    report.stages = results.times.stages;
    report.compute_ms = results.times.compute_ms;
    report.transfer_ms = results.times.transfer_ms;
    report.total_ms = results.total_ms;
    report.accuracy = accuracy_values(options, results);
    report.sequence = sequence_values(options, results);
    add_report(options.run, report, outputs);
    outputs.commit();
    if (!options.common.quiet) std::cout << summary(options, results, report);
    return exit_status(options.common, console);
}

}  // namespace
}  // namespace aperture::apps

int main(int argc, char** argv) {
    using namespace aperture::apps;
    return run_program("bgsub", [&] {
        const auto options = parse_bgsub_options(argc, argv);
        if (!options) return 0;
        return run_where_it_fits<BgsubOptions>("bgsub", *options, [&](const BgsubOptions& chosen) {
            return run(chosen, command_line(argc, argv));
        });
    });
}
