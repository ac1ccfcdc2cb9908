// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// bgsub: separates the background of a video from moving objects.
#include "apps/bgsub/summary.hpp"
#include "apps/bgsub/sweep.hpp"
#include "apps/common/report.hpp"
#include "apps/programs.hpp"

namespace aperture::apps {
namespace {

template <class Executor>
void process(Executor& executor, core::Cpu& cpu, const BgsubOptions& options,
             const Samples& samples, Console& console) {
    media::OutputSet outputs;
    const BgsubResults results = run_bgsub(separators_on(executor, cpu, options, samples.view()),
                                           cpu, options, samples, console, outputs);
    Report report = begin_report(executor, options, results.times,
                                 describe(options, results.shape, results.solved_frames));
    report.total_ms = results.total_ms;
    report.results = result_values(options, results);
    if (results.stabilised_windows > 0) report.shifts = results.shifts;
    report.accuracy = accuracy_values(results);
    if (options.plot_shifts && results.stabilised_windows > 0) {
        outputs.add(media::new_figure(*options.plot_shifts, shift_plot(results.shifts)));
    } else if (options.plot_shifts) {
        console.warn("the camera does not shake: --plot-shifts writes nothing");
    }
    commit_outputs(options.common, report, console, outputs, summary(options, results, report));
}

void run(const BgsubOptions& given, core::Cpu& cpu, Console& console) {
    if (!given.sweep.runs.empty()) {
        BgsubOptions options = given;
        for (BgsubOptions& run : options.sweep.runs) run = choose_method(run, {}, cpu);
        return with_executor(device_for(options, console), cpu, console, [&](auto& executor) {
            run_sweep_of_clip(executor, cpu, options, console);
        });
    }
    const Samples samples = sample_frames(given);
    const BgsubOptions options = choose_method(given, samples, cpu);
    with_executor(device_for(options, console), cpu, console,
                  [&](auto& executor) { process(executor, cpu, options, samples, console); });
}

}  // namespace

int bgsub_main(int argc, char** argv) {
    return run_program("bgsub", argc, argv, parse_bgsub_options, run);
}

}  // namespace aperture::apps
