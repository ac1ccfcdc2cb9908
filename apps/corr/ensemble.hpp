// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "aperture/corr/image_correlator.hpp"
#include "aperture/corr/pair_peaks.hpp"
#include "aperture/corr/radial_spectrum.hpp"
#include "aperture/corr/statistics.hpp"
#include "apps/common/report.hpp"
#include "apps/corr/image_source.hpp"
#include "apps/corr/options.hpp"

namespace aperture::apps {

/// The results of `corr --all-pairs`.
struct PairResults {
    corr::PairPeaks found;
    double seconds = 0;  ///< from the first pair to the last

    double pairs_per_second() const { return static_cast<double>(found.pairs) / seconds; }
};

/// The results of `corr` for many images.
struct EnsembleResults {
    corr::Problem problem;
    std::optional<corr::MethodChoice> choice;
    corr::EnsembleStatistics statistics;
    core::Array<std::int64_t, 2> counts;  ///< overlapping pixels per image
    std::vector<std::string> images;      ///< the images used
    core::index_t skipped = 0;
    RunTimes times;      ///< medians per image, including the time to read
    double seconds = 0;  ///< from the first image to the last surface
    std::optional<PairResults> pairs;
    std::optional<corr::RadialPower> spectrum;  ///< mean over the images, with --radial

    double images_per_second() const { return static_cast<double>(images.size()) / seconds; }
};

inline RunTimes run_times(corr::ImageTimes times) {
    return {std::move(times.stages), times.compute_ms, times.transfer_ms};
}

/// Correlates each of `files` with itself and reads ahead meanwhile. An image that cannot be read,
/// or whose size differs from the first readable one's, is named on the console and left out; the
/// result is then incomplete. Throws core::InvalidArgument if no image is left. With --all-pairs,
/// then correlates the images with one another.
template <class Executor>
EnsembleResults run_ensemble(Executor& executor, core::Cpu& cpu, const CorrOptions& options,
                             const std::vector<std::filesystem::path>& files, Console& console);

}  // namespace aperture::apps
