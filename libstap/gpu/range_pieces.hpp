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
inline RangePiece whole_cube(const Problem& problem) {
    const RangeSpan all{0, problem.shape.range_cells};
    return {all, all, all};
}

/// The training sets with cells in `cells`; sliding and all: one per cell.
inline RangeSpan training_sets_of(const Problem& problem, RangeSpan cells) {
    if (problem.parameters.training != Training::block) return cells;
    return {training_set_of(problem, cells.begin), training_set_of(problem, cells.end - 1) + 1};
}

/// Number of training sets, of `sets`, that Implementation::staged has in memory at a time: all
/// with block training; otherwise, with a set per cell, as many as fit in 256 MB of covariances
/// with `real_bytes` per number, at least one.
index_t sets_at_a_time(const Problem& problem, index_t sets, int real_bytes);

/// Range cells per tile of the sums over all cells: their bits depend on it.
inline constexpr int total_tile = 64;

/// Alignment of pieces in range cells: whole training blocks, or the tiles at which sums over all
/// cells can be continued.
index_t piece_alignment(const Problem& problem);

/// Cuts the range extent into pieces of at most `cells` wanted cells, but at least one alignment.
/// `data` extends a piece by a halo for its windows, guard cells and last short block.
std::vector<RangePiece> plan_range_pieces(const Problem& problem, index_t cells);

/// Pieces without a halo, at multiples of the alignment, for the sums over all cells.
std::vector<RangeSpan> plan_total_spans(const Problem& problem, index_t cells);

}  // namespace aperture::stap::gpu
