// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace aperture::media {

/// An unsigned number of `size` bytes at `position` of `bytes`, most significant byte first.
inline std::uint32_t big_endian(std::string_view bytes, std::size_t position, std::size_t size) {
    std::uint32_t value = 0;
    for (std::size_t b = 0; b < size; ++b) {
        value = value << 8 | static_cast<std::uint8_t>(bytes[position + b]);
    }
    return value;
}

/// The same, least significant byte first.
inline std::uint32_t little_endian(std::string_view bytes, std::size_t position, std::size_t size) {
    std::uint32_t value = 0;
    for (std::size_t b = size; b-- > 0;) {
        value = value << 8 | static_cast<std::uint8_t>(bytes[position + b]);
    }
    return value;
}

/// The four bytes of a number, most significant first.
inline std::string big_endian_bytes(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xffU);
    return bytes;
}

}  // namespace aperture::media
