// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>

#include "libstap/gpu/fused.cuh"

namespace aperture::stap::gpu {

/// What a kernel of the adaptive stages keeps in shared memory; zero where it has no such part.
struct SharedNeeds {
    int channels = 0;
    int window = 0;  ///< bins + T - 1
    int bins = 0;
    int order = 0;
    int cells = 0;    ///< columns of a training set; tiles hold as many of them as fit
    int vectors = 0;  ///< D
    int outputs = 0;  ///< cells of a set that a detector judges
    bool triangles = true;
    bool square = false;
    bool block_solver = false;
    bool column_solver = false;  ///< RollingSolver: a saved column for each vector
    int real_bytes = 4;
};

namespace detail {

inline constexpr int largest_tile = 256;
inline constexpr int smallest_tile = 32;

inline int round_up(int value, int multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

class Region {
  public:
    /// Reserves `count` elements and returns where they begin.
    int take(long long count, int element_bytes) {
        const long long begin = bytes_;
        bytes_ += (count * element_bytes + 15) / 16 * 16;
        return static_cast<int>(begin);
    }
    long long bytes() const { return bytes_; }

  private:
    long long bytes_ = 0;
};

inline std::optional<SharedLayout> layout_of(const SharedNeeds& needs, int columns, int padding,
                                             int solver_columns, long long limit) {
    const int complex_bytes = 2 * needs.real_bytes;
    SharedLayout layout{};
    layout.columns = columns;
    // With 4, four rows that follow one another begin a quarter of the banks apart.
    layout.tile_stride = needs.cells == 0 ? 0 : round_up(columns, cells_per_group) + padding;
    layout.triangle_stride = triangle_elements(needs.order, needs.square);
    if (needs.column_solver) layout.factor_stride = rolling_factor_size(needs.order);
    layout.weight_stride = round_up(needs.vectors, vectors_per_item);
    layout.forms_stride = needs.outputs;
    layout.solver_columns = needs.block_solver ? solver_columns : 0;
    const long long bins = needs.bins;
    Region region;
    layout.tile =
        region.take(static_cast<long long>(needs.channels) * needs.window * layout.tile_stride, 8);
    // RollingSolver reads a few rows before its factors, in vain: before them lies the tile, or as
    // much room where there is none.
    const long long unread = needs.column_solver ? pivots_of_segment - 1 : 0;
    const long long before =
        unread * rolling_row_stride(needs.order) * complex_bytes - region.bytes();
    region.take(before > 0 ? before : 0, 1);
    layout.factors = region.take(bins * layout.factor_stride, complex_bytes);
    const long long triangles = needs.triangles ? bins * layout.triangle_stride : 0;
    const long long columns_of_solver = bins * needs.order * layout.weight_stride;
    // The sums have been read when the solutions come.
    const bool shares = needs.column_solver && needs.real_bytes == 4;
    if (!needs.column_solver) layout.triangles = region.take(triangles, complex_bytes);
    layout.weights =
        region.take(shares ? std::max(columns_of_solver, triangles) : columns_of_solver, 8);
    layout.gains = region.take(bins * layout.weight_stride, sizeof(Gain));
    layout.forms = region.take(bins * layout.forms_stride, 4);
    layout.right_hand_sides = layout.weights;
    if (needs.column_solver) {
        layout.solver_columns = layout.weight_stride;
        if (!shares) {
            layout.right_hand_sides =
                region.take(std::max(columns_of_solver, triangles), complex_bytes);
        }
        layout.triangles = layout.right_hand_sides;
    } else if (needs.block_solver) {
        layout.right_hand_sides =
            region.take(static_cast<long long>(needs.order) * layout.solver_columns, complex_bytes);
    }
    layout.normalisations = region.take(bins, 2 * needs.real_bytes);
    layout.info = region.take(bins, 4);
    if (region.bytes() > limit) return std::nullopt;
    layout.bytes = static_cast<int>(region.bytes());
    return layout;
}

}  // namespace detail

/// The whole training set as a tile where `blocks` blocks of a multiprocessor can each have one,
/// else the largest tile of two blocks, else of one; nothing where even 32 cells do not fit a
/// block's `limit`.
inline std::optional<SharedLayout> plan_shared_memory(const SharedNeeds& needs, int blocks,
                                                      int limit) {
    using detail::smallest_tile;
    constexpr int reserved = 1024;  // of every block, by the hardware
    const int most = std::clamp(detail::round_up(needs.cells, smallest_tile), smallest_tile,
                                detail::largest_tile);
    const auto fit = [&](int tile, int room) -> std::optional<SharedLayout> {
        const int columns = needs.cells > 0 ? std::min(tile, needs.cells) : tile;
        for (const int padding : {4, 2}) {
            for (const int solver_columns : {16, 4}) {
                const auto layout =
                    detail::layout_of(needs, columns, padding, solver_columns, room);
                if (layout) return layout;
            }
        }
        return std::nullopt;
    };
    const auto room_of = [&](int count) { return (limit + reserved) / count - reserved; };
    if (const auto layout = fit(most, room_of(blocks))) return layout;
    for (const int count : {2, 1}) {
        for (int tile = most; tile >= smallest_tile; tile -= smallest_tile) {
            if (const auto layout = fit(tile, room_of(count))) return layout;
        }
    }
    return std::nullopt;
}

}  // namespace aperture::stap::gpu
