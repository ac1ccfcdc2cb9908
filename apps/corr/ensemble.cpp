// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/ensemble.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace aperture::apps {
namespace {

std::string progress_text(std::size_t done, std::size_t all, double seconds) {
    const double rate = static_cast<double>(done) / seconds;
    std::ostringstream words;
    words << "image " << done << " of " << all << std::fixed << std::setprecision(1) << ", " << rate
          << " images/s" << std::setprecision(0) << ", " << static_cast<double>(all - done) / rate
          << " s left";
    return words.str();
}

}  // namespace

EnsembleResults run_ensemble(core::Cpu& cpu, const CorrOptions& options,
                             const std::vector<std::filesystem::path>& files, Console& console) {
    const core::Stopwatch watch;
    ImageSource source(files, cpu.threads());
    EnsembleResults found;
    std::optional<ImageCorrelation> correlation;
    std::vector<RunTimes> times;
    std::size_t done = 0;
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
            correlation.emplace(cpu, options, *loaded);
        }
        times.push_back(correlation->run(loaded->image, loaded->image));
        times.back().stages.insert(times.back().stages.begin(), {"read", loaded->read_ms, 0, 0});
        found.statistics.add(correlation->surfaces().surface.view());
        found.images.push_back(loaded->file.string());
        console.progress(progress_text(done, files.size(), watch.seconds()));
    }
    core::expects(correlation.has_value(), files.front().string(), " and ", files.size() - 1,
                  " more: no image could be used");
    found.seconds = watch.seconds();
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
