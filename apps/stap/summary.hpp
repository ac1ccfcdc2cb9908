// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "aperture/stap/detection.hpp"
#include "aperture/stap/targets.hpp"
#include "apps/common/report.hpp"
#include "apps/stap/run.hpp"
#include "apps/stap/truth.hpp"

namespace aperture::apps {

/// How well the covariances of a run could be factored.
struct FactorisationHealth {
    long long matrices = 0;
    long long failed = 0;
    long long repeated = 0;        ///< in fp64 after fp32, with --precision auto
    long long loaded = 0;          ///< of the repeated: with automatic loading
    long long untrusted = 0;       ///< factored in insufficient precision
    double worst_pivot_ratio = 1;  ///< over the matrices that did not fail
    int worst_doppler_bin = 0;     ///< of the first failed matrix, else of the worst ratio
    long long worst_training_set = 0;
    long long worst_cpi = 0;

    /// Adds the matrices of a later CPI.
    void add(const FactorisationHealth& other, long long cpi);

    /// Whether the thresholds keep the false-alarm probability: no covariance is loaded, and all
    /// can be trusted.
    bool holds_pfa(const stap::Parameters& parameters) const {
        return parameters.loading.value == 0 && loaded == 0 && untrusted == 0;
    }
};
FactorisationHealth factorisation_health(const stap::Problem& problem, const ResultArrays& results);

/// Throws core::InvalidArgument with the name of `cube` if all covariances failed.
void expects_factored(const std::filesystem::path& cube, const stap::Problem& problem,
                      const FactorisationHealth& health);
/// Warns of problems of the result: covariances that failed, were repeated or loaded, and a
/// false-alarm probability that is not kept. Throws as expects_factored.
void report_health(const std::filesystem::path& cube, const stap::Problem& problem,
                   const FactorisationHealth& health, Console& console);

/// `failed_matrices`, `repeated_matrices`, `loaded_matrices`, `worst_pivot_ratio` and, with a
/// detector, the numbers of `detections` and `targets` and whether `pfa_held`.
ReportValues result_values(const stap::Problem& problem, const FactorisationHealth& health,
                           const std::vector<stap::Findings>& findings);
/// `planted_targets`, `found_targets`, `false_detections`, `f_measure`.
ReportValues accuracy_values(const Truth& truth);
/// The values of each target in --report.
std::vector<ReportValues> target_values(const Truth& truth, bool fftshift, int doppler_bins);

/// The lines that `stap` prints: cube, array, device, stages, covariance, results and, with a
/// truth, targets.
std::string summary(const StapOptions& options, const media::RadarCube& cube,
                    const Configuration& setup, const Report& report,
                    const FactorisationHealth& health, const std::vector<stap::Findings>& findings,
                    const std::optional<Truth>& truth);

}  // namespace aperture::apps
