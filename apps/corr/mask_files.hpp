// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "aperture/core/resident.hpp"
#include "apps/corr/options.hpp"

namespace aperture::apps {

/// The masks of --mask, [row][column]: 1 for the pixels that are not black, 0 for the others.
/// Throws core::InvalidArgument for those that cannot be read or have another size than `shape`,
/// the images'.
std::vector<core::Array<float, 2>> read_masks(const CorrOptions& options, corr::Shape shape);

/// The same in the executor's memory.
template <class Executor>
std::vector<core::Array<float, 2, typename Executor::Space>> read_masks(Executor& executor,
                                                                        const CorrOptions& options,
                                                                        corr::Shape shape) {
    std::vector<core::Array<float, 2, typename Executor::Space>> masks;
    for (core::Array<float, 2>& mask : read_masks(options, shape)) {
        masks.push_back(core::to_executor(executor, std::move(mask)));
    }
    return masks;
}

}  // namespace aperture::apps
