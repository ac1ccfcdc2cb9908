// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace aperture::media {

/// What stands in every picture: a comment of the file's format.
inline constexpr auto output_mark = "Aperture signal processing";

/// Puts the mark into an encoded picture, by its format; others remain as they are.
std::string with_mark(std::string picture);

}  // namespace aperture::media
