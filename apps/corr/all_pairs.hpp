// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/corr/pair_correlator.hpp"
#include "aperture/corr/pair_peaks.hpp"
#include "apps/common/resident.hpp"

namespace aperture::apps {

/// Formats "pair 3 of 45, 12.0 pairs/s, 4 s left" for `what` "pair".
std::string progress_text(const std::string& what, core::index_t done, core::index_t all,
                          double seconds);

/// The results of `corr --all-pairs`.
struct PairResults {
    corr::PairPeaks found;
    double seconds = 0;  ///< from the first pair to the last

    double pairs_per_second() const { return static_cast<double>(found.pairs) / seconds; }
};

/// Correlates the images of an ensemble with one another.
template <class Executor>
class AllPairs {
  public:
    using Space = typename Executor::Space;

    /// For up to `images` images, whose autocorrelation is `problem`. Throws core::InvalidArgument
    /// if they need too much memory.
    AllPairs(Executor& executor, core::Cpu& cpu, const corr::Problem& problem,
             core::index_t images);

    /// Adds an image: its planes in the executor's memory and the same planes in host memory.
    void load(corr::PlanesView<Space> planes, corr::PlanesView<core::Host> on_host);
    PairResults run(Console& console);

  private:
    Executor& executor_;
    core::Cpu& cpu_;
    corr::Lags lags_;
    corr::PairCorrelator<Executor> correlator_;
    Resident<Executor, double, 3> sums_;
    std::vector<double> energies_;  ///< one per image
};

}  // namespace aperture::apps
