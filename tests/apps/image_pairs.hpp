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

/// How an image of a test is stored. The bytes are composed here, without the library under test.
struct StoredPicture {
    int width = 96;
    int height = 72;
    bool colour = false;
    int bits = 8;
};

/// An endless smooth texture, seen from (x, y) on: the content of one seen from (0, 0) is found
/// (-x, -y) further on.
void write_texture(const std::filesystem::path& path, const StoredPicture& stored, double x,
                   double y);

/// A .flo file with the same motion everywhere.
void write_constant_flo(const std::filesystem::path& path, int width, int height, float u, float v);

}  // namespace aperture::apps::tests
