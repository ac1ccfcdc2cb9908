// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums of products by definition.

#include "libcorr/gpu/row_ring.cuh"
#include "libcorr/sum_formulas.hpp"

namespace aperture::corr::gpu {

/// Displacements of a warp: a thread has ThreadRows x ThreadColumns of them, in registers.
/// LanesAcross threads are side by side, in 32 / LanesAcross rows. Their rows of displacements are
/// interleaved, which avoids bank conflicts.
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

/// How a warp moves along a row (RowRing). Loads `loaded` cells at once; those of B reach this far
/// behind a row's last cells.
template <class Tile_, class Form_, int loaded>
struct DirectSteps {
    using Tile = Tile_;
    using Form = Form_;
    static constexpr int cell_bytes = static_cast<int>(sizeof(typename Form::Cell));
    static constexpr int step = 2 * loaded;
    static constexpr int planes = 1;
    static constexpr int rows_of_a = 1;
    static constexpr int columns_behind = 0;
    static constexpr int columns_over = 0;
    /// Threads of four rows skip those that A's first rows do not reach: code for each number of
    /// rows.
    static constexpr bool skips_rows = Tile::thread_rows == 4;
    static constexpr int saved_rows = skips_rows ? 4 * Tile::lanes_down / 3 : 0;
    /// In columns of a row, as are the overheads of a row and of a piece. Measured.
    APERTURE_HD static constexpr index_t work_of_row(int columns, int) {
        return 10 + (columns + step - 1) / step * step;
    }
    static constexpr index_t work_of_start = 105;
    APERTURE_HD static constexpr int place(int i) { return i; }
    APERTURE_HD static constexpr int cells_of_a(int columns) {
        return columns + Tile::columns + columns_beyond;
    }
    /// Rows are an odd multiple of 16 bytes apart, so that a warp's threads have no bank conflicts,
    /// and end before the next row, which copies may be filling.
    APERTURE_HD static constexpr int cells_of_b(int columns) {
        return ((columns + loaded) * cell_bytes / 16 | 1) * 16 / cell_bytes;
    }
    APERTURE_HD static constexpr int ring_bytes(int columns) {
        return cell_bytes * 2 * ((Tile::rows + 1) * cells_of_b(columns) + cells_of_a(columns));
    }
};

/// The most columns with which the rings of eight warps fit a multiprocessor's 228 KB.
template <class Steps>
APERTURE_HD constexpr int fitting_columns() {
    constexpr int max_bytes = 228 * 1024 / 8 - 1024;
    int columns = Steps::step;
    while (Steps::ring_bytes(columns + Steps::step) <= max_bytes) columns += Steps::step;
    return columns;
}

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

/// Cells of one plane.
template <class Tile, class T>
struct DirectWalk : DirectSteps<Tile, SeparateForm<T>, 4> {
    using Steps = DirectSteps<Tile, SeparateForm<T>, 4>;
    using Steps::step;
    static constexpr int max_columns = fitting_columns<Steps>();

    /// Adds the products of `columns` columns, rounded up to steps, for the first Rows rows of the
    /// thread: row j has the row of B that lies j * lanes_down rows before `b`. Each factor is
    /// loaded while the previous one is multiplied. More columns at once would need fewer loads of
    /// A, but their code would not fit the instruction cache that keeps up with the issue rate.
    template <int Rows>
    __device__ __forceinline__ static void add_columns(
        const T* a, const T* b, int columns, T (&sum)[Tile::thread_rows][Tile::thread_columns]) {
        constexpr int width = Tile::thread_columns;
        constexpr int row_stride = Tile::lanes_down * RowRing<DirectWalk>::pitch_of_b;
        static_assert(step * Rows / 4 % 2 == 0);
        T window[width + step];
        T factor[2][4];
        load_four(b, factor[0]);
        APERTURE_NO_UNROLL
        for (int x = 0; x < columns; x += step) {
            APERTURE_UNROLL
            for (int k = 0; k < width; k += 4) load_four(a + x + k, window + k);
            APERTURE_UNROLL
            for (int i = 0; i < step; i += 4) {
                load_four(a + x + i + width, window + i + width);
                APERTURE_UNROLL
                for (int j = 0; j < Rows; ++j) {
                    const int next = (j + 1) % Rows;
                    const int now = (i / 4 * Rows + j) % 2;
                    load_four(b + x + i + (next == 0 ? 4 : 0) - next * row_stride, factor[1 - now]);
                    APERTURE_UNROLL
                    for (int column = 0; column < 4; ++column) {
                        APERTURE_UNROLL
                        for (int k = 0; k < width; ++k) {
                            sum[j][k] += factor[now][column] * window[i + column + k];
                        }
                    }
                }
            }
        }
    }
};

/// Adds the products of a row for the first `reached` rows of the thread: some thread has a row of
/// B for them.
template <class Walk, class Cell, class T>
__device__ __forceinline__ void add_reached_columns(
    int reached, const Cell* a, const Cell* b, int columns,
    T (&sum)[Walk::Tile::thread_rows][Walk::Tile::thread_columns]) {
    if constexpr (Walk::skips_rows) {
        if (reached == 1) return Walk::template add_columns<1>(a, b, columns, sum);
        if (reached == 2) return Walk::template add_columns<2>(a, b, columns, sum);
        if (reached == 3) return Walk::template add_columns<3>(a, b, columns, sum);
    }
    Walk::template add_columns<Walk::Tile::thread_rows>(a, b, columns, sum);
}

/// A fixed-point sum: additions do not round, and each number is rounded by up to half a unit,
/// whatever the sum. The numbers' start values are subtracted at the end, so that integers may wrap
/// until then.
class SumInUnits {
  public:
    /// For sums of up to `largest`, which is less than 2^30 units.
    __device__ __forceinline__ explicit SumInUnits(float largest) {
        int exponent = 0;
        frexpf(largest, &exponent);
        units_ = ldexpf(1.0F, min(max(30 - exponent, -126), 126));
    }
    __device__ __forceinline__ unsigned units_of(float number) const {
        return static_cast<unsigned>(__float2int_rn(number * units_));
    }
    /// The sum minus `offsets`, the total of the numbers' start values; NaN if this is NaN.
    __device__ __forceinline__ float value(unsigned units, double offsets) const {
        const double unit = 1 / static_cast<double>(units_);
        const double of_offsets = offsets * static_cast<double>(units_);
        const double whole = rint(of_offsets);
        const auto left =
            static_cast<int>(units - static_cast<unsigned>(static_cast<long long>(whole)));
        return static_cast<float>((static_cast<double>(left) - (of_offsets - whole)) * unit);
    }

  private:
    float units_;  ///< in 1, a power of two
};

/// Stores the sums of products over a warp's parts of a plane of cells. `product`: a bound of their
/// mean.
template <class Walk>
__device__ __forceinline__ void sum_parts(const SumTask<typename Walk::Form::Cell>& task, int plane,
                                          typename Walk::Form::Number product,
                                          typename Walk::Form::Number* sums) {
    using Tile = typename Walk::Tile;
    using Number = typename Walk::Form::Number;
    constexpr bool in_chains = sizeof(Number) == sizeof(float);
    // Cauchy-Schwarz bound of the sums; an offset is less than a fourth of it.
    const auto pixels = static_cast<float>(index_t{task.a.rows} * task.a.columns);
    const SumInUnits in_units(static_cast<float>(product) * pixels);
    product *= pixels / (pixels + 8);
    const int parts = task.first_parts[gridDim.y];
    const int end_part = task.first_parts[blockIdx.y + 1];
    APERTURE_NO_UNROLL
    for (int p = task.first_parts[blockIdx.y]; p < end_part; ++p) {
        const PartOfTile part = task.parts[p];
        typename core::Conditional<in_chains, unsigned, Number>::Type
            total[Tile::thread_rows][Tile::thread_columns] = {};
        Number chain[Tile::thread_rows][Tile::thread_columns];
        double offsets = 0;
        int rows_left = 0;
        const auto end_chain = [&] {
            APERTURE_UNROLL
            for (int j = 0; j < Tile::thread_rows; ++j) {
                APERTURE_UNROLL
                for (int k = 0; k < Tile::thread_columns; ++k) {
                    if constexpr (in_chains) total[j][k] += in_units.units_of(chain[j][k]);
                }
            }
            rows_left = 0;
        };
        for_rows<Walk>(task, part, plane, [&](const RowRing<Walk>& ring, int r, int x0, int end) {
            const auto* const a = ring.a(0) + Tile::column();
            const int reached = (r - part.lag_y) / Tile::lanes_down + 1;
            if constexpr (!in_chains) {
                add_reached_columns<Walk>(reached, a, ring.b(Tile::row()), end - x0, total);
                return;
            }
            if (rows_left == 0) {
                rows_left = task.chain_rows;
                const Number offset = product * chain_offset<Number>(r + 89 * (x0 / Walk::step));
                offsets += static_cast<double>(offset);
                APERTURE_UNROLL
                for (int j = 0; j < Tile::thread_rows; ++j) {
                    APERTURE_UNROLL
                    for (int k = 0; k < Tile::thread_columns; ++k) chain[j][k] = offset;
                }
            }
            add_reached_columns<Walk>(reached, a, ring.b(Tile::row()), end - x0, chain);
            if (--rows_left == 0) end_chain();
        });
        if (rows_left > 0) end_chain();
        Number* const to = sums + (index_t{plane} * parts + p) * Tile::rows * Tile::columns;
        APERTURE_UNROLL
        for (int j = 0; j < Tile::thread_rows; ++j) {
            APERTURE_UNROLL
            for (int k = 0; k < Tile::thread_columns; ++k) {
                Number sum = static_cast<Number>(total[j][k]);
                if constexpr (in_chains) sum = in_units.value(total[j][k], offsets);
                to[(Tile::row() + j * Tile::lanes_down) * Tile::columns + Tile::column() + k] = sum;
            }
        }
    }
}

/// Sums of products over a part of the rows of A. Thread: 64 displacements in registers, twice: the
/// sums of a chain, and of all chains; 7 loads of 16 bytes (4 x 16) or 10 (8 x 8) feed 256
/// multiply-adds. Block: one warp, with Tile::rows x Tile::columns displacements. Grid: planes,
/// warps. Shared memory: RowRing, 28 KB. 2 flops a product. About 5 % of the instructions are not
/// multiply-adds, and a seventh of the multiply-adds have zero factors for 250 x 250 displacements
/// of 500 x 500 pixels.
/// Source: Bordawekar, Bondhugula & Rao 2010, section 3.
template <class Walk, class T = typename Walk::Form::Number>
__global__ void __launch_bounds__(core::warp_size, 8)
    direct_kernel(SumTask<T> task, const PlaneGround* grounds_a, const PlaneGround* grounds_b,
                  T* sums) {
    core::wait_for_previous_kernel();
    const int plane = static_cast<int>(blockIdx.x);
    const auto product = static_cast<T>(grounds_a[plane].contrast * grounds_b[plane].contrast);
    sum_parts<Walk>(task, plane, product, sums);
}

}  // namespace aperture::corr::gpu
