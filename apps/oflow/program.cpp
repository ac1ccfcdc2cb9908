// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// oflow: computes the optical flow between two images.
#include "apps/common/sweep.hpp"
#include "apps/oflow/given_flow.hpp"
#include "apps/oflow/output_files.hpp"
#include "apps/oflow/summary.hpp"
#include "apps/programs.hpp"

namespace aperture::apps {
namespace {

template <class Executor>
Report begin_report(const Executor& executor, const OflowOptions& options, const RunTimes& times,
                    flow::Shape shape, ResultParameters parameters, Console& console) {
    if constexpr (is_gpu<Executor>) {
        const flow::SolverParameters& solver = options.parameters.solver;
        parameters.emplace_back("implementation",
                                choice_name(flow::implementation_choices, solver.implementation));
        const flow::Solver ran = flow::solver_on(executor, shape, solver);
        if (ran != solver.solver) {
            const auto name = choice_name(flow::solver_choices, ran);
            parameters.emplace_back("finest_level_solver", name);
            console.note(core::text("solver: ", name,
                                    " on the finest level (the GPU has no room for ",
                                    choice_name(flow::solver_choices, solver.solver), " there)"));
        }
    }
    return begin_report(executor, options, times, std::move(parameters));
}

/// The report of one estimation, without reading and writing.
template <class Executor>
Report report_of_pair(const Executor& executor, const OflowOptions& options,
                      const OflowInputs& inputs, const OflowResults& results, Console& console) {
    Report report = begin_report(executor, options, results.times, inputs.shape(),
                                 describe(options, inputs), console);
    if (results.consistent_pixels) report.add_stage("backward", results.backward_ms);
    report.results = result_values(inputs, results);
    if (results.accuracy) report.accuracy = accuracy_values(*results.accuracy);
    return report;
}

template <class Executor>
void run_pair(Executor& executor, core::Cpu& cpu, const OflowOptions& options,
              const OflowInputs& inputs, double read_ms, Console& console) {
    const OflowResults results = [&] {
        // Its memory is free before the pictures need some.
        PairEstimator<Executor> estimator(executor, inputs.shape(), options.parameters);
        return run_on(estimator, cpu, options, inputs, false, console);
    }();

    const core::Stopwatch watch;
    media::OutputSet outputs;
    write_outputs(cpu, options, inputs, results, console, outputs);
    const double write_ms = watch.ms();

    Report report = report_of_pair(executor, options, inputs, results, console);
    report.add_first_stage("read", read_ms);
    report.add_stage("write", write_ms);
    commit_outputs(options.common, report, console, outputs,
                   summary(options, inputs, results, report));
}

/// The runs of a sweep have images, truth and what the values leave of the workspace in common.
template <class Executor>
void run_sweep_of_pair(Executor& executor, core::Cpu& cpu, const OflowOptions& options,
                       const OflowInputs& inputs, double read_ms, Console& console) {
    Console silent("oflow", true);
    std::optional<PairEstimator<Executor>> estimator;
    const auto compute = [&](const OflowOptions& run, bool) {
        if (estimator) {
            estimator->set_parameters(run.parameters);
        } else {
            estimator.emplace(executor, inputs.shape(), run.parameters);
        }
        OflowResults results = run_on(*estimator, cpu, run, inputs, true, silent);
        Report report = report_of_pair(executor, run, inputs, results, silent);
        return std::pair(std::move(results), std::move(report));
    };
    const auto write = [&](const OflowOptions& run, const OflowResults& results,
                           media::OutputSet& outputs) {
        write_outputs(cpu, run, inputs, results, silent, outputs);
    };
    const auto finish = [&](const OflowOptions& run, const OflowResults& results,
                            const Report& report) { return summary(run, inputs, results, report); };
    std::optional<SweepScore> score;
    if (options.truth) score = {"epe", false};
    run_sweep(options, score, read_ms, console, compute, write, finish);
}

template <class Executor>
void run_all_pairs(Executor& executor, core::Cpu& cpu, const OflowOptions& options,
                   Console& console) {
    const SequenceResults results = run_sequence(executor, cpu, options, console);
    Report report = begin_report(executor, options, results.times, results.shape,
                                 describe(options, results), console);
    report.total_ms = 1e3 * results.seconds;
    report.results = result_values(results);
    media::OutputSet outputs;
    commit_outputs(options.common, report, console, outputs, summary(options, results, report));
}

void run(const OflowOptions& options, core::Cpu& cpu, Console& console) {
    if (options.given_flow) return draw_given_flow(options, cpu, console);
    with_executor(options.common.device, cpu, console, [&]<class Executor>(Executor& executor) {
        core::expects(is_gpu<Executor> || !options.implementation_given,
                      "--impl requires a GPU, but the flow is estimated on the CPU");
        if (options.sequence) return run_all_pairs(executor, cpu, options, console);
        const core::Stopwatch watch;
        const OflowInputs inputs = read_inputs(options, console);
        const double read_ms = watch.ms();
        check_outputs(options);
        if (options.sweep.runs.empty()) {
            run_pair(executor, cpu, options, inputs, read_ms, console);
        } else {
            run_sweep_of_pair(executor, cpu, options, inputs, read_ms, console);
        }
    });
}

}  // namespace

int oflow_main(int argc, char** argv) {
    return run_program("oflow", argc, argv, parse_oflow_options, run);
}

}  // namespace aperture::apps
