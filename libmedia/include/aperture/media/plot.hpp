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

/// An axis of a map: the coordinates of the centres of its first and last cell.
struct Axis {
    std::string label;
    double first = 0;
    double last = 0;
};

/// A cell to circle, in axis coordinates.
struct Marker {
    double x = 0;
    double y = 0;
};

/// One panel of a plot. `values` is [y][x]; row 0 is drawn at the bottom. NaN is hatched, -inf is
/// drawn like the lowest value.
struct HeatMap {
    core::View<const float, 2, core::Host> values;
    Axis x;
    Axis y;
    std::string title;
    std::vector<Marker> markers{};
    bool square_cells = false;  ///< otherwise cells are stretched to fill the panel
};

/// The values at the ends of the colour bar, and its label.
struct ColourScale {
    double low = 0;
    double high = 0;
    std::string unit = "dB";
};

/// 10 log10 |z|^2, -inf for zero; `map` may have any strides.
core::Array<float, 2> decibels(core::View<const std::complex<float>, 2, core::Host> map);

/// One scale for all panels, in dB: from the largest value down to the 5th percentile, at least 1
/// dB and at most 60 dB. Ignores values that are not finite; [-1, 0] dB if there are no others.
ColourScale common_range(std::span<const HeatMap> panels);

/// Colour at `position` of the colour bar, clamped to [0,1]. A path through OKLab (B. Ottosson,
/// 2020) with lightness linear in position: equal steps look equal and stay in order in grey.
Colour colour_at(double position);

/// Draws the panels side by side with one colour scale (`scale`, else `common_range`). A cell is a
/// whole number of pixels. Maps with more cells than a panel has pixels are reduced by the maximum,
/// so that a single bright cell stays visible. Text requires a build with OpenCV.
Picture plot(std::span<const HeatMap> panels, std::optional<ColourScale> scale = std::nullopt);

/// The ticks of an axis from `first` to `last` (in either direction): multiples of 1, 2 or 5 times
/// a power of ten, at most `most` of them, at least one.
std::vector<double> ticks(double first, double last, int most);

/// One line of a plot, through (x[i], y[i]), interrupted where y is not positive and finite.
struct Curve {
    std::string label;
    std::vector<double> x;
    std::vector<double> y;
};

struct CurvePlot {
    std::string title;
    std::string x_label;
    std::string y_label;
    std::vector<Curve> curves;
};

/// Draws the curves in distinct colours and dashes, with a legend if there are two or more. x is
/// linear from minimum to maximum, y logarithmic over the required decades. Text requires a build
/// with OpenCV. Throws core::InvalidArgument for a curve with different numbers of x and y or with
/// an x that is not finite.
Picture plot(const CurvePlot& plot);

}  // namespace aperture::media
