// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/png_encoder.hpp"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "aperture/core/error.hpp"
#include "libmedia/src/byte_order.hpp"
#include "libmedia/src/image_structure.hpp"

namespace aperture::media {
namespace {

/// Of the levels 0 to 3 the one with the smallest pictures in colour. Level 0 takes an eighth less
/// time for a fifth more bytes.
constexpr int deflate_level = 2;
constexpr std::size_t deflate_memory = ISAL_DEF_LVL2_DEFAULT;
/// Far below the 2^31 - 1 that a chunk may have, and the 2^32 - 1 that ISA-L counts.
constexpr std::size_t most_bytes = std::size_t{1} << 30;
constexpr char up_filter = 2;

bool is_grey(const Picture& picture) {
    return std::all_of(picture.pixels.begin(), picture.pixels.end(), [](const Colour& pixel) {
        return pixel[0] == pixel[1] && pixel[1] == pixel[2];
    });
}

std::string ihdr(const PngPixels& pixels) {
    const int colour_type = pixels.channels == 3 ? 2 : 0;
    return "IHDR" + big_endian_bytes(static_cast<std::uint32_t>(pixels.width)) +
           big_endian_bytes(static_cast<std::uint32_t>(pixels.height)) +
           std::string{static_cast<char>(pixels.bits), static_cast<char>(colour_type), 0, 0, 0};
}

/// Rows, each behind the number of its filter and less the row above it (section 9.2).
std::string filtered(const PngPixels& pixels, std::size_t row_bytes) {
    const auto rows = static_cast<std::size_t>(pixels.height);
    std::string to((row_bytes + 1) * rows, up_filter);
    std::copy_n(pixels.bytes.data(), row_bytes, to.data() + 1);
    for (std::size_t row = 1; row < rows; ++row) {
        const char* const from = pixels.bytes.data() + row * row_bytes;
        std::transform(from, from + row_bytes, from - row_bytes,
                       to.data() + row * (row_bytes + 1) + 1, [](char own, char above) {
                           return static_cast<char>(static_cast<unsigned char>(own) -
                                                    static_cast<unsigned char>(above));
                       });
    }
    return to;
}

/// A zlib stream (RFC 1950).
std::string compressed(const std::string& name, std::string_view bytes) {
    std::vector<std::uint8_t> memory(deflate_memory);
    isal_zstream stream;
    isal_deflate_init(&stream);
    stream.level = deflate_level;
    stream.level_buf = memory.data();
    stream.level_buf_size = static_cast<std::uint32_t>(memory.size());
    stream.gzip_flag = IGZIP_ZLIB;
    std::string to;
    std::size_t size = 0;
    while (!bytes.empty()) {
        const std::string_view part = bytes.substr(0, most_bytes);
        bytes.remove_prefix(part.size());
        stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(part.data()));
        stream.avail_in = static_cast<std::uint32_t>(part.size());
        stream.end_of_stream = bytes.empty() ? 1 : 0;
        const auto room = static_cast<std::uint32_t>(part.size() / 2 + deflate_memory);
        do {
            to.resize(size + room);
            stream.next_out = reinterpret_cast<std::uint8_t*>(to.data() + size);
            stream.avail_out = room;
            core::expects(isal_deflate(&stream) == COMP_OK, name,
                          ": the picture cannot be encoded");
            size += room - stream.avail_out;
        } while (stream.avail_out == 0);
    }
    to.resize(size);
    return to;
}

}  // namespace

std::string encode_png(const std::string& name, const PngPixels& pixels) {
    expects_size(name, static_cast<std::uint64_t>(pixels.width),
                 static_cast<std::uint64_t>(pixels.height));
    const std::size_t row_bytes = static_cast<std::size_t>(pixels.width) *
                                  static_cast<std::size_t>(pixels.channels * pixels.bits / 8);
    std::string file(png_signature);
    file += png_chunk(ihdr(pixels));
    const std::string data = compressed(name, filtered(pixels, row_bytes));
    for (std::size_t at = 0; at < data.size(); at += most_bytes) {
        file += png_chunk("IDAT" + data.substr(at, most_bytes));
    }
    file += png_chunk("IEND");
    return file;
}

std::string encode_png(const std::string& name, const Picture& picture) {
    if (!is_grey(picture)) {
        return encode_png(name, {picture.width, picture.height, 3, 8, bytes_of(picture)});
    }
    std::string levels(picture.pixels.size(), '\0');
    std::transform(picture.pixels.begin(), picture.pixels.end(), levels.begin(),
                   [](const Colour& pixel) { return static_cast<char>(pixel[0]); });
    return encode_png(name, {picture.width, picture.height, 1, 8, levels});
}

}  // namespace aperture::media
