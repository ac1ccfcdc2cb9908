// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// oflow: the optical flow between two images.
#include <iostream>

#include "aperture/media/atomic_file.hpp"
#include "apps/oflow/output_files.hpp"
#include "apps/oflow/summary.hpp"

namespace aperture::apps {
namespace {

void expect_cpu(DeviceChoice device, Console& console) {
    constexpr auto reason = "there is no GPU version of the flow yet";
    if (device == DeviceChoice::gpu) {
        throw core::DeviceError(core::text("--device gpu: ", reason));
    }
    if (device == DeviceChoice::automatic) {
        console.note(core::text("the CPU is used: ", reason));
    }
}

core::Report begin_report(const core::Cpu& cpu, const RunTimes& times) {
    core::Report report;
    report.program = "oflow";
    report.device = cpu.name();
    report.threads = cpu.threads();
    report.stages = times.stages;
    report.compute_ms = times.compute_ms;
    return report;
}

void run_pair(core::Cpu& cpu, const OflowOptions& options, Console& console) {
    core::Stopwatch watch;
    const OflowInputs inputs = read_inputs(options, console);
    const double read_ms = watch.ms();
    check_outputs(options);

    const OflowResults results = run_on(cpu, options, inputs, console);

    watch.reset();
    write_outputs(cpu, options, inputs, results, console);
    const double write_ms = watch.ms();

    core::Report report = begin_report(cpu, results.times);
    report.parameters = describe(options, inputs);
    report.stages.insert(report.stages.begin(), {"read", read_ms, 0, 0});
    if (results.consistent_pixels) {
        report.stages.push_back({"backward", results.backward_ms, 0, 0});
    }
    report.stages.push_back({"write", write_ms, 0, 0});
    report.total_ms = read_ms + report.compute_ms + results.backward_ms + write_ms;
    report.accuracy = accuracy_values(inputs, results);
    if (options.run.report) media::write_file(*options.run.report, report.json());
    if (!options.common.quiet) std::cout << summary(options, inputs, results, report);
}

void run_all_pairs(core::Cpu& cpu, const OflowOptions& options, Console& console) {
    const SequenceResults results = run_sequence(cpu, options, console);
    core::Report report = begin_report(cpu, results.times);
    report.parameters = describe(options, results);
    report.total_ms = 1e3 * results.seconds;
    if (results.consistent) report.accuracy["consistent"] = *results.consistent;
    report.sequence = sequence_values(results);
    if (options.run.report) media::write_file(*options.run.report, report.json());
    if (!options.common.quiet) std::cout << summary(options, results, report);
}

int run(const OflowOptions& options) {
    Console console("oflow", options.common.quiet);
    expect_cpu(options.run.device, console);
    core::Cpu cpu(options.common.threads);
    if (options.sequence) {
        run_all_pairs(cpu, options, console);
    } else {
        run_pair(cpu, options, console);
    }
    return 0;
}

}  // namespace
}  // namespace aperture::apps

int main(int argc, char** argv) {
    using namespace aperture::apps;
    return run_program("oflow", [&] {
        const auto options = parse_oflow_options(argc, argv);
        return options ? run(*options) : 0;
    });
}
