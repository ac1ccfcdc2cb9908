// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "aperture/core/array.hpp"
#include "aperture/core/view.hpp"
#include "aperture/media/picture.hpp"

namespace aperture::media {

/// An image with sample values.
struct Image {
    /// [channel][row][column], one channel (grey) or three (red, green, blue), 0 (black) to 255
    /// (white) at any bit depth.
    core::Array<float, 3> planes;
    /// Bits of a stored sample: 8 or 16. 16-bit samples are divided by 257.
    int bits = 8;
};

/// Reads an image with 8 or 16 bits per sample. PNM (P2, P3, P5, P6) is scaled by its own maximum
/// and is the only format of a build without OpenCV; with OpenCV, all formats of OpenCV are
/// supported. Alpha and an orientation in the metadata are ignored. The format is detected from the
/// content, not from the extension.
///
/// Throws core::InvalidArgument with one line "NAME: REASON" if the file is missing, not a regular
/// file, not an image, truncated, of floating point, too large, or shorter than its header implies;
/// the last before anything of that size is allocated.
Image read_image(const std::filesystem::path& path);
/// The same into `image`, reusing its memory if it is large enough. After an error its contents are
/// unspecified.
void read_image(const std::filesystem::path& path, Image& image);

/// Converts `planes`, [channel][row][column] with 1 (grey) or 3 (red, green, blue) channels and any
/// strides, to a picture: rounds to nearest, clamps to 0..255, NaN is black.
Picture to_picture(core::View<const float, 3, core::Host> planes);
/// A picture of grey levels [row][column], for example of a mask.
Picture to_picture(core::View<const std::uint8_t, 2, core::Host> levels);

}  // namespace aperture::media
