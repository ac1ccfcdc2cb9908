// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/view.hpp"
#include "aperture/media/picture.hpp"

namespace aperture::media {

/// What one axis of a map shows: the coordinates of the centres of its first and last cell.
struct Axis {
    std::string label;
    double first = 0;
    double last = 0;
};

/// A cell to be circled, in the coordinates of the axes.
struct Marker {
    double x = 0;
    double y = 0;
};

/// One panel of a plot. `values` is [y][x]; row 0 is drawn at the bottom. NaN is hatched, -inf
/// as the lowest value.
struct HeatMap {
    core::View<const float, 2, core::Host> values;
    Axis x;
    Axis y;
    std::string title;
    std::vector<Marker> markers{};
    bool square_cells = false;  ///< else a cell takes the form that fills the panel
};

/// The values of the two ends of the colour bar, and what is written above it.
struct ColourScale {
    double low = 0;
    double high = 0;
    std::string unit = "dB";
};

/// 10 log10 |z|^2, -inf for zero; `map` is of any strides.
core::Array<float, 2> decibels(core::View<const std::complex<float>, 2, core::Host> map);

/// For panels in dB: from the largest value of all down to their 5th percentile, at most 60 dB and
/// at least 1, one scale for maps to be compared. Values that are not finite are left out; [-1, 0]
/// dB if no others are there.
ColourScale common_range(std::span<const HeatMap> panels);

/// Colour of a value at `position` in [0,1] of the colour bar; outside it, of the nearer end. A
/// path through OKLab (B. Ottosson, 2020) with lightness linear in position: equal steps look
/// equal, and they stay in order in grey.
Colour colour_at(double position);

/// Draws the panels side by side on one colour scale (`scale`, else `common_range`). A cell is a
/// whole number of pixels; maps with more cells than a panel has pixels are reduced by the maximum,
/// so that a single bright cell stays visible. Text needs a build with OpenCV.
Picture plot(std::span<const HeatMap> panels, std::optional<ColourScale> scale = std::nullopt);

/// The ticks of an axis from `first` to `last` (in either direction): multiples of 1, 2 or 5 times
/// a power of ten, at most `most` of them, at least one.
std::vector<double> ticks(double first, double last, int most);

}  // namespace aperture::media
