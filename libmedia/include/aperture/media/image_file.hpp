// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <variant>
#include <vector>

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

/// An image with its samples as they are stored, without alpha.
struct StoredImage {
    int width = 0;
    int height = 0;
    int channels = 1;             ///< 1 (grey) or 3 (red, green, blue)
    std::uint32_t largest = 255;  ///< sample of full intensity
    /// [row][column][channel]
    std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>> samples{};

    /// Bits of a sample: 8 or 16.
    int bits() const { return samples.index() == 0 ? 8 : 16; }
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
void read_image(const std::filesystem::path& path, StoredImage& image);

/// The values of the samples, in `image`'s memory if it is large enough.
void to_image(const StoredImage& stored, Image& image);
/// What signal::to_grey makes of the values. Throws core::InvalidArgument for another size.
void to_grey(const StoredImage& stored, core::View<float, 2, core::Host> grey);

/// Converts `planes`, [channel][row][column] with 1 (grey) or 3 (red, green, blue) channels and any
/// strides, to a picture: rounds to nearest, clamps to 0..255, NaN is black.
Picture to_picture(core::View<const float, 3, core::Host> planes);
/// The same of the values of the samples, in `picture`'s memory if it is large enough. Samples of 8
/// bits do not change.
void to_picture(const StoredImage& stored, Picture& picture);
/// A picture of grey levels [row][column], for example of a mask.
Picture to_picture(core::View<const std::uint8_t, 2, core::Host> levels);

}  // namespace aperture::media
