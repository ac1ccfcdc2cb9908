// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/image_file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "aperture/core/error.hpp"
#include "libmedia/src/input_file.hpp"
#include "libmedia/src/split_samples.hpp"
#include "libmedia/src/stored_image.hpp"
#include "libsignal/grey_level.hpp"

namespace aperture::media {

using core::index_t;

namespace {

/// What a sample of `largest` or less is as a value from 0 to 255.
template <class Sample>
class Levels {
  public:
    explicit Levels(std::uint32_t largest) {
        if (largest == 255) return;
        // A division for each level, not for each sample.
        levels_.resize(std::size_t{largest} + 1);
        for (std::size_t i = 0; i < levels_.size(); ++i) {
            levels_[i] = static_cast<float>(static_cast<double>(i) * 255.0 / largest);
        }
    }
    /// Stores samples [pixel][channel] in planes.
    void split(const Sample* samples, index_t pixels, index_t channels, float* planes) const {
        const auto split = [&](const auto& level) {
            if (channels == 1) {
                split_samples(samples, pixels, std::array{planes}, level);
            } else {
                split_samples(samples, pixels,
                              std::array{planes, planes + pixels, planes + 2 * pixels}, level);
            }
        };
        if (levels_.empty()) {
            split([](Sample sample) { return static_cast<float>(sample); });
        } else {
            split([&](Sample sample) { return levels_[sample]; });
        }
    }

  private:
    std::vector<float> levels_;  ///< empty if samples are values
};

/// Calls split(row, rows, planes), which stores rows of the image in planes [channel][row][column].
template <class Use>
void with_planes(const StoredImage& image, const Use& use) {
    std::visit(
        [&]<class Sample>(const std::vector<Sample>& samples) {
            const Levels<Sample> levels(image.largest);
            const index_t row_samples = index_t{image.width} * image.channels;
            use([&](index_t row, index_t rows, float* planes) {
                levels.split(samples.data() + row * row_samples, rows * image.width, image.channels,
                             planes);
            });
        },
        image.samples);
}

}  // namespace

Image read_image(const std::filesystem::path& path) {
    Image image;
    read_image(path, image);
    return image;
}

void read_image(const std::filesystem::path& path, Image& image) {
    StoredImage stored;
    read_image(path, stored);
    to_image(stored, image);
}

void read_image(const std::filesystem::path& path, StoredImage& image) {
    decode_image(path.string(), read_whole(path), image);
}

void to_image(const StoredImage& stored, Image& image) {
    image.planes.reshape({stored.channels, stored.height, stored.width});
    image.bits = stored.bits();
    with_planes(stored, [&](const auto& split) { split(0, stored.height, image.planes.data()); });
}

void to_grey(const StoredImage& stored, core::View<float, 2, core::Host> grey) {
    core::expects_shape("grey image", grey, {stored.height, stored.width});
    // A row at a time stays in the cache.
    core::Array<float, 3> planes({stored.channels, 1, stored.width});
    const auto values = std::as_const(planes).view();
    with_planes(stored, [&](const auto& split) {
        for (index_t row = 0; row < stored.height; ++row) {
            split(row, 1, planes.data());
            for (index_t column = 0; column < stored.width; ++column) {
                grey(row, column) =
                    signal::grey_at(values, stored.channels == 3, index_t{0}, column);
            }
        }
    });
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

void to_picture(const StoredImage& stored, Picture& picture) {
    const auto* const bytes = std::get_if<std::vector<std::uint8_t>>(&stored.samples);
    if (bytes == nullptr || stored.largest != 255) {
        Image image;
        to_image(stored, image);
        picture = to_picture(image.planes);
        return;
    }
    picture.width = stored.width;
    picture.height = stored.height;
    if (stored.channels == 3) {
        const auto* const pixels = reinterpret_cast<const Colour*>(bytes->data());
        picture.pixels.assign(pixels, pixels + bytes->size() / 3);
    } else {
        picture.pixels.resize(bytes->size());
        std::transform(bytes->begin(), bytes->end(), picture.pixels.begin(),
                       [](std::uint8_t level) {
                           return Colour{level, level, level};
                       });
    }
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
