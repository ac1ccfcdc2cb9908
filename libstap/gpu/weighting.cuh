// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// y(d,k,r) = gamma w(k,d)^H S(r,k), gamma = 1 / |w^H v|, and the detection statistic of each cell.
// Source: PERFECT suite, inner-product kernel; Anderson 2014, ch. 4.

#include "libstap/gpu/snapshots.cuh"
#include "libstap/gpu/statistic.cuh"
#include "libstap/gpu/weights.cuh"

namespace aperture::stap::gpu {

/// Weights in shared memory: entry `row` of vector d of matrix q at data[q * matrix_stride + row *
/// row_stride + d]; row_stride is a multiple of 4, of 8 for more than 4 vectors, and the vectors
/// between their number and row_stride are 0.
struct WeightTile {
    Complex<float>* data;
    int matrix_stride, row_stride;

    __device__ __forceinline__ Complex<float>* row(int q, int i) const {
        return data + q * matrix_stride + i * row_stride;
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
            const Complex<float> w = weights.row(q, row)[d];
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

/// Of `vectors`, those a thread takes at once.
__device__ __host__ constexpr int vectors_of_item(int vectors) { return vectors > 4 ? 8 : 4; }

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

// Whether all vectors and cells of an item exist, their pairs lie at multiples of 16 bytes, and no
// factor failed.
template <int Vectors>
__device__ __forceinline__ bool stores_whole_item(const AdaptedCells& to,
                                                  const OutputColumns& columns, int q, int k, int d,
                                                  int vectors, int cell) {
    bool whole = to.output.data != nullptr && d + Vectors <= vectors && cell >= columns.begin &&
                 cell + cells_per_group / 2 + 2 <= columns.end &&
                 to.output.vector_stride % 2 == 0 &&
                 core::detail::aligned<16>(to.output.row(d, k) + cell + columns.to_output);
    APERTURE_UNROLL
    for (int v = 0; v < Vectors; ++v) {
        if (to.gains[q * to.gains_stride + d + v].gamma == 0.0f) whole = false;
    }
    return whole;
}

// `Vectors` vectors times 2 pairs of cells, 16 cells apart.
template <int Taps, bool Statistic, int Vectors>
__device__ __forceinline__ void apply_to_cells(const SnapshotTile& tile, const WeightTile& weights,
                                               int channels, int q, int k, int d, int vectors,
                                               int cell, const AdaptedCells& to,
                                               const OutputColumns& columns) {
    Complex<float> sums[Vectors][4];
    APERTURE_UNROLL
    for (int v = 0; v < Vectors; ++v) {
        APERTURE_UNROLL
        for (int i = 0; i < 4; ++i) sums[v][i] = Complex<float>(0.0f);
    }
    APERTURE_NO_UNROLL
    for (int channel = 0; channel < channels; ++channel) {
        APERTURE_UNROLL
        for (int tap = 0; tap < Taps; ++tap) {
            const Complex<float>* row = tile.row(channel, q + tap) + cell;
            const CellPair near = *reinterpret_cast<const CellPair*>(row);
            const CellPair far = *reinterpret_cast<const CellPair*>(row + cells_per_group / 2);
            const Complex<float> s[4] = {near.first, near.second, far.first, far.second};
            const CellPair* w =
                reinterpret_cast<const CellPair*>(weights.row(q, channel * Taps + tap) + d);
            APERTURE_UNROLL
            for (int v = 0; v < Vectors; v += 2) {
                const CellPair weight = w[v / 2];
                APERTURE_UNROLL
                for (int i = 0; i < 4; ++i) {
                    sums[v][i] = core::multiply_add_conj(sums[v][i], s[i], weight.first);
                    sums[v + 1][i] = core::multiply_add_conj(sums[v + 1][i], s[i], weight.second);
                }
            }
        }
    }
    if (!Statistic && stores_whole_item<Vectors>(to, columns, q, k, d, vectors, cell)) {
        Complex<float>* y = to.output.row(d, k) + cell + columns.to_output;
        const Gain* gain = to.gains + q * to.gains_stride + d;
        APERTURE_UNROLL
        for (int v = 0; v < Vectors; ++v) {
            const float gamma = gain[v].gamma;
            CellPair* near = reinterpret_cast<CellPair*>(y + v * to.output.vector_stride);
            near[0] = {sums[v][0] * gamma, sums[v][1] * gamma};
            near[cells_per_group / 4] = {sums[v][2] * gamma, sums[v][3] * gamma};
        }
        return;
    }
    APERTURE_UNROLL
    for (int v = 0; v < Vectors; ++v) {
        if (d + v >= vectors) continue;
        store_cells<Statistic>(to, columns, q, k, d + v, cell, sums[v][0], sums[v][1]);
        store_cells<Statistic>(to, columns, q, k, d + v, cell + cells_per_group / 2, sums[v][2],
                               sums[v][3]);
    }
}

// Eight neighbouring threads take 32 neighbouring cells of `Vectors` vectors.
template <int Taps, bool Statistic, int Vectors>
__device__ __forceinline__ void apply_to_groups(const SnapshotTile& tile, const WeightTile& weights,
                                                int channels, int vectors, int first_bin,
                                                int matrices, const AdaptedCells& to,
                                                const OutputColumns& columns) {
    const int first_group = columns.begin / cells_per_group;
    const unsigned groups =
        static_cast<unsigned>((columns.end + cells_per_group - 1) / cells_per_group - first_group);
    const unsigned vector_items = static_cast<unsigned>((vectors + Vectors - 1) / Vectors);
    const unsigned items = static_cast<unsigned>(matrices) * vector_items * groups * 8;
    APERTURE_NO_UNROLL
    for (unsigned i = threadIdx.x; i < items; i += blockDim.x) {
        const unsigned rest = i / 8 / groups;
        const int group = static_cast<int>(i / 8 - rest * groups);
        const int q = static_cast<int>(rest / vector_items);
        const int d = (static_cast<int>(rest) - q * static_cast<int>(vector_items)) * Vectors;
        const int cell = (first_group + group) * cells_per_group + 2 * static_cast<int>(i % 8);
        apply_to_cells<Taps, Statistic, Vectors>(tile, weights, channels, q, first_bin + q, d,
                                                 vectors, cell, to, columns);
    }
}

// One vector and one cell: windows have a single output.
template <int Taps, bool Statistic>
__device__ __forceinline__ void apply_to_cell(const SnapshotTile& tile, const WeightTile& weights,
                                              int channels, int q, int k, int d, int cell,
                                              const AdaptedCells& to,
                                              const OutputColumns& columns) {
    Complex<float> sum(0.0f);
    for (int row = 0; row < channels * Taps; ++row) {
        sum = core::multiply_add_conj(sum, tile.row(row / Taps, q + row % Taps)[cell],
                                      weights.row(q, row)[d]);
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

/// Weights the cells of a tile for `matrices` neighbouring Doppler bins from `first_bin` on.
template <int Taps, bool Statistic>
__device__ void apply_weights_tile(const SnapshotTile& tile, const WeightTile& weights,
                                   int channels, int vectors, int first_bin, int matrices,
                                   const AdaptedCells& to, const OutputColumns& columns) {
    if (columns.end - columns.begin == 1) {
        for (int i = core::thread_rank(); i < matrices * vectors; i += core::block_threads()) {
            const int q = i / vectors;
            detail::apply_to_cell<Taps, Statistic>(tile, weights, channels, q, first_bin + q,
                                                   i % vectors, columns.begin, to, columns);
        }
        return;
    }
    // With a statistic 8 vectors a thread would not fit the registers.
    if (!Statistic && vectors_of_item(vectors) == 8) {
        detail::apply_to_groups<Taps, Statistic, Statistic ? 4 : 8>(
            tile, weights, channels, vectors, first_bin, matrices, to, columns);
    } else {
        detail::apply_to_groups<Taps, Statistic, 4>(tile, weights, channels, vectors, first_bin,
                                                    matrices, to, columns);
    }
}

}  // namespace aperture::stap::gpu
