// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/ensemble.hpp"

#include <algorithm>
#include <deque>

#include "aperture/corr/pair_correlator.hpp"
#include "apps/common/resident.hpp"
#include "apps/corr/mask_files.hpp"

namespace aperture::apps {
namespace {

template <class Executor>
ReadAhead read_ahead(int threads) {
    ReadAhead ahead;
    // With a GPU the caller's thread keeps a core for itself; on a CPU all threads correlate.
    ahead.threads = is_gpu<Executor> ? std::max(threads - 1, 1) : threads;
    // A GPU's setup before the first image leaves time to read more images.
    const std::size_t of_each = is_gpu<Executor> ? 4 : 2;
    ahead.most_images = of_each * static_cast<std::size_t>(ahead.threads);
    ahead.pages = core::pages_for<Executor>;
    return ahead;
}

corr::Problem summed(corr::Problem problem) {
    problem.each_plane = false;
    problem.method = corr::Method::fft;
    problem.precision = corr::Precision::fp32;
    return problem;
}

/// Correlates the images of an ensemble with one another.
template <class Executor>
class AllPairs {
  public:
    /// For up to `images` images, whose autocorrelation is `problem`. Throws core::InvalidArgument
    /// if they need too much memory.
    AllPairs(Executor& executor, core::Cpu& cpu, const corr::Problem& problem, core::index_t images)
        : executor_(executor),
          cpu_(cpu),
          lags_(problem.lags),
          correlator_(executor, summed(problem), images),
          sums_(executor) {}

    /// Adds an image: its planes in the executor's memory and the same planes in host memory.
    void load(corr::PlanesView<typename Executor::Space> planes,
              corr::PlanesView<core::Host> on_host) {
        correlator_.load(static_cast<core::index_t>(energies_.size()), planes);
        energies_.push_back(corr::energy(cpu_, on_host));
    }

    PairResults run(Console& console) {
        console.phase("correlating pairs");
        const core::Stopwatch watch;
        PairResults results;
        results.found = corr::find_pair_peaks(
            energies_, lags_,
            [&](core::index_t a, core::index_t b, core::View<double, 3, core::Host> sums) {
                sums_.attach(sums);
                correlator_.run(a, b, sums_.view());
                sums_.store();
                executor_.synchronize();
            },
            [&](core::index_t done, core::index_t all) {
                console.progress(progress_text("pair", done, all, watch.seconds()));
            });
        results.seconds = watch.seconds();
        return results;
    }

  private:
    Executor& executor_;
    core::Cpu& cpu_;
    corr::Lags lags_;
    corr::PairCorrelator<Executor> correlator_;
    Resident<Executor, double, 3> sums_;
    std::vector<double> energies_;  ///< one per image
};

}  // namespace

template <class Executor>
EnsembleResults run_ensemble(Executor& executor, core::Cpu& cpu, const CorrOptions& options,
                             const std::vector<std::filesystem::path>& files, Console& console) {
    const core::Stopwatch watch;
    ImageSource source(files, read_ahead<Executor>(cpu.threads()));
    EnsembleResults found;
    std::deque<LoadedImage> begun;  // outlives its readers
    std::optional<corr::ImageCorrelator<Executor>> correlator;
    std::vector<RunTimes> times;
    std::optional<AllPairs<Executor>> pairs;
    std::optional<corr::RadialSpectrum> spectrum;
    core::index_t done = 0;
    const auto all = static_cast<core::index_t>(files.size());
    const auto finish_first = [&] {
        RunTimes of_image = run_times(correlator->finish());
        LoadedImage& image = begun.front();
        of_image.stages.insert(of_image.stages.begin(), {"read", image.read_ms, 0, 0});
        times.push_back(std::move(of_image));
        found.statistics.add(correlator->surfaces().surface.view());
        if (pairs) {
            pairs->load(correlator->resident_planes(corr::Side::a),
                        correlator->planes(corr::Side::a));
        }
        if (spectrum) spectrum->add(correlator->planes(corr::Side::a));
        source.recycle(std::move(image.image));
        begun.pop_front();
        console.progress(progress_text("image", done, all, watch.seconds()));
    };
    // The planes are those of the last started image.
    const std::size_t most_begun =
        options.all_pairs || options.radial ? 1 : corr::ImageCorrelator<Executor>::most_begun;
    console.phase("reading " + files.front().string());
    while (std::optional<LoadedImage> loaded = source.next()) {
        ++done;
        if (loaded->fault.empty() && correlator && loaded->shape() != correlator->problem().image) {
            loaded->fault = size_mismatch(loaded->file.string(), loaded->shape(),
                                          found.images.front(), correlator->problem().image);
        }
        if (!loaded->fault.empty()) {
            console.warn_incomplete("skipped: " + loaded->fault);
            ++found.skipped;
            source.recycle(std::move(loaded->image));
            continue;
        }
        if (!correlator) {
            console.phase("correlating");
            correlator.emplace(executor, options.parameters, loaded->image.planes.extent(),
                               options.pair(), read_masks(executor, options, loaded->shape()));
            if (options.all_pairs) pairs.emplace(executor, cpu, correlator->problem(), all);
            if (options.radial) spectrum.emplace(cpu, loaded->shape());
        }
        found.images.push_back(loaded->file.string());
        begun.push_back(std::move(*loaded));
        correlator->begin(begun.back().image.planes);
        if (begun.size() == most_begun) finish_first();
    }
    while (!begun.empty()) finish_first();
    core::expects(correlator.has_value(), files.front().string(), " and ", files.size() - 1,
                  " more: no image could be used");
    found.seconds = watch.seconds();
    if (spectrum) found.spectrum = spectrum->average();
    if (pairs) found.pairs = pairs->run(console);
    found.problem = correlator->problem();
    found.choice = correlator->choice();
    found.times = median_times(times);
    const core::Array<std::int64_t, 2>& counts = correlator->surfaces().counts;
    found.counts = core::Array<std::int64_t, 2>(counts.extent());
    std::copy(counts.begin(), counts.end(), found.counts.begin());
    console.done();
    return found;
}

template EnsembleResults run_ensemble(core::Cpu&, core::Cpu&, const CorrOptions&,
                                      const std::vector<std::filesystem::path>&, Console&);
#if APERTURE_CUDA
template EnsembleResults run_ensemble(core::Gpu&, core::Cpu&, const CorrOptions&,
                                      const std::vector<std::filesystem::path>&, Console&);
#endif

}  // namespace aperture::apps
