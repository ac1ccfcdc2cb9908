// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/core/choices.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/core/owned.hpp"
#include "aperture/signal/warp.hpp"

namespace aperture::signal {

/// Motions of a whole image. Their parameters p are distances in pixels of the reference: the
/// displacement (dy, dx) at (u, v), with (u, v) the position from the image's centre in units of
/// s = (rows + columns) / 4 pixels.
enum class MotionModel {
    shift,       ///< (p0, p1)
    similarity,  ///< (p0 + p2 u + p3 v, p1 + p2 v - p3 u): p2 / s is a scale, p3 / s an angle
    affine,      ///< (p0 + p2 u + p3 v, p1 + p4 u + p5 v)
    homography,  ///< the affine motion and (u, v) (p6 u + p7 v)
};
inline constexpr core::Choices<MotionModel, 4> motion_model_choices{
    {{"shift", MotionModel::shift},
     {"similarity", MotionModel::similarity},
     {"affine", MotionModel::affine},
     {"homography", MotionModel::homography}}};

/// The motion between a reference and a frame: frame(map p) = gain * reference(p) + offset.
struct GlobalMotion {
    PixelMap map;
    double gain = 1;
    double offset = 0;
    /// Of the parameters of a small further motion in the reference, [parameter][parameter], pixels
    /// squared; zero beyond those of the model. From the residuals (sandwich estimate), those of
    /// 16 x 16 pixels taken together, so that neighbours may depend on one another.
    double covariance[8][8] = {};
    double deviation = 0;  ///< robust standard deviation of the residuals where there is texture
    double inliers = 0;    ///< share of the common pixels that have a weight
    int iterations = 0;    ///< on all levels
    /// Whether the last step was small. Otherwise, without texture in common, say, or where the
    /// motion is out of reach, `map` is the start, and there is no covariance.
    bool converged = false;
};

/// Fits one motion to all pixels of a frame, by inverse compositional Gauss-Newton steps over a
/// pyramid (Baker & Matthews 2004). Pixels that move otherwise do not take part: residuals have
/// Tukey's biweight (Beaton & Tukey 1974, c = 3.44), with a scale from their median where there is
/// texture. Gain and offset of the brightness are estimated along. Both images are blurred by a
/// Gaussian of a pixel and a cubic B-spline, which unlike interpolation blurs alike between pixels
/// and so does not draw motions to whole ones. About 0.002 pixels for photographs of 256 x 256 with
/// noise of two grey levels.
template <class Executor>
class MotionFit {
  public:
    using Image = core::View<const float, 2, typename Executor::Space>;
    using Frames = core::View<const float, 3, typename Executor::Space>;

    /// Plans for images of [rows][columns], at least 16 x 16, else throws core::InvalidArgument.
    /// The executor must outlive it.
    MotionFit(Executor& executor, core::Extents<2> extent, MotionModel model);

    /// Makes pyramid, gradients and terms of the normal equations of the reference. Columns must be
    /// contiguous. Synchronises on a Gpu. Throws core::InvalidArgument for another extent.
    void set_reference(Image reference);

    /// Frames are [frame][row][column], columns contiguous. `starts` is empty or has a map for each
    /// frame, a few pixels from the motion. The result is bitwise independent of the number of
    /// threads, which take whole frames if there are several. Throws core::InvalidArgument for
    /// other extents or numbers, and before `set_reference`.
    ///
    /// Without starts, all shifts by up to a quarter of the image are tried on the coarsest level,
    /// by the directions of gradients (Fitch, Kadyrov, Christmas & Kittler 2002).
    std::vector<GlobalMotion> run(Frames frames, const std::vector<PixelMap>& starts);

  private:
    class State;
    core::Owned<State> state_;
};

extern template class MotionFit<core::Cpu>;
extern template class MotionFit<core::Gpu>;

}  // namespace aperture::signal
