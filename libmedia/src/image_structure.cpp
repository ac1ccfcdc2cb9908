// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/image_structure.hpp"

#include <zlib.h>

#include <array>
#include <bit>

#include "aperture/core/error.hpp"
#include "libmedia/src/byte_order.hpp"

namespace aperture::media {
namespace {

// OpenCV's own limits.
constexpr std::uint64_t most_side = std::uint64_t{1} << 20;
constexpr std::uint64_t most_pixels = std::uint64_t{1} << 30;
// Deflate needs at least two bits per 258 bytes.
constexpr std::uint64_t deflate_gain = 1032;

/// CRC-32 of a chunk's type and data.
std::uint32_t png_crc(std::string_view bytes) {
    return static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// The IHDR chunk.
struct PngHeader {
    std::uint64_t width;
    std::uint64_t height;
    std::uint32_t bits;
    std::uint32_t colour_type;

    std::uint64_t bytes() const {
        static constexpr std::array<std::uint64_t, 7> samples = {1, 0, 3, 1, 2, 0, 4};
        return height * ((width * bits * samples[colour_type] + 7) / 8);
    }
};

PngHeader png_header(const std::string& name, std::string_view body) {
    core::expects(body.size() == 13, name, ": damaged PNG (header)");
    const PngHeader header{big_endian(body, 0, 4), big_endian(body, 4, 4), big_endian(body, 8, 1),
                           big_endian(body, 9, 1)};
    expects_size(name, header.width, header.height);
    core::expects(header.bits <= 16 && std::has_single_bit(header.bits) &&
                      header.colour_type <= 6 && header.bytes() > 0,
                  name, ": damaged PNG (header)");
    return header;
}

}  // namespace

void expects_size(const std::string& name, std::uint64_t width, std::uint64_t height) {
    core::expects(width > 0 && height > 0, name, ": image of ", width, 'x', height, " pixels");
    core::expects(width <= most_side && height <= most_side && width * height <= most_pixels, name,
                  ": image of ", width, 'x', height, " pixels is too large");
}

bool is_png(std::string_view bytes) { return bytes.starts_with(png_signature); }

std::string png_chunk(const std::string& body) {
    return big_endian_bytes(static_cast<std::uint32_t>(body.size() - 4)) + body +
           big_endian_bytes(png_crc(body));
}

std::string check_png(const std::string& name, std::string_view bytes) {
    constexpr std::size_t frame = 12;  // length, type, checksum
    std::string essentials(png_signature);
    PngHeader header{};
    std::uint64_t compressed = 0;
    std::string_view type;
    for (std::size_t at = png_signature.size(); type != "IEND";) {
        core::expects(bytes.size() - at >= frame, name, ": truncated PNG");
        const std::size_t length = big_endian(bytes, at, 4);
        core::expects(length <= bytes.size() - at - frame, name, ": truncated PNG");
        type = bytes.substr(at + 4, 4);
        const std::string_view body = bytes.substr(at + 8, length);
        core::expects(
            png_crc(bytes.substr(at + 4, 4 + length)) == big_endian(bytes, at + 8 + length, 4),
            name, ": damaged PNG (checksum of a chunk)");
        core::expects((at == png_signature.size()) == (type == "IHDR"), name,
                      ": damaged PNG (header)");
        if (type == "IHDR") header = png_header(name, body);
        if (type == "IDAT") compressed += length;
        const bool critical = type[0] >= 'A' && type[0] <= 'Z';
        if (critical) essentials += bytes.substr(at, frame + length);
        at += frame + length;
    }
    core::expects(header.bytes() / deflate_gain <= compressed, name,
                  ": damaged PNG: ", header.width, 'x', header.height, " pixels in ", compressed,
                  " bytes");
    return essentials;
}

void check_jpeg(const std::string& name, std::string_view bytes) {
    const auto byte = [&](std::size_t at) {
        core::expects(at < bytes.size(), name, ": truncated JPEG");
        return static_cast<std::uint8_t>(bytes[at]);
    };
    for (std::size_t at = 2;;) {
        core::expects(byte(at) == 0xff, name, ": damaged JPEG");
        while (byte(at) == 0xff) ++at;
        const std::uint8_t marker = byte(at++);
        if (marker == 0xd9) return;
        const bool alone = marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8);
        if (alone) continue;
        core::expects(at + 2 <= bytes.size(), name, ": truncated JPEG");
        const std::size_t length = big_endian(bytes, at, 2);
        core::expects(length >= 2, name, ": damaged JPEG");
        core::expects(length <= bytes.size() - at, name, ": truncated JPEG");
        const bool frame_header =
            marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
        if (frame_header) {
            core::expects(length >= 8, name, ": damaged JPEG");
            expects_size(name, big_endian(bytes, at + 5, 2), big_endian(bytes, at + 3, 2));
        }
        at += length;
        if (marker != 0xda) continue;
        // Entropy-coded data up to the next marker; 0xff before zero or a restart marker is part of
        // it.
        while (byte(at) != 0xff || byte(at + 1) == 0 || (byte(at + 1) & 0xf8) == 0xd0) ++at;
    }
}

void check_bmp(const std::string& name, std::string_view bytes) {
    core::expects(bytes.size() >= 26 && little_endian(bytes, 2, 4) <= bytes.size(), name,
                  ": truncated BMP");
}

}  // namespace aperture::media
