// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace aperture::media {

/// The mark in every picture: a comment in the file's format.
inline constexpr auto output_mark = "Aperture signal processing";

/// Inserts the mark into an encoded picture, and the comment, if there is one, into a PNG;
/// unsupported formats are returned unchanged.
std::string with_mark(std::string picture, const std::string& comment = "");

/// The chunk tEXt of a PNG file (W3C PNG, 11.3.4.3).
std::string png_text(const std::string& keyword, const std::string& text);

}  // namespace aperture::media
