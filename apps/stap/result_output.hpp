// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "aperture/media/result_file.hpp"
#include "aperture/stap/targets.hpp"
#include "apps/stap/run.hpp"
#include "apps/stap/summary.hpp"

namespace aperture::apps {

/// Writes the output file of `stap` (docs/formats.md).
class ResultOutput {
  public:
    /// Writes the coordinates. The arguments must outlive it.
    ResultOutput(media::ResultFile& file, const StapOptions& options, const media::RadarCube& cube,
                 const Configuration& setup);

    /// Writes the results of a CPI. With --fftshift, meanwhile shifts their Doppler bins in place.
    void write(core::index_t cpi, ResultArrays& results);
    /// Writes what all CPIs have in common: tables, steering vectors and attributes.
    void write_tables(const std::vector<stap::Findings>& findings, const ReportValues& values);

  private:
    template <class T, int Rank>
    void write_shifted(core::index_t cpi, const std::string& dataset, core::Array<T, Rank>& values,
                       std::vector<std::string> axes);
    template <class T, int Rank>
    void write_cpi(core::index_t cpi, const std::string& dataset,
                   const core::Array<T, Rank>& values, std::vector<std::string> axes);
    void write_coordinates();
    void write_detections(const std::vector<stap::Findings>& findings);
    void write_targets(const std::vector<stap::Findings>& findings);

    media::ResultFile& file_;
    const StapOptions& options_;
    const media::RadarCube& cube_;
    const Configuration& setup_;
    std::string vector_axis_;
};

}  // namespace aperture::apps
