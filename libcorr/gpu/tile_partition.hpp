// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distribution of the direct method's work: as many warps as a device holds at once, each with
// equal work, so that all end together.

#include <algorithm>
#include <vector>

#include "libcorr/gpu/row_ring.cuh"

namespace aperture::corr::gpu {

/// The parts of all tiles of displacements, in the order of the tiles, distributed to warps.
struct TilePartition {
    std::vector<PartOfTile> parts;
    std::vector<int> first_parts;  ///< of every warp, and the end of the last
    std::vector<TileParts> tiles;  ///< row by row
    int tiles_across = 0;
    int skipped_columns = 0;  ///< of the first tiles, before the first displacement

    int warps() const { return static_cast<int>(first_parts.size()) - 1; }
};

/// Some columns of a tile, for all rows with partners, and their work.
struct Strip {
    PartOfTile part;
    index_t saved;     ///< first rows whose work is saved
    index_t of_row;    ///< work of any other row
    index_t of_start;  ///< work of a part before its first row
};

/// Splits a tile into strips: pieces of about equal columns, at most `max_columns`, merged if
/// there are more than `max_strips`.
template <class Walk>
std::vector<Strip> strips_of_tile(Shape image, index_t lag_y, index_t lag_x, int max_columns,
                                  index_t max_strips) {
    using Tile = typename Walk::Tile;
    const index_t begin = std::max<index_t>(0, lag_y) - (Walk::rows_of_a - 1);
    const index_t end = std::min(image.rows, image.rows + lag_y + Tile::rows - 1);
    const index_t saved = lag_y < 0 ? 0 : std::min<index_t>(Walk::saved_rows, end - begin - 1);
    // Columns of B with a partner at some displacement.
    const index_t left =
        std::max<index_t>(0, -(lag_x + Tile::columns - 1)) / Walk::step * Walk::step;
    const index_t right = std::min(image.columns + Walk::columns_over, image.columns - lag_x);
    const index_t steps = (right - left + Walk::step - 1) / Walk::step;
    const index_t min_pieces = (right - left + max_columns - 1) / max_columns;
    const auto piece = static_cast<int>((steps + min_pieces - 1) / min_pieces * Walk::step);
    const index_t pieces = (right - left + piece - 1) / piece;
    const index_t count = std::clamp<index_t>(max_strips, 1, pieces);
    std::vector<Strip> strips;
    for (index_t i = 0; i < count; ++i) {
        PartOfTile part{};
        part.lag_y = static_cast<int>(lag_y);
        part.lag_x = static_cast<int>(lag_x);
        part.begin = static_cast<int>(begin);
        part.end = static_cast<int>(end);
        part.left = static_cast<int>(left + pieces * i / count * piece);
        part.right = static_cast<int>(std::min(right, left + pieces * (i + 1) / count * piece));
        part.piece = piece;
        Strip strip{part, saved, 0, 0};
        for (int x = part.left; x < part.right; x += piece) {
            strip.of_row += Walk::work_of_row(std::min(piece, part.right - x),
                                              static_cast<int>(image.columns - lag_x) - x);
            strip.of_start += Walk::work_of_start;
        }
        strips.push_back(strip);
    }
    return strips;
}

/// Cuts strips, which come in order, into parts for warps with `share` of the work each; the last
/// of `warps` warps gets the rest.
class PartCutter {
  public:
    PartCutter(TilePartition& all, index_t share, index_t warps)
        : all_(all), share_(share), warps_(warps), left_(share) {
        all_.first_parts.push_back(0);
    }

    void cut(const Strip& strip) {
        const index_t max_rows =
            std::max(min_rows, max_products / (strip.part.right - strip.part.left));
        PartOfTile part = strip.part;
        while (part.begin < strip.part.end) {
            const index_t saved = part.begin == strip.part.begin ? strip.saved : 0;
            const index_t fitting =
                saved + (left_ - strip.of_start + strip.of_row / 2) / strip.of_row;
            const bool last_warp = std::ssize(all_.first_parts) == warps_;
            const bool begun = std::ssize(all_.parts) > all_.first_parts.back();
            if (fitting < min_rows && begun && !last_warp) {
                end_warp();
                continue;
            }
            const index_t there = strip.part.end - part.begin;
            index_t rows = last_warp ? max_rows : std::clamp(fitting, min_rows, max_rows);
            if (there - rows < min_rows) rows = there;
            part.end = static_cast<int>(part.begin + rows);
            all_.parts.push_back(part);
            left_ -= strip.of_start + (rows - saved) * strip.of_row;
            part.begin = part.end;
        }
    }
    /// Ends a warp. The next one's work is reduced by any excess.
    void end_warp() {
        all_.first_parts.push_back(static_cast<int>(all_.parts.size()));
        left_ += share_;
    }

  private:
    /// A part loads a tile's rows of B before its first row.
    static constexpr index_t min_rows = 2;
    /// Maximum products of a part, because its sums may be in single precision.
    static constexpr index_t max_products = index_t{1} << 21;

    TilePartition& all_;
    index_t share_;
    index_t warps_;
    index_t left_;
};

/// For `warps` warps, or fewer if there is little work. Tiles begin at multiples of 4 columns, so
/// that rows can be copied by 16 bytes; warps process up to `max_columns` columns of a row at
/// once.
template <class Walk>
TilePartition partition_tiles(Shape image, const Lags& lags, index_t warps, int max_columns) {
    using Tile = typename Walk::Tile;
    constexpr index_t min_rows = 8;
    const Shape extent = lags.extent();
    const index_t first_column = lags.first_column();
    const index_t begin_column = first_column - (first_column % 4 + 4) % 4;
    TilePartition all;
    all.skipped_columns = static_cast<int>(first_column - begin_column);
    const index_t across =
        (extent.columns + all.skipped_columns + Tile::columns - 1) / Tile::columns;
    const index_t down = (extent.rows + Tile::rows - 1) / Tile::rows;
    all.tiles_across = static_cast<int>(across);
    std::vector<std::vector<Strip>> tiles;
    index_t work = 0;
    index_t rows = 0;
    for (index_t t = 0; t < across * down; ++t) {
        tiles.push_back(strips_of_tile<Walk>(image, lags.first_row() + t / across * Tile::rows,
                                             begin_column + t % across * Tile::columns, max_columns,
                                             2 * warps / (across * down)));
        for (const Strip& strip : tiles.back()) {
            const index_t of_strip = strip.part.end - strip.part.begin;
            work += strip.of_start + (of_strip - strip.saved) * strip.of_row;
            rows += of_strip;
        }
    }
    const index_t used = std::clamp<index_t>(rows / min_rows, 1, warps);
    // Each cut of a strip starts a piece once more.
    PartCutter cutter(all, work / used + Walk::work_of_start, used);
    for (const std::vector<Strip>& strips : tiles) {
        const auto first = static_cast<int>(all.parts.size());
        for (const Strip& strip : strips) cutter.cut(strip);
        all.tiles.push_back({first, static_cast<int>(all.parts.size()) - first});
    }
    cutter.end_warp();
    return all;
}

}  // namespace aperture::corr::gpu
