// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/stap/parameters.hpp"

namespace aperture::stap::gpu {

/// An independently processed piece of a cube, in cells of the whole cube: results of `wanted` come
/// from adapting `adapted`, which needs the columns `data`.
struct RangePiece {
    RangeSpan data;
    RangeSpan adapted;
    RangeSpan wanted;
};

/// Alignment of pieces in range cells: whole training blocks, or the tiles at which sums over all
/// cells can be continued.
index_t piece_alignment(const Problem& problem);

/// Cuts the range extent into pieces of at most `cells` wanted cells, but at least one alignment.
/// `data` extends a piece by a halo for its windows, guard cells and last short block.
std::vector<RangePiece> plan_range_pieces(const Problem& problem, index_t cells);

/// Pieces without a halo, at multiples of the alignment, for the sums over all cells.
std::vector<RangeSpan> plan_total_spans(const Problem& problem, index_t cells);

}  // namespace aperture::stap::gpu
