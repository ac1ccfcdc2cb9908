// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/gpu/range_pieces.hpp"

#include <algorithm>

namespace aperture::stap::gpu {

namespace {

/// The union of the windows of all cells in `cells`.
RangeSpan windows_of(const Problem& p, RangeSpan cells) {
    return {reference_window(p, cells.begin).window.begin,
            reference_window(p, cells.end - 1).window.end};
}

RangeSpan data_of(const Problem& p, RangeSpan adapted) {
    if (p.parameters.training == Training::sliding) return windows_of(p, adapted);
    if (p.parameters.training == Training::all)
        return {training_window(p, adapted.begin).excluded.begin,
                training_window(p, adapted.end - 1).excluded.end};
    return {training_cells(p, training_set_of(p, adapted.begin)).begin, adapted.end};
}

}  // namespace

index_t sets_at_a_time(const Problem& p, index_t sets, int real_bytes) {
    if (p.parameters.training == Training::block) return sets;
    constexpr index_t most_bytes = index_t(256) << 20;
    const index_t set_bytes = index_t(p.doppler_bins) * p.order * p.order * 2 * real_bytes;
    return std::clamp<index_t>(most_bytes / set_bytes, 1, sets);
}

index_t piece_alignment(const Problem& problem) {
    const Training training = problem.parameters.training;
    if (training == Training::block) return problem.parameters.training_block;
    return training == Training::all ? total_tile : 1;
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
        if (problem.parameters.training == Training::block) {
            const index_t block = problem.parameters.training_block;
            const RangeSpan sets = training_sets_of(problem, piece.adapted);
            piece.adapted = {sets.begin * block,
                             std::min(sets.end * block, problem.shape.range_cells)};
        }
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
