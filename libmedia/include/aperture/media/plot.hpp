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
#include "aperture/media/figure.hpp"

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

/// The values at the ends of a colour bar, and what they are: "power (dB)".
struct ColourScale {
    double low = 0;
    double high = 0;
    std::string label{};
};

/// One panel of a plot. `values` is [y][x]; row 0 is drawn at the bottom. NaN is hatched, -inf is
/// drawn like the lowest value.
struct HeatMap {
    core::View<const float, 2, core::Host> values;
    Axis x;
    Axis y;
    std::string title;
    std::vector<Marker> markers{};
    bool square_cells = false;           ///< otherwise cells are stretched to fill the panel
    std::optional<ColourScale> scale{};  ///< of this panel alone, with a colour bar of its own
};

/// 10 log10 |z|^2, -inf for zero; `map` may have any strides.
core::Array<float, 2> decibels(core::View<const std::complex<float>, 2, core::Host> map);

/// One scale for maps in dB: from the largest value down to the 5th percentile, at least 1 dB and
/// at most 60 dB. Ignores values that are not finite; [-1, 0] dB if there are no others.
ColourScale common_range(std::span<const HeatMap> panels, const std::string& label);

/// Draws the panels side by side, those without a scale of their own with `scale` and one colour
/// bar. A cell is a whole number of pixels. Maps with more cells than a panel has pixels are
/// reduced by the maximum, so that a single bright cell stays visible.
Figure plot(std::span<const HeatMap> panels, const ColourScale& scale = {});

/// The ticks of an axis from `first` to `last` (in either direction): multiples of 1, 2 or 5 times
/// a power of ten, at most `most` of them, at least one.
std::vector<double> ticks(double first, double last, int most);
/// The ticks of a logarithmic axis, from `low` to `high`, both positive: powers of ten, and if few
/// of them are inside, 2 and 5 times these; those of a linear axis if fewer than two are.
std::vector<double> logarithmic_ticks(double low, double high, int most);

/// One line of a plot, through (x[i], y[i]), interrupted where y is not finite (logarithmic: and
/// positive).
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
    bool logarithmic = true;  ///< y over whole decades; otherwise linear, as in dB
    bool logarithmic_x = false;
    double lowest = -1e300;          ///< where a linear y axis ends at the latest
    std::vector<double> marked_x{};  ///< vertical lines
};

/// Draws the curves in distinct colours and dashes, with a legend if there are two or more. x is
/// from minimum to maximum. Throws core::InvalidArgument for a curve with different numbers of x
/// and y or with an x that is not finite (logarithmic: and positive).
Figure plot(const CurvePlot& plot);

}  // namespace aperture::media
