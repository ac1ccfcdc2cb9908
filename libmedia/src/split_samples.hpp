// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "aperture/core/extents.hpp"

namespace aperture::media {

/// Stores samples [pixel][channel] in planes, a channel each, as what `level` makes of a sample.
template <std::size_t Channels, class Sample, class Level>
void split_samples(const Sample* samples, core::index_t pixels,
                   const std::array<float*, Channels>& planes, const Level& level) {
    for (core::index_t i = 0; i < pixels; ++i) {
        for (std::size_t c = 0; c < Channels; ++c) planes[c][i] = level(*samples++);
    }
}

}  // namespace aperture::media
