// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// bgsub: separates the background of a video from moving objects.
#include <iostream>

#include "apps/bgsub/summary.hpp"
#include "apps/common/report_file.hpp"

namespace aperture::apps {
namespace {

template <class Executor>
void process(Executor& executor, core::Cpu& cpu, const BgsubOptions& options,
             const std::string& command, Console& console) {
    media::OutputSet outputs;
    const BgsubResults results =
        run_bgsub(separators_on(executor, options), cpu, options, command, console, outputs);
    core::Report report = begin_report("bgsub", executor, results.times,
                                       describe(options, results.shape, results.solved_frames));
    report.total_ms = results.total_ms;
    report.accuracy = accuracy_values(options, results);
    report.sequence = sequence_values(options, results);
    add_report(options.run, report, outputs);
    outputs.commit();
    if (!options.common.quiet) std::cout << summary(options, results, report);
}

int run(const BgsubOptions& options, const std::string& command) {
    Console console("bgsub", options.common.quiet);
    core::Cpu cpu(options.common.threads);
    with_executor(device_for(options, console), cpu, console,
                  [&](auto& executor) { process(executor, cpu, options, command, console); });
    return exit_status(options.common, console);
}

}  // namespace
}  // namespace aperture::apps

int main(int argc, char** argv) {
    using namespace aperture::apps;
    return run_program("bgsub", [&] {
        const auto options = parse_bgsub_options(argc, argv);
        if (!options) return 0;
        return run(*options, command_line(argc, argv));
    });
}
