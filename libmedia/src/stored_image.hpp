// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace aperture::media {

/// An image with its samples as stored, without alpha.
struct StoredImage {
    int width = 0;
    int height = 0;
    int channels = 1;             ///< 1 (grey) or 3 (red, green, blue)
    std::uint32_t largest = 255;  ///< sample value of full intensity
    /// [row][column][channel]
    std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>> samples{};

    /// Bits of a sample: 8 or 16.
    int bits() const { return samples.index() == 0 ? 8 : 16; }
};

/// Whether `bytes` have a PNM header: P2, P3, P5 or P6.
bool is_pnm(std::string_view bytes);

/// Decodes `bytes`; `name` is used in errors. Uses OpenCV, except for PNG and PNM.
StoredImage decode_image(const std::string& name, const std::string& bytes);
/// The first image of a PNM file (Netpbm's description of pgm and ppm).
StoredImage decode_pnm(const std::string& name, std::string_view bytes);
/// A PNG file that passed `check_png`, palettes as colours, without alpha. Uses libpng directly, as
/// OpenCV prints its errors on stderr.
StoredImage decode_png(const std::string& name, std::string_view bytes);

}  // namespace aperture::media
