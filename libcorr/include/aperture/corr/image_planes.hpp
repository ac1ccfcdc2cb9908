// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/core/owned.hpp"
#include "aperture/corr/lags.hpp"

namespace aperture::corr {

/// The planes that are derived from an image.
enum class PlaneKind {
    /// Colour and orientation, the four planes of Bordawekar, Bondhugula & Rao (2010): a* and b* of
    /// CIE 1976 L*a*b*, and two for the orientation.
    ///
    /// a*, b*: sRGB to linear RGB to XYZ of the D65 white (IEC 61966-2-1) to L*a*b* (CIE 15);
    /// exactly zero for grey images and for pixels of equal red, green and blue.
    ///
    /// Orientation: w cos 2t and w sin 2t, where t is the direction of the strongest change,
    /// measured from the columns' direction (+x) towards the rows' (+y, down). The doubled angle
    /// makes opposite directions one orientation, and products compare orientations (Granlund &
    /// Knutsson 1995). Both come from the structure tensor of L*: the products of its derivatives
    /// (as for `gradient`), J_xx, J_xy and J_yy, each blurred by a Gaussian (Foerstner & Guelch
    /// 1987; Bigun & Granlund 1987), as (J_xx - J_yy, 2 J_xy) over J_xx + J_yy + 0.5^2. So
    /// the weight w is the coherence of the tensor, from 0 (no or all orientations) to 1 (one),
    /// independent of contrast: weighting by energy would keep only the few strongest edges.
    /// Changes far below 0.5 of L* a pixel, such as rounding to 8 bits, have no weight; a pixel
    /// without changes has zeros.
    lab_orientation,
    /// Luma of ITU-R Rec. BT.601, 0.299 R + 0.587 G + 0.114 B; of a grey image, its values.
    grey,
    /// Red, green, blue; of a grey image, its values three times.
    rgb,
    /// Derivatives of `grey` by x and by y, in values a pixel: correlation with (1, -8, 0, 8, -1) /
    /// 12, the border replicated (Barron, Fleet & Beauchemin 1994).
    gradient,
};

/// 4, 1, 3 or 2.
index_t plane_count(PlaneKind kind);

/// Normalization of planes to a common mean and energy.
enum class Normalization {
    plane,  ///< each plane separately: mean 0, sum of squares 1
    none,
};

/// Standard deviation in pixels of the Gaussian that blurs the structure tensor: of a caller who
/// does not choose it, and the largest.
inline constexpr double default_orientation_sigma = 2;
inline constexpr double max_orientation_sigma = 100;

/// Derives the planes to be correlated from images. Holds all workspace: a second image of one
/// shape allocates nothing. Planes are bitwise reproducible for any number of threads. The executor
/// must outlive the object. Accuracy before normalization: a* 1e-4, b* and orientations 5e-5, other
/// planes 5e-7 of 255.
template <class Executor>
class ImagePlanes {
  public:
    using Space = typename Executor::Space;

    /// `orientation_sigma`: of PlaneKind::lab_orientation; throws core::InvalidArgument unless it
    /// is above 0 and at most max_orientation_sigma.
    ImagePlanes(Executor& executor, PlaneKind kind, Normalization normalization,
                double orientation_sigma = default_orientation_sigma);

    /// Derives `planes`, [plane][row][column] with plane_count planes, from `image`,
    /// [channel][row][column] with one channel (grey) or three (red, green, blue) of sRGB values in
    /// 0 to 255. Columns of both must be contiguous. Sums are in double. Normalization sets a plane
    /// to zero if its deviation from its mean is rounding noise, below 1e-6 of its root mean
    /// square. Asynchronous on a Gpu. Throws core::InvalidArgument for other shapes, and for an
    /// image without pixels.
    void derive(core::View<const float, 3, Space> image, core::View<float, 3, Space> planes);
    /// The same, with mean and energy over the pixels with nonzero `mask`, [row][column], only.
    void derive(core::View<const float, 3, Space> image, core::View<const float, 2, Space> mask,
                core::View<float, 3, Space> planes);
    /// Changes the constructor's argument, of which it throws likewise.
    void set_orientation_sigma(double orientation_sigma);

  private:
    struct State;
    core::Owned<State> state_;
};

extern template class ImagePlanes<core::Cpu>;

}  // namespace aperture::corr
