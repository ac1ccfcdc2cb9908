// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/picture.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "aperture/core/error.hpp"
#include "libmedia/src/output_mark.hpp"

#if APERTURE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#endif

namespace aperture::media {
namespace {

std::string_view bytes_of(const Picture& picture) {
    static_assert(sizeof(Colour) == 3);
    return {reinterpret_cast<const char*>(picture.pixels.data()), 3 * picture.pixels.size()};
}

/// "P6" for colour, "P5" for grey.
std::string encode_pnm(const char* kind, const Picture& picture, std::string_view samples) {
    return core::text(kind, "\n# ", output_mark, '\n', picture.width, ' ', picture.height,
                      "\n255\n", samples);
}

std::string luma(const Picture& picture) {
    std::string grey;
    grey.reserve(picture.pixels.size());
    for (const auto& [red, green, blue] : picture.pixels) {
        grey += static_cast<char>(std::lround(0.299 * red + 0.587 * green + 0.114 * blue));
    }
    return grey;
}

/// Encodes the formats of every build, by extension; empty for others.
std::string encode_portable(const std::filesystem::path& target, const Picture& picture) {
    if (target.extension() == ".ppm") return encode_pnm("P6", picture, bytes_of(picture));
    if (target.extension() == ".pgm") return encode_pnm("P5", picture, luma(picture));
    return {};
}

}  // namespace

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

void Picture::fill(int x, int y, int columns, int rows, Colour colour) {
    for (int row = std::max(y, 0); row < std::min(y + rows, height); ++row) {
        for (int column = std::max(x, 0); column < std::min(x + columns, width); ++column) {
            at(column, row) = colour;
        }
    }
}

void Picture::ring(float x, float y, float radius, float line_width, Colour colour) {
    const float reach = radius + line_width;
    const auto from = [&](float centre) { return static_cast<int>(std::floor(centre - reach)); };
    const auto to = [&](float centre) { return static_cast<int>(std::ceil(centre + reach)); };
    for (int row = from(y); row <= to(y); ++row) {
        for (int column = from(x); column <= to(x); ++column) {
            const float distance =
                std::hypot(static_cast<float>(column) - x, static_cast<float>(row) - y);
            const float outside = std::abs(distance - radius) - line_width / 2;
            blend(column, row, colour, std::clamp(0.5F - outside, 0.0F, 1.0F));
        }
    }
}

void Picture::line(float x0, float y0, float x1, float y1, float line_width, Colour colour) {
    const float dx = x1 - x0;
    const float dy = y1 - y0;
    const float length_squared = dx * dx + dy * dy;
    if (!std::isfinite(length_squared)) return;
    const float reach = line_width / 2 + 1;
    const auto row_at = [&](float y) {
        return static_cast<int>(std::clamp(y, 0.0F, static_cast<float>(height - 1)));
    };
    const auto column_at = [&](float x) {
        return static_cast<int>(std::clamp(x, 0.0F, static_cast<float>(width - 1)));
    };
    for (int row = row_at(std::min(y0, y1) - reach); row <= row_at(std::max(y0, y1) + reach);
         ++row) {
        // Only the part of the line near this row can reach its pixels.
        const auto y = static_cast<float>(row);
        const float first = dy == 0 ? 0 : std::clamp((y - reach - y0) / dy, 0.0F, 1.0F);
        const float last = dy == 0 ? 1 : std::clamp((y + reach - y0) / dy, 0.0F, 1.0F);
        const auto [left, right] = std::minmax({x0 + first * dx, x0 + last * dx});
        for (int column = column_at(left - reach); column <= column_at(right + reach); ++column) {
            const auto x = static_cast<float>(column);
            const float along = ((x - x0) * dx + (y - y0) * dy) / length_squared;
            const float nearest = length_squared > 0 ? std::clamp(along, 0.0F, 1.0F) : 0;
            const float distance = std::hypot(x - x0 - nearest * dx, y - y0 - nearest * dy);
            blend(column, row, colour, std::clamp(line_width / 2 + 0.5F - distance, 0.0F, 1.0F));
        }
    }
}

#if APERTURE_OPENCV

namespace {

bool is_grey(const Picture& picture) {
    return std::all_of(picture.pixels.begin(), picture.pixels.end(), [](const Colour& pixel) {
        return pixel[0] == pixel[1] && pixel[1] == pixel[2];
    });
}

}  // namespace

void draw_text(Picture& picture, const std::string& words, int x, int y, int height, Colour colour,
               Anchor anchor, bool upward) {
    // Drawn large and averaged down, for even strokes at the few pixels of a label.
    constexpr int oversampling = 8;
    constexpr int font = cv::FONT_HERSHEY_SIMPLEX;
    const int thickness = std::max(1, height * oversampling / 8);
    const double scale = cv::getFontScaleFromHeight(font, height * oversampling, thickness);
    int baseline = 0;
    const cv::Size size = cv::getTextSize(words, font, scale, thickness, &baseline);
    const int margin = 2 * oversampling;
    const auto padded = [&](int pixels) {
        return (pixels + 2 * margin + oversampling - 1) / oversampling * oversampling;
    };
    cv::Mat large(padded(size.height + 2 * baseline), padded(size.width), CV_8U, cv::Scalar(0));
    cv::putText(large, words, {margin, (large.rows + size.height) / 2}, font, scale,
                cv::Scalar(255), thickness, cv::LINE_AA);
    cv::Mat mask;
    cv::resize(large, mask, {}, 1.0 / oversampling, 1.0 / oversampling, cv::INTER_AREA);
    const int along = anchor == Anchor::left     ? 0
                      : anchor == Anchor::centre ? mask.cols / 2
                                                 : mask.cols;
    int left = x - along;
    int top = y - mask.rows / 2;
    if (upward) {
        left = x - mask.rows / 2;
        top = y + along - mask.cols;
        cv::rotate(mask, mask, cv::ROTATE_90_COUNTERCLOCKWISE);
    }
    for (int row = 0; row < mask.rows; ++row) {
        for (int column = 0; column < mask.cols; ++column) {
            const auto opacity = static_cast<float>(mask.at<std::uint8_t>(row, column)) / 255.0F;
            if (opacity > 0) picture.blend(left + column, top + row, colour, opacity);
        }
    }
}

AtomicFile new_picture(const std::filesystem::path& target, const Picture& picture) {
    const std::string portable = encode_portable(target, picture);
    if (!portable.empty()) return new_file(target, portable);
    const std::string extension = target.extension().string();
    const std::string format = extension.empty() ? ".png" : extension;
    core::expects(cv::haveImageWriter(format), target.string(),
                  ": cannot write: unsupported picture format ", format);
    cv::Mat stored;
    const cv::Mat rgb(picture.height, picture.width, CV_8UC3,
                      const_cast<Colour*>(picture.pixels.data()));
    if (format == ".png" && is_grey(picture)) {
        cv::extractChannel(rgb, stored, 0);
    } else {
        cv::cvtColor(rgb, stored, cv::COLOR_RGB2BGR);
    }
    std::vector<std::uint8_t> encoded;
    core::expects(cv::imencode(format, stored, encoded), target.string(),
                  ": cannot write: the picture cannot be encoded");
    return new_file(target, with_mark({encoded.begin(), encoded.end()}));
}

#else

void draw_text(Picture&, const std::string&, int, int, int, Colour, Anchor, bool) {}

AtomicFile new_picture(const std::filesystem::path& target, const Picture& picture) {
    const std::filesystem::path file = picture_name(target);
    return new_file(file, encode_portable(file, picture));
}

#endif

std::filesystem::path picture_name(std::filesystem::path target) {
#if !APERTURE_OPENCV
    const std::string extension = target.extension().string();
    if (extension != ".ppm" && extension != ".pgm") target.replace_extension(".ppm");
#endif
    return target;
}

std::filesystem::path write_picture(const std::filesystem::path& target, const Picture& picture) {
    new_picture(target, picture).commit();
    return picture_name(target);
}

}  // namespace aperture::media
