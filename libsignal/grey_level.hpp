// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The grey level of a pixel, for every executor.

#include <cstdint>
#include <type_traits>

#include "aperture/core/shape.hpp"

namespace aperture::signal {

/// A sample as a grey level of 0..255. The quotient is rounded once to double and once to float.
template <class Sample>
APERTURE_HD float level_of(Sample sample) {
    if constexpr (std::is_same_v<Sample, std::uint16_t>) {
        return static_cast<float>(static_cast<double>(sample) / 257.0);
    } else {
        return static_cast<float>(sample);
    }
}

/// The grey level of a pixel of `planes`, which have (channel, row, column).
template <class Planes, class Index>
APERTURE_HD float grey_at(const Planes& planes, bool colour, Index row, Index column) {
    const float first = level_of(planes(0, row, column));
    if (!colour) return first;
    return 0.299F * first + 0.587F * level_of(planes(1, row, column)) +
           0.114F * level_of(planes(2, row, column));
}

template <class Sample, class Space>
void check_grey(const core::View<const Sample, 3, Space>& planes,
                const core::View<float, 2, Space>& grey) {
    const auto [channels, rows, columns] = planes.extent;
    core::expects(channels == 1 || channels == 3, "image has ", channels,
                  " channels, expected 1 or 3");
    core::expects_shape("grey image", grey, {rows, columns});
}

}  // namespace aperture::signal
