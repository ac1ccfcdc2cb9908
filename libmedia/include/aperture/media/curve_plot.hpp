// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "aperture/media/picture.hpp"

namespace aperture::media {

/// One line of a plot, through (x[i], y[i]); it breaks off at a y that is not above 0, or not
/// finite.
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

/// Draws the curves in colours and dashes of their own with a legend beside them, where there are
/// two or more; x is linear from the least to the largest, y logarithmic over the decades that are
/// needed. Text needs a build with OpenCV. Throws core::InvalidArgument for a curve whose x and y
/// are not as many or whose x is not finite.
Picture plot(const CurvePlot& plot);

}  // namespace aperture::media
