// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/flow/linear_system.hpp"
#include "aperture/signal/resample.hpp"

namespace aperture::flow {

enum class Method {
    horn_schunck,  ///< smooth flow of the whole image (Horn & Schunck 1981)
    lucas_kanade,  ///< least squares in a window around each pixel (Lucas & Kanade 1981)
};

/// How an optical flow is estimated: coarse to fine over a pyramid, on each level several times
/// linearised about the flow so far (a warp), solved and filtered. The defaults are Preset::fast of
/// Horn-Schunck.
struct Parameters {
    Method method = Method::horn_schunck;
    /// Of Horn-Schunck: Charbonnier's penalties of the errors and of the steps of the flow instead
    /// of squares, and constancy of the gradient beside that of the brightness (Brox et al. 2004).
    /// Needs Stencil::five, Boundary::replicate and the whole flow smoothed.
    bool robust = false;
    /// alpha, weight of smoothness against brightness constancy, in grey levels of 0..255; of a
    /// robust estimate, against constancy of the gradient, both in pixels.
    double alpha = 2.5;
    /// Of a robust estimate: weight of brightness constancy where that of the gradient is 1 (the
    /// inverse of Brox's gamma); grey levels of an edge across which smoothness counts about 1/e
    /// as much, 0: any; how often a warp finds the weights of the penalties anew, a system each.
    double brightness = 0.5;
    double contrast = 20;
    int reweightings = 2;
    /// Of Lucas-Kanade: odd width of the window, and what is added to the diagonal of its normal
    /// equations, per pixel of the window and in squared grey levels a pixel.
    int window = 9;
    double regularisation = 0.1;

    /// Of the pyramid, fewer where they would be smaller than 16 pixels; 0: as many as fit.
    int levels = 0;
    double scale = 0.5;  ///< of one level to the next finer one, in [0.3, 0.95]
    int warps = 3;       ///< linearisations on each level
    int median = 7;      ///< window of the median filter after each warp; 0: none
    /// Near motion boundaries a wide median, weighted by likeness and visibility (Sun, Roth & Black
    /// 2010), takes the place of that filter.
    bool weighted_median = false;
    /// A warp changes no component of the flow by more than this; 0: no limit.
    double largest_update = 1;
    signal::Interpolation interpolation = signal::Interpolation::bicubic;
    /// The smoothness term sees what a warp adds instead of the whole flow (Anderson 2014).
    bool smooth_increment = false;
    /// Standard deviation of a Gaussian that the images are blurred with first, pixels; 0: none.
    double blur = 0.5;
    /// Share of the image's smooth part that is taken out first, in [0, 1]: structure-texture
    /// decomposition by total variation (Wedel et al. 2009); 0: none.
    double texture = 0;

    /// Iterations are those of one system.
    SolverParameters solver{.solver = Solver::redblack, .iterations = 8, .relaxation = 1.8};
    Boundary boundary = Boundary::replicate;
    Stencil stencil = Stencil::five;

    bool operator==(const Parameters&) const = default;
};

/// Named sets of parameters.
enum class Preset {
    thesis,    ///< Anderson 2014, chapter 7: four levels, 400 iterations, increments smoothed
    fast,      ///< the default
    accurate,  ///< robust penalties and weighted medians, in the time of OpenCV's DeepFlow
};
Parameters preset(Preset which, Method method);

/// Throws core::InvalidArgument for values out of range.
void validate(const Parameters& parameters);

/// Rows and columns of the pyramid's levels, the image itself first.
std::vector<Shape> pyramid_shapes(Shape shape, const Parameters& parameters);

}  // namespace aperture::flow
