// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// bgsub: the background of a video, and what moves before it.
#include <iostream>

#include "aperture/media/atomic_file.hpp"
#include "apps/bgsub/summary.hpp"

namespace aperture::apps {
namespace {

int run(const BgsubOptions& options, const std::string& command_line) {
    Console console("bgsub", options.common.quiet);
    core::Cpu cpu(options.common.threads);
    SeparationDevice device(cpu, options, console);
    const BgsubResults results = run_bgsub(device, options, command_line, console);

    core::Report report;
    report.program = "bgsub";
    report.parameters = describe(options, results.shape);
    report.device = device.name();
    report.threads = device.threads();
    report.stages = results.times.stages;
    report.compute_ms = results.times.compute_ms;
    report.transfer_ms = results.times.transfer_ms;
    report.total_ms = results.total_ms;
    report.accuracy = accuracy_values(options, results);
    report.sequence = sequence_values(options, results);
    if (options.run.report) media::write_file(*options.run.report, report.json());
    if (!options.common.quiet) std::cout << summary(options, results, report);
    return 0;
}

}  // namespace
}  // namespace aperture::apps

int main(int argc, char** argv) {
    using namespace aperture::apps;
    return run_program("bgsub", [&] {
        const auto options = parse_bgsub_options(argc, argv);
        return options ? run(*options, command_line(argc, argv)) : 0;
    });
}
