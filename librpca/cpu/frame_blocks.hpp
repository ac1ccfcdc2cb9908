// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/core/array.hpp"
#include "aperture/core/simd.hpp"
#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca::cpu {

inline index_t ceil_div(index_t a, index_t b) { return (a + b - 1) / b; }

/// Frames whose products with as many others are summed in registers at once.
inline constexpr int gram_tile = core::simd_bytes == 64 ? 5 : 3;
/// Packs of values that a row of a product is computed for at once.
inline constexpr int product_packs = 2;

/// How a matrix lies in blocks [block][frame][value], so that a block of all frames stays in the
/// second-level cache. One more frame, the ground, follows the last one; frames behind it, up to
/// whole Gram tiles, and values behind the last one are zero.
template <class T>
struct BlockLayout {
    static constexpr int lanes = core::lanes<T>;
    static constexpr index_t block_values = 2048 / static_cast<index_t>(sizeof(T));
    /// Between frames of a block: not a power of two, so that frames do not share cache sets.
    static constexpr index_t frame_stride = block_values + lanes;

    index_t frames = 0;
    index_t values = 0;

    index_t padded_frames() const {
        return std::max(ceil_div(frames, gram_tile) * gram_tile, frames + 1);
    }
    index_t blocks() const { return ceil_div(values, block_values); }
    index_t block_reals() const { return padded_frames() * frame_stride; }
    /// Values of a block, to whole rows of a product.
    index_t used_values(index_t block) const {
        constexpr index_t unit = product_packs * lanes;
        return ceil_div(std::min(block_values, values - block * block_values), unit) * unit;
    }
};

}  // namespace aperture::rpca::cpu
