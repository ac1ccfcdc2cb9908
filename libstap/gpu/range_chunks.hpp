// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/stap/parameters.hpp"

namespace aperture::stap::gpu {

/// A piece of a cube that is processed by itself: results of `wanted` come from adapting `adapted`,
/// which needs the columns `data`. Cells of the whole cube.
struct RangePiece {
    RangeSpan data;
    RangeSpan adapted;
    RangeSpan wanted;
};

/// Range cells by which pieces are aligned: whole training blocks, or where sums over all cells may
/// be continued.
index_t piece_alignment(const Problem& problem);

/// Cuts the range extent into pieces of at most `cells` wanted cells, but at least one alignment.
/// Columns of `data` around a piece are what its windows, guard cells and last short block reach.
std::vector<RangePiece> plan_range_pieces(const Problem& problem, index_t cells);

/// Pieces without anything around them, at multiples of the alignment: for sums over all cells.
std::vector<RangeSpan> plan_total_spans(const Problem& problem, index_t cells);

}  // namespace aperture::stap::gpu
