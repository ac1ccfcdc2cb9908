// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace aperture::signal {

/// Red, green, blue in sRGB.
using Colour = std::array<std::uint8_t, 3>;

/// Colour at `position` of the colour bar, clamped to [0,1]. A path through OKLab (B. Ottosson,
/// 2020) with lightness linear in position: equal steps look equal and stay in order in grey.
Colour colour_at(double position);

}  // namespace aperture::signal
