// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "aperture/stap/detection.hpp"
#include "aperture/stap/pipeline.hpp"

namespace aperture::stap::cpu {

struct CellSystems;

/// A target's wave as the snapshots see it: response over channels and over Doppler bins, 1 in the
/// bin of its strongest detection.
struct Wave {
    std::vector<std::complex<double>> space;
    std::vector<std::complex<double>> doppler;
};

/// The filters w / |w^H v| of detections, [detection][n], w = R^-1 v without the cell under test in
/// R. Zero for a detection without a covariance, and where `wanted` is false.
class DetectionFilters {
  public:
    /// The arguments must outlive it.
    DetectionFilters(core::Cpu& cpu, const Problem& problem,
                     core::View<const cfloat, 2, core::Host> steering,
                     const Results<core::Host>& results, const std::vector<Detection>& detections);

    /// `cube` is in the Doppler domain, and outlives the filters.
    void compute(CubeView<core::Host> cube, const std::vector<bool>& wanted);

    /// |w^H x| / |w^H v| of detection i in a range cell.
    double output(std::size_t i, index_t range_cell) const;
    /// |w^H s| / |w^H v| of detection i for the wave.
    double gain(std::size_t i, const Wave& wave) const;

  private:
    using Complex = std::complex<double>;
    using Group = std::vector<std::size_t>;

    std::vector<Group> groups_of(const std::vector<bool>& wanted) const;
    void solve(std::span<const Group> groups, CellSystems& systems);
    double loading_of_run(const Detection& detection) const;
    void store(std::size_t i, const Complex* w);

    core::Cpu& cpu_;
    const Problem& problem_;
    core::View<const cfloat, 2, core::Host> steering_;
    const Results<core::Host>& results_;
    const std::vector<Detection>& detections_;
    core::Array<Complex, 2> filters_;
    CubeView<core::Host> cube_;
};

}  // namespace aperture::stap::cpu
