// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/image_file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <variant>
#include <vector>

#include "aperture/core/error.hpp"
#include "libmedia/src/input_file.hpp"
#include "libmedia/src/split_samples.hpp"
#include "libmedia/src/stored_image.hpp"

namespace aperture::media {

using core::index_t;

namespace {

/// Samples [row][column][channel] as planes, of which `largest` becomes 255.
template <class Sample>
void store_planes(const std::vector<Sample>& samples, std::uint32_t largest,
                  core::View<float, 3, core::Host> planes) {
    const index_t pixels = planes.extent[1] * planes.extent[2];
    const auto split = [&](const auto& level) {
        float* const first = planes.data;
        if (planes.extent[0] == 1) {
            split_samples(samples.data(), pixels, std::array{first}, level);
        } else {
            split_samples(samples.data(), pixels,
                          std::array{first, first + pixels, first + 2 * pixels}, level);
        }
    };
    if (largest == 255) {
        split([](Sample sample) { return static_cast<float>(sample); });
        return;
    }
    // A division for each level, not for each sample.
    std::vector<float> levels(std::size_t{largest} + 1);
    for (std::size_t i = 0; i < levels.size(); ++i) {
        levels[i] = static_cast<float>(static_cast<double>(i) * 255.0 / largest);
    }
    split([&](Sample sample) { return levels[sample]; });
}

}  // namespace

Image read_image(const std::filesystem::path& path) {
    Image image;
    read_image(path, image);
    return image;
}

void read_image(const std::filesystem::path& path, Image& image) {
    const StoredImage stored = decode_image(path.string(), read_whole(path));
    image.planes.reshape({stored.channels, stored.height, stored.width});
    image.bits = stored.bits();
    std::visit([&](const auto& samples) { store_planes(samples, stored.largest, image.planes); },
               stored.samples);
}

namespace {

/// The nearest levels from 0 to 255, halves up; 0 for NaN.
void store_levels(core::View<const float, 1, core::Host> values, std::uint8_t* levels) {
    for (index_t i = 0; i < values.extent[0]; ++i) {
        const float value = values(i);
        const float inside = value > 0 ? std::min(value, 255.0F) : 0.0F;
        const int whole = static_cast<int>(inside);
        const int up = inside - static_cast<float>(whole) >= 0.5F ? 1 : 0;
        levels[i] = static_cast<std::uint8_t>(whole + up);
    }
}

}  // namespace

Picture to_picture(core::View<const float, 3, core::Host> planes) {
    const auto [channels, rows, columns] = planes.extent;
    core::expects(channels == 1 || channels == 3, "picture has ", channels,
                  " channels, expected 1 or 3");
    constexpr index_t most = std::numeric_limits<int>::max();
    core::expects(rows > 0 && rows <= most && columns > 0 && columns <= most, "picture of ",
                  columns, 'x', rows, " pixels");
    Picture picture;
    picture.width = static_cast<int>(columns);
    picture.height = static_cast<int>(rows);
    picture.pixels.reserve(static_cast<std::size_t>(rows * columns));
    std::vector<Colour> pixels(static_cast<std::size_t>(columns));
    std::vector<std::uint8_t> levels(static_cast<std::size_t>(channels * columns));
    const std::uint8_t* const red = levels.data();
    const std::uint8_t* const green = channels == 1 ? red : red + columns;
    const std::uint8_t* const blue = channels == 1 ? red : green + columns;
    for (index_t row = 0; row < rows; ++row) {
        for (index_t c = 0; c < channels; ++c) {
            store_levels(planes[c][row], levels.data() + c * columns);
        }
        Colour* const to = pixels.data();
        for (index_t x = 0; x < columns; ++x) to[x] = {red[x], green[x], blue[x]};
        picture.pixels.insert(picture.pixels.end(), pixels.begin(), pixels.end());
    }
    return picture;
}

Picture to_picture(core::View<const std::uint8_t, 2, core::Host> levels) {
    const auto [rows, columns] = levels.extent;
    Picture picture(static_cast<int>(columns), static_cast<int>(rows), {0, 0, 0});
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            picture.at(static_cast<int>(column), static_cast<int>(row)).fill(levels(row, column));
        }
    }
    return picture;
}

}  // namespace aperture::media
