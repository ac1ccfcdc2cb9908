// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/picture.hpp"

#include <cmath>

#include "aperture/core/error.hpp"

namespace aperture::media {

Picture::Picture(int columns, int rows, Colour background) : width(columns), height(rows) {
    core::expects(columns > 0 && rows > 0, "picture of ", columns, "x", rows, " pixels");
    pixels.assign(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows), background);
}

void Picture::blend(int x, int y, Colour colour, float opacity) {
    if (x < 0 || y < 0 || x >= width || y >= height) return;
    Colour& pixel = at(x, y);
    for (std::size_t c = 0; c < 3; ++c) {
        const auto below = static_cast<float>(pixel[c]);
        const float mixed = below + opacity * (static_cast<float>(colour[c]) - below);
        pixel[c] = static_cast<std::uint8_t>(std::lround(mixed));
    }
}

std::filesystem::path picture_name(std::filesystem::path target) {
#if !APERTURE_OPENCV
    const std::string extension = target.extension().string();
    if (extension != ".ppm" && extension != ".pgm") target.replace_extension(".ppm");
#endif
    return target;
}

}  // namespace aperture::media
