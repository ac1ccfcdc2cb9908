// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "libcore/cpu/simd.hpp"
#include "libdense/cpu/block_copy.hpp"

namespace aperture::dense::tall {

inline index_t ceil_div(index_t a, index_t b) { return (a + b - 1) / b; }

/// Columns whose products with as many others are summed in registers at once.
inline constexpr int gram_tile = core::simd_bytes == 64 ? 5 : 3;
/// Packs of rows that a product is computed for at once.
inline constexpr int product_packs = 2;

/// How a tall matrix lies in blocks [block][column][row], so that a block of all columns stays in
/// the second-level cache. Columns behind the last one, of which `spare` are for other use and the
/// rest make Gram tiles whole, and rows behind the last one are there to be zero.
template <class T>
struct ColumnBlocks {
    static constexpr int lanes = core::lanes<T>;
    static constexpr index_t block_rows = 2048 / static_cast<index_t>(sizeof(T));
    /// Between columns of a block: not a power of two, so that columns do not share cache sets.
    static constexpr index_t stride = block_rows + lanes;
    /// Rows of a product.
    static constexpr index_t row_unit = product_packs * lanes;

    index_t columns = 0;
    index_t rows = 0;
    index_t spare = 0;

    index_t blocks() const { return ceil_div(rows, block_rows); }
    index_t block_reals() const {
        return std::max(rounded_up(columns, gram_tile), columns + spare) * stride;
    }
    index_t size() const { return blocks() * block_reals(); }
    index_t rows_of(index_t block) const { return std::min(block_rows, rows - block * block_rows); }
    /// Rows of a block, to whole rows of a product.
    index_t used_rows(index_t block) const { return rounded_up(rows_of(block), row_unit); }
};

}  // namespace aperture::dense::tall
