// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/error.hpp"
#include "aperture/core/portable.hpp"

namespace aperture::dense {

/// The number of blocks on grid.x for `count` rows, problems, ...
inline unsigned blocks_for(core::index_t count, core::index_t count_per_block) {
    const core::index_t blocks = (count + count_per_block - 1) / count_per_block;
    core::expects(blocks <= 0x7fffffff, "a grid of ", blocks, " blocks is too large");
    return static_cast<unsigned>(blocks);
}

}  // namespace aperture::dense
