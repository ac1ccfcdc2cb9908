// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Chooses the kernel of a product of small matrices without gaps, small_products.cuh, or that are
// interleaved, interleaved_products.cuh, and launches it.

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "aperture/dense/batch_blas.hpp"
#include "libcore/gpu/launch.cuh"
#include "libcore/rounding.hpp"
#include "libdense/gpu/interleaved_products.cuh"
#include "libdense/gpu/operand_panels.cuh"
#include "libdense/gpu/small_products.cuh"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense::detail {

/// Whether matrices lie without gaps, by rows or by columns, and begin on a chunk.
template <class U>
bool is_matrix_run(const KernelView<U, 3>& a) {
    const auto [problems, rows, columns] = a.extent;
    const bool by_rows =
        (columns == 1 || a.stride[2] == 1) && (rows == 1 || a.stride[1] == columns);
    const bool by_columns =
        (rows == 1 || a.stride[1] == 1) && (columns == 1 || a.stride[2] == rows);
    return problems > 1 && (by_rows || by_columns) && a.stride[0] == rows * columns &&
           reinterpret_cast<std::uintptr_t>(a.data) % 16 == 0;
}

template <class U>
MatrixRun<U> matrix_run(const KernelView<U, 3>& a) {
    constexpr int width = chunk_entries<std::remove_const_t<U>>;
    constexpr int more_than_all = 1 << 18;
    const auto entries = static_cast<int>(a.extent[1] * a.extent[2]);
    const bool is_padded = entries % (2 * width) == 0;
    return {a.data,
            entries,
            static_cast<int>(a.stride[1]),
            static_cast<int>(a.stride[2]),
            0,
            entries + (is_padded ? width : 0),
            FastDivider(is_padded ? entries / width : more_than_all)};
}

/// Problems of a block: whole chunks, if possible whole lines of memory, of each matrix.
template <class E>
int problems_of_small(const SmallProductArguments<E>& p, int planned_bytes) {
    const int bytes = (p.a.stride + p.b.stride + p.c.stride) * static_cast<int>(sizeof(E));
    const auto whole = [&](int unit) {
        const auto of = [&](int entries) {
            return unit / std::gcd(unit, entries * static_cast<int>(sizeof(E)));
        };
        return std::max({of(p.a.entries), of(p.b.entries), of(p.c.entries)});
    };
    int unit = 128;
    while (unit > 16 && 4 * whole(unit) * bytes > 5 * planned_bytes) unit /= 2;
    const int unit_bytes = whole(unit) * bytes;
    return whole(unit) * std::max((planned_bytes + unit_bytes / 2) / unit_bytes, 1);
}

/// Larger ones do not fit in registers.
template <class E>
inline constexpr int most_side = sizeof(E) == 16 ? 3 : 4;

/// Rows and columns of tiles: the fewest instructions, of which those that a tile needs besides
/// products are about 40.
template <class E>
int side_of_tiles(int rows, int columns, int depth) {
    constexpr int words = sizeof(E) / 4;
    constexpr int of_product = core::is_complex<E> ? 2 * words : words;
    const auto instructions = [&](int side) {
        return core::ceil_div(rows, side) * core::ceil_div(columns, side) *
               (depth * (2 * side + side * side * of_product) + 40);
    };
    int best = 2;
    for (const int side : {3, 4}) {
        if (side <= most_side<E> && instructions(side) < instructions(best)) best = side;
    }
    return best;
}

/// Whether a block has enough tiles for its threads.
template <class Executor, class E>
bool launch_small(Executor& executor, void (*kernel)(SmallProductArguments<E>),
                  SmallProductArguments<E> p, int tiles, int planned_bytes) {
    p.tiles = FastDivider(tiles);
    p.problems_at_once = small_threads / tiles;
    p.problems_per_block = problems_of_small(p, planned_bytes);
    if (tiles > small_threads || 2 * tiles * p.problems_per_block < small_threads) return false;
    p.b.offset = p.problems_per_block * p.a.stride;
    p.c.offset = p.b.offset + p.problems_per_block * p.b.stride;
    // A run ends in a chunk of its own.
    constexpr int width = chunk_entries<E>;
    p.b.offset = core::round_up(p.b.offset, width);
    p.c.offset = core::round_up(p.c.offset, width);
    const auto entries = static_cast<std::size_t>(p.c.offset + p.problems_per_block * p.c.stride);
    core::launch(executor, kernel,
                 core::LaunchConfig{dim3(core::blocks_for(p.problems, p.problems_per_block)),
                                    dim3(small_threads), sizeof(E) * entries},
                 p);
    return true;
}

/// Whether a problem is small enough for the registers of a thread, and of which order.
template <class E>
int order_of_threads(const SmallProductArguments<E>& p) {
    const bool is_square = p.rows == p.columns && p.rows == p.depth;
    return is_square && p.a.entries * sizeof(E) <= tuning::most_thread_matrix_bytes ? p.rows : 0;
}

/// Calls launch(std::integral_constant<int, n>) for n = 2, 3 or 4.
template <class Launch>
bool with_constant(int n, const Launch& launch) {
    if (n == 2) return launch(std::integral_constant<int, 2>{});
    if (n == 3) return launch(std::integral_constant<int, 3>{});
    return launch(std::integral_constant<int, 4>{});
}

/// C = alpha op(A) op(B) + beta C of small matrices without gaps, if they are so.
template <class Executor, class E>
bool multiply_small(Executor& executor, const ProductOperands<E>& operands) {
    const auto [problems, rows, columns] = operands.c.extent;
    const core::index_t depth = operands.a.extent[2];
    const auto largest = std::max(rows, columns);
    constexpr int width = chunk_entries<E>;
    const bool whole_chunks = columns % width == 0 && depth % width == 0;
    if (largest > tuning::largest_product_of_runs<E>(whole_chunks) || depth == 0 ||
        depth > tuning::most_small_depth || !is_matrix_run(operands.a) ||
        !is_matrix_run(operands.b) || !is_matrix_run(operands.c)) {
        return false;
    }
    SmallProductArguments<E> p{};
    p.a = matrix_run(operands.a);
    p.b = matrix_run(operands.b);
    p.c = matrix_run(operands.c);
    p.alpha = operands.alpha;
    p.beta = operands.beta;
    p.conjugate_a = operands.conjugate_a;
    p.conjugate_b = operands.conjugate_b;
    p.reads_c = !(operands.beta == E(RealOf<E>(0)));
    p.problems = problems;
    p.rows = static_cast<int>(rows);
    p.columns = static_cast<int>(columns);
    p.depth = static_cast<int>(depth);
    const int planned_bytes = tuning::small_run_bytes<E>(p.columns);
    if (const int order = order_of_threads(p); order >= 2 && order <= 4) {
        return with_constant(order, [&](auto n) {
            if constexpr (n * n * sizeof(E) <= tuning::most_thread_matrix_bytes) {
                return launch_small(executor, products_by_threads<E, n, false>, p, 1,
                                    planned_bytes);
            }
            return false;
        });
    }
    const int side = side_of_tiles<E>(p.rows, p.columns, p.depth);
    p.tile_rows = core::ceil_div(p.rows, side);
    p.tile_columns = FastDivider(core::ceil_div(p.columns, side));
    return with_constant(side, [&](auto n) {
        if constexpr (n <= most_side<E>) {
            const int tiles = p.tile_rows * p.tile_columns.size();
            return launch_small(executor, small_products<E, n>, p, tiles, planned_bytes);
        }
        return false;
    });
}

/// C = alpha op(A) op(B) + beta C of small interleaved matrices, if they are so.
template <class Executor, class E>
bool multiply_interleaved(Executor& executor, const ProductOperands<E>& operands) {
    const auto [problems, rows, columns] = operands.c.extent;
    const core::index_t depth = operands.a.extent[2];
    if (std::max(rows, columns) > tuning::largest_interleaved_product<E> || depth == 0 ||
        problems < core::warp_size || operands.a.stride[0] != 1 || operands.b.stride[0] != 1 ||
        operands.c.stride[0] != 1) {
        return false;
    }
    InterleavedProductArguments<E> p{operands, {}, {}, 0, 0};
    const auto m = static_cast<int>(rows), n = static_cast<int>(columns);
    const int side = side_of_tiles<E>(m, n, static_cast<int>(depth));
    p.tile_rows = core::ceil_div(m, side);
    p.tile_columns = FastDivider(core::ceil_div(n, side));
    const int tiles = p.tile_rows * p.tile_columns.size();
    p.tiles = FastDivider(tiles);
    constexpr int warps = interleaved_threads / core::warp_size;
    if (tiles > warps) return false;
    p.groups = std::max(warps / 2 / tiles, 1);
    return with_constant(side, [&](auto its) {
        if constexpr (its <= most_side<E>) {
            core::launch(
                executor, interleaved_products<E, its>,
                core::LaunchConfig{dim3(core::blocks_for(problems, p.groups * core::warp_size)),
                                   dim3(static_cast<unsigned>(p.groups * tiles * core::warp_size))},
                p);
        }
        return true;
    });
}

/// C = alpha A A^H + beta C of small matrices without gaps, if they are so.
template <class Executor, class E>
bool update_small(Executor& executor, RealOf<E> alpha, const KernelView<const E, 3>& a,
                  RealOf<E> beta, const KernelView<E, 3>& c) {
    const core::index_t order = c.extent[1], depth = a.extent[2];
    if (order > tuning::largest_rank_k_of_runs || depth == 0 || depth > tuning::most_small_depth ||
        !is_matrix_run(a) || !is_matrix_run(c) || c.stride[2] != 1) {
        return false;
    }
    SmallProductArguments<E> p{};
    p.a = matrix_run(a);
    p.b = {nullptr, 0, 0, 0, 0, 0, {}};
    p.c = matrix_run(c);
    p.alpha = E(alpha);
    p.beta = E(beta);
    p.reads_c = beta != RealOf<E>(0);
    p.problems = c.extent[0];
    p.rows = p.columns = static_cast<int>(order);
    p.depth = static_cast<int>(depth);
    constexpr int planned_bytes = tuning::rank_k_run_bytes<E>;
    if (const int n = order_of_threads(p); n >= 2 && n <= 4) {
        return with_constant(n, [&](auto its) {
            if constexpr (its * its * sizeof(E) <= tuning::most_thread_matrix_bytes) {
                return launch_small(executor, products_by_threads<E, its, true>, p, 1,
                                    planned_bytes);
            }
            return false;
        });
    }
    const auto tile_rows = [&](int side) { return core::ceil_div(p.rows, side); };
    const auto tiles = [&](int side) { return tile_rows(side) * (tile_rows(side) + 1) / 2; };
    // Nine entries take about as long as six of tiles of four.
    const int side = sizeof(E) == 16 || 2 * tiles(2) <= 3 * tiles(3) ? 2 : 3;
    p.tile_rows = tile_rows(side);
    p.tile_columns = FastDivider(p.tile_rows | 1);
    if (side == 2) return launch_small(executor, small_rank_k<E, 2>, p, tiles(2), planned_bytes);
    if constexpr (sizeof(E) < 16) {
        return launch_small(executor, small_rank_k<E, 3>, p, tiles(3), planned_bytes);
    }
    return false;
}

}  // namespace aperture::dense::detail
