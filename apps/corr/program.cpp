// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// corr: computes spatial correlations of an image, two images or an ensemble.
#include "aperture/core/shape.hpp"
#include "aperture/media/cube_file.hpp"
#include "aperture/media/plane_file.hpp"
#include "apps/common/file_names.hpp"
#include "apps/common/report.hpp"
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

template <class Executor>
void run_images(Executor& executor, core::Cpu& cpu, const CorrOptions& options, Console& console) {
    core::Stopwatch watch;
    console.phase("reading");
    const LoadedImage a = read_input(cpu, options, 0);
    std::optional<LoadedImage> b;
    if (options.pair()) {
        b = read_input(cpu, options, 1);
        expects_alike(options, a, *b);
    }
    const double read_ms = watch.ms();
    console.done();
    check_outputs(options, options.inputs);

    corr::ImageCorrelator<Executor> correlator(executor, options.parameters,
                                               a.image.planes.extent(), options.pair(),
                                               read_masks(executor, options, a.shape()));
    const RunTimes times = repeat_runs(options.common.repeat, console, [&] {
        return run_times(correlator.run(a.image.planes, b ? b->image.planes : a.image.planes));
    });
    const corr::Problem& problem = correlator.problem();
    const corr::Surfaces& found = correlator.surfaces();
    const corr::SurfaceFindings findings =
        corr::find_out(found.surface, problem.lags, options.parameters.estimator, options.pair());
    if (findings.on_border) console.warn_incomplete(border_warning(options, problem, findings));

    watch.reset();
    const std::vector<corr::RadialPower> spectra = find_spectra(cpu, options, correlator);
    const double spectrum_ms = watch.ms();
    watch.reset();
    const ResultParameters parameters = describe(options, problem);
    media::OutputSet outputs;
    write_outputs(options,
                  {&found.planes, nullptr, found.surface, found.counts, problem.lags, findings,
                   spectra, parameters},
                  console, outputs);
    const double write_ms = watch.ms();

    Report report = begin_report(executor, options, times, parameters);
    report.results = finding_values(findings);
    report.add_first_stage("read", read_ms);
    if (options.radial) report.add_stage("spectrum", spectrum_ms);
    report.add_stage("write", write_ms);
    commit_outputs(options.common, report, console, outputs,
                   summary(options, a, problem, correlator.choice(), findings, report));
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
