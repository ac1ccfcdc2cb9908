// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "libmedia/src/stored_image.hpp"

namespace aperture::media {

/// Decodes a PNG file that passed `check_png`, palettes as colours, without alpha. Uses libpng
/// directly, as OpenCV prints its errors on stderr. Throws core::InvalidArgument.
StoredImage decode_png(const std::string& name, std::string_view bytes);

}  // namespace aperture::media
