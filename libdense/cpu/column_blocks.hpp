// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "libcore/cpu/simd.hpp"
#include "libdense/cpu/block_copy.hpp"

namespace aperture::dense::tall {

/// Side of the tile of Gram products that is accumulated in registers.
inline constexpr int gram_tile = core::simd_bytes == 64 ? 5 : 3;
/// Packs of rows computed at once in a product.
inline constexpr int product_packs = 2;

/// Layout of a tall matrix in blocks [block][column][row]; a block of all columns fits in the
/// second-level cache. Padding rows, and columns up to whole Gram tiles or for `spare` extra
/// columns, must be zero.
template <class T>
struct ColumnBlocks {
    static constexpr int lanes = core::lanes<T>;
    static constexpr index_t block_rows = 2048 / static_cast<index_t>(sizeof(T));
    /// Distance between columns: not a power of two, so that columns do not share cache sets.
    static constexpr index_t stride = block_rows + lanes;
    /// Rows per product.
    static constexpr index_t row_unit = product_packs * lanes;

    index_t columns = 0;
    index_t rows = 0;
    index_t spare = 0;

    index_t blocks() const { return core::ceil_div(rows, block_rows); }
    /// Independent tasks; part p has the blocks from first_block(p) to first_block(p + 1).
    index_t parts() const { return std::min<index_t>(blocks(), 32); }
    index_t first_block(index_t part) const { return blocks() * part / parts(); }
    index_t block_reals() const {
        return std::max(core::round_up(columns, gram_tile), columns + spare) * stride;
    }
    index_t size() const { return blocks() * block_reals(); }
    index_t rows_of(index_t block) const { return std::min(block_rows, rows - block * block_rows); }
    /// Rows of a block, rounded up to whole products.
    index_t used_rows(index_t block) const { return core::round_up(rows_of(block), row_unit); }
};

}  // namespace aperture::dense::tall
