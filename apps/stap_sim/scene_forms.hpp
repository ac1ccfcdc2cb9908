// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "aperture/stap/simulation.hpp"

namespace aperture::apps {

/// Parses "range:doppler:azimuth:snr": range cell, cycles per pulse (-0.5 to 0.5), degrees, dB.
stap::Target parse_target(std::string_view text);

/// Parses a value in dB, or "-inf".
double parse_cnr(std::string_view text);

/// Parses "azimuth:jnr": degrees, dB.
stap::Jammer parse_jammer(std::string_view text);

}  // namespace aperture::apps
