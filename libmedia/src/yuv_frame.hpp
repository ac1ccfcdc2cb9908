// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "aperture/core/view.hpp"
#include "aperture/media/picture.hpp"

namespace aperture::media {

/// A frame of an even size in Y'CbCr, whose chroma has half the rows and columns (4:2:0).
struct YuvFrame {
    using Plane = core::View<std::uint8_t, 2, core::Host>;

    Plane y;
    Plane cb;
    Plane cr;
};

/// Converts a picture to the limited range of ITU-R Rec. BT.601 (Y' of 16 to 235, chroma of 16 to
/// 240), rounded to nearest. Chroma is that of the mean of 2 x 2 pixels. An odd last row or column
/// is there twice.
void store_yuv(const Picture& picture, const YuvFrame& frame);

}  // namespace aperture::media
