// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace aperture::apps::tests {

/// A build without OpenCV reads and writes PNM only.
#if APERTURE_OPENCV
inline constexpr auto picture_extension = ".png";
#else
inline constexpr auto picture_extension = ".ppm";
#endif

/// The format of a test's image. Its bytes are composed without the library under test.
struct StoredPicture {
    int width = 96;
    int height = 72;
    bool colour = false;
    int bits = 8;
};

/// Writes an endless smooth texture with its origin at (x, y). Content of an image with origin 0
/// appears shifted by (-x, -y).
void write_texture(const std::filesystem::path& path, const StoredPicture& stored, double x,
                   double y);

/// Writes a .flo file with the same motion at every pixel.
void write_constant_flo(const std::filesystem::path& path, int width, int height, float u, float v);

}  // namespace aperture::apps::tests
