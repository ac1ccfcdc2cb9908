// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/sweep.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "aperture/core/resident.hpp"
#include "apps/stap/figures.hpp"
#include "apps/stap/result_output.hpp"
#include "apps/stap/summary.hpp"

namespace aperture::apps {
namespace {

/// What runs have in common that differ in --pfa alone.
struct Adaptation {
    Configuration setup;
    ResultArrays results;
    RunTimes times;
    FactorisationHealth health;
    std::vector<stap::Detection> detections;  ///< at the largest --pfa of the sweep
};

struct RunOfCube {
    std::shared_ptr<Adaptation> adaptation;
    std::optional<Truth> truth;
    std::optional<stap::Findings> findings;  ///< only of a run that is written
};

template <class Executor>
class SweepOfCube {
    using Space = typename Executor::Space;

  public:
    SweepOfCube(Executor& executor, core::Cpu& cpu, const StapOptions& options,
                media::CubeReader& reader, const core::Array<stap::cfloat, 3>& cube,
                const std::optional<Truth>& truth, Console& console)
        : executor_(executor),
          cpu_(cpu),
          reader_(reader),
          cube_(cube),
          truth_(truth),
          console_(console) {
        for (const StapOptions& run : options.sweep.runs) {
            largest_pfa_ = std::max(largest_pfa_, run.pfa);
        }
    }

    std::pair<RunOfCube, Report> compute(const StapOptions& run, bool anew) {
        if (anew || !adaptation_) {
            adaptation_.reset();
            adaptation_ = adapt(run);
        }
        const Adaptation& adapted = *adaptation_;
        RunOfCube result{adaptation_, truth_, {}};
        stap::Findings found;
        if (run.parameters.detector != stap::Detector::none) {
            found.detections =
                stap::detections_at(adapted.setup.problem, run.pfa, adapted.detections);
        }
        Report report = begin_report(executor_, run, adapted.times,
                                     describe(run, reader_.info(), adapted.setup));
        report.results = result_values(adapted.setup.problem, adapted.health, {found});
        report.results.erase("targets");  // not merged
        if (result.truth) {
            result.truth->score = stap::score_detections(found.detections, truth_->targets,
                                                         adapted.setup.problem.doppler_bins);
            report.accuracy = accuracy_values(*result.truth);
        }
        return {std::move(result), std::move(report)};
    }

    void write(const StapOptions& run, RunOfCube& result, media::OutputSet& outputs) {
        Adaptation& adapted = *result.adaptation;
        complete(run, result);
        add_figures(cpu_, run, adapted.setup, cube_, adapted.results, *result.findings, silent_,
                    outputs);
        media::ResultFile file(run.common.out);
        ResultOutput output(file, run, reader_.info(), adapted.setup);
        output.write(0, adapted.results);
        output.write_tables({*result.findings}, values_of(result));
        outputs.add(file.finish());
    }

    std::string finish(const StapOptions& run, RunOfCube& result, Report& report) {
        const Adaptation& adapted = *result.adaptation;
        complete(run, result);
        report_health(run.cube.path, adapted.setup.problem, adapted.health, console_);
        report.results = values_of(result);
        if (result.truth) {
            report.targets =
                target_values(*result.truth, run.fftshift, adapted.setup.problem.doppler_bins);
        }
        return summary(run, reader_.info(), adapted.setup, report, adapted.health,
                       {*result.findings}, result.truth);
    }

  private:
    std::shared_ptr<Adaptation> adapt(const StapOptions& run) {
        Configuration setup = configure(run, reader_, silent_);
        ResultArrays results(setup.problem, run.save);
        RunTimes times = compute_adaptation(setup, results, run.common.repeat);
        const FactorisationHealth health = factorisation_health(setup.problem, results);
        expects_factored(run.cube.path, setup.problem, health);
        std::vector<stap::Detection> detections;
        if (setup.problem.parameters.detector != stap::Detector::none) {
            detections = stap::find_detections(setup.problem, largest_pfa_, results.statistic,
                                               setup.grid.row_length);
        }
        return std::make_shared<Adaptation>(Adaptation{
            std::move(setup), std::move(results), std::move(times), health, std::move(detections)});
    }

    RunTimes compute_adaptation(Configuration& setup, ResultArrays& results, int repeat) {
        if (!fits(executor_, setup.problem, cube_, results)) {
            there_.reset();
            bins_ = {};
            transform_.reset();
            return run_on(executor_, setup, cube_, results, repeat, silent_);
        }
        const stap::CubeShape shape = setup.problem.shape;
        const stap::CubeView<Space> cube = prepare(setup.problem);
        RunTimes times = run_on_resident(executor_, setup, cube, results, repeat, silent_);
        setup.problem.shape = shape;
        return times;
    }

    /// The cube in the executor's memory after its Doppler processing, with the problem of that
    /// cube; only a run with another taper or number of bins processes it again.
    stap::CubeView<Space> prepare(stap::Problem& problem) {
        if (!there_) there_.emplace(executor_).load(cube_.view());
        const stap::CubeShape& shape = problem.shape;
        if (shape.domain == stap::Domain::doppler) return there_->view();
        const std::pair transform(problem.parameters.taper, problem.doppler_bins);
        if (transform != transform_) {
            bins_.reshape({shape.channels, problem.doppler_bins, shape.range_cells});
            filter_.emplace(executor_, problem);
            filter_->run(there_->view(), bins_.view());
            transform_ = transform;
        }
        problem.shape = {shape.channels, problem.doppler_bins, shape.range_cells,
                         stap::Domain::doppler};
        return bins_.view();
    }

    void complete(const StapOptions& run, RunOfCube& result) {
        if (result.findings) return;
        const Configuration& setup = result.adaptation->setup;
        result.findings = stap::find_targets(cpu_, setup.problem, run.pfa, setup.steering,
                                             setup.grid, cube_, result.adaptation->results.views());
    }

    static ReportValues values_of(const RunOfCube& result) {
        const Adaptation& adapted = *result.adaptation;
        return result_values(adapted.setup.problem, adapted.health, {*result.findings});
    }

    Executor& executor_;
    core::Cpu& cpu_;
    media::CubeReader& reader_;
    const core::Array<stap::cfloat, 3>& cube_;
    const std::optional<Truth>& truth_;
    Console& console_;
    Console silent_{"stap", true};
    double largest_pfa_ = 0;
    std::optional<core::Resident<Executor, const stap::cfloat, 3>> there_;  ///< the cube
    core::Array<stap::cfloat, 3, Space> bins_;  ///< the cube after `transform_`
    std::optional<stap::DopplerFilter<Executor>> filter_;
    std::optional<std::pair<signal::Taper, int>> transform_;
    std::shared_ptr<Adaptation> adaptation_;
};

}  // namespace

void expects_comparable(const StapOptions& options, const media::RadarCube& cube,
                        const std::optional<Truth>& truth) {
    core::expects(cube.cpis == 1, cube.path.string(), ": the cube has ", cube.cpis,
                  " CPIs; a list or a range of values requires one");
    const bool scored = truth && !truth->targets.empty();
    core::expects(scored || options.sweep.keep != KeptRuns::best, cube.path.string(),
                  ": no true targets to find the best run with (--truth, --keep all)");
}

template <class Executor>
void run_sweep_of_cube(Executor& executor, core::Cpu& cpu, const StapOptions& options,
                       media::CubeReader& reader, const core::Array<stap::cfloat, 3>& cube,
                       const std::optional<Truth>& truth, double read_ms, Console& console) {
    SweepOfCube sweep(executor, cpu, options, reader, cube, truth, console);
    std::optional<SweepScore> score;
    // Over the false-alarm probability: the receiver operating characteristic.
    const auto& axes = options.sweep.axes;
    const bool rates = std::any_of(axes.begin(), axes.end(),
                                   [](const SweepAxis& of) { return of.option.name == "--pfa"; });
    if (truth) score = {"f_measure", true, rates ? "found_targets" : ""};
    run_sweep(
        options, score, read_ms, console,
        [&](const StapOptions& run, bool anew) { return sweep.compute(run, anew); },
        [&](const StapOptions& run, RunOfCube& result, media::OutputSet& outputs) {
            sweep.write(run, result, outputs);
        },
        [&](const StapOptions& run, RunOfCube& result, Report& report) {
            return sweep.finish(run, result, report);
        });
}

template void run_sweep_of_cube(core::Cpu&, core::Cpu&, const StapOptions&, media::CubeReader&,
                                const core::Array<stap::cfloat, 3>&, const std::optional<Truth>&,
                                double, Console&);
#if APERTURE_CUDA
template void run_sweep_of_cube(core::Gpu&, core::Cpu&, const StapOptions&, media::CubeReader&,
                                const core::Array<stap::cfloat, 3>&, const std::optional<Truth>&,
                                double, Console&);
#endif

}  // namespace aperture::apps
