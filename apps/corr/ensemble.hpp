// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "aperture/corr/radial_spectrum.hpp"
#include "apps/corr/all_pairs.hpp"
#include "apps/corr/correlation.hpp"

namespace aperture::apps {

/// What `corr` finds in many images.
struct EnsembleResults {
    corr::Problem problem;
    std::optional<corr::MethodChoice> choice;
    corr::EnsembleStatistics statistics;
    core::Array<double, 2> counts;    ///< pixels that overlap in an image
    std::vector<std::string> images;  ///< those that were used
    core::index_t skipped = 0;
    RunTimes times;      ///< of an image, medians; with read
    double seconds = 0;  ///< from the first image to the last surface
    std::optional<PairResults> pairs;
    std::optional<corr::RadialPower> spectrum;  ///< mean of the images, with --radial

    double images_per_second() const { return static_cast<double>(images.size()) / seconds; }
};

/// Correlates each of `files` with itself. Images are read while those before are being worked on.
/// One that cannot be read, or has another size than the first that could, is named on the console
/// and left out: the result is incomplete. An ensemble of no images throws core::InvalidArgument.
/// With --all-pairs, images are then correlated with one another.
template <class Executor>
EnsembleResults run_ensemble(Executor& executor, core::Cpu& cpu, const CorrOptions& options,
                             const std::vector<std::filesystem::path>& files, Console& console);

}  // namespace aperture::apps
