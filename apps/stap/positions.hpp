// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "aperture/stap/steering.hpp"

namespace aperture::apps {

/// Reads one element position a line: one to three numbers x, y, z in wavelengths, separated by
/// commas or blanks, as many in each line; what is left out is 0. Skips empty lines and what
/// follows a #. Throws core::InvalidArgument "FILE:LINE: REASON".
std::vector<stap::ElementPosition> read_positions(const std::filesystem::path& file);

}  // namespace aperture::apps
