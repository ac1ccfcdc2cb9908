// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string_view>

#include "aperture/core/error.hpp"
#include "aperture/media/image_file.hpp"
#include "aperture/media/picture.hpp"
#include "libmedia/src/image_structure.hpp"
#include "libmedia/src/input_file.hpp"
#include "libmedia/src/output_mark.hpp"
#include "libmedia/src/png_encoder.hpp"
#include "libmedia/src/stored_image.hpp"

#if APERTURE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#endif

namespace aperture::media {
namespace {

std::string one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
    return text;
}

std::string pnm_comment(const std::string& text) { return core::text("\n# ", text, '\n'); }

/// "P6" for colour, "P5" for grey.
std::string encode_pnm(const char* kind, const Picture& picture, std::string_view samples,
                       const std::string& comment) {
    return core::text(kind, "\n# ", output_mark, comment.empty() ? "\n" : pnm_comment(comment),
                      picture.width, ' ', picture.height, "\n255\n", samples);
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
std::string encode_portable(const std::filesystem::path& target, const Picture& picture,
                            const std::string& comment) {
    if (target.extension() == ".ppm") return encode_pnm("P6", picture, bytes_of(picture), comment);
    if (target.extension() == ".pgm") return encode_pnm("P5", picture, luma(picture), comment);
    return {};
}

}  // namespace

#if APERTURE_OPENCV

namespace {

std::string error_prefix(const std::filesystem::path& target) {
    return core::text(target.string(), ": cannot write");
}

/// The extension, ".png" if there is none.
std::string format_of(const std::filesystem::path& target) {
    return target.has_extension() ? target.extension().string() : ".png";
}

}  // namespace

AtomicFile new_picture(const std::filesystem::path& target, const Picture& picture,
                       const std::string& comment) {
    const std::string portable = encode_portable(target, picture, one_line(comment));
    if (!portable.empty()) return new_file(target, portable);
    const std::string format = format_of(target);
    const std::string name = error_prefix(target);
    if (format == ".png") {
        return new_file(target, with_mark(encode_png(name, picture), one_line(comment)));
    }
    core::expects(cv::haveImageWriter(format), name, ": unsupported picture format ", format);
    cv::Mat stored;
    cv::cvtColor(
        cv::Mat(picture.height, picture.width, CV_8UC3, const_cast<Colour*>(picture.pixels.data())),
        stored, cv::COLOR_RGB2BGR);
    std::vector<std::uint8_t> encoded;
    core::expects(cv::imencode(format, stored, encoded), name, ": the picture cannot be encoded");
    return new_file(target, with_mark({encoded.begin(), encoded.end()}, one_line(comment)));
}

AtomicFile new_picture(const std::filesystem::path& target,
                       core::View<const std::uint8_t, 2, core::Host> levels,
                       const std::string& comment) {
    if (format_of(target) != ".png") return new_picture(target, to_picture(levels), comment);
    const auto [rows, columns] = levels.extent;
    std::string bytes(static_cast<std::size_t>(levels.size()), '\0');
    char* to = bytes.data();
    for (core::index_t y = 0; y < rows; ++y) {
        for (core::index_t x = 0; x < columns; ++x) *to++ = static_cast<char>(levels(y, x));
    }
    const PngPixels pixels{static_cast<int>(columns), static_cast<int>(rows), 1, 8, bytes};
    return new_file(target, with_mark(encode_png(error_prefix(target), pixels), one_line(comment)));
}

#else

AtomicFile new_picture(const std::filesystem::path& target, const Picture& picture,
                       const std::string& comment) {
    const std::filesystem::path file = picture_name(target);
    return new_file(file, encode_portable(file, picture, one_line(comment)));
}

AtomicFile new_picture(const std::filesystem::path& target,
                       core::View<const std::uint8_t, 2, core::Host> levels,
                       const std::string& comment) {
    return new_picture(target, to_picture(levels), comment);
}

#endif

bool is_whole_picture(const std::filesystem::path& file, const std::string& comment) {
    try {
        const std::string name = file.string();
        const std::string bytes = read_whole(file);
        const std::string text = one_line(comment);
        if (is_png(bytes)) {
            check_png(name, bytes);
            return bytes.find(png_text("Comment", text)) != std::string::npos;
        }
        if (!is_pnm(bytes)) return false;
        StoredImage image;
        decode_pnm(name, bytes, image);
        return bytes.find(pnm_comment(text)) != std::string::npos;
    } catch (const core::InvalidArgument&) {
        return false;
    }
}

std::filesystem::path write_picture(const std::filesystem::path& target, const Picture& picture) {
    new_picture(target, picture).commit();
    return picture_name(target);
}

}  // namespace aperture::media
