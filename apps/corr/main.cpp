// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// corr: computes spatial correlations of an image, two images or an ensemble.
#include "aperture/core/shape.hpp"
#include "aperture/media/cube_file.hpp"
#include "aperture/media/plane_file.hpp"
#include "apps/common/file_names.hpp"
#include "apps/common/report.hpp"
#include "apps/corr/output_files.hpp"
#include "apps/corr/summary.hpp"

namespace aperture::apps {
namespace {

LoadedImage read_input(const core::Cpu& cpu, const CorrOptions& options, std::size_t input) {
    LoadedImage loaded;
    loaded.file = options.inputs[input];
    if (options.planes) {
        loaded.image = media::read_image(loaded.file);
    } else {
        loaded.image.planes = media::read_planes(loaded.file, cpu.threads());
    }
    return loaded;
}

/// Colour and grey images may be combined; files of planes must have equal extents.
void expects_alike(const CorrOptions& options, const LoadedImage& a, const LoadedImage& b) {
    if (options.planes) {
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
                                            ImageCorrelation<Executor>& correlation) {
    std::vector<corr::RadialPower> spectra;
    if (!options.radial) return spectra;
    const auto append = [&](corr::PlanesView<core::Host> planes) {
        corr::RadialSpectrum spectrum(cpu, correlation.problem().image);
        spectrum.add(planes);
        spectra.push_back(spectrum.average());
    };
    append(correlation.planes(Operand::a));
    if (options.pair()) append(correlation.planes(Operand::b));
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

    ImageCorrelation<Executor> correlation(executor, cpu, options, a);
    const RunTimes times = repeat_runs(options.common.repeat, console, [&] {
        return correlation.run(a.image, b ? b->image : a.image);
    });
    const corr::Problem& problem = correlation.problem();
    const corr::Surfaces& found = correlation.surfaces();
    const SurfaceFindings findings = find_out(options, found.surface, problem.lags);
    if (findings.on_border) console.warn_incomplete(border_warning(options, findings));

    watch.reset();
    const std::vector<corr::RadialPower> spectra = find_spectra(cpu, options, correlation);
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
                   summary(options, a, problem, correlation.choice(), findings, report));
}

template <class Executor>
void run_images_of_ensemble(Executor& executor, core::Cpu& cpu, const CorrOptions& options,
                            Console& console) {
    const auto [files, left_out] = list_images(options.inputs);
    if (!left_out.empty()) console.note(left_out);
    check_outputs(options, files);
    core::Stopwatch watch;
    const EnsembleResults results = run_ensemble(executor, cpu, options, files, console);
    const SurfaceFindings findings =
        find_out(options, results.statistics.mean(), results.problem.lags);
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
    with_executor(options.common.device, cpu, console, [&](auto& executor) {
        if (options.ensemble) {
            run_images_of_ensemble(executor, cpu, options, console);
        } else {
            run_images(executor, cpu, options, console);
        }
    });
}

}  // namespace
}  // namespace aperture::apps

int main(int argc, char** argv) {
    using namespace aperture::apps;
    aperture::media::silence_hdf5();
    return run_program("corr", argc, argv, parse_corr_options, run);
}
