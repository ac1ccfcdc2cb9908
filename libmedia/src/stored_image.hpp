// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "aperture/media/image_file.hpp"

namespace aperture::media {

/// The samples of `image`, with those of its memory that have their type.
template <class Sample>
std::vector<Sample>& samples_of(StoredImage& image) {
    if (auto* const there = std::get_if<std::vector<Sample>>(&image.samples)) return *there;
    return image.samples.emplace<std::vector<Sample>>();
}

/// Whether `bytes` have a PNM header: P2, P3, P5 or P6.
bool is_pnm(std::string_view bytes);

/// Decodes `bytes` to `image`, reusing its memory; `name` is used in errors. Uses OpenCV, except
/// for PNG and PNM.
void decode_image(const std::string& name, const std::string& bytes, StoredImage& image);
/// The first image of a PNM file (Netpbm's description of pgm and ppm).
void decode_pnm(const std::string& name, std::string_view bytes, StoredImage& image);
/// A PNG file that passed `check_png`, palettes as colours. Uses libpng directly, as OpenCV prints
/// its errors on stderr.
void decode_png(const std::string& name, std::string_view bytes, StoredImage& image);

}  // namespace aperture::media
