// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aperture::media {

inline constexpr std::string_view png_signature = "\x89PNG\r\n\x1a\n";

/// Whether `bytes` have a PNG signature.
bool is_png(std::string_view bytes);

/// A chunk of a PNG file, with its length and checksum; `body`: its type and data.
std::string png_chunk(const std::string& body);

/// Throws unless images of this size can be read.
void expects_size(const std::string& name, std::uint64_t width, std::uint64_t height);

/// Validates the chunks of a PNG file (W3C PNG, section 5): lengths, checksums, IHDR first, IEND
/// last, and at most as many pixels as the compressed data can hold. Returns the signature and the
/// chunks required for the pixels, without transparency. Throws core::InvalidArgument.
std::string check_png(const std::string& name, std::string_view bytes);

/// Validates the segments of a JPEG file (ITU-T T.81, annex B) up to its end-of-image marker, which
/// libjpeg does not require. Throws core::InvalidArgument.
void check_jpeg(const std::string& name, std::string_view bytes);

/// Throws if a BMP file is shorter than its header states.
void check_bmp(const std::string& name, std::string_view bytes);

}  // namespace aperture::media
