// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "apps/corr/options.hpp"

namespace aperture::apps {

/// The masks of --mask, [row][column]: 1 for the pixels that are not black, 0 for the others.
/// Throws core::InvalidArgument for those that cannot be read or have another size than `shape`,
/// the images'.
std::vector<core::Array<float, 2>> read_masks(const CorrOptions& options, corr::Shape shape);

}  // namespace aperture::apps
