// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/launch_shape.hpp"

#include <algorithm>

#include "libcompose/line_calls.hpp"
#include "libcompose/problem_groups.hpp"
#include "libcompose/tiles.hpp"

namespace aperture::compose {
namespace {

/// Of a kernel that reads rows a second time.
constexpr index_t most_warps_of_row = 32;
index_t warps_of_row(const Kernel& kernel) {
    return std::clamp<index_t>(walk_over(kernel.elements).pieces_of_row(), 1, most_warps_of_row);
}

std::ptrdiff_t sums_at(const Kernel& kernel, Level level) {
    return std::count_if(kernel.calls.begin(), kernel.calls.end(),
                         [&](const PlannedCall& planned) { return planned.match.level == level; });
}

/// Of the largest number that is a sum of a line.
index_t bytes_of_sum(const Kernel& kernel) {
    index_t bytes = 0;
    for (const PlannedCall& planned : kernel.calls) {
        if (!adds_lines(planned.match.level)) continue;
        bytes = std::max<index_t>(bytes, bytes_of(planned.match.results[0].dtype));
    }
    return bytes;
}

/// Of such a kernel: shared memory for the sums of a row's pieces, by turns in two places.
index_t bytes_of_pieces(const Kernel& kernel) {
    return 2 * sums_at(kernel, Level::row) * warps_of_row(kernel) * pieces_of_warp(kernel) *
           index_t{sizeof(kernels::SumNumber)};
}
/// And for the sums of a strip's columns, if a block takes two strips.
index_t bytes_of_strip(const Kernel& kernel) {
    return sums_at(kernel, Level::column) * bytes_of_sum(kernel) * warps_of_row(kernel) *
           pieces_of_warp(kernel) * kernels::piece_length;
}

}  // namespace

bool has_sums(const Kernel& kernel) { return sums_at(kernel, Level::sum) > 0; }

bool has_finish(const Kernel& kernel) { return has_sums(kernel) || is_of_rows(kernel); }

kernels::Walk walk_over(const Type& elements) {
    if (elements.rank == 0) return {};
    const auto rank = static_cast<std::size_t>(elements.rank);
    kernels::Walk walk;
    walk.count = elements.size();
    if (elements.kind == Kind::batch) {
        walk.columns = kernels::problems_of_row;
        walk.rows = (walk.count + walk.columns - 1) / walk.columns;
        return walk;
    }
    walk.columns = rank == 1 ? std::min(kernels::vector_row, std::max<index_t>(walk.count, 1))
                             : elements.extent[rank - 1];
    walk.rows_of_plane = rank == 1 ? 0 : elements.extent[rank - 2];
    walk.rows = rank == 1 ? (walk.count + walk.columns - 1) / walk.columns
                          : walk.rows_of_plane * (rank == 3 ? elements.extent[0] : 1);
    return walk;
}

int columns_of_block(const Kernel& kernel) {
    if (has_sums(kernel)) return kernels::piece_length;
    // Small arrays need all threads; with large ones a thread has several loads under way.
    constexpr index_t large = index_t{1} << 20;
    return (walk_over(kernel.elements).count >= large ? 4 : 1) * kernels::lanes;
}

index_t pieces_of_warp(const Kernel& kernel) {
    return (walk_over(kernel.elements).pieces_of_row() + most_warps_of_row - 1) / most_warps_of_row;
}

bool has_whole_pieces(const Kernel& kernel) {
    const index_t columns = kernel.elements.extent[1];
    const index_t of_block =
        kernels::piece_length *
        (is_in_parts(kernel) ? warps_of_row(kernel) * pieces_of_warp(kernel) : 1);
    return columns > 0 && columns % of_block == 0;
}

index_t strips_of_block(const Kernel& kernel) {
    constexpr index_t enough_warps = 4096;
    if (!is_in_parts(kernel)) return kernels::strips_of_group;
    if (sums_at(kernel, Level::column) == 0) return 1;
    const index_t warps = walk_over(kernel.elements).row_parts(2) * warps_of_row(kernel);
    const index_t bytes = bytes_of_pieces(kernel) + bytes_of_strip(kernel);
    return warps >= enough_warps && bytes <= most_bytes_on_chip ? 2 : 1;
}

index_t sums_of(const Kernel& kernel, Target target) {
    const kernels::Walk walk = walk_over(kernel.elements);
    const bool device = target == Target::device;
    if (is_of_rows(kernel)) {
        const index_t parts = walk.row_parts(device ? strips_of_block(kernel) : 1);
        return sums_at(kernel, Level::row) * (device ? walk.pieces() : 0) +
               sums_at(kernel, Level::column) * parts * walk.columns;
    }
    return sums_at(kernel, Level::sum) *
           (walk.strips() + (device ? walk.pieces() + kernels::sums_apart : 0));
}

LaunchShape launch_of(const Kernel& kernel) {
    constexpr index_t most_rows_of_blocks = 65535, most_blocks_of_problems = 65535;
    constexpr index_t most_blocks_of_rows = 1 << 20;
    const kernels::Walk walk = walk_over(kernel.elements);
    if (is_of_batches(kernel)) {
        const ProblemGroups groups = problem_groups(kernel);
        const auto threads = static_cast<unsigned>(groups.threads * groups.problems);
        const index_t blocks = (walk.count + groups.problems - 1) / groups.problems;
        return {static_cast<unsigned>(std::clamp<index_t>(blocks, 1, most_blocks_of_problems)), 1,
                threads, 1, groups.shared_bytes};
    }
    LaunchShape shape;
    const auto blocks = [](index_t count, index_t of_block) {
        return std::max<index_t>(1, (count + of_block - 1) / of_block);
    };
    if (is_of_rows(kernel)) {
        const bool parts = is_in_parts(kernel);
        const bool groups = sums_at(kernel, Level::column) > 0;
        const index_t pieces = walk.pieces_of_row();
        index_t tasks = 0;
        if (parts) {
            shape.block_y = static_cast<unsigned>(warps_of_row(kernel));
            const index_t strips = strips_of_block(kernel);
            shape.shared_bytes =
                bytes_of_pieces(kernel) + (strips > 1 ? bytes_of_strip(kernel) : 0);
            tasks = walk.row_parts(strips);
        } else if (groups) {
            shape.block_y = static_cast<unsigned>(
                std::clamp<index_t>(walk.row_strips(), 1, kernels::strips_of_group));
            shape.shared_bytes = shape.block_y * kernels::piece_length * bytes_of_sum(kernel);
            tasks = walk.row_parts(kernels::strips_of_group) * pieces;
        } else {
            tasks = blocks(blocks(walk.rows, kernels::rows_of_task) * pieces, shape.block_y);
        }
        shape.grid_x = static_cast<unsigned>(std::clamp<index_t>(tasks, 1, most_blocks_of_rows));
        return shape;
    }
    shape.grid_x = static_cast<unsigned>(blocks(walk.columns, columns_of_block(kernel)));
    shape.grid_y =
        static_cast<unsigned>(std::min(blocks(walk.rows, shape.block_y), most_rows_of_blocks));
    shape.shared_bytes = bytes_of_tiles(kernel, columns_of_block(kernel));
    return shape;
}

LaunchShape finish_of(const Kernel& kernel) {
    LaunchShape shape;
    constexpr index_t most_blocks = 1 << 16;
    const kernels::Walk walk = walk_over(kernel.elements);
    if (!is_of_rows(kernel)) {
        const index_t blocks = (walk.strips() + shape.block_y - 1) / shape.block_y;
        shape.grid_x = static_cast<unsigned>(std::clamp<index_t>(blocks, 1, most_blocks));
        shape.shared_bytes = sizeof(unsigned);
        return shape;
    }
    const auto blocks = [&](Level level, LinePart part, index_t lines) {
        const std::vector<LinePart> parts = line_parts(kernel);
        const bool any = sums_at(kernel, level) > 0 ||
                         std::find(parts.begin(), parts.end(), part) != parts.end();
        return any ? (lines + kernels::lanes - 1) / kernels::lanes : 0;
    };
    const index_t tasks =
        (is_in_parts(kernel) ? 0 : blocks(Level::row, LinePart::of_row, walk.rows)) +
        blocks(Level::column, LinePart::of_column, walk.columns);
    shape.grid_x = static_cast<unsigned>(std::clamp<index_t>(tasks, 1, most_blocks));
    shape.shared_bytes = kernels::lanes * kernels::lanes * bytes_of_sum(kernel);
    return shape;
}

}  // namespace aperture::compose
