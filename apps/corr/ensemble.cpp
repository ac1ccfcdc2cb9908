// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/ensemble.hpp"

#include <algorithm>

namespace aperture::apps {
EnsembleResults run_ensemble(CorrelationDevice& device, const CorrOptions& options,
                             const std::vector<std::filesystem::path>& files, Console& console) {
    const core::Stopwatch watch;
    core::Cpu& cpu = device.cpu();
    ImageSource source(files, cpu.threads());
    EnsembleResults found;
    std::optional<ImageCorrelation> correlation;
    std::vector<RunTimes> times;
    std::optional<AllPairs> pairs;
    std::optional<corr::RadialSpectrum> spectrum;
    core::index_t done = 0;
    const auto all = static_cast<core::index_t>(files.size());
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
            core::expects(!options.strict, loaded->fault);
            console.warn("left out: " + loaded->fault);
            ++found.skipped;
            continue;
        }
        if (!correlation) {
            console.phase("correlating");
            correlation.emplace(device, options, *loaded);
            if (options.all_pairs) pairs.emplace(device, correlation->problem(), all);
            if (options.radial) spectrum.emplace(cpu, loaded->shape());
        }
        times.push_back(correlation->run(loaded->image, loaded->image));
        times.back().stages.insert(times.back().stages.begin(), {"read", loaded->read_ms, 0, 0});
        found.statistics.add(correlation->surfaces().surface.view());
        if (pairs) pairs->take(correlation->planes(Operand::a));
        if (spectrum) spectrum->add(correlation->planes(Operand::a));
        found.images.push_back(loaded->file.string());
        console.progress(progress_text("image", done, all, watch.seconds()));
    }
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
