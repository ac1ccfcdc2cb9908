// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "aperture/core/array.hpp"
#include "aperture/core/view.hpp"
#include "aperture/media/picture.hpp"

namespace aperture::media {

/// An image as measured values.
struct Image {
    /// [channel][row][column], one channel (grey) or three (red, green, blue), 0 (black) to 255
    /// (white) at any bit depth.
    core::Array<float, 3> planes;
    /// Of the stored samples: 8 or 16. A 16-bit sample is divided by 257.
    int bits = 8;
};

/// Reads an image of 8 or 16 bits a sample. PNM (P2, P3, P5, P6) is scaled by its own maximum, and
/// is all that a build without OpenCV reads; with OpenCV, whatever OpenCV reads. Alpha is dropped,
/// without being applied; an orientation in the metadata is not applied. The content decides on the
/// format, not the extension.
///
/// Throws core::InvalidArgument with one line "NAME: REASON" for what is missing, no regular file,
/// no image, truncated, of floating point, too large, or larger by its header than its bytes can
/// hold; the last before anything of that size is allocated.
Image read_image(const std::filesystem::path& path);
/// The same into `image`, whose memory is used again where it is large enough. What is in it after
/// an error is open.
void read_image(const std::filesystem::path& path, Image& image);

/// The luma of ITU-R Rec. BT.601, 0.299 R + 0.587 G + 0.114 B, [row][column]; of a grey image, its
/// values.
core::Array<float, 2> to_grey(const Image& image);

/// A picture of `planes`, [channel][row][column] of 1 (grey) or 3 (red, green, blue) channels and
/// any strides: rounded to the nearest of 0..255, the nearer end outside, NaN black.
Picture to_picture(core::View<const float, 3, core::Host> planes);

}  // namespace aperture::media
