// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/all_pairs.hpp"

#include <iomanip>
#include <sstream>

#include "aperture/core/timing.hpp"

namespace aperture::apps {
namespace {

corr::Problem summed(corr::Problem problem) {
    problem.each_plane = false;
    problem.method = corr::Method::fft;
    problem.direct = {};
    return problem;
}

}  // namespace

std::string progress_text(const std::string& what, core::index_t done, core::index_t all,
                          double seconds) {
    const double rate = static_cast<double>(done) / seconds;
    std::ostringstream words;
    words << what << ' ' << done << " of " << all << std::fixed << std::setprecision(1) << ", "
          << rate << ' ' << what << "s/s" << std::setprecision(0) << ", "
          << static_cast<double>(all - done) / rate << " s left";
    return words.str();
}

AllPairs::AllPairs(CorrelationDevice& device, const corr::Problem& problem, core::index_t images)
    : cpu_(device.cpu()),
      lags_(problem.lags),
      correlation_(device.pairs(summed(problem), images)) {}

void AllPairs::take(corr::PlanesView<core::Host> planes) {
    correlation_->take(static_cast<core::index_t>(energies_.size()), planes);
    energies_.push_back(corr::energy(cpu_, planes));
}

PairResults AllPairs::run(Console& console) {
    console.phase("correlating pairs");
    const core::Stopwatch watch;
    PairResults results;
    results.found = corr::find_pair_peaks(
        energies_, lags_,
        [&](core::index_t a, core::index_t b, core::View<double, 3, core::Host> sums) {
            correlation_->run(a, b, sums);
        },
        [&](core::index_t done, core::index_t all) {
            console.progress(progress_text("pair", done, all, watch.seconds()));
        });
    results.seconds = watch.seconds();
    return results;
}

}  // namespace aperture::apps
