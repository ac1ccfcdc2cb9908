// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/gpu/range_pieces.hpp"

#include <algorithm>

namespace aperture::stap::gpu {

namespace {

/// Cells per tile of the sums over all cells, see total_kernel.
constexpr index_t total_alignment = 64;

index_t window_width(const Problem& p) {
    return p.parameters.training_block + 2 * index_t(p.parameters.guard) + 1;
}

/// The union of the windows of all cells in `cells`, shifted inwards at the ends.
RangeSpan windows_of(const Problem& p, RangeSpan cells) {
    const index_t width = window_width(p);
    const index_t before = p.parameters.guard + p.parameters.training_block / 2;
    const index_t last = p.shape.range_cells - width;
    return {std::clamp<index_t>(cells.begin - before, 0, last),
            std::clamp<index_t>(cells.end - 1 - before, 0, last) + width};
}

RangeSpan whole_blocks(const Problem& p, RangeSpan cells) {
    const index_t block = p.parameters.training_block;
    return {cells.begin / block * block,
            std::min((cells.end + block - 1) / block * block, p.shape.range_cells)};
}

RangeSpan data_of(const Problem& p, RangeSpan adapted) {
    const index_t cells = p.shape.range_cells;
    const index_t guard = p.parameters.guard;
    switch (p.parameters.training) {
        case Training::sliding:
            return windows_of(p, adapted);
        case Training::all:
            return {std::max<index_t>(adapted.begin - guard, 0),
                    std::min(adapted.end + guard, cells)};
        default:
            return {std::min(adapted.begin, cells - p.parameters.training_block), adapted.end};
    }
}

}  // namespace

index_t piece_alignment(const Problem& problem) {
    const Training training = problem.parameters.training;
    if (training == Training::block) return problem.parameters.training_block;
    return training == Training::all ? total_alignment : 1;
}

std::vector<RangePiece> plan_range_pieces(const Problem& problem, index_t cells) {
    std::vector<RangePiece> pieces;
    const bool cfar = problem.parameters.detector == Detector::cfar;
    for (const RangeSpan wanted : plan_total_spans(problem, cells)) {
        RangePiece piece;
        piece.wanted = wanted;
        piece.adapted = cfar ? windows_of(problem, wanted) : wanted;
        piece.adapted.begin = std::min(piece.adapted.begin, wanted.begin);
        piece.adapted.end = std::max(piece.adapted.end, wanted.end);
        if (problem.parameters.training == Training::block)
            piece.adapted = whole_blocks(problem, piece.adapted);
        piece.data = data_of(problem, piece.adapted);
        pieces.push_back(piece);
    }
    return pieces;
}

std::vector<RangeSpan> plan_total_spans(const Problem& problem, index_t cells) {
    const index_t alignment = piece_alignment(problem);
    const index_t step = std::max(cells / alignment, index_t(1)) * alignment;
    std::vector<RangeSpan> spans;
    for (index_t begin = 0; begin < problem.shape.range_cells; begin += step) {
        spans.push_back({begin, std::min(begin + step, problem.shape.range_cells)});
    }
    return spans;
}

}  // namespace aperture::stap::gpu
