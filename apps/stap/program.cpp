// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// stap: space-time adaptive processing of a radar data cube in an HDF5 file.
#include <algorithm>

#include "aperture/core/finite.hpp"
#include "apps/common/file_names.hpp"
#include "apps/programs.hpp"
#include "apps/stap/figures.hpp"
#include "apps/stap/result_output.hpp"
#include "apps/stap/summary.hpp"
#include "apps/stap/sweep.hpp"

namespace aperture::apps {
namespace {

/// Reads a CPI into `cube`. Throws core::InvalidArgument for samples that are not finite, unless
/// they are allowed.
void read_cpi(core::Cpu& cpu, const StapOptions& options, media::CubeReader& reader,
              core::index_t cpi, Console& console, core::Array<stap::cfloat, 3>& cube) {
    const std::string which =
        reader.info().has_cpi_axis ? core::text("CPI ", cpi, ", ") : std::string();
    console.phase(core::text("reading ", which, options.cube.path.string()));
    reader.read(cube, cpi);
    const core::index_t bad =
        core::count_non_finite(cpu, core::View<const stap::cfloat, 3, core::Host>(cube));
    console.done();
    if (bad == 0) return;
    const auto usable = [](stap::cfloat sample) { return core::is_finite(sample); };
    const core::index_t first = std::find_if_not(cube.begin(), cube.end(), usable) - cube.begin();
    const auto [channels, pulses, range_cells] = cube.extent();
    const std::string found = core::text(
        options.cube.path.string(), ": ", bad, " samples are NaN or infinite, the first at ", which,
        "channel ", first / range_cells / pulses, ", pulse ", first / range_cells % pulses,
        ", range cell ", first % range_cells);
    core::expects(options.allow_nan, found, " (--allow-nan processes them anyway)");
    console.note(found);
}

/// Processes the CPIs of a cube on `executor` one by one, and writes the requested outputs.
template <class Executor>
class CubeRun {
  public:
    CubeRun(Executor& executor, core::Cpu& cpu, const StapOptions& options,
            media::CubeReader& reader, const Configuration& setup, Console& console)
        : executor_(executor),
          cpu_(cpu),
          options_(options),
          reader_(reader),
          info_(reader.info()),
          setup_(setup),
          console_(console),
          file_(options.common.out),
          output_(file_, options, info_, setup),
          cube_(info_.shape()),
          results_(setup.problem, options.save) {}

    /// `read_ms` and `start_ms`: times before, to read the metadata and to start the device.
    void run(std::optional<Truth> truth, double read_ms, double start_ms) {
        const core::Stopwatch all;
        for (core::index_t cpi = 0; cpi < info_.cpis; ++cpi) {
            process(cpi);
            if (info_.cpis == 1) continue;
            console_.progress(progress_text("CPI", cpi + 1, info_.cpis, all.seconds()));
        }
        report_health(options_.cube.path, setup_.problem, health_, console_);
        if (info_.cpis > 1 && options_.figures.any()) console_.note("the figures show CPI 0");
        if (truth) {
            truth->score = stap::score_detections(findings_.front().detections, truth->targets,
                                                  setup_.problem.doppler_bins);
        }
        finish(truth, read_ms, start_ms);
    }

  private:
    void process(core::index_t cpi) {
        core::Stopwatch watch;
        read_cpi(cpu_, options_, reader_, cpi, console_, cube_);
        const double read_ms = watch.ms();
        RunTimes times =
            run_on(executor_, setup_, cube_, results_, options_.common.repeat, console_);
        total_ms_ += read_ms + times.compute_ms + times.transfer_ms;
        times.stages.insert(times.stages.begin(), {"read", read_ms, 0, 0});
        health_.add(factorisation_health(setup_.problem, results_), cpi);

        watch.reset();
        findings_.push_back(stap::find_targets(cpu_, setup_.problem, options_.pfa, setup_.steering,
                                               setup_.grid, cube_, results_.views()));
        const double detect_ms = watch.ms();
        watch.reset();
        if (cpi == 0) {
            add_figures(cpu_, options_, setup_, cube_, results_, findings_.front(), console_,
                        outputs_);
        }
        console_.phase("writing " + options_.common.out.string());
        output_.write(cpi, results_);
        console_.done();
        const double write_ms = watch.ms();
        total_ms_ += detect_ms + write_ms;
        if (options_.parameters.detector != stap::Detector::none) {
            times.add_stage("detect", detect_ms);
        }
        times.add_stage("write", write_ms);
        times_.push_back(times);
    }

    void finish(const std::optional<Truth>& truth, double read_ms, double start_ms) {
        core::Stopwatch watch;
        const ReportValues values = result_values(setup_.problem, health_, findings_);
        output_.write_tables(findings_, values);
        outputs_.add(file_.finish());

        Report report = begin_report(executor_, options_, median_times(times_),
                                     describe(options_, info_, setup_));
        report.total_ms = total_ms_;
        report.add_stage("read", read_ms);
        if (is_gpu<Executor>) {
            report.total_ms += start_ms;
            report.times.stages.insert(report.times.stages.begin() + 1,
                                       {"start device", start_ms, 0, 0});
        }
        report.add_stage("write", watch.ms());
        report.results = values;
        if (truth) {
            report.accuracy = accuracy_values(*truth);
            report.targets = target_values(*truth, options_.fftshift, setup_.problem.doppler_bins);
        }
        commit_outputs(options_.common, report, console_, outputs_,
                       summary(options_, info_, setup_, report, health_, findings_, truth));
    }

    Executor& executor_;
    core::Cpu& cpu_;
    const StapOptions& options_;
    media::CubeReader& reader_;
    const media::RadarCube& info_;
    const Configuration& setup_;
    Console& console_;
    media::ResultFile file_;
    ResultOutput output_;
    media::OutputSet outputs_;
    core::Array<stap::cfloat, 3> cube_;
    ResultArrays results_;
    std::vector<RunTimes> times_;  ///< of each CPI, with the stages of the host
    double total_ms_ = 0;
    FactorisationHealth health_;
    std::vector<stap::Findings> findings_;  ///< of each CPI
};

void sweep_over_cube(const StapOptions& options, core::Cpu& cpu, media::CubeReader& reader,
                     const core::Stopwatch& watch, Console& console) {
    const std::optional<Truth> truth = read_truth(options, reader.info(), console);
    expects_comparable(options, reader.info(), truth);
    core::Array<stap::cfloat, 3> cube(reader.info().shape());
    read_cpi(cpu, options, reader, 0, console, cube);
    const double read_ms = watch.ms();
    with_executor(options.common.device, cpu, console, [&](auto& executor) {
        run_sweep_of_cube(executor, cpu, options, reader, cube, truth, read_ms, console);
    });
}

void run(const StapOptions& options, core::Cpu& cpu, Console& console) {
    core::Stopwatch watch;
    media::CubeReader reader(options.cube, cpu.threads());
    check_output_files(input_files(options), output_files(options), options.common);
    if (!options.sweep.runs.empty()) return sweep_over_cube(options, cpu, reader, watch, console);
    const Configuration setup = configure(options, reader, console);
    const std::optional<Truth> truth = read_truth(options, reader.info(), console);
    const double read_ms = watch.ms();
    watch.reset();
    with_executor(options.common.device, cpu, console, [&](auto& executor) {
        const double start_ms = watch.ms();
        CubeRun(executor, cpu, options, reader, setup, console).run(truth, read_ms, start_ms);
    });
}

}  // namespace

int stap_main(int argc, char** argv) {
    media::silence_hdf5();
    return run_program("stap", argc, argv, parse_stap_options, run);
}

}  // namespace aperture::apps
