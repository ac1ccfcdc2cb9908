// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace aperture::apps {

/// A power in dB; -inf for 0.
inline double decibels(double power) { return 10 * std::log10(power); }

}  // namespace aperture::apps
