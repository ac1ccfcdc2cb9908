// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>

#include "libcore/rounding.hpp"
#include "libstap/gpu/fused.cuh"

namespace aperture::stap::gpu {

/// Shared-memory requirements of an adaptive kernel; zero for parts that it does not have.
struct SharedNeeds {
    int channels = 0;
    int window = 0;  ///< bins + T - 1
    int bins = 0;
    int order = 0;
    int cells = 0;    ///< columns of a training set; a tile holds as many as fit
    int vectors = 0;  ///< D
    int outputs = 0;  ///< cells of a set with quadratic forms, for a detector
    bool sums = true;
    bool square = false;
    bool block_solver = false;
    bool column_solver = false;  ///< RollingSolver: a saved column for each vector
    int head = 0;                ///< head rows of its factors; if any, a ProductBand of sums
    int real_bytes = 4;
};

namespace detail {

inline constexpr int largest_tile = 256;
inline constexpr int smallest_tile = 32;

class Region {
  public:
    /// Reserves `count` elements and returns their offset.
    int reserve(long long count, int element_bytes) {
        const long long begin = bytes_;
        bytes_ += core::round_up(count * element_bytes, 16);
        return static_cast<int>(begin);
    }
    /// Advances to at least `bytes` from the beginning.
    void reserve(long long bytes) { bytes_ = std::max(bytes_, (bytes + 15) / 16 * 16); }
    long long bytes() const { return bytes_; }

  private:
    long long bytes_ = 0;
};

inline std::optional<SharedLayout> layout_of(const SharedNeeds& needs, int columns, int tile_stride,
                                             int solver_columns, bool apart, long long limit) {
    const int complex_bytes = 2 * needs.real_bytes;
    const long long bins = needs.bins;
    SharedLayout layout{};
    layout.columns = columns;
    layout.tile_stride = needs.cells == 0 ? 0 : tile_stride;
    layout.triangle_stride = triangle_elements(needs.order, needs.square);
    layout.weight_stride = core::round_up(needs.vectors, vectors_per_item);

    // Persistent parts, and padding for RollingSolver's reads before its factors.
    Region all;
    layout.work = all.reserve(1, sizeof(BlockWork));
    layout.rows = all.reserve(static_cast<long long>(needs.channels) * needs.window, 8);
    layout.normalisations = all.reserve(bins, 2 * needs.real_bytes);
    layout.info = all.reserve(bins, 4);
    // fp64 repeats attempts: a tile is then loaded again, after what took its place.
    const bool repeats = needs.real_bytes != 4;
    const long long rows = static_cast<long long>(needs.channels) * needs.window;
    if (repeats) layout.rows_in_tile = all.reserve(rows, 2);

    const RollingFactor factor(needs.order, needs.head);
    if (needs.column_solver) all.reserve(static_cast<long long>(factor.unread()) * complex_bytes);

    Region tile = all;
    layout.channel_stride = needs.window * layout.tile_stride;
    // Puts four cells of eight channels in different banks.
    while (needs.cells > 0 && layout.channel_stride % 8 != 4) layout.channel_stride += 2;
    layout.tile = tile.reserve(static_cast<long long>(needs.channels) * layout.channel_stride, 8);
    if (!repeats) layout.rows_in_tile = tile.reserve(rows, 2);

    // Parts used after the covariances, in the tile's place.
    Region later = all;
    if (needs.column_solver) {
        layout.factor_stride = factor.size;
        if (needs.head > 0) {
            // The rings of cells reuse the factors of two matrices. The same entries of both
            // factors are read simultaneously: they must be in different banks.
            layout.factor_stride =
                std::max(layout.factor_stride, ring_cells * 8 / (2 * complex_bytes));
            if (layout.factor_stride * complex_bytes % 128 == 0) layout.factor_stride += 2;
        }
        layout.factors = later.reserve(bins * layout.factor_stride, complex_bytes);
    }
    // RollingSolver has read the sums before it writes behind its factors.
    long long sums_begin = std::max(tile.bytes(), later.bytes());
    const long long columns_of_solver = bins * needs.order * layout.weight_stride;
    layout.weights = later.reserve(columns_of_solver, 8);
    layout.gains = later.reserve(bins * layout.weight_stride, sizeof(Gain));
    layout.forms = later.reserve(bins * needs.outputs, 4);
    layout.right_hand_sides = layout.weights;
    if (needs.column_solver) {
        layout.solver_columns = layout.weight_stride;
        if (needs.real_bytes != 4) {
            layout.right_hand_sides = later.reserve(columns_of_solver, complex_bytes);
        }
    } else if (needs.block_solver) {
        layout.solver_columns = solver_columns;
        layout.right_hand_sides = later.reserve(
            static_cast<long long>(needs.order) * layout.solver_columns, complex_bytes);
    }
    layout.apart = apart || !needs.column_solver;
    if (layout.apart) sums_begin = std::max(sums_begin, later.bytes());

    all.reserve(sums_begin);
    if (needs.sums) {
        const long long elements = needs.head > 0 ? band_elements(needs.channels, needs.window,
                                                                  needs.window - needs.bins + 1)
                                                  : bins * layout.triangle_stride;
        layout.sums = all.reserve(elements, complex_bytes);
    }
    all.reserve(later.bytes());
    if (all.bytes() > limit) return std::nullopt;
    layout.bytes = static_cast<int>(all.bytes());
    return layout;
}

}  // namespace detail

/// Shared memory with the whole training set as a tile if `blocks` blocks then fit a
/// multiprocessor, else with the largest tile for two blocks, else for one; nullopt if even 32
/// cells exceed a block's `limit`.
inline std::optional<SharedLayout> plan_shared_memory(const SharedNeeds& needs, int blocks,
                                                      int limit) {
    using detail::smallest_tile;
    constexpr int reserved = 1024;  // of every block, by the hardware
    const int most =
        std::clamp(core::round_up(needs.cells, smallest_tile), smallest_tile, detail::largest_tile);
    const auto fit = [&](int tile, int room) -> std::optional<SharedLayout> {
        const int columns = needs.cells > 0 ? std::min(tile, needs.cells) : tile;
        const int filled = core::round_up(columns, cells_per_group);
        for (const int stride : {filled < usual_tile_stride ? usual_tile_stride : filled + 4,
                                 filled + 4, filled + 2}) {
            for (const int solver_columns : {16, 4}) {
                for (const bool apart : {needs.head > 0, false}) {
                    const auto layout =
                        detail::layout_of(needs, columns, stride, solver_columns, apart, room);
                    if (layout) return layout;
                }
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
