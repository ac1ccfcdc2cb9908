// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/corr/pair_peaks.hpp"
#include "apps/corr/plane_correlation.hpp"

namespace aperture::apps {

/// "pair 3 of 45, 12.0 pairs/s, 4 s left", for `what` "pair".
std::string progress_text(const std::string& what, core::index_t done, core::index_t all,
                          double seconds);

/// What `corr --all-pairs` finds.
struct PairResults {
    corr::PairPeaks found;
    double seconds = 0;  ///< from the first pair to the last

    double pairs_per_second() const { return static_cast<double>(found.pairs) / seconds; }
};

/// Correlates the images of an ensemble with one another.
class AllPairs {
  public:
    /// For up to `images` images whose own correlation is `problem`. Throws core::InvalidArgument
    /// where they take more memory than there is.
    AllPairs(CorrelationDevice& device, const corr::Problem& problem, core::index_t images);

    /// The next image.
    void take(corr::PlanesView<core::Host> planes);
    PairResults run(Console& console);

  private:
    core::Cpu& cpu_;
    corr::Lags lags_;
    std::unique_ptr<PairCorrelation> correlation_;
    std::vector<double> energies_;  ///< of the images taken
};

}  // namespace aperture::apps
