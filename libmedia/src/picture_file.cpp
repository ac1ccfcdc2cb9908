// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string_view>

#include "aperture/core/error.hpp"
#include "aperture/media/picture.hpp"
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

#if APERTURE_OPENCV

namespace {

bool is_grey(const Picture& picture) {
    return std::all_of(picture.pixels.begin(), picture.pixels.end(), [](const Colour& pixel) {
        return pixel[0] == pixel[1] && pixel[1] == pixel[2];
    });
}

}  // namespace

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

AtomicFile new_picture(const std::filesystem::path& target, const Picture& picture) {
    const std::filesystem::path file = picture_name(target);
    return new_file(file, encode_portable(file, picture));
}

#endif

std::filesystem::path write_picture(const std::filesystem::path& target, const Picture& picture) {
    new_picture(target, picture).commit();
    return picture_name(target);
}

}  // namespace aperture::media
