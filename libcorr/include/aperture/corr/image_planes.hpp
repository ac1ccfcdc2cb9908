// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/core/executor.hpp"
#include "aperture/corr/lags.hpp"

namespace aperture::corr {

/// What planes say about an image.
enum class PlaneKind {
    /// Colour and orientation, the four planes of Bordawekar, Bondhugula & Rao (2010): a* and b* of
    /// CIE 1976 L*a*b*, and two for the orientation.
    ///
    /// a*, b*: sRGB to linear RGB to XYZ of the D65 white (IEC 61966-2-1) to L*a*b* (CIE 15); zero
    /// throughout for grey images and for pixels of equal red, green and blue.
    ///
    /// Orientation: w cos 2t and w sin 2t, where t is the direction of the strongest change,
    /// measured from the columns' direction (+x) towards the rows' (+y, down). The doubled angle
    /// makes opposite directions one orientation and differences of orientations a matter of
    /// products (Granlund & Knutsson 1995). Both come from the structure tensor of L*: the products
    /// of its derivatives (as for `gradient`), J_xx, J_xy and J_yy, each blurred by a Gaussian of
    /// 2 pixels (Foerstner & Guelch 1987; Bigun & Granlund 1987), as (J_xx - J_yy, 2 J_xy) over
    /// J_xx + J_yy + 0.5^2. So the weight w is the coherence of the tensor, from 0 (no or all
    /// orientations) to 1 (one), whatever the contrast: weighting by energy would leave the few
    /// strongest edges only. Changes far below 0.5 of L* a pixel, what rounding to 8 bits makes,
    /// count for nothing, and a pixel without any has zeros.
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

/// Whether planes are brought to a common mean and energy.
enum class Normalization {
    plane,  ///< each plane for itself: its mean 0, the sum of its squares 1
    none,
};

/// Turns images into the planes that are correlated. Holds all workspace: a second image of one
/// shape allocates nothing. Planes have the same bits every time and for every number of threads;
/// before they are normalized, a* is right to 1e-4, b* and orientations are to 5e-5, other planes
/// to 5e-7 of 255.
template <class Executor>
class ImagePlanes {
  public:
    using Space = typename Executor::Space;

    ImagePlanes(Executor& executor, PlaneKind kind, Normalization normalization);
    ~ImagePlanes();
    ImagePlanes(ImagePlanes&&) noexcept;
    ImagePlanes& operator=(ImagePlanes&&) noexcept;

    /// From `image`, [channel][row][column] of one channel (grey) or three (red, green, blue), sRGB
    /// values of 0 to 255, to `planes`, [plane][row][column] of as many planes as the kind has.
    /// Columns of both must be contiguous. Sums are in double. A plane whose deviation from its
    /// mean is that of rounding, below 1e-6 of its root mean square, becomes zero where planes are
    /// normalized. Asynchronous on a Gpu. Throws core::InvalidArgument for other shapes, and for an
    /// image without pixels.
    void derive(core::View<const float, 3, Space> image, core::View<float, 3, Space> planes);
    /// The same with mean and energy over the pixels where `mask`, [row][column], is not zero;
    /// nothing else is different.
    void derive(core::View<const float, 3, Space> image, core::View<const float, 2, Space> mask,
                core::View<float, 3, Space> planes);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

template <>
ImagePlanes<core::Cpu>::ImagePlanes(core::Cpu& cpu, PlaneKind kind, Normalization normalization);
template <>
ImagePlanes<core::Cpu>::~ImagePlanes();
template <>
ImagePlanes<core::Cpu>::ImagePlanes(ImagePlanes&&) noexcept;
template <>
ImagePlanes<core::Cpu>& ImagePlanes<core::Cpu>::operator=(ImagePlanes&&) noexcept;
template <>
void ImagePlanes<core::Cpu>::derive(core::View<const float, 3, core::Host> image,
                                    core::View<float, 3, core::Host> planes);
template <>
void ImagePlanes<core::Cpu>::derive(core::View<const float, 3, core::Host> image,
                                    core::View<const float, 2, core::Host> mask,
                                    core::View<float, 3, core::Host> planes);

}  // namespace aperture::corr
