// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/ensemble.hpp"

#include <algorithm>
#include <deque>

namespace aperture::apps {
namespace {

ReadAhead read_ahead(const CorrelationDevice& device) {
    ReadAhead ahead;
    const int threads = device.cpu().threads();
    // Beside a GPU the caller's thread has a core of its own; on a CPU all of them correlate.
    ahead.threads = device.is_gpu() ? std::max(threads - 1, 1) : threads;
    // What is read while a GPU prepares for the first image.
    const std::size_t of_each = device.is_gpu() ? 4 : 2;
    ahead.most_images = of_each * static_cast<std::size_t>(ahead.threads);
    ahead.pages = device.pages();
    return ahead;
}

}  // namespace

EnsembleResults run_ensemble(CorrelationDevice& device, const CorrOptions& options,
                             const std::vector<std::filesystem::path>& files, Console& console) {
    const core::Stopwatch watch;
    ImageSource source(files, read_ahead(device));
    EnsembleResults found;
    std::deque<LoadedImage> begun;  // outlives what still reads them
    std::optional<ImageCorrelation> correlation;
    std::vector<RunTimes> times;
    std::optional<AllPairs> pairs;
    std::optional<corr::RadialSpectrum> spectrum;
    core::index_t done = 0;
    const auto all = static_cast<core::index_t>(files.size());
    const auto finish_first = [&] {
        RunTimes of_image = correlation->finish();
        LoadedImage& image = begun.front();
        of_image.stages.insert(of_image.stages.begin(), {"read", image.read_ms, 0, 0});
        times.push_back(std::move(of_image));
        found.statistics.add(correlation->surfaces().surface.view());
        if (pairs) pairs->take(correlation->planes(Operand::a));
        if (spectrum) spectrum->add(correlation->planes(Operand::a));
        source.give_back(std::move(image.image));
        begun.pop_front();
        console.progress(progress_text("image", done, all, watch.seconds()));
    };
    // Planes are those of the image that began last.
    const std::size_t most_begun =
        options.all_pairs || options.radial ? 1 : ImageCorrelation::most_begun;
    console.phase("reading " + files.front().string());
    while (std::optional<LoadedImage> loaded = source.next()) {
        ++done;
        if (loaded->fault.empty() && correlation &&
            loaded->shape() != correlation->problem().image) {
            loaded->fault =
                core::text(loaded->file.string(), ": ", size_text(loaded->shape()), " pixels, but ",
                           found.images.front(), " has ", size_text(correlation->problem().image));
        }
        if (!loaded->fault.empty()) {
            console.warn_incomplete("left out: " + loaded->fault);
            ++found.skipped;
            source.give_back(std::move(loaded->image));
            continue;
        }
        if (!correlation) {
            console.phase("correlating");
            correlation.emplace(device, options, *loaded);
            if (options.all_pairs) pairs.emplace(device, correlation->problem(), all);
            if (options.radial) spectrum.emplace(device.cpu(), loaded->shape());
        }
        found.images.push_back(loaded->file.string());
        begun.push_back(std::move(*loaded));
        correlation->begin(begun.back().image);
        if (begun.size() == most_begun) finish_first();
    }
    while (!begun.empty()) finish_first();
    core::expects(correlation.has_value(), files.front().string(), " and ", files.size() - 1,
                  " more: no image could be used");
    found.seconds = watch.seconds();
    if (spectrum) found.spectrum = spectrum->average();
    if (pairs) found.pairs = pairs->run(console);
    found.problem = correlation->problem();
    found.choice = correlation->choice();
    found.times = median_times(times);
    const core::Array<double, 2>& counts = correlation->surfaces().counts;
    found.counts = core::Array<double, 2>(counts.extent());
    std::copy(counts.begin(), counts.end(), found.counts.begin());
    console.done();
    return found;
}

}  // namespace aperture::apps
