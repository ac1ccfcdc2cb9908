// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/truth.hpp"

#include <cmath>

#include "aperture/media/table_file.hpp"

namespace aperture::apps {

namespace {

/// Nothing if the file has no /truth.
std::optional<Truth> read_targets(const std::filesystem::path& file, const media::RadarCube& cube) {
    const std::string label = file.string();
    const auto table = media::read_table(file, "/truth", {"range_cell", "doppler"});
    if (!table) return std::nullopt;
    const auto& range_cells = (*table)[0];
    const auto& dopplers = (*table)[1];
    Truth truth;
    for (std::size_t t = 0; t < range_cells.size(); ++t) {
        const double cell = range_cells[t];
        core::expects(
            cell >= 0 && cell < static_cast<double>(cube.range_cells) && cell == std::floor(cell),
            label, ": target ", t, " of /truth is at range cell ", cell,
            ", expected a whole number from 0 to ", cube.range_cells - 1);
        core::expects(std::abs(dopplers[t]) <= 0.5, label, ": target ", t,
                      " of /truth has a Doppler of ", dopplers[t],
                      ", expected -0.5 to 0.5 cycles per pulse");
        truth.targets.push_back(
            {.range_cell = static_cast<core::index_t>(cell), .doppler = dopplers[t]});
    }
    return truth;
}

}  // namespace

std::optional<Truth> read_truth(const StapOptions& options, const media::RadarCube& cube,
                                Console& console) {
    if (options.parameters.detector == stap::Detector::none) return std::nullopt;
    const bool several = cube.cpis > 1;
    if (options.truth) {
        core::expects(!several, options.truth->string(), ": the cube has ", cube.cpis,
                      " CPIs; --truth requires one");
        auto truth = read_targets(*options.truth, cube);
        core::expects(truth.has_value(), options.truth->string(), ": no dataset /truth");
        return truth;
    }
    if (cube.is_numpy) return std::nullopt;
    try {
        std::optional<Truth> truth = read_targets(cube.path, cube);
        if (!truth || !several) return truth;
        console.note(
            core::text(cube.path.string(), ": detections of ", cube.cpis, " CPIs are not scored"));
        return std::nullopt;
    } catch (const core::InvalidArgument& reason) {
        // It may be another program's.
        console.note(core::text(reason.what(), "; detections are not scored"));
        return std::nullopt;
    }
}

}  // namespace aperture::apps
