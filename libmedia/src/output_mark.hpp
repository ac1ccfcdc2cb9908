// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace aperture::media {

/// The mark in every picture: a comment in the file's format.
inline constexpr auto output_mark = "Aperture signal processing";

/// Inserts the mark into an encoded picture; unsupported formats are returned unchanged.
std::string with_mark(std::string picture);

}  // namespace aperture::media
