// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "aperture/media/picture.hpp"

namespace aperture::media {

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
