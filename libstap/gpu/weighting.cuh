// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// y(d,k,r) = gamma w(k,d)^H S(r,k), gamma = 1 / |w^H v|, and the detection statistic of each cell.
// Source: PERFECT suite, inner-product kernel; Anderson 2014, ch. 4.

#include "aperture/stap/detector.hpp"
#include "libcore/gpu/tensor_core.cuh"
#include "libstap/gpu/cells_to_weight.cuh"
#include "libstap/gpu/weights.cuh"

namespace aperture::stap::gpu {

/// Weights in shared memory, [matrix][row][vector], rows tap by tap and vectors swizzled;
/// row_stride is a multiple of 16. Padding vectors are multiplied but not stored.
struct WeightTile {
    Complex<float>* data;
    int row_stride;
    int channels, taps;

    __device__ __forceinline__ int order() const { return channels * taps; }
    /// Entry of vector d for row `tile_row`, counted tap by tap.
    __device__ __forceinline__ Complex<float>& of_tile_row(int q, int tile_row, int d) const {
        return data[(q * order() + tile_row) * row_stride + swizzled(tile_row, d)];
    }
    /// Entry c T + t of vector d.
    __device__ __forceinline__ Complex<float>& operator()(int q, int row, int d) const {
        const int channel = row / taps;
        return of_tile_row(q, (row - channel * taps) * channels + channel, d);
    }
};

/// Scales of a weight vector in shared memory, one per (matrix, vector).
struct Gain {
    float gamma;  ///< 1 / |w^H v|, 1 if that is 0; 0 for a zero vector of a failed factorisation
    float form;   ///< v^H w, real
};

/// y of a cell; 0 instead of NaN if there are no weights and the cell is NaN.
__device__ __forceinline__ Complex<float> scaled(Complex<float> sum, float gamma) {
    return gamma == 0.0f ? Complex<float>(0.0f) : sum * gamma;
}

/// Computes `gains` [q][row_stride of the weights], one per thread.
__device__ inline void compute_gains(const WeightTile& weights, const SteeringVectors& steering,
                                     int order, int matrices, Gain* gains) {
    for (int i = core::thread_rank(); i < matrices * steering.count; i += core::block_threads()) {
        const int q = i / steering.count;
        const int d = i % steering.count;
        Complex<float> sum(0.0f);
        float size = 0.0f;
        for (int row = 0; row < order; ++row) {
            const Complex<float> w = weights(q, row, d);
            sum = core::multiply_add_conj(sum, steering(row, d), w);
            size += fabsf(w.re) + fabsf(w.im);
        }
        const float magnitude = hypotf(sum.re, sum.im);
        gains[q * weights.row_stride + d] = {size == 0.0f       ? 0.0f
                                             : magnitude > 0.0f ? 1.0f / magnitude
                                                                : 1.0f,
                                             sum.re};
    }
}

/// Whether cells 0, 2, ... of all rows [vector][Doppler bin][range cell] are aligned to the size of
/// two cells.
template <class T>
__device__ __forceinline__ bool cells_in_pairs(const KernelView<T, 3>& rows) {
    return rows.stride[0] % 2 == 0 && rows.stride[1] % 2 == 0 &&
           core::detail::aligned<2 * sizeof(T)>(rows.data);
}

/// Destinations of w^H S: the output and, with a detector, its statistic.
struct AdaptedCells {
    KernelView<Complex<float>, 3> output;  ///< [vector][bin][cell]; data may be null
    KernelView<float, 3> statistic;
    Detector detector;
    bool remove_cell;    ///< the cell under test is among the training cells
    int training_cells;  ///< of R
    const float* forms;  ///< c = x^H R^-1 x [q][forms_stride], shared memory
    int forms_stride;
    const Gain* gains;  ///< [q][gains_stride]
    int gains_stride;

    __device__ __forceinline__ float statistic_of(int q, int d, int form,
                                                  Complex<float> sum) const {
        // The sum M over the cells is `training_cells` R.
        const float cells = static_cast<float>(training_cells);
        const float scale = 1.0f / cells;
        const QuadraticForms<float> of_sum{gains[q * gains_stride + d].form * scale,
                                           core::norm(sum) * scale * scale,
                                           forms[q * forms_stride + form] * scale};
        return cell_statistic(detector, of_sum, cells, remove_cell);
    }
};

/// The adapted columns [begin, end) of a training set. Column c has its result at c + to_output and
/// its form at c + to_form.
struct OutputColumns {
    int begin, end;
    index_t to_output;
    int to_form;
};

/// The matrices that `warps` warps weight together, of which the caller is number `warp`: a single
/// warp's, or all of a block.
struct MatricesToWeight {
    int first, count;
    int warp, warps;

    __device__ __forceinline__ MatricesToWeight(bool by_warp, int matrices) {
        const MatricesOfWarp own(by_warp, matrices);
        first = by_warp ? own.begin : 0;
        count = by_warp ? own.end - own.begin : matrices;
        warp = by_warp ? 0 : core::warp_rank();
        warps = by_warp ? 1 : core::block_threads() / core::warp_size;
    }
};

/// Vectors per warp item.
inline constexpr int vectors_per_item = 16;

namespace detail {

template <bool Statistic>
__device__ __forceinline__ void store_cells(const AdaptedCells& to, const OutputColumns& columns,
                                            int q, int k, int d, int cell, Complex<float> first,
                                            Complex<float> second) {
    const bool has_first = cell >= columns.begin && cell < columns.end;
    const bool has_second = cell + 1 >= columns.begin && cell + 1 < columns.end;
    if (to.output.data != nullptr) {
        const float gamma = to.gains[q * to.gains_stride + d].gamma;
        Complex<float>* y = to.output[d][k].data + cell + columns.to_output;
        if (has_first && has_second && core::detail::aligned<16>(y)) {
            *reinterpret_cast<CellPair*>(y) = {scaled(first, gamma), scaled(second, gamma)};
        } else {
            if (has_first) y[0] = scaled(first, gamma);
            if (has_second) y[1] = scaled(second, gamma);
        }
    }
    if constexpr (Statistic) {
        float* s = to.statistic[d][k].data + cell + columns.to_output;
        if (has_first) s[0] = to.statistic_of(q, d, cell + columns.to_form, first);
        if (has_second) s[1] = to.statistic_of(q, d, cell + 1 + columns.to_form, second);
    }
}

// Stores a lane's results of apply_to_cells, for vectors d and d + 8.
template <bool Statistic, int Tiles, bool Whole>
__device__ __forceinline__ void store_item(const AdaptedCells& to, const OutputColumns& columns,
                                           int q, int k, int d, int vectors, int cell,
                                           core::ConjugateProduct (&tiles)[2][Tiles]) {
    APERTURE_UNROLL
    for (int m = 0; m < 2; ++m, d += 8) {
        if (d >= vectors) return;
        // The cells of tiles 2 j and 2 j + 1 alternate, see apply_to_cells.
        const auto result = [&](int i, int odd) { return tiles[m][i / 2 * 2 + odd].entry(i % 2); };
        if constexpr (Whole && !Statistic) {
            const float gamma = to.gains[q * to.gains_stride + d].gamma;
            Complex<float>* y = to.output[d][k].data + cell + columns.to_output;
            if (gamma == 0.0f) {
                APERTURE_UNROLL
                for (int i = 0; i < Tiles; ++i) tiles[m][i] = core::ConjugateProduct();
            }
            APERTURE_UNROLL
            for (int i = 0; i < Tiles; ++i) {
                store_results(y + 8 * i, result(i, 0) * gamma, result(i, 1) * gamma);
            }
        } else {
            APERTURE_UNROLL
            for (int i = 0; i < Tiles; ++i) {
                store_cells<Statistic>(to, columns, q, k, d, cell + 8 * i, result(i, 0),
                                       result(i, 1));
            }
        }
    }
}

// 16 vectors from d on times 8 `Tiles` cells, by a warp on tensor cores. Lane 4 g + p ends with
// cells 8 i + 2 p and 8 i + 2 p + 1 of vectors g and g + 8. `Whole`: all these cells are outputs,
// and pairs of them are 16-byte aligned.
template <bool Statistic, int Tiles, bool Whole, class Cells, class Rows>
__device__ __forceinline__ void apply_to_cells(const Rows& rows, const WeightTile& weights, int q,
                                               int k, int d, int vectors, int cell,
                                               Complex<float>* ring, const AdaptedCells& to,
                                               const OutputColumns& columns) {
    core::ConjugateProduct tiles[2][Tiles];
    const int group = core::lane_rank() / 4;
    const int place = core::lane_rank() % 4;
    const int order = weights.order();
    Cells cells(rows, q, cell, columns.end, ring);
    const int first_row = Cells::four_rows_exist || place < order ? place : 0;
    const Complex<float>* next_weights[2] = {&weights.of_tile_row(q, first_row, d + group),
                                             &weights.of_tile_row(q, first_row, d + 8 + group)};
    const int step_weights = 4 * weights.row_stride;
    int rows_left = order - place;
    APERTURE_NO_UNROLL
    for (int first = 0; first < order; first += 4) {
        cells.begin_step();
        // Rows beyond the last have zero weights. The swizzle repeats every four rows, see
        // swizzled.
        const bool exists = rows_left > 0;
        const auto weight = [&](int m) {
            const Complex<float> w = *next_weights[m];
            return exists ? w : Complex<float>(0.0f);
        };
        const core::LeftFactor w[2] = {core::LeftFactor(weight(0)), core::LeftFactor(weight(1))};
        rows_left -= 4;
        if (rows_left > 0) {
            next_weights[0] += step_weights;
            next_weights[1] += step_weights;
        }
        // Two tiles at a time, so that consecutive multiply-adds have different accumulators.
        APERTURE_UNROLL
        for (int j = 0; j < Tiles / 2; ++j) {
            if (j == 1) cells.prepare_next(rows, q, first);
            const CellPair pair = cells.load_pair(j);
            const core::RightFactor s[2] = {core::RightFactor(pair.first),
                                            core::RightFactor(pair.second)};
            APERTURE_UNROLL
            for (int part = 0; part < core::ConjugateProduct::parts; ++part) {
                APERTURE_UNROLL
                for (int i = 0; i < 4; ++i) {
                    tiles[i % 2][2 * j + i / 2].add(part, w[i % 2], s[i / 2]);
                }
            }
        }
        APERTURE_UNROLL
        for (int i = 0; i < 2 * Tiles; ++i) tiles[i % 2][i / 2].make_up_for_cuts();
        cells.end_step();
    }
    store_item<Statistic, Tiles, Whole>(to, columns, q, k, d + group, vectors, cell + 2 * place,
                                        tiles);
}

// A warp item is 8 `Tiles` neighbouring cells of 16 vectors.
template <bool Statistic, int Tiles, bool Whole, class Cells, class Rows>
__device__ __forceinline__ void apply_to_groups(const Rows& rows, const WeightTile& weights,
                                                int vectors, int first_bin,
                                                const MatricesToWeight& matrices,
                                                Complex<float>* ring, const AdaptedCells& to,
                                                const OutputColumns& columns) {
    constexpr int cells = 8 * Tiles;
    const unsigned groups =
        static_cast<unsigned>((columns.end - columns.begin + cells - 1) / cells);
    const unsigned vector_items = static_cast<unsigned>(weights.row_stride / vectors_per_item);
    const unsigned items = static_cast<unsigned>(matrices.count) * vector_items * groups;
    APERTURE_NO_UNROLL
    for (unsigned i = static_cast<unsigned>(matrices.warp); i < items;
         i += static_cast<unsigned>(matrices.warps)) {
        const unsigned rest = i / groups;
        const int group = static_cast<int>(i - rest * groups);
        const unsigned matrix = rest / vector_items;
        const int d = static_cast<int>(rest - matrix * vector_items);
        const int q = matrices.first + static_cast<int>(matrix);
        apply_to_cells<Statistic, Tiles, Whole, Cells>(
            rows, weights, q, first_bin + q, d * vectors_per_item, vectors,
            columns.begin + group * cells, ring, to, columns);
    }
}

// One vector and one cell, for windows, which have a single output.
template <bool Statistic, class Rows>
__device__ __forceinline__ void apply_to_cell(const Rows& rows, const WeightTile& weights, int q,
                                              int k, int d, int cell, const AdaptedCells& to,
                                              const OutputColumns& columns) {
    Complex<float> sum(0.0f);
    for (int row = 0; row < weights.order(); ++row) {
        sum = core::multiply_add_conj(sum, load_cell(rows.tile_row(q, row) + cell),
                                      weights.of_tile_row(q, row, d));
    }
    if (to.output.data != nullptr) {
        to.output(d, k, cell + columns.to_output) =
            scaled(sum, to.gains[q * to.gains_stride + d].gamma);
    }
    if constexpr (Statistic) {
        to.statistic(d, k, cell + columns.to_output) =
            to.statistic_of(q, d, cell + columns.to_form, sum);
    }
}

}  // namespace detail

/// Weights the cells of a training set for neighbouring Doppler bins from `first_bin` on; `rows`
/// counts them from 0. `pairs_of_cells`: cells 0, 2, ... of the rows are 16-byte aligned. All warps
/// of the block are full. `Wide`: also uses items of 64 cells, which take half of the registers.
/// `ring`: shared memory of ring_cells for each warp, with `Ring`.
template <bool Statistic, bool Wide, bool Ring, class Rows>
__device__ void apply_weights(const Rows& rows, const WeightTile& weights, int vectors,
                              int first_bin, const MatricesToWeight& matrices, bool pairs_of_cells,
                              Complex<float>* ring, const AdaptedCells& to,
                              const OutputColumns& columns) {
    if (!Statistic && to.output.data == nullptr) return;
    const int cells = columns.end - columns.begin;
    if (cells == 1) {
        for (int i = matrices.warp * core::warp_size + core::lane_rank();
             i < matrices.count * vectors; i += matrices.warps * core::warp_size) {
            const int q = matrices.first + i / vectors;
            detail::apply_to_cell<Statistic>(rows, weights, q, first_bin + q, i % vectors,
                                             columns.begin, to, columns);
        }
        return;
    }
    const bool in_pairs = pairs_of_cells && columns.begin % 2 == 0 && cells_in_pairs(to.output) &&
                          (columns.begin + columns.to_output) % 2 == 0;
    // Twice the cells per item halve the loads of weights; used if no warp is left idle.
    const int items = matrices.count * (weights.row_stride / vectors_per_item) * (cells / 64);
    if constexpr (Wide) {
        if (in_pairs && cells % 64 == 0 && items >= matrices.warps) {
            using Cells = typename core::Conditional<Ring, detail::CellsThroughRing,
                                                     detail::CellsFromCache<8, true>>::Type;
            detail::apply_to_groups<Statistic, 8, true, Cells>(rows, weights, vectors, first_bin,
                                                               matrices, ring, to, columns);
            return;
        }
    }
    if (in_pairs && cells % 32 == 0) {
        detail::apply_to_groups<Statistic, 4, true, detail::CellsFromCache<4, true>>(
            rows, weights, vectors, first_bin, matrices, ring, to, columns);
    } else {
        detail::apply_to_groups<Statistic, 4, false, detail::CellsFromCache<4, false>>(
            rows, weights, vectors, first_bin, matrices, ring, to, columns);
    }
}

}  // namespace aperture::stap::gpu
