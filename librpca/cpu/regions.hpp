// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Regions of connected pixels, from runs of pixels in rows that are joined with those of the row
// above (union-find).

#include <cstdint>
#include <cstring>

#include "aperture/core/view.hpp"

namespace aperture::rpca::cpu {

using core::index_t;

/// Consecutive pixels of a row that belong to one region. Small: a picture may have half as many as
/// pixels.
struct Run {
    std::int32_t row;
    std::int32_t begin;
    std::int32_t end;
    std::int32_t parent;  ///< index of a run of the same region; its root has its own
};

/// The most runs of a picture.
constexpr index_t most_runs(index_t rows, index_t columns) { return rows * ((columns + 1) / 2); }

inline std::int32_t root_of(Run* runs, std::int32_t run) {
    while (runs[run].parent != run) {
        runs[run].parent = runs[runs[run].parent].parent;
        run = runs[run].parent;
    }
    return run;
}

/// Stores the runs of pixels of value `of` in their order; pixels are 0 or 1, [row][column]. Pixels
/// that touch at corners are connected if `at_corners`. Returns the number of runs.
inline std::int32_t find_runs(const std::uint8_t* pixels, index_t rows, index_t columns,
                              std::uint8_t of, bool at_corners, Run* runs) {
    std::int32_t above = 0;  // the first run of the row above that is not passed yet
    std::int32_t end = 0;
    const std::int32_t corner = at_corners ? 1 : 0;
    for (index_t row = 0; row < rows; ++row) {
        const std::int32_t above_end = end;
        const std::uint8_t* const line = pixels + row * columns;
        const auto next = [&](index_t from, int value) {
            const void* const found =
                std::memchr(line + from, value, static_cast<std::size_t>(columns - from));
            return static_cast<std::int32_t>(
                found == nullptr ? columns : static_cast<const std::uint8_t*>(found) - line);
        };
        for (std::int32_t begin = next(0, of); begin < columns;) {
            Run& run = runs[end];
            run = {static_cast<std::int32_t>(row), begin, next(begin, 1 - of), end};
            while (above < above_end && runs[above].end + corner <= run.begin) ++above;
            for (std::int32_t touched = above;
                 touched < above_end && runs[touched].begin < run.end + corner; ++touched) {
                const std::int32_t one = root_of(runs, touched);
                runs[root_of(runs, end)].parent = one;
            }
            ++end;
            begin = run.end < columns ? next(run.end, of) : run.end;
        }
        above = above_end;
    }
    return end;
}

}  // namespace aperture::rpca::cpu
