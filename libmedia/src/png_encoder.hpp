// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "aperture/media/picture.hpp"

namespace aperture::media {

/// The pixels of a PNG file.
struct PngPixels {
    int width = 0;
    int height = 0;
    int channels = 1;        ///< 1 (grey) or 3 (red, green, blue)
    int bits = 8;            ///< of a sample: 8, or 16, the most significant byte first
    std::string_view bytes;  ///< [row][column][channel]
};

/// A PNG file (W3C PNG). Throws core::InvalidArgument, with `name`, if there are no pixels or more
/// than can be read.
std::string encode_png(const std::string& name, const PngPixels& pixels);
/// The same, in grey if all of the picture is.
std::string encode_png(const std::string& name, const Picture& picture);

}  // namespace aperture::media
