// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "aperture/flow/linear_system.hpp"
#include "aperture/signal/resample.hpp"

namespace aperture::flow {

enum class Method {
    horn_schunck,  ///< smooth flow of the whole image (Horn & Schunck 1981)
    lucas_kanade,  ///< least squares in a window around each pixel (Lucas & Kanade 1981)
};

/// Coarse-to-fine optical flow over a pyramid. On each level the problem is several times
/// linearised about the current flow (a warp), solved and filtered. The defaults are Preset::fast
/// of Horn-Schunck.
struct Parameters {
    Method method = Method::horn_schunck;
    /// Horn-Schunck: Charbonnier penalties of the data term and of flow differences instead of
    /// squares, and gradient constancy in addition to brightness constancy (Brox et al. 2004).
    /// Needs Stencil::five, Boundary::replicate and smooth_increment = false.
    bool robust = false;
    /// alpha: the weight of smoothness relative to brightness constancy, in grey levels of 0..255.
    /// Robust estimates: relative to gradient constancy, both in pixels.
    double alpha = 2.5;
    /// Robust estimates: the weight of brightness constancy relative to gradient constancy (the
    /// inverse of Brox's gamma); the grey-level step of an edge that reduces smoothness to about
    /// 1/e, 0: no reduction; how often a warp recomputes the penalty weights, with a system each.
    double brightness = 0.5;
    double contrast = 20;
    int reweightings = 2;
    /// Lucas-Kanade: odd width of the window; and the term added to the diagonal of its normal
    /// equations, in (grey levels per pixel)^2 for each pixel of the window.
    int window = 9;
    double regularisation = 0.1;

    /// Pyramid levels; fewer if they would be smaller than 16 pixels; 0: as many as fit.
    int levels = 0;
    double scale = 0.5;  ///< ratio of a level to the next finer one, in [0.3, 0.95]
    int warps = 3;       ///< linearisations on each level
    int median = 7;      ///< window of the median filter after each warp; 0: none
    /// Near motion boundaries, replaces that filter by a wide median weighted by similarity and
    /// visibility (Sun, Roth & Black 2010).
    bool weighted_median = false;
    /// Limit of a warp's change to each component of the flow, pixels; 0: no limit.
    double largest_update = 1;
    signal::Interpolation interpolation = signal::Interpolation::bicubic;
    /// Smoothness applies to a warp's increment instead of the whole flow (Anderson 2014).
    bool smooth_increment = false;
    /// Standard deviation of the Gaussian blur applied to the images first, pixels; 0: none.
    double blur = 0.5;
    /// Fraction of the image's smooth part that is subtracted first, in [0, 1]: structure-texture
    /// decomposition by total variation (Wedel et al. 2009); 0: none.
    double texture = 0;

    /// Solver of each linear system; `iterations` counts per system.
    SolverParameters solver{.solver = Solver::redblack, .iterations = 8, .relaxation = 1.8};
    Boundary boundary = Boundary::replicate;
    Stencil stencil = Stencil::five;

    bool operator==(const Parameters&) const = default;
};

/// Named sets of parameters.
enum class Preset {
    thesis,    ///< Anderson 2014, chapter 7: four levels, 400 iterations, increments smoothed
    fast,      ///< the default
    accurate,  ///< robust penalties and weighted medians, as fast as OpenCV's DeepFlow
};
/// The parameters of a preset, with another solver if one is named. Then the preset's choices for
/// its own solver, which are wrong for others, are replaced: `relaxation` by the default, and
/// `iterations` by 1 for multigrid (full multigrid and a V-cycle) and at least 100 for the others.
Parameters preset(Preset which, Method method, std::optional<Solver> solver = {});

/// Throws core::InvalidArgument for values out of range.
void validate(const Parameters& parameters);

/// Extents of the pyramid levels, the image itself first.
std::vector<Shape> pyramid_shapes(Shape shape, const Parameters& parameters);

}  // namespace aperture::flow
