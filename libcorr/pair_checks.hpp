// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "aperture/core/error.hpp"
#include "aperture/corr/lags.hpp"

namespace aperture::corr {

/// Throws core::InvalidArgument if pairs of `images` images need more than `available` bytes.
inline void expects_memory(index_t images, double bytes_an_image,
                           std::optional<std::size_t> available) {
    const double needed = static_cast<double>(images) * bytes_an_image;
    if (!available || needed <= static_cast<double>(*available)) return;
    constexpr double gib = 1 << 30;
    throw core::InvalidArgument(
        core::text("pairs of ", images, " images need ", needed / gib, " GiB of memory, but ",
                   static_cast<double>(*available) / gib, " GiB are available"));
}

/// Throws core::InvalidArgument if `image` is not in 0 .. images-1.
inline void expects_image(index_t image, index_t images) {
    core::expects(image >= 0 && image < images, "image ", image, " is outside 0 .. ", images - 1);
}

/// Throws core::InvalidArgument if one of the images `a` and `b` was not taken.
inline void expects_taken(index_t a, bool a_taken, index_t b, bool b_taken) {
    core::expects(a_taken && b_taken, "images ", a, " and ", b, ": one of them is not loaded");
}

}  // namespace aperture::corr
