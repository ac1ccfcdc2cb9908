// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels with a problem in the registers of `lanes` threads, unrolled to the last index: see
// general_columns.cuh. With lanes = 1 a thread has a problem.
//
// Block: 128 threads, 128 / lanes problems. Grid: ceil(problems / (128 / lanes)) on x. Shared: a
// BatchTile of T for the matrix, and one for right-hand sides behind it. Interleaved matrices with
// lanes = 1 bypass it. Bytes and flops per problem as in lu_in_block.cuh and qr_in_block.cuh.
// Source: Anderson 2014, ch. 4 (one problem in the registers of a thread or a group of threads); Ha
// et al. 2013, section III-E.4 (contiguous groups without barriers).

#include "libdense/gpu/factor_arguments.cuh"
#include "libdense/gpu/general_columns.cuh"

namespace aperture::dense {

inline constexpr int columns_threads = 128;

/// The problems of a block, and that of this thread.
template <int lanes>
struct ColumnsPosition {
    static constexpr int problems = columns_threads / lanes;

    index_t first;
    int valid;
    int local;
    int lane;

    __device__ __forceinline__ explicit ColumnsPosition(index_t all_problems)
        : first(static_cast<index_t>(blockIdx.x) * problems),
          valid(all_problems - first < problems ? static_cast<int>(all_problems - first)
                                                : problems),
          local(core::thread_rank() / lanes),
          lane(core::thread_rank() % lanes) {}

    __device__ __forceinline__ bool exists() const { return local < valid; }
    __device__ __forceinline__ index_t problem() const { return first + local; }
};

/// Bytes of shared memory for a matrix of rows x columns and `sides` right-hand sides of `length`.
template <class T>
APERTURE_HD constexpr int columns_shared_bytes(int rows, int columns, int sides, int length,
                                               int lanes) {
    const int matrix = batch_tile_problem_stride(rows, columns, lanes);
    const int vectors = sides > 0 ? batch_tile_problem_stride(sides, length, lanes) : 0;
    return columns_threads / lanes * (matrix + vectors) * static_cast<int>(sizeof(T));
}

/// A matrix of every problem between global memory and registers.
template <class T, int rows, int columns, int lanes>
struct MatrixInColumns {
    using Tile = BatchTile<T, columns_threads / lanes, rows, columns, lanes>;
    static constexpr int elements = Tile::problems * Tile::problem_stride;
    T* tile;

    /// Whether threads access global memory themselves.
    template <class U>
    __device__ __forceinline__ static bool direct(const KernelView<U, 3>& batch) {
        return lanes == 1 && interleaved(batch);
    }
    /// Starts to load; a barrier must follow.
    template <class U>
    __device__ __forceinline__ void load(const KernelView<U, 3>& batch,
                                         const ColumnsPosition<lanes>& at) const {
        if (!direct(batch)) load_rows<Tile, true>(tile, batch, at.first, at.valid, 0, rows);
    }
    /// Calls use(entry), whose entry(row, column) is the problem's, after that barrier.
    template <class U, class Use>
    __device__ __forceinline__ void with_entries(const KernelView<U, 3>& batch,
                                                 const ColumnsPosition<lanes>& at, Use use) const {
        if (direct(batch)) {
            use([&](int row, int column) {
                return at.exists() ? batch(at.problem(), row, column) : T(RealOf<T>(0));
            });
        } else {
            const T* const own = tile + at.local * Tile::problem_stride;
            use([own](int row, int column) { return own[row * Tile::row_stride + column]; });
        }
    }
    /// Loads all columns, zeros beyond; then the tile is free.
    template <int slots, class U>
    __device__ __forceinline__ void load_columns(T (&to)[slots][rows],
                                                 const KernelView<U, 3>& batch,
                                                 const ColumnsPosition<lanes>& at) const {
        load(batch, at);
        __syncthreads();
        with_entries(batch, at, [&](auto entry) {
            fill_general_columns<lanes, columns>(to, at.lane, entry,
                                                 [](int, int) { return T(RealOf<T>(0)); });
        });
        __syncthreads();
    }
    /// Stores what for_each(store) calls store(row, column, value) with. The tile must not be in
    /// use.
    template <class ForEach>
    __device__ __forceinline__ void store(const KernelView<T, 3>& batch,
                                          const ColumnsPosition<lanes>& at,
                                          ForEach for_each) const {
        if (direct(batch)) {
            for_each([&](int row, int column, T value) {
                if (at.exists()) batch(at.problem(), row, column) = value;
            });
            return;
        }
        T* const own = tile + at.local * Tile::problem_stride;
        for_each(
            [&](int row, int column, T value) { own[row * Tile::row_stride + column] = value; });
        __syncthreads();
        store_rows<Tile, true>(tile, batch, at.first, at.valid, 0, rows);
    }
};

/// Solves A X = B of general matrices for up to `sides` right-hand sides.
template <class T, int order, int sides, int lanes, GeneralElimination elimination>
__global__ void __launch_bounds__(columns_threads) solve_in_columns(LuArguments<T> p) {
    constexpr int slots = (order + sides + lanes - 1) / lanes;
    constexpr bool exchange = elimination == GeneralElimination::pivoted_lu;
    using Matrix = MatrixInColumns<T, order, order, lanes>;
    using Sides = BatchTile<T, columns_threads / lanes, sides, order, lanes>;
    const ColumnsPosition<lanes> at(p.a.extent[0]);
    const Matrix matrix{core::shared<T>()};
    T* const vectors = matrix.tile + Matrix::elements;
    const auto count = static_cast<int>(p.x.extent[1]);
    const T zero = T(RealOf<T>(0));
    matrix.load(p.a, at);
    load_rows<Sides, true>(vectors, p.x, at.first, at.valid, 0, count);
    __syncthreads();
    T* const own = vectors + at.local * Sides::problem_stride;

    T columns[slots][order];
    matrix.with_entries(p.a, at, [&](auto entry) {
        fill_general_columns<lanes, order>(columns, at.lane, entry, [&](int row, int r) {
            return r < sides ? own[r * Sides::row_stride + row] : zero;
        });
    });
    int info = 0;
    if constexpr (elimination == GeneralElimination::gauss_jordan) {
        eliminate_general<Elimination::above_and_below, exchange, lanes>(columns, info);
    } else {
        eliminate_general<Elimination::below, exchange, lanes>(columns, info);
        back_substitute<lanes>(columns, at.lane);
    }
    for_each_solution<lanes>(columns, at.lane, [&](int row, int r, T value) {
        if (r < sides) own[r * Sides::row_stride + row] = info == 0 ? value : zero;
    });
    __syncthreads();
    store_rows<Sides, true>(vectors, p.x, at.first, at.valid, 0, count);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

/// P A = L U, the determinant, or both.
template <class T, int order, int lanes, bool exchange>
__global__ void __launch_bounds__(columns_threads) lu_in_columns(LuArguments<T> p) {
    constexpr int slots = (order + lanes - 1) / lanes;
    const ColumnsPosition<lanes> at(p.a.extent[0]);
    const MatrixInColumns<T, order, order, lanes> matrix{core::shared<T>()};
    T columns[slots][order];
    matrix.load_columns(columns, p.a, at);
    int info = 0;
    const bool reports = at.exists() && at.lane == 0;
    bool odd = false;
    factor_lu_in_columns<exchange, lanes>(columns, at.lane, info, [&](int k, int row) {
        odd = odd != (row != k);
        if (reports && !p.pivots.empty()) p.pivots(at.problem(), k) = row;
    });
    if (!p.determinant.empty()) {
        T product = T(RealOf<T>(odd ? -1 : 1));
        APERTURE_UNROLL
        for (int k = 0; k < order; ++k) {
            product = product * core::broadcast<lanes>(columns[k / lanes][k], k % lanes);
        }
        if (reports) p.determinant(at.problem()) = product;
    }
    if (!p.lu.empty()) {
        matrix.store(p.lu, at, [&](auto store) {
            for_each_column_entry<lanes, order>(columns, at.lane, store);
        });
    }
    if (reports && !p.info.empty()) p.info(at.problem()) = info;
}

/// A^-1, with partial pivoting.
template <class T, int order, int lanes>
__global__ void __launch_bounds__(columns_threads) inverse_in_columns(LuArguments<T> p) {
    constexpr int slots = (order + lanes - 1) / lanes;
    const ColumnsPosition<lanes> at(p.a.extent[0]);
    const MatrixInColumns<T, order, order, lanes> matrix{core::shared<T>()};
    const T zero = T(RealOf<T>(0));
    T columns[slots][order];
    matrix.load_columns(columns, p.a, at);
    int info = 0;
    int rows[order];
    invert_in_columns<lanes>(columns, at.lane, info, rows);
    matrix.store(p.inverse, at, [&](auto store) {
        for_each_column_entry<lanes, order>(columns, at.lane, [&](int row, int column, T value) {
            store(row, exchanged_column(rows, column), info == 0 ? value : zero);
        });
    });
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

/// A = G G^H.
template <class T, int order, int lanes>
__global__ void __launch_bounds__(columns_threads) cholesky_in_columns(CholeskyArguments<T> p) {
    using R = RealOf<T>;
    constexpr int slots = (order + lanes - 1) / lanes;
    const ColumnsPosition<lanes> at(p.a.extent[0]);
    const MatrixInColumns<T, order, order, lanes> matrix{core::shared<T>()};
    const T zero = T(R(0));
    matrix.load(p.a, at);
    __syncthreads();
    T columns[slots][order];
    matrix.with_entries(p.a, at, [&](auto entry) {
        fill_columns<lanes>(columns, at.lane, entry, [](int, int) { return T(R(0)); });
    });
    __syncthreads();
    int info = 0;
    APERTURE_UNROLL
    for (int k = 0; k < order; ++k) {
        const int slot_of_k = k / lanes;
        const int owner = k % lanes;
        const R pivot = core::real_part(core::broadcast<lanes>(columns[slot_of_k][k], owner));
        const bool good = pivot > R(0) && pivot <= largest_finite<R>;
        if (!good && info == 0) info = k + 1;
        const R root = sqrt(good ? pivot : R(1));
        const R scale = R(1) / root;
        // The upper triangle mirrors the lower one: row k has the factors of the columns.
        T pivot_row[slots] = {};
        APERTURE_UNROLL
        for (int slot = slot_of_k; slot < slots; ++slot) {
            const bool active = slot > slot_of_k || at.lane > owner;
            pivot_row[slot] = active ? columns[slot][k] * -scale : zero;
        }
        APERTURE_UNROLL
        for (int row = k + 1; row < order; ++row) {
            const T factor = core::broadcast<lanes>(columns[slot_of_k][row], owner) * scale;
            APERTURE_UNROLL
            for (int slot = slot_of_k; slot < slots; ++slot) {
                columns[slot][row] =
                    core::multiply_add(columns[slot][row], factor, pivot_row[slot]);
            }
            if (at.lane == owner) columns[slot_of_k][row] = factor;
        }
        if (at.lane == owner) columns[slot_of_k][k] = T(root);
    }
    matrix.store(p.g, at, [&](auto store) {
        for_each_column_entry<lanes, order>(columns, at.lane, [&](int row, int column, T value) {
            store(row, column, row >= column ? value : zero);
        });
    });
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

/// Scales a problem's columns so that their squares neither overflow nor vanish; returns the
/// factor.
template <int lanes, int slots, int rows, class T>
__device__ __forceinline__ RealOf<T> scale_columns(T (&columns)[slots][rows]) {
    using R = RealOf<T>;
    R largest = R(0);
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        APERTURE_UNROLL
        for (int row = 0; row < rows; ++row) {
            largest = core::Maximum()(largest, magnitude(columns[slot][row]));
        }
    }
    const R scale = safe_scale(core::warp_reduce<lanes>(largest, core::Maximum()));
    if (scale != R(1)) {
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            APERTURE_UNROLL
            for (int row = 0; row < rows; ++row) columns[slot][row] = columns[slot][row] * scale;
        }
    }
    return scale;
}

/// A = Q R, of rows x order.
template <class T, int rows, int order, int lanes>
__global__ void __launch_bounds__(columns_threads) qr_in_columns(QrArguments<T> p) {
    using R = RealOf<T>;
    constexpr int slots = (order + lanes - 1) / lanes;
    const ColumnsPosition<lanes> at(p.a.extent[0]);
    const MatrixInColumns<T, rows, order, lanes> matrix{core::shared<T>()};
    T columns[slots][rows];
    matrix.load_columns(columns, p.a, at);
    const R back = R(1) / scale_columns<lanes>(columns);
    factor_qr_in_columns<lanes, order>(columns, at.lane, [&](int k, T tau) {
        if (at.exists() && at.lane == 0) p.tau(at.problem(), k) = tau;
    });
    matrix.store(p.qr, at, [&](auto store) {
        for_each_column_entry<lanes, order>(columns, at.lane, [&](int row, int column, T value) {
            store(row, column, row <= column ? value * back : value);
        });
    });
}

}  // namespace aperture::dense
