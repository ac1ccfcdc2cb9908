// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Chooses the kernel of a batched product, small_products.cuh, products_in_tiles.cuh or
// products_in_blocks.cuh, and launches it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "aperture/dense/batch_blas.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libcore/rounding.hpp"
#include "libdense/gpu/products_in_blocks.cuh"
#include "libdense/gpu/products_in_tiles.cuh"
#include "libdense/gpu/small_products_launch.cuh"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense::detail {

/// The batch of transposed matrices.
template <class E>
KernelView<E, 3> turned(const KernelView<E, 3>& a) {
    return {
        a.data, {a.extent[0], a.extent[2], a.extent[1]}, {a.stride[0], a.stride[2], a.stride[1]}};
}

/// Whether pieces of 16 bytes along dimension `along` cover all entries.
template <class E, int rank>
bool is_in_chunks(const KernelView<E, rank>& operand, int along) {
    bool whole = operand.extent[along] > 1 && operand.stride[along] == 1 &&
                 reinterpret_cast<std::uintptr_t>(operand.data) % 16 == 0 &&
                 operand.extent[along] % chunk_entries<E> == 0;
    for (int d = 0; d < rank; ++d) {
        const bool steps = d != along && operand.extent[d] > 1;
        whole = whole && (!steps || operand.stride[d] % chunk_entries<E> == 0);
    }
    return whole;
}

/// Order in which `threads` visit a panel of `extent` problems x lines x depth of `operand`, whose
/// strides in shared memory are `tile_stride`; `unit` is the dimension along which they are 1.
template <class E>
PanelOrder panel_order(const KernelView<E, 3>& operand, const std::array<int, 3>& extent,
                       const std::array<int, 3>& tile_stride, int unit, int threads) {
    // Of a dimension of extent 1 the stride does not matter.
    const auto contiguous = [&](int d) { return operand.extent[d] > 1 && operand.stride[d] == 1; };
    const int other = 3 - unit;
    const int fastest = contiguous(0) ? 0 : contiguous(other) ? other : unit;
    const int middle = fastest == unit ? other : unit;
    const bool in_chunks = fastest == unit && is_in_chunks(operand, unit);
    PanelOrder order{};
    order.in_chunks = in_chunks;
    order.threads = 1;
    std::array<int, 3> passes{};
    // Eight entries are a sector or more; with four of the unit dimension they are in 32 banks.
    const int most = fastest == unit ? core::warp_size : 8;
    for (int l = 0; l < 3; ++l) {
        PanelLoop& loop = order.loop[l];
        loop.dimension = l == 0 ? fastest : l == 1 ? middle : 3 - fastest - middle;
        const auto d = static_cast<std::size_t>(loop.dimension);
        loop.width = l == 0 && in_chunks ? chunk_entries<E> : 1;
        const int pieces = std::max(core::ceil_div(extent[d], loop.width), 1);
        const int its_threads = std::min(pieces, l == 0 ? most : threads / order.threads);
        loop.threads = FastDivider(its_threads);
        loop.faster_threads = FastDivider(order.threads);
        loop.stride = loop.width * operand.stride[loop.dimension];
        loop.step = its_threads * loop.stride;
        loop.tile_stride = loop.width * tile_stride[d];
        loop.tile_step = its_threads * loop.tile_stride;
        order.threads *= its_threads;
        passes[d] = core::ceil_div(pieces, its_threads);
    }
    std::sort(std::begin(order.loop), std::end(order.loop),
              [&](const PanelLoop& a, const PanelLoop& b) {
                  return passes[std::size_t(a.dimension)] < passes[std::size_t(b.dimension)];
              });
    return order;
}

/// Divides C into blocks, as even as tiles allow. Sets p.rows, p.columns and what follows from
/// them.
template <class Tile, class E>
void divide_product(ProductArguments<E>& p) {
    constexpr tuning::ProductShape shape = Tile::shape;
    const auto rows = static_cast<int>(p.c.extent[1]);
    const auto columns = static_cast<int>(p.c.extent[2]);
    const int row_blocks = core::ceil_div(rows, shape.rows * shape.most_rows);
    const int column_blocks = core::ceil_div(columns, shape.columns * shape.most_columns);
    p.row_blocks = FastDivider(row_blocks);
    p.blocks_of_c = static_cast<unsigned>(row_blocks * column_blocks);
    p.tiles.rows = core::ceil_div(rows, row_blocks * shape.rows);
    const int tile_columns = core::ceil_div(columns, column_blocks * shape.columns);
    p.tiles.columns = FastDivider(tile_columns);
    p.tiles.pair_bits = p.tiles.rows % 2 == 0 ? 1 : 0;
    p.threads_of_c = FastDivider(p.tiles.rows * tile_columns);
    p.rows = std::min(rows, p.tiles.rows * shape.rows);
    p.columns = std::min(columns, tile_columns * shape.columns);
    p.c_row = chunked_stride<E>(tile_columns * shape.columns);
    p.c_problem = chunked_stride<E>(p.tiles.rows * shape.rows * p.c_row);
}

/// Sets the depth of a slice and the problems of a block: whole problems where a block has enough
/// of them, otherwise slices. Returns the slices that are in shared memory at once.
template <class Tile, class E>
int choose_slices(ProductArguments<E>& p, bool a_by_depth, int shared_bytes) {
    constexpr int most_bytes = 48 * 1024;
    constexpr int wanted_threads = std::min(128, Tile::shape.most_rows * Tile::shape.most_columns);
    const int most_problems = std::max(wanted_threads / p.threads_of_c.size(), 1);
    constexpr auto entry = static_cast<int>(sizeof(E));
    const int rows = p.tiles.rows * Tile::shape.rows;
    const int columns = p.tiles.columns.size() * Tile::shape.columns;
    // Sets the strides of slices. Returns their bytes for a problem.
    const auto arrange = [&](int slice_depth) {
        const auto panel = [&](bool by_depth, int lines, int& problem, int& line, int& step) {
            (by_depth ? step : line) = 1;
            (by_depth ? line : step) = chunked_stride<E>(by_depth ? slice_depth : lines);
            problem = chunked_stride<E>(by_depth ? lines * line : slice_depth * step);
        };
        panel(a_by_depth, rows, p.a_problem, p.a_line, p.a_depth);
        panel(false, columns, p.b_problem, p.b_line, p.b_depth);
        p.depth = slice_depth;
        return (p.a_problem + p.b_problem) * entry;
    };
    const auto problems_of = [&](int bytes) {
        return std::clamp(most_bytes / std::max(bytes, p.c_problem * entry), 1, most_problems);
    };
    const auto depth = static_cast<int>(p.a.extent[2]);
    const int whole = arrange(std::max(depth, 1));
    p.problems_per_block = problems_of(whole);
    if (whole > most_bytes || 2 * p.problems_per_block < most_problems) {
        constexpr int planned = Tile::shape.depth;
        int bytes = arrange(std::min(p.depth, planned));
        if (product_stages * bytes > shared_bytes) bytes = arrange(std::min(p.depth, planned / 2));
        p.problems_per_block = problems_of(product_stages * bytes);
    }
    p.b_offset = p.problems_per_block * p.a_problem;
    p.stage_stride = p.b_offset + p.problems_per_block * p.b_problem;
    return std::clamp(core::ceil_div(depth, p.depth), 1, product_stages);
}

/// `a_by_depth`: whether chunks of A in shared memory are along the depth.
template <class Tile, class Executor, class E>
void multiply_in_tiles(Executor& executor, const ProductOperands<E>& operands, bool a_by_depth) {
    ProductArguments<E> p{};
    static_cast<ProductOperands<E>&>(p) = operands;
    divide_product<Tile>(p);
    const int stages = choose_slices<Tile>(p, a_by_depth, executor.shared_memory_per_block());
    const int threads =
        core::round_up(p.threads_of_c.size() * p.problems_per_block, core::warp_size);
    p.panel_a = panel_order(p.a, {p.problems_per_block, p.rows, p.depth},
                            {p.a_problem, p.a_line, p.a_depth}, a_by_depth ? 2 : 1, threads);
    p.panel_b = panel_order(p.b, {p.problems_per_block, p.columns, p.depth},
                            {p.b_problem, p.b_line, p.b_depth}, 1, threads);
    p.panel_c = panel_order(p.c, {p.problems_per_block, p.rows, p.columns},
                            {p.c_problem, p.c_row, 1}, 2, threads);
    p.direct = p.panel_c.in_chunks && p.columns >= tuning::least_direct_columns;
    const int entries =
        std::max(stages * p.stage_stride, p.direct ? 0 : p.problems_per_block * p.c_problem);
    const index_t groups = core::ceil_div(p.c.extent[0], index_t(p.problems_per_block));
    core::launch(executor, products_in_tiles<E, Tile>,
                 core::LaunchConfig{dim3(core::blocks_for(groups * p.blocks_of_c, 1)),
                                    dim3(static_cast<unsigned>(threads)),
                                    sizeof(E) * static_cast<std::size_t>(entries)},
                 p);
}

template <class Shape, class Executor, class E>
void multiply_in_blocks(Executor& executor, const ProductOperands<E>& operands) {
    using Block = ProductBlock<E, Shape>;
    BlockProductArguments<E> p{};
    static_cast<ProductOperands<E>&>(p) = operands;
    const auto copy = [](const KernelView<const E, 3>& operand) {
        const bool along_depth = operand.extent[2] > 1 && operand.stride[2] == 1;
        return PanelCopy{along_depth, is_in_chunks(operand, along_depth ? 2 : 1)};
    };
    p.copy_a = copy(p.a);
    p.copy_b = copy(p.b);
    p.in_chunks = is_in_chunks(p.c, 2);
    p.row_blocks = core::blocks_for(p.c.extent[1], Shape::rows);
    p.blocks_of_c = p.row_blocks * core::blocks_for(p.c.extent[2], Shape::columns);
    core::launch(executor, products_in_blocks<E, Shape>,
                 core::LaunchConfig{dim3(core::blocks_for(p.c.extent[0] * p.blocks_of_c, 1)),
                                    dim3(Block::Part::threads), sizeof(E) * Block::shared_entries},
                 p);
}

/// Products that are larger than tuning::largest_small_product.
template <class Executor, class E>
void multiply_large(Executor& executor, const ProductOperands<E>& p) {
    using Large = tuning::LargeProduct<E>;
    // Entries of the blocks that cover C.
    const auto covered = [&](auto shape) {
        using Shape = decltype(shape);
        return core::round_up(p.c.extent[1], index_t{Shape::rows}) *
               core::round_up(p.c.extent[2], index_t{Shape::columns});
    };
    if constexpr (std::same_as<E, float>) {
        if (3 * covered(Large{}) > 4 * p.c.extent[1] * p.c.extent[2]) {
            is_in_chunks(p.a, 2)
                ? multiply_in_tiles<ThreadTile<E, true, true>>(executor, p, true)
                : multiply_in_tiles<ThreadTile<E, false, true>>(executor, p, false);
            return;
        }
    } else {
        using Other = tuning::OtherProduct<E>;
        // The few threads of fp64 would take too long for single entries.
        const bool is_slow =
            std::same_as<E, double> && (p.c.extent[1] % 2 != 0 || p.c.extent[2] % 2 != 0);
        if (!is_slow && 4 * covered(Other{}) <= 3 * covered(Large{})) {
            multiply_in_blocks<Other>(executor, p);
            return;
        }
    }
    multiply_in_blocks<Large>(executor, p);
}

/// C = alpha op(A) op(B) + beta C of checked operands.
template <class Executor, class E>
void multiply(Executor& executor, Op op_a, Op op_b, E alpha, KernelView<const E, 3> a,
              KernelView<const E, 3> b, E beta, KernelView<E, 3> c) {
    if (c.empty()) return;
    ProductOperands<E> p{op_a == Op::none ? a : turned(a),
                         op_b == Op::none ? turned(b) : b,
                         c,
                         alpha,
                         beta,
                         op_a == Op::adjoint,
                         op_b == Op::adjoint};
    // The columns of C in shared memory are contiguous: C^T = op(B)^T op(A)^T if those of C are
    // not.
    if (c.stride[2] != 1 && c.stride[1] == 1) {
        std::swap(p.a, p.b);
        std::swap(p.conjugate_a, p.conjugate_b);
        p.c = turned(c);
    }
    const auto [least, most] = std::minmax({p.c.extent[1], p.c.extent[2]});
    // Larger ones have their sums in the order of tensor cores.
    if (least <= tuning::largest_small_product<E> &&
        (multiply_small(executor, p) || multiply_interleaved(executor, p))) {
        return;
    }
    if constexpr (sizeof(E) == 8) {
        using Shape = tuning::SmallBlockProduct<E>;
        if (least > tuning::largest_product_in_tiles && most <= Shape::rows && p.c.stride[2] == 1) {
            multiply_in_blocks<Shape>(executor, p);
            return;
        }
    }
    if (least > tuning::largest_small_product<E>) {
        multiply_large(executor, p);
    } else if constexpr (sizeof(E) == 16) {
        multiply_in_tiles<ThreadTile<E, false>>(executor, p, false);
    } else if (p.c.extent[2] >= tuning::least_direct_columns && is_in_chunks(p.a, 2)) {
        multiply_in_tiles<ThreadTile<E, true>>(executor, p, true);
    } else {
        multiply_in_tiles<ThreadTile<E, false>>(executor, p, false);
    }
}

}  // namespace aperture::dense::detail
