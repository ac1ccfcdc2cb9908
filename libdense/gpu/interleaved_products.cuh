// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/operand_panels.cuh"
#include "libdense/gpu/small_products.cuh"

namespace aperture::dense {

inline constexpr int interleaved_threads = 256;

/// Operands of interleaved_products.
template <class T>
struct InterleavedProductArguments : ProductOperands<T> {
    FastDivider tiles, tile_columns;  ///< of a problem
    int tile_rows;
    int groups;  ///< of 32 problems in a block
};

/// Neighbouring threads have neighbouring problems, whose entries lie side by side. Warp: a tile of
/// side x side entries of C, whose rows and columns are one of every other warp apart. Block: all
/// tiles of its problems, so that they load from the first-level cache what others have loaded.
/// Grid: problems, on x. Bytes and flops as of products_in_tiles.
template <class T, int side>
__global__ void __launch_bounds__(interleaved_threads)
    interleaved_products(InterleavedProductArguments<T> p) {
    const int group = p.tiles.quotient(core::warp_rank());
    const int tile = core::warp_rank() - group * p.tiles.size();
    const int first_row = p.tile_columns.quotient(tile);
    const int first_column = tile - first_row * p.tile_columns.size();
    const index_t problem =
        (static_cast<index_t>(blockIdx.x) * p.groups + group) * core::warp_size + core::lane_rank();
    if (problem >= p.c.extent[0]) return;
    const index_t rows = p.c.extent[1], columns = p.c.extent[2];
    const auto row = [&](int i) { return first_row + i * p.tile_rows; };
    const auto column = [&](int j) { return first_column + j * p.tile_columns.size(); };
    SmallTile<T, side> at;
    APERTURE_UNROLL
    for (int i = 0; i < side; ++i) {
        at.left[i] = &p.a(problem, row(i) < rows ? row(i) : first_row, 0);
        at.right[i] = &p.b(problem, column(i) < columns ? column(i) : first_column, 0);
    }
    T sum[side][side] = {};
    APERTURE_UNROLL_BY(4)
    for (int k = 0; k < static_cast<int>(p.a.extent[2]); ++k) {
        at.template add_step<false>(sum, p.a.stride[2], p.b.stride[2], p.conjugate_a,
                                    p.conjugate_b);
    }
    const bool reads_c = !(p.beta == T(RealOf<T>(0)));
    APERTURE_UNROLL
    for (int i = 0; i < side; ++i) {
        APERTURE_UNROLL
        for (int j = 0; j < side; ++j) {
            if (row(i) >= rows || column(j) >= columns) continue;
            T& its = p.c(problem, row(i), column(j));
            const T value = p.alpha * sum[i][j];
            its = reads_c ? value + p.beta * its : value;
        }
    }
}

}  // namespace aperture::dense
