// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/choices.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/core/owned.hpp"
#include "aperture/signal/warp.hpp"

namespace aperture::signal {

/// What may lie between two images.
enum class Motion {
    shift,
    similarity,  ///< a shift, a rotation and a scale
};
inline constexpr core::Choices<Motion, 2> motion_choices{
    {{"shift", Motion::shift}, {"similarity", Motion::similarity}}};

/// How the content of an image b lies on that of an image a, up to brightness and noise: what is at
/// c + v in a, with c the centre of the images, is at c + (dy, dx) + scale R v in b. Without R and
/// scale, b(y, x) = a(y - dy, x - dx).
struct Alignment {
    double dy = 0;        ///< in pixels, down
    double dx = 0;        ///< in pixels, to the right
    double rotation = 0;  ///< in degrees, counterclockwise
    double scale = 1;
    /// Standard deviations, estimated from what the images do not have in common.
    double dy_deviation = 0, dx_deviation = 0, rotation_deviation = 0, scale_deviation = 0;
    /// Of the common part of both images, tapered: 1 for equal content, near 0 for unrelated one.
    double correlation = 0;
    /// Whether the images tell how they lie. They do not without contrast or a common part, nor
    /// with values that are not finite.
    bool found = false;
};

/// Where a pixel of a lies in b: by `warp`, b is moved onto a.
PixelMap pixel_map(const Alignment& alignment, const core::Extents<2>& extent);

/// Finds how images of one size lie on one another.
///
/// A shift: its pixel comes from phase correlation (Kuglin & Hines 1975) at half the size, its
/// fraction from the maximum of the cross-correlation as the continuous function that its spectrum
/// is (the limit of upsampling about the peak, Guizar-Sicairos, Thurman & Fienup 2008), by Newton's
/// steps, first of low frequencies. Both images are tapered by Hann windows over what they have in
/// common, which follow the shift by its fraction, so that neither border nor taper draws it to
/// zero. Common parts should be at least 64 pixels wide.
///
/// A similarity: rotation from -90 to 90 degrees and scale, about 0.5 to 2, come from a phase
/// correlation of the spectra's sizes in logarithmic polar coordinates (Reddy & Chatterji 1996),
/// and then all four numbers from shifts of blocks, by least squares.
template <class Executor>
class Registration {
  public:
    using Image = core::View<const float, 2, typename Executor::Space>;

    /// Plans for images of [rows][columns], at least 8 x 8, or for similarities 64 x 64, else
    /// throws core::InvalidArgument. The executor must outlive it.
    Registration(Executor& executor, core::Extents<2> extent, Motion motion);

    /// Columns must be contiguous. Waits for the result. Throws core::InvalidArgument for images of
    /// other extents.
    Alignment run(Image a, Image b);

  private:
    class State;
    core::Owned<State> state_;
};

extern template class Registration<core::Cpu>;
extern template class Registration<core::Gpu>;

}  // namespace aperture::signal
