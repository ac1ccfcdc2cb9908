// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Comments of the formats: PNG (W3C PNG, 11.3.4.3), JPEG (ITU-T T.81, B.2.4.5), PNM (Netpbm), BMP
// (the two reserved words of its header).
#include "libmedia/src/output_mark.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "aperture/core/error.hpp"
#include "aperture/media/output_mark.hpp"
#include "libmedia/src/byte_order.hpp"
#include "libmedia/src/hdf5.hpp"
#include "libmedia/src/image_structure.hpp"
#include "libmedia/src/stored_image.hpp"

namespace aperture::media {
namespace {

constexpr std::string_view bmp_mark = "APER";
constexpr std::size_t bmp_reserved = 6;
constexpr std::size_t png_after_header = 33;  // signature, chunk IHDR
// The mark directly follows the header in every format.
constexpr std::size_t head_bytes = 256;

std::string jpeg_comment() {
    const std::string text = output_mark;
    const auto length = text.size() + 2;
    return {std::string("\xff\xfe") + static_cast<char>(length / 256) +
            static_cast<char>(length % 256) + text};
}

std::string head_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::string head(head_bytes, '\0');
    in.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(in.gcount()));
    return head;
}

bool has_program(const std::filesystem::path& file) {
    const SilentErrors silent;
    try {
        const Handle opened = open_for_reading(file);
        return string_attribute(opened, "program").has_value();
    } catch (const core::InvalidArgument&) {
        return false;  // reported when the file is read
    }
}

}  // namespace

std::string png_text(const std::string& keyword, const std::string& text) {
    return png_chunk(core::text("tEXt", keyword, '\0', text));
}

std::string with_mark(std::string picture, const std::string& comment) {
    if (is_png(picture)) {
        picture.insert(png_after_header, png_text("Software", output_mark) +
                                             (comment.empty() ? "" : png_text("Comment", comment)));
    } else if (picture.starts_with("\xff\xd8\xff\xe0")) {
        picture.insert(4 + big_endian(picture, 4, 2), jpeg_comment());
    } else if (picture.starts_with("BM")) {
        picture.replace(bmp_reserved, bmp_mark.size(), bmp_mark);
    }
    return picture;
}

bool is_output(const std::filesystem::path& file) {
    constexpr std::array<std::string_view, 5> never_images{".flo", ".npy", ".mp4", ".csv", ".json"};
    const std::string extension = file.extension().string();
    if (std::find(never_images.begin(), never_images.end(), extension) != never_images.end()) {
        return true;
    }
    const std::string head = head_of(file);
    if (head.starts_with("\x89HDF")) return has_program(file);
    if (head.starts_with("BM")) return head.find(bmp_mark) == bmp_reserved;
    return (is_png(head) || is_pnm(head) || head.starts_with("\xff\xd8")) &&
           head.find(output_mark) != std::string::npos;
}

}  // namespace aperture::media
