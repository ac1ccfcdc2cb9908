// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// y(d,k,r) = gamma w(k,d)^H S(r,k), gamma = 1 / |w^H v|, and the detection statistic of each cell.
// Source: PERFECT suite, inner-product kernel; Anderson 2014, ch. 4.

#include "libcore/gpu/tensor_core.cuh"
#include "libstap/gpu/snapshots.cuh"
#include "libstap/gpu/statistic.cuh"
#include "libstap/gpu/weights.cuh"

namespace aperture::stap::gpu {

/// Weights in shared memory, [matrix][row][vector], rows in the order of a tile's (tap by tap) and
/// vectors swizzled; row_stride is a multiple of 16. What lies between the number of vectors and
/// row_stride is multiplied and not stored.
struct WeightTile {
    Complex<float>* data;
    int row_stride;
    int channels, taps;

    __device__ __forceinline__ int order() const { return channels * taps; }
    /// Entry of vector d for row `tile_row` of a matrix's snapshots in a tile.
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
    float gamma;  ///< 1 / |w^H v|, 1 where that is 0; 0 for a vector of zeros, whose factor failed
    float form;   ///< v^H w, real
};

/// y of a cell; 0, not NaN, where there are no weights but the cell is NaN.
__device__ __forceinline__ Complex<float> scaled(Complex<float> sum, float gamma) {
    return gamma == 0.0f ? Complex<float>(0.0f) : sum * gamma;
}

/// Fills `gains` [q][row_stride of the weights] by one thread each.
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

/// Where [vector][Doppler bin][range cell] results go, last stride 1; may be null.
template <class T>
struct RangeRows {
    T* data;
    index_t vector_stride, bin_stride;

    __device__ __forceinline__ T* row(int vector, int bin) const {
        return data + vector * vector_stride + bin * bin_stride;
    }
};

/// What becomes of w^H S: the output and, where there is a detector, its statistic.
struct AdaptedCells {
    RangeRows<Complex<float>> output;
    RangeRows<float> statistic;
    Detector detector;
    bool remove_cell;    ///< the cell under test is among the training cells
    int training_cells;  ///< of R
    const float* forms;  ///< c = x^H R^-1 x [q][forms_stride], shared memory
    int forms_stride;
    const Gain* gains;  ///< [q][gains_stride]
    int gains_stride;

    __device__ __forceinline__ float statistic_of(int q, int d, int form,
                                                  Complex<float> sum) const {
        return cell_statistic(detector, gains[q * gains_stride + d].form, core::norm(sum),
                              forms[q * forms_stride + form], training_cells, remove_cell);
    }
};

/// The columns [begin, end) of a tile are adapted; column c goes to position c + to_output of the
/// results and has its form at c + to_form.
struct OutputColumns {
    int begin, end;
    index_t to_output;
    int to_form;
};

/// Vectors that a warp takes at once.
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
        Complex<float>* y = to.output.row(d, k) + cell + columns.to_output;
        if (has_first && has_second && core::detail::aligned<16>(y)) {
            *reinterpret_cast<CellPair*>(y) = {scaled(first, gamma), scaled(second, gamma)};
        } else {
            if (has_first) y[0] = scaled(first, gamma);
            if (has_second) y[1] = scaled(second, gamma);
        }
    }
    if constexpr (Statistic) {
        float* s = to.statistic.row(d, k) + cell + columns.to_output;
        if (has_first) s[0] = to.statistic_of(q, d, cell + columns.to_form, first);
        if (has_second) s[1] = to.statistic_of(q, d, cell + 1 + columns.to_form, second);
    }
}

// Writes what a lane of apply_to_cells holds: real and imaginary parts of vectors d and d + 8.
template <bool Statistic, int Tiles>
__device__ __forceinline__ void store_item(const AdaptedCells& to, const OutputColumns& columns,
                                           int q, int k, int d, int vectors, int cell,
                                           const float (&re)[Tiles][4],
                                           const float (&im)[Tiles][4]) {
    APERTURE_UNROLL
    for (int m = 0; m < 2; ++m, d += 8) {
        if (d >= vectors) return;
        Complex<float>* y = Statistic ? nullptr : to.output.row(d, k) + cell + columns.to_output;
        const float gamma = to.gains[q * to.gains_stride + d].gamma;
        // Whether all cells exist, their pairs lie at multiples of 16 bytes, and no factor failed.
        const bool whole = !Statistic && to.output.data != nullptr && cell >= columns.begin &&
                           cell + 8 * (Tiles - 1) + 2 <= columns.end && gamma != 0.0f &&
                           core::detail::aligned<16>(y);
        if (whole) {
            APERTURE_UNROLL
            for (int i = 0; i < Tiles; ++i) {
                *reinterpret_cast<CellPair*>(y + 8 * i) = {
                    Complex<float>(re[i][2 * m], im[i][2 * m]) * gamma,
                    Complex<float>(re[i][2 * m + 1], im[i][2 * m + 1]) * gamma};
            }
            continue;
        }
        APERTURE_UNROLL
        for (int i = 0; i < Tiles; ++i) {
            store_cells<Statistic>(to, columns, q, k, d, cell + 8 * i, {re[i][2 * m], im[i][2 * m]},
                                   {re[i][2 * m + 1], im[i][2 * m + 1]});
        }
    }
}

// The parts of a few complex numbers that a lane brings to a product, each as two TF32 numbers.
template <int Count>
struct Tf32Parts {
    float high[Count], low[Count];

    __device__ __forceinline__ void set(int i, float value) {
        const core::Tf32Sum sum = core::split_tf32(value);
        high[i] = sum.high;
        low[i] = sum.low;
    }
};

// 16 vectors from d on times 8 `Tiles` cells, by a warp on the tensor cores. Lane 4 g + p ends with
// cells 8 i + 2 p and the next of vectors g and g + 8.
template <bool Statistic, int Tiles>
__device__ __forceinline__ void apply_to_cells(const SnapshotTile& tile, const WeightTile& weights,
                                               int q, int k, int d, int vectors, int cell,
                                               const AdaptedCells& to,
                                               const OutputColumns& columns) {
    float re[Tiles][4], im[Tiles][4];
    APERTURE_UNROLL
    for (int i = 0; i < Tiles; ++i) {
        APERTURE_UNROLL
        for (int j = 0; j < 4; ++j) re[i][j] = im[i][j] = 0.0f;
    }
    const int group = core::lane_rank() / 4;
    const int place = core::lane_rank() % 4;
    const int order = weights.order();
    const Complex<float>* snapshots = tile.row(0, q) + cell + group;
    APERTURE_NO_UNROLL
    for (int first = 0; first < order; first += 4) {
        // Rows beyond the last have weights of zero; their snapshot is one that exists.
        const bool exists = first + place < order;
        const int row = exists ? first + place : order - 1;
        const Complex<float>* x = snapshots + row * tile.stride;
        // w^H S: the real part is that of (re, im) . (re, im), the imaginary of (-im, re) . (re,
        // im).
        Tf32Parts<4> a;
        APERTURE_UNROLL
        for (int m = 0; m < 2; ++m) {
            Complex<float> w = weights.of_tile_row(q, row, d + 8 * m + group);
            if (!exists) w = Complex<float>(0.0f);
            a.set(m, w.re);
            a.set(m + 2, w.im);
        }
        const float high[4] = {-a.high[2], -a.high[3], a.high[0], a.high[1]};
        const float low[4] = {-a.low[2], -a.low[3], a.low[0], a.low[1]};
        APERTURE_UNROLL
        for (int i = 0; i < Tiles; ++i) {
            const Complex<float> s = x[8 * i];
            Tf32Parts<2> b;
            b.set(0, s.re);
            b.set(1, s.im);
            core::multiply_add_tf32(re[i], a.low, b.high);
            core::multiply_add_tf32(im[i], low, b.high);
            core::multiply_add_tf32(re[i], a.high, b.low);
            core::multiply_add_tf32(im[i], high, b.low);
            core::multiply_add_tf32(re[i], a.high, b.high);
            core::multiply_add_tf32(im[i], high, b.high);
        }
    }
    store_item<Statistic, Tiles>(to, columns, q, k, d + group, vectors, cell + 2 * place, re, im);
}

// A warp takes 8 `Tiles` neighbouring cells of 16 vectors.
template <bool Statistic, int Tiles>
__device__ __forceinline__ void apply_to_groups(const SnapshotTile& tile, const WeightTile& weights,
                                                int vectors, int first_bin, int matrices,
                                                const AdaptedCells& to,
                                                const OutputColumns& columns) {
    constexpr int cells = 8 * Tiles;
    const int first_group = columns.begin / cells;
    const unsigned groups = static_cast<unsigned>((columns.end + cells - 1) / cells - first_group);
    const unsigned vector_items = static_cast<unsigned>(weights.row_stride / vectors_per_item);
    const unsigned items = static_cast<unsigned>(matrices) * vector_items * groups;
    const unsigned warps = static_cast<unsigned>(core::block_threads() / core::warp_size);
    APERTURE_NO_UNROLL
    for (unsigned i = static_cast<unsigned>(core::warp_rank()); i < items; i += warps) {
        const unsigned rest = i / groups;
        const int group = static_cast<int>(i - rest * groups);
        const int q = static_cast<int>(rest / vector_items);
        const int d = static_cast<int>(rest - static_cast<unsigned>(q) * vector_items);
        apply_to_cells<Statistic, Tiles>(tile, weights, q, first_bin + q, d * vectors_per_item,
                                         vectors, (first_group + group) * cells, to, columns);
    }
}

// One vector and one cell: windows have a single output.
template <bool Statistic>
__device__ __forceinline__ void apply_to_cell(const SnapshotTile& tile, const WeightTile& weights,
                                              int q, int k, int d, int cell, const AdaptedCells& to,
                                              const OutputColumns& columns) {
    Complex<float> sum(0.0f);
    const Complex<float>* x = tile.row(0, q) + cell;
    for (int row = 0; row < weights.order(); ++row) {
        sum = core::multiply_add_conj(sum, x[row * tile.stride], weights.of_tile_row(q, row, d));
    }
    if (to.output.data != nullptr) {
        to.output.row(d, k)[cell + columns.to_output] =
            scaled(sum, to.gains[q * to.gains_stride + d].gamma);
    }
    if constexpr (Statistic) {
        to.statistic.row(d, k)[cell + columns.to_output] =
            to.statistic_of(q, d, cell + columns.to_form, sum);
    }
}

}  // namespace detail

/// Weights the cells of a tile for `matrices` neighbouring Doppler bins from `first_bin` on. All
/// warps of the block are full. `Wide`: items of 64 cells, too, which take half of the registers.
template <bool Statistic, bool Wide>
__device__ void apply_weights_tile(const SnapshotTile& tile, const WeightTile& weights, int vectors,
                                   int first_bin, int matrices, const AdaptedCells& to,
                                   const OutputColumns& columns) {
    if (!Statistic && to.output.data == nullptr) return;
    if (columns.end - columns.begin == 1) {
        for (int i = core::thread_rank(); i < matrices * vectors; i += core::block_threads()) {
            const int q = i / vectors;
            detail::apply_to_cell<Statistic>(tile, weights, q, first_bin + q, i % vectors,
                                             columns.begin, to, columns);
        }
        return;
    }
    // Twice the cells halve the work on weights, where that leaves no warp idle.
    const int items = matrices * (weights.row_stride / vectors_per_item);
    const int groups = (columns.end + 63) / 64 - columns.begin / 64;
    const bool worth_it = (columns.end + cells_per_group - 1) / cells_per_group % 2 == 0 &&
                          items * groups >= core::block_threads() / core::warp_size;
    if constexpr (Wide) {
        if (worth_it) {
            detail::apply_to_groups<Statistic, 8>(tile, weights, vectors, first_bin, matrices, to,
                                                  columns);
            return;
        }
    }
    detail::apply_to_groups<Statistic, 4>(tile, weights, vectors, first_bin, matrices, to, columns);
}

}  // namespace aperture::stap::gpu
