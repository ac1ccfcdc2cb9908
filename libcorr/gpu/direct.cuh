// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums of products as they are defined.

#include "libcorr/gpu/row_ring.cuh"

namespace aperture::corr::gpu {

/// Displacements of a warp: a thread has ThreadRows x ThreadColumns of them, in registers.
/// LanesAcross threads are side by side, in 32 / LanesAcross rows, which take rows of displacements
/// by turns: those that read together are in different banks then.
template <int LanesAcross, int ThreadRows = 8, int ThreadColumns = 8>
struct DirectTile {
    static constexpr int thread_rows = ThreadRows;
    static constexpr int thread_columns = ThreadColumns;
    static constexpr int lanes_down = core::warp_size / LanesAcross;
    static constexpr int rows = lanes_down * thread_rows;
    static constexpr int columns = LanesAcross * thread_columns;

    /// The thread's first column.
    __device__ __forceinline__ static int column() {
        return core::lane_rank() % LanesAcross * thread_columns;
    }
    /// The thread's first row; row j is lanes_down * j below it.
    __device__ __forceinline__ static int row() { return core::lane_rank() / LanesAcross; }
};

/// How a warp goes along a row (RowRing).
template <class Tile_, class Form_>
struct DirectSteps {
    using Tile = Tile_;
    using Form = Form_;
    static constexpr int cell_bytes = static_cast<int>(sizeof(typename Form::Cell));
    /// Columns that the thread holds of A, so that they need not be moved.
    static constexpr int step = Form::planes_of_cell == 1
                                    ? (Tile::thread_columns == 8 ? 16 : Tile::thread_columns + 4)
                                    : Tile::thread_columns;
    static constexpr int planes = 1;
    static constexpr int rows_of_a = 1;
    static constexpr int columns_behind = 0;
    static constexpr int columns_over = 0;
    APERTURE_HD static constexpr int place(int i) { return i; }
    APERTURE_HD static constexpr int cells_of_a(int columns) {
        return columns + Tile::columns + columns_beyond;
    }
    /// Rows are an odd multiple of 16 bytes apart, so that those of a warp's threads are in
    /// different banks.
    APERTURE_HD static constexpr int cells_of_b(int columns) {
        return (columns * cell_bytes / 16 | 1) * 16 / cell_bytes;
    }
    APERTURE_HD static constexpr int ring_bytes(int columns) {
        return cell_bytes * 2 * ((Tile::rows + 1) * cells_of_b(columns) + cells_of_a(columns));
    }
};

/// The most columns whose rings eight warps have room for on a multiprocessor of 228 KB.
template <class Steps>
APERTURE_HD constexpr int fitting_columns() {
    constexpr int most_bytes = 228 * 1024 / 8 - 1024;
    int columns = Steps::step;
    while (Steps::ring_bytes(columns + Steps::step) <= most_bytes) columns += Steps::step;
    return columns;
}

template <class Tile, class Form>
struct DirectWalk : DirectSteps<Tile, Form> {
    static constexpr int most_columns = fitting_columns<DirectSteps<Tile, Form>>();
};

__device__ __forceinline__ void load_four(const float* from, float* to) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}
__device__ __forceinline__ void load_four(const double* from, double* to) {
    APERTURE_UNROLL
    for (int i = 0; i < 4; i += 2) {
        const double2 two = *reinterpret_cast<const double2*>(from + i);
        to[i] = two.x;
        to[i + 1] = two.y;
    }
}

/// Adds the products of `columns` columns, rounded up to steps: row j of the thread has the row of
/// B that lies j * row_stride before `b`. What is multiplied next is loaded before.
template <class Walk, class T>
__device__ __forceinline__ void add_columns(
    const T* a, const T* b, int columns,
    T (&sum)[Walk::Tile::thread_rows][Walk::Tile::thread_columns]) {
    using Tile = typename Walk::Tile;
    constexpr int width = Tile::thread_columns;
    constexpr int size = Walk::step;
    constexpr int row_stride = Tile::lanes_down * RowRing<Walk>::pitch_of_b;
    static_assert(size >= width + 4 && size % 4 == 0);
    // Column x + i is in entry i % size.
    T window[size];
    T factor[2][4];
    APERTURE_UNROLL
    for (int k = 0; k < size - 4; k += 4) load_four(a + k, window + k);
    load_four(b, factor[0]);
    APERTURE_NO_UNROLL
    for (int x = 0; x < columns; x += size) {
        APERTURE_UNROLL
        for (int i = 0; i < size; i += 4) {
            load_four(a + x + i + size - 4, window + (i + size - 4) % size);
            APERTURE_UNROLL
            for (int j = 0; j < Tile::thread_rows; ++j) {
                const int next = (j + 1) % Tile::thread_rows;
                load_four(b + x + i + (next == 0 ? 4 : 0) - next * row_stride, factor[(j + 1) % 2]);
                APERTURE_UNROLL
                for (int column = 0; column < 4; ++column) {
                    APERTURE_UNROLL
                    for (int k = 0; k < width; ++k) {
                        sum[j][k] += factor[j % 2][column] * window[(i + column + k) % size];
                    }
                }
            }
        }
    }
}
template <class Walk>
__device__ __forceinline__ void add_columns(
    const float4* a, const float4* b, int columns,
    float (&sum)[Walk::Tile::thread_rows][Walk::Tile::thread_columns]) {
    using Tile = typename Walk::Tile;
    constexpr int width = Tile::thread_columns;
    constexpr int row_stride = Tile::lanes_down * RowRing<Walk>::pitch_of_b;
    static_assert(Walk::step == width);
    // Column x + i is in entry i % 8.
    float4 window[width];
    float4 factor[2];
    APERTURE_UNROLL
    for (int k = 0; k < width; ++k) window[k] = a[k];
    factor[0] = b[0];
    APERTURE_NO_UNROLL
    for (int x = 0; x < columns; x += width) {
        APERTURE_UNROLL
        for (int i = 0; i < width; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < Tile::thread_rows; ++j) {
                const int next = (j + 1) % Tile::thread_rows;
                factor[(j + 1) % 2] = b[x + i + (next == 0 ? 1 : 0) - next * row_stride];
                const float4& now = factor[j % 2];
                APERTURE_UNROLL
                for (int k = 0; k < width; ++k) {
                    const float4& other = window[(i + k) % width];
                    sum[j][k] += now.x * other.x + now.y * other.y;
                    sum[j][k] += now.z * other.z + now.w * other.w;
                }
            }
            window[i] = a[x + i + width];
        }
    }
}

/// Sums of products over a part of the rows of A. Thread: 64 displacements in registers, twice: of
/// a chain, and of all chains; of 5 loads of 16 bytes (4 x 16) or 9 (8 x 8) come 256 multiply-adds.
/// Warp, which is a block: Tile::rows x Tile::columns displacements. Grid: parts, planes of cells.
/// Shared memory: RowRing, 28 KB. 2 flops a product; some 5 % of the instructions are not
/// multiply-adds, and of those a sixth meet zeros for 250 x 250 displacements of 500 x 500 pixels.
/// Source: Bordawekar, Bondhugula & Rao 2010, section 3.
template <class Tile, class Form>
__global__ void __launch_bounds__(core::warp_size, 8)
    direct_kernel(SumTask<typename Form::Cell> task, int planes, const PlaneGround* grounds_a,
                  const PlaneGround* grounds_b, typename Form::Number* sums) {
    using Walk = DirectWalk<Tile, Form>;
    using Number = typename Form::Number;
    constexpr bool in_chains = sizeof(Number) == sizeof(float);
    const PartOfTile part = task.parts[blockIdx.x];
    const int plane = static_cast<int>(blockIdx.y);
    // Where rows are alike, so are their errors, and do not average out: every chain begins with
    // another offset, which the end takes out.
    Number product = 0;
    if constexpr (in_chains) {
        constexpr int together = Form::planes_of_cell;
        for (int p = together * plane; p < min(together * (plane + 1), planes); ++p) {
            product += grounds_a[p].contrast * grounds_b[p].contrast;
        }
    }
    Number total[Tile::thread_rows][Tile::thread_columns] = {};
    Number chain[Tile::thread_rows][Tile::thread_columns];
    double offsets = 0;
    int rows_left = 0;
    const auto end_chain = [&] {
        APERTURE_UNROLL
        for (int j = 0; j < Tile::thread_rows; ++j) {
            APERTURE_UNROLL
            for (int k = 0; k < Tile::thread_columns; ++k) total[j][k] += chain[j][k];
        }
        rows_left = 0;
    };
    for_rows<Walk>(task, part, plane, [&](const RowRing<Walk>& ring, int r, int x0, int end) {
        const auto* const a = ring.a(0) + Tile::column();
        if constexpr (!in_chains) {
            add_columns<Walk>(a, ring.b(Tile::row()), end - x0, total);
            return;
        }
        if (rows_left == 0) {
            rows_left = task.chain_rows;
            const Number offset = row_offset(product, r);
            offsets += static_cast<double>(offset);
            APERTURE_UNROLL
            for (int j = 0; j < Tile::thread_rows; ++j) {
                APERTURE_UNROLL
                for (int k = 0; k < Tile::thread_columns; ++k) chain[j][k] = offset;
            }
        }
        add_columns<Walk>(a, ring.b(Tile::row()), end - x0, chain);
        if (--rows_left == 0) end_chain();
    });
    if (rows_left > 0) end_chain();
    Number* const to = sums + (index_t{plane} * static_cast<int>(gridDim.x) + blockIdx.x) *
                                  Tile::rows * Tile::columns;
    APERTURE_UNROLL
    for (int j = 0; j < Tile::thread_rows; ++j) {
        APERTURE_UNROLL
        for (int k = 0; k < Tile::thread_columns; ++k) {
            to[(Tile::row() + j * Tile::lanes_down) * Tile::columns + Tile::column() + k] =
                static_cast<Number>(static_cast<double>(total[j][k]) - offsets);
        }
    }
}

}  // namespace aperture::corr::gpu
