// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/all_pairs.hpp"

#include <iomanip>
#include <sstream>

namespace aperture::apps {
namespace {

corr::Problem summed(corr::Problem problem) {
    problem.each_plane = false;
    problem.method = corr::Method::fft;
    problem.precision = corr::Precision::fp32;
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

template <class Executor>
AllPairs<Executor>::AllPairs(Executor& executor, core::Cpu& cpu, const corr::Problem& problem,
                             core::index_t images)
    : executor_(executor),
      cpu_(cpu),
      lags_(problem.lags),
      correlator_(executor, summed(problem), images),
      sums_(executor) {}

template <class Executor>
void AllPairs<Executor>::load(corr::PlanesView<Space> planes,
                              corr::PlanesView<core::Host> on_host) {
    correlator_.load(static_cast<core::index_t>(energies_.size()), planes);
    energies_.push_back(corr::energy(cpu_, on_host));
}

template <class Executor>
PairResults AllPairs<Executor>::run(Console& console) {
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

template class AllPairs<core::Cpu>;
#if APERTURE_CUDA
template class AllPairs<core::Gpu>;
#endif

}  // namespace aperture::apps
