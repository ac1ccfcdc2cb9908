// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aperture::media {

/// The checksum of a chunk's type and data.
std::uint32_t png_crc(std::string_view bytes);

/// Walks the chunks of a PNG file (W3C PNG, section 5): lengths, checksums, IHDR first, IEND at the
/// end, and no more pixels than its compressed data can hold. Returns the signature and the chunks
/// that make the pixels, without transparency. Throws core::InvalidArgument.
std::string check_png(const std::string& name, std::string_view bytes);

/// Walks the segments of a JPEG file (ITU-T T.81, annex B) to its end-of-image marker, which
/// libjpeg does without. Throws core::InvalidArgument.
void check_jpeg(const std::string& name, std::string_view bytes);

/// Throws for a BMP file that is shorter than it says.
void check_bmp(const std::string& name, std::string_view bytes);

}  // namespace aperture::media
