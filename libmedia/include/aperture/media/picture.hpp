// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "aperture/core/view.hpp"
#include "aperture/media/atomic_file.hpp"
#include "aperture/signal/colour_map.hpp"

namespace aperture::media {

using signal::Colour;

/// A colour picture in memory: rows from the top, pixels from the left.
struct Picture {
    int width = 0;
    int height = 0;
    std::vector<Colour> pixels;

    Picture() = default;
    Picture(int columns, int rows, Colour background);
    Colour& at(int x, int y) {
        return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                      static_cast<std::size_t>(x)];
    }
    const Colour& at(int x, int y) const {
        return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                      static_cast<std::size_t>(x)];
    }
    /// [row][column][red, green, blue]
    core::View<std::uint8_t, 3, core::Host> view() {
        return {pixels.empty() ? nullptr : pixels.front().data(), {height, width, 3}};
    }
    /// Blends `colour` over the pixel with `opacity` in [0,1]; ignores pixels outside the picture.
    void blend(int x, int y, Colour colour, float opacity);
};

/// [row][column][red, green, blue]
inline std::string_view bytes_of(const Picture& picture) {
    static_assert(sizeof(Colour) == 3);
    return {reinterpret_cast<const char*>(picture.pixels.data()), 3 * picture.pixels.size()};
}

/// The name of a written picture: `target`; in a build without OpenCV, with the extension .ppm
/// unless it is .ppm or .pgm.
std::filesystem::path picture_name(std::filesystem::path target);

/// Writes the picture and returns the path: PNG, or another format by the extension of `target`; in
/// a build without OpenCV, PPM with the extension changed to .ppm. Every build writes .ppm and
/// .pgm, the latter in grey (luma of ITU-R Rec. BT.601). A completely grey picture becomes a grey
/// PNG. The file appears completely or not at all. Throws core::InvalidArgument.
std::filesystem::path write_picture(const std::filesystem::path& target, const Picture& picture);
/// The same, without the commit. PNG and PNM contain the comment, if there is one; its line ends
/// become spaces.
AtomicFile new_picture(const std::filesystem::path& target, const Picture& picture,
                       const std::string& comment = "");
/// The same of grey levels [row][column].
AtomicFile new_picture(const std::filesystem::path& target,
                       core::View<const std::uint8_t, 2, core::Host> levels,
                       const std::string& comment = "");
/// Whether the file is a whole PNG or PNM picture with the comment with which it was written.
bool is_whole_picture(const std::filesystem::path& file, const std::string& comment);

}  // namespace aperture::media
