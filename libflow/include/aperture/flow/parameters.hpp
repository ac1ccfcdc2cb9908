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
/// linearised about the flow so far (a warp), solved and filtered.
struct Parameters {
    Method method = Method::horn_schunck;
    /// alpha, weight of smoothness against brightness constancy, in grey levels of 0..255.
    double alpha = 4;
    /// Of Lucas-Kanade: odd width of the window, and what is added to the diagonal of its normal
    /// equations, per pixel of the window and in squared grey levels a pixel.
    int window = 9;
    double regularisation = 0.1;

    /// Of the pyramid, fewer where they would be smaller than 16 pixels; 0: as many as fit.
    int levels = 0;
    double scale = 0.5;  ///< of one level to the next finer one, in [0.3, 0.95]
    int warps = 5;       ///< linearisations on each level
    int median = 5;      ///< window of the median filter after each warp; 0: none
    /// A warp changes no component of the flow by more than this; 0: no limit.
    double largest_update = 1;
    signal::Interpolation interpolation = signal::Interpolation::bicubic;
    /// The smoothness term sees what a warp adds instead of the whole flow (Anderson 2014).
    bool smooth_increment = false;
    /// Share of the image's smooth part that is taken out first, in [0, 1]: structure-texture
    /// decomposition by total variation (Wedel et al. 2009); 0: none.
    double texture = 0;

    /// Iterations are those of one warp.
    SolverParameters solver{};
    Boundary boundary = Boundary::replicate;
    Stencil stencil = Stencil::five;
};

/// Named sets of parameters.
enum class Preset {
    thesis,  ///< Anderson 2014, chapter 7: four levels, 400 iterations, increments smoothed
    fast,    ///< the default
};
Parameters preset(Preset which, Method method);

/// Throws core::InvalidArgument for values out of range.
void validate(const Parameters& parameters);

/// Rows and columns of the pyramid's levels, the image itself first.
std::vector<Shape> pyramid_shapes(Shape shape, const Parameters& parameters);

}  // namespace aperture::flow
