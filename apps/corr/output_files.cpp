// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/output_files.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "aperture/media/plot.hpp"
#include "apps/common/file_names.hpp"
#include "apps/common/table.hpp"
#include "apps/corr/summary.hpp"

namespace aperture::apps {
namespace {

using core::index_t;
using std::filesystem::path;

const std::vector<std::string> surface_axes{"dy", "dx"};

void write_coordinates(media::ResultFile& file, const SurfaceOutput& output) {
    const auto write = [&](const char* axis, index_t first, index_t count, const char* meaning) {
        std::vector<double> values(static_cast<std::size_t>(count));
        std::iota(values.begin(), values.end(), static_cast<double>(first));
        file.coordinates(axis, values, "pixels", meaning);
    };
    const auto [rows, columns] = output.surface.extent;
    write("dy", output.lags.first_row(), rows, "displacement downwards");
    write("dx", output.lags.first_column(), columns, "displacement to the right");
}

void write_surface(media::ResultFile& file, const SurfaceOutput& output) {
    file.write("/surface", output.surface, surface_axes);
    const auto attribute = [&](const std::string& name, const media::ResultFile::Attribute& value) {
        file.attribute("/surface", name, value);
    };
    attribute("first_dy", std::int64_t{output.lags.first_row()});
    attribute("first_dx", std::int64_t{output.lags.first_column()});
    for (const auto& [name, value] : finding_values(output.findings)) {
        attribute(name, std::get<double>(value));
    }
}

/// The range of values without (0, 0), where noise correlates with itself and would use up most of
/// the scale. Long numbers are scaled by a power of a thousand, which the label names.
media::ColourScale colour_scale(const SurfaceOutput& output, std::string label, double& factor) {
    const auto [rows, columns] = output.surface.extent;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (index_t y = 0; y < rows; ++y) {
        for (index_t x = 0; x < columns; ++x) {
            const bool centre = y == -output.lags.first_row() && x == -output.lags.first_column();
            if ((centre && rows * columns > 1) || !std::isfinite(output.surface(y, x))) continue;
            low = std::min(low, output.surface(y, x));
            high = std::max(high, output.surface(y, x));
        }
    }
    factor = 1;
    if (!(low <= high)) return {0, 1, label};
    const double largest = std::max(std::abs(low), std::abs(high));
    if (largest >= 1e4 || (largest < 1e-2 && largest > 0)) {
        const int exponent = 3 * static_cast<int>(std::floor(std::log10(largest) / 3));
        factor = std::pow(10, -exponent);
        label += core::text(" (1e", exponent, ")");
    }
    low *= factor;
    high *= factor;
    // A scale needs a nonzero length, and a length of a few ulps would have no ticks.
    const double least = 1e-6 * std::max(largest * factor, 1e-300);
    if (high - low < least)
        high = low + (largest > 0 ? std::max(least, 0.01 * largest * factor) : 1);
    return {low, high, label};
}

media::Figure draw(const CorrOptions& options, const SurfaceOutput& output) {
    const auto [rows, columns] = output.surface.extent;
    double factor = 1;
    const bool pearson = options.parameters.estimator == corr::Estimator::pearson;
    const media::ColourScale scale =
        colour_scale(output, pearson ? "Pearson's r" : "correlation", factor);
    // Row 0 is the bottom of a map but the top of an image.
    core::Array<float, 2> values({rows, columns});
    for (index_t y = 0; y < rows; ++y) {
        for (index_t x = 0; x < columns; ++x) {
            values(rows - 1 - y, x) = static_cast<float>(factor * output.surface(y, x));
        }
    }
    const auto last = [](index_t first, index_t count) {
        return static_cast<double>(first + count - 1);
    };
    const auto first_dy = static_cast<double>(output.lags.first_row());
    const auto first_dx = static_cast<double>(output.lags.first_column());
    media::HeatMap map{values,
                       {"dx (pixels)", first_dx, last(output.lags.first_column(), columns)},
                       {"dy (pixels)", last(output.lags.first_row(), rows), first_dy},
                       options.inputs.front().filename().string(),
                       {},
                       true};
    if (options.pair()) map.title += ", " + options.inputs.back().filename().string();
    if (options.ensemble) map.title = "mean";
    if (const auto& peak = output.findings.peak) map.markers.push_back({peak->dx, peak->dy});
    return media::plot(std::span(&map, 1), scale);
}

std::vector<media::Column> radial_columns(const SurfaceOutput& output) {
    corr::RadialAverage average = corr::radial_average(output.surface, output.lags);
    std::vector<std::int64_t> radius(average.mean.size());
    std::iota(radius.begin(), radius.end(), 0);
    return {{"radius", std::move(radius), "pixels"},
            {"mean", std::move(average.mean)},
            {"count", std::move(average.counts)}};
}

std::vector<media::Column> spectrum_columns(const SurfaceOutput& output) {
    const auto& spectra = output.spectra;
    const bool one = spectra.size() == 1;
    std::vector<media::Column> columns{{"frequency", spectra.front().frequency, "cycles per pixel"},
                                       {one ? "power" : "power_a", spectra.front().power}};
    if (!one) columns.push_back({"power_b", spectra.back().power});
    columns.push_back({"count", spectra.front().counts});
    return columns;
}

void write_ensemble(media::ResultFile& file, const EnsembleResults& ensemble) {
    const core::Array<double, 2> deviation = ensemble.statistics.deviation();
    file.write("/deviation", deviation.view(), surface_axes);
    file.attribute("/surface", "images", std::int64_t{ensemble.statistics.count()});
    file.table("/images", {{"name", ensemble.images}});
    if (!ensemble.pairs) return;
    const corr::PairPeaks& found = ensemble.pairs->found;
    file.write("/pairs", found.peaks.view(), {"image_a", "image_b"});
    file.write("/pairs_displacement", found.displacements.view(), {"image_a", "image_b", "dy_dx"});
}

}  // namespace

void check_outputs(const CorrOptions& options, const std::vector<path>& images) {
    NamedFiles inputs = named_files("image", images);
    for (const path& mask : options.masks) inputs.push_back({"mask", mask});
    check_output_files(inputs, output_files(options), options.common);
}

void write_outputs(const CorrOptions& options, const SurfaceOutput& output, Console& console,
                   media::OutputSet& outputs) {
    console.phase("writing " + options.common.out.string());
    media::ResultFile file(options.common.out);
    write_coordinates(file, output);
    write_surface(file, output);
    file.write("/counts", output.counts.view(), surface_axes);
    if (output.planes != nullptr) {
        file.write("/planes", output.planes->view(), {"plane", "dy", "dx"});
    }
    if (output.ensemble != nullptr) write_ensemble(file, *output.ensemble);
    std::vector<media::Column> radial;
    std::vector<media::Column> spectrum;
    if (options.radial) {
        radial = radial_columns(output);
        spectrum = spectrum_columns(output);
        file.table("/radial", radial);
        file.table("/spectrum", spectrum);
    }
    write_parameters(file, options.common, input_files(options), output.parameters);
    outputs.add(file.finish());
    if (options.picture) {
        console.phase("writing " + options.picture->string());
        outputs.add(media::new_figure(*options.picture, draw(options, output)));
    }
    if (options.radial) {
        outputs.add(media::new_file(*options.radial, csv_text(radial)));
        outputs.add(media::new_file(*options.spectrum, csv_text(spectrum)));
    }
    console.done();
}

}  // namespace aperture::apps
