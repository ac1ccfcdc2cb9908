// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// corr: computes spatial correlations of an image, two images or an ensemble.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "aperture/core/shape.hpp"
#include "aperture/media/cube_file.hpp"
#include "aperture/media/plane_file.hpp"
#include "apps/common/file_names.hpp"
#include "apps/common/sweep.hpp"
#include "apps/corr/mask_files.hpp"
#include "apps/corr/output_files.hpp"
#include "apps/corr/registration.hpp"
#include "apps/corr/summary.hpp"
#include "apps/programs.hpp"

namespace aperture::apps {
namespace {

LoadedImage read_input(const core::Cpu& cpu, const CorrOptions& options, std::size_t input) {
    LoadedImage loaded;
    loaded.file = options.inputs[input];
    if (options.parameters.planes) {
        loaded.image = media::read_image(loaded.file);
    } else {
        loaded.image.planes = media::read_planes(loaded.file, cpu.threads());
    }
    return loaded;
}

/// Colour and grey images may be combined; files of planes must have equal extents.
void expects_alike(const CorrOptions& options, const LoadedImage& a, const LoadedImage& b) {
    if (options.parameters.planes) {
        core::expects(b.shape() == a.shape(),
                      size_mismatch(b.file.string(), b.shape(), a.file.string(), a.shape()));
        return;
    }
    const auto& of_a = a.image.planes.extent();
    const auto& of_b = b.image.planes.extent();
    core::expects(of_b == of_a, b.file.string(), ": /planes is ", core::extents_text(of_b),
                  ", but that of ", a.file.string(), " is ", core::extents_text(of_a));
}

/// Spectra of an image's or pair's planes, with --radial.
template <class Executor>
std::vector<corr::RadialPower> find_spectra(core::Cpu& cpu, const CorrOptions& options,
                                            corr::ImageCorrelator<Executor>& correlator) {
    std::vector<corr::RadialPower> spectra;
    if (!options.radial) return spectra;
    const auto append = [&](corr::PlanesView<core::Host> planes) {
        corr::RadialSpectrum spectrum(cpu, correlator.problem().image);
        spectrum.add(planes);
        spectra.push_back(spectrum.average());
    };
    append(correlator.planes(corr::Side::a));
    if (options.pair()) append(correlator.planes(corr::Side::b));
    return spectra;
}

struct InputImages {
    LoadedImage a;
    std::optional<LoadedImage> b;  ///< of a pair
    double read_ms = 0;
};

InputImages read_inputs(const core::Cpu& cpu, const CorrOptions& options, Console& console) {
    const core::Stopwatch watch;
    console.phase("reading");
    InputImages images{read_input(cpu, options, 0), {}};
    if (options.pair()) {
        images.b = read_input(cpu, options, 1);
        expects_alike(options, images.a, *images.b);
    }
    images.read_ms = watch.ms();
    console.done();
    return images;
}

/// The correlation of an image or a pair, and what its surface says.
template <class Executor>
struct Correlation {
    std::shared_ptr<corr::ImageCorrelator<Executor>> correlator;
    RunTimes times;
    corr::SurfaceFindings findings;
    std::vector<corr::RadialPower> spectra;
    double spectrum_ms = 0;

    const corr::Problem& problem() const { return correlator->problem(); }
};

template <class Executor>
auto make_correlator(Executor& executor, const CorrOptions& options, const InputImages& images) {
    const LoadedImage& a = images.a;
    return std::make_shared<corr::ImageCorrelator<Executor>>(
        executor, options.parameters, a.image.planes.extent(), options.pair(),
        read_masks(executor, options, a.shape()));
}

/// `correlator` is that of the options.
template <class Executor>
Correlation<Executor> correlate(std::shared_ptr<corr::ImageCorrelator<Executor>> correlator,
                                core::Cpu& cpu, const CorrOptions& options,
                                const InputImages& images, Console& console) {
    const auto& [a, b, read_ms] = images;
    Correlation<Executor> result;
    result.correlator = std::move(correlator);
    const auto& planes_a = a.image.planes;
    const auto& planes_b = b ? b->image.planes : planes_a;
    result.times = repeat_runs(options.common.repeat, console, [&] {
        return run_times(result.correlator->run(planes_a, planes_b));
    });
    result.findings = corr::find_out(result.correlator->surfaces().surface, result.problem().lags,
                                     options.parameters.estimator, options.pair());
    const core::Stopwatch watch;
    result.spectra = find_spectra(cpu, options, *result.correlator);
    result.spectrum_ms = watch.ms();
    return result;
}

template <class Executor>
void write_outputs(const CorrOptions& options, const Correlation<Executor>& result,
                   Console& console, media::OutputSet& outputs) {
    const corr::Surfaces& found = result.correlator->surfaces();
    const ResultParameters parameters = describe(options, result.problem());
    write_outputs(options,
                  {&found.planes, nullptr, found.surface, found.counts, result.problem().lags,
                   result.findings, result.spectra, parameters},
                  console, outputs);
}

/// The report of one correlation, without reading and writing.
template <class Executor>
Report report_of(const Executor& executor, const CorrOptions& options,
                 const Correlation<Executor>& result) {
    Report report =
        begin_report(executor, options, result.times, describe(options, result.problem()));
    report.results = finding_values(result.findings);
    if (options.radial) report.add_stage("spectrum", result.spectrum_ms);
    return report;
}

template <class Executor>
std::string finish(const CorrOptions& options, const InputImages& images,
                   const Correlation<Executor>& result, const Report& report, Console& console) {
    if (result.findings.on_border) {
        console.warn_incomplete(border_warning(options, result.problem(), result.findings));
    }
    return summary(options, images.a, result.problem(), result.correlator->choice(),
                   result.findings, report);
}

/// The runs of a sweep have the images in common.
template <class Executor>
void run_sweep_of_images(Executor& executor, core::Cpu& cpu, const CorrOptions& options,
                         const InputImages& images, Console& console) {
    using Result = Correlation<Executor>;
    Console silent("corr", true);
    // Values of --sigma have two correlators in common: one may have the best result.
    std::vector<std::shared_ptr<corr::ImageCorrelator<Executor>>> correlators;
    corr::Parameters made_for;
    const auto correlator_of = [&](const CorrOptions& run) {
        corr::Parameters wanted = run.parameters;
        wanted.orientation_sigma = made_for.orientation_sigma;
        if (wanted != made_for) correlators.clear();
        made_for = run.parameters;
        const auto idle = std::find_if(correlators.begin(), correlators.end(),
                                       [](const auto& made) { return made.use_count() == 1; });
        if (idle == correlators.end()) {
            return correlators.emplace_back(make_correlator(executor, run, images));
        }
        (*idle)->set_orientation_sigma(run.parameters.orientation_sigma);
        return *idle;
    };
    std::optional<SweepScore> score;
    if (options.pair()) score = {"peak_value", true};
    run_sweep(
        options, score, images.read_ms, console,
        [&](const CorrOptions& run, bool) {
            Result result = correlate(correlator_of(run), cpu, run, images, silent);
            Report report = report_of(executor, run, result);
            return std::pair(std::move(result), std::move(report));
        },
        [&](const CorrOptions& run, const Result& result, media::OutputSet& outputs) {
            write_outputs(run, result, silent, outputs);
        },
        [&](const CorrOptions& run, const Result& result, const Report& report) {
            return finish(run, images, result, report, console);
        });
}

template <class Executor>
void run_images(Executor& executor, core::Cpu& cpu, const CorrOptions& options, Console& console) {
    const InputImages images = read_inputs(cpu, options, console);
    check_outputs(options, options.inputs);
    if (!options.sweep.runs.empty()) {
        return run_sweep_of_images(executor, cpu, options, images, console);
    }
    const auto result =
        correlate(make_correlator(executor, options, images), cpu, options, images, console);
    const core::Stopwatch watch;
    media::OutputSet outputs;
    write_outputs(options, result, console, outputs);
    Report report = report_of(executor, options, result);
    report.add_first_stage("read", images.read_ms);
    report.add_stage("write", watch.ms());
    const std::string lines = finish(options, images, result, report, console);
    commit_outputs(options.common, report, console, outputs, lines);
}

template <class Executor>
void run_images_of_ensemble(Executor& executor, core::Cpu& cpu, const CorrOptions& options,
                            Console& console) {
    const auto [files, left_out] = list_images(options.inputs);
    if (!left_out.empty()) console.note(left_out);
    check_outputs(options, files);
    core::Stopwatch watch;
    const EnsembleResults results = run_ensemble(executor, cpu, options, files, console);
    const corr::SurfaceFindings findings =
        corr::find_out(results.statistics.mean(), results.problem.lags,
                       options.parameters.estimator, options.pair());
    const ResultParameters parameters = describe(options, results.problem);
    std::vector<corr::RadialPower> spectra;
    if (results.spectrum) spectra.push_back(*results.spectrum);
    media::OutputSet outputs;
    write_outputs(options,
                  {nullptr, &results, results.statistics.mean(), results.counts,
                   results.problem.lags, findings, spectra, parameters},
                  console, outputs);
    Report report = begin_report(executor, options, results.times, parameters);
    report.total_ms = watch.ms();
    report.results = finding_values(findings);
    report.results.merge(ensemble_values(results));
    commit_outputs(options.common, report, console, outputs,
                   summary(options, results, findings, report));
}

void run(const CorrOptions& options, core::Cpu& cpu, Console& console) {
    if (options.registered) return run_registration(options, cpu, console);
    with_executor(options.common.device, cpu, console, [&](auto& executor) {
        if (options.ensemble) {
            run_images_of_ensemble(executor, cpu, options, console);
        } else {
            run_images(executor, cpu, options, console);
        }
    });
}

}  // namespace

int corr_main(int argc, char** argv) {
    media::silence_hdf5();
    return run_program("corr", argc, argv, parse_corr_options, run);
}

}  // namespace aperture::apps
