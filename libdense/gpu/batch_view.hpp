// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "aperture/dense/batch.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libdense/gpu/batch_tile.cuh"

namespace aperture::dense {

/// Converts a view for kernels. Throws unless the strides match the layout.
template <class T, class Space, class Layout>
StridedBatch<core::DeviceType<T>> strided(const MatrixBatch<T, Space, Layout>& batch,
                                          const char* name) {
    constexpr int unit = std::same_as<Layout, core::Interleaved> ? 0 : 2;
    core::expects(batch.extent[unit] <= 1 || batch.stride[unit] == 1, "batch ", name,
                  ": stride of dimension ", unit, " is ", batch.stride[unit], ", must be 1");
    return {core::device_cast(batch.data), batch.stride[0], batch.stride[1], batch.stride[2]};
}

/// The number of blocks on grid.x for `problems` problems.
inline unsigned blocks_for(index_t problems, index_t problems_per_block) {
    const index_t blocks = (problems + problems_per_block - 1) / problems_per_block;
    core::expects(blocks <= 0x7fffffff, "a batch of ", problems, " problems is too large");
    return static_cast<unsigned>(blocks);
}

}  // namespace aperture::dense
