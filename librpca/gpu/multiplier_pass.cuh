// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One pass of augmented Lagrange multipliers over M and W, as librpca/multipliers.hpp has it:
//
//     L = W P,  Y = (W - L) y_scale,  S = shrink(M - L + Y, threshold),  W' = M - S + Y
//
// All but S and Y are without the ground, which P leaves unchanged.

#include "libcore/gpu/block.cuh"
#include "libdense/gpu/tall_shape.cuh"
#include "librpca/run_state.hpp"

namespace aperture::rpca::gpu {

using dense::gpu::load_row;
using dense::gpu::store_row;

/// Shape of a block: `warps` warps process `OwnFrames` frames each of the same `values` values; a
/// lane processes lane_values consecutive values.
template <class T, int OwnFrames>
struct PassShape {
    static constexpr int warps = 8;
    static constexpr int threads = warps * core::warp_size;
    static constexpr int lane_values = 4;
    static constexpr int values = core::warp_size * lane_values;
    static constexpr int frames = warps * OwnFrames;
    /// The columns of each warp start at a 16-byte boundary in a row of P.
    static constexpr int warp_columns = OwnFrames <= 4 ? 4 : OwnFrames <= 8 ? 8 : 16;
    static constexpr int factor_columns = warps * warp_columns;
    /// Rows of W and P per stage.
    static constexpr int depth = 16;
    static constexpr int stages = 3;
    static constexpr int stage_elements = depth * (values + factor_columns);
    static constexpr int shared_bytes = stages * stage_elements * static_cast<int>(sizeof(T));

    /// Column of a frame of the block in a row of P.
    APERTURE_HD static int factor_column(int frame) {
        return frame / OwnFrames * warp_columns + frame % OwnFrames;
    }
};

/// Matrices are [frame][pitch], padded with zeros behind the last value.
template <class T>
struct PassArguments {
    const T* m;
    const T* w;
    const T* ground;  ///< [pitch]
    T* next_w;        ///< may alias w if a block covers all frames
    const T* factor;  ///< [block of frames][frame, padded][PassShape::factor_columns]
    int factor_rows;  ///< frames rounded up to PassShape::depth
    int frames;
    index_t values;
    index_t pitch;
    T y_scale;
    T threshold;
    T mask_threshold;
    unsigned* mask;  ///< one byte per value, [frame][pitch / 4] words; nullptr if not watched
    T* low_rank;     ///< or nullptr
    index_t low_rank_stride;
    T* sparse;  ///< or nullptr
    index_t sparse_stride;
    PassSums* sum_parts;  ///< [block of values][block of frames]
    const RunState* state;
    bool last;
};

namespace detail {

template <class T>
__device__ __forceinline__ T shrunk(T x, T threshold) {
    if (x > threshold) return x - threshold;
    if (x < -threshold) return x + threshold;
    return T(0);
}

template <class T, int OwnFrames>
__device__ __forceinline__ void load_stage(const PassArguments<T>& a, T* stage, int first) {
    using Shape = PassShape<T, OwnFrames>;
    const int thread = core::thread_rank();
    const index_t value = index_t{blockIdx.x} * Shape::values;
    core::load_tile(stage, Shape::values,
                    core::GlobalTile<T>{a.w + first * a.pitch + value, a.pitch, a.frames - first,
                                        Shape::values},
                    Shape::depth, Shape::values, thread, Shape::threads);
    const index_t row = index_t{blockIdx.y} * a.factor_rows + first;
    core::load_tile(stage + Shape::depth * Shape::values, Shape::factor_columns,
                    core::GlobalTile<T>{a.factor + row * Shape::factor_columns,
                                        Shape::factor_columns, Shape::depth, Shape::factor_columns},
                    Shape::depth, Shape::factor_columns, thread, Shape::threads);
}

/// l[f][v] = sum over frames k of P(k, f) W(v, k).
template <class T, int OwnFrames, int Values>
__device__ __forceinline__ void multiply_by_factor(const PassArguments<T>& a,
                                                   T (&l)[OwnFrames][Values]) {
    using Shape = PassShape<T, OwnFrames>;
    T* const stages = core::shared<T>();
    const int steps = a.factor_rows / Shape::depth;
    for (int step = 0; step < Shape::stages - 1; ++step) {
        if (step < steps) {
            load_stage<T, OwnFrames>(a, stages + step * Shape::stage_elements, step * Shape::depth);
        }
        core::commit_copies();
    }
    APERTURE_UNROLL
    for (int f = 0; f < OwnFrames; ++f) {
        APERTURE_UNROLL
        for (int v = 0; v < Values; ++v) l[f][v] = 0;
    }
    for (int step = 0; step < steps; ++step) {
        core::wait_for_copies<Shape::stages - 2>();
        __syncthreads();
        const int ahead = step + Shape::stages - 1;
        if (ahead < steps) {
            load_stage<T, OwnFrames>(a, stages + ahead % Shape::stages * Shape::stage_elements,
                                     ahead * Shape::depth);
        }
        core::commit_copies();
        const T* const w =
            stages + step % Shape::stages * Shape::stage_elements + core::lane_rank() * Values;
        const T* const p = stages + step % Shape::stages * Shape::stage_elements +
                           Shape::depth * Shape::values + core::warp_rank() * Shape::warp_columns;
        const int rows = min(Shape::depth, a.frames - step * Shape::depth);
        APERTURE_UNROLL_BY(2)
        for (int k = 0; k < rows; ++k) {
            T of_w[Values];
            T of_p[Shape::warp_columns];
            load_row(w + k * Shape::values, of_w);
            load_row(p + k * Shape::factor_columns, of_p);
            APERTURE_UNROLL
            for (int f = 0; f < OwnFrames; ++f) {
                APERTURE_UNROLL
                for (int v = 0; v < Values; ++v) l[f][v] += of_p[f] * of_w[v];
            }
        }
    }
}

}  // namespace detail

/// Computes the next W, or L and S in the last pass, for all values of a block of frames. A thread:
/// L of OwnFrames x 4 values in registers. A warp: OwnFrames frames of 128 values. A block:
/// PassShape's frames of 128 values. Grid: blocks of values, blocks of frames. Shared memory: three
/// stages of [16][128] of W and [16][factor_columns] of P. Per value of M: moves 3 values of T and
/// computes 2 frames flops.
template <class T, int OwnFrames>
__global__ void __launch_bounds__(PassShape<T, OwnFrames>::threads, sizeof(T) == 4 ? 2 : 1)
    multiplier_pass_kernel(PassArguments<T> a) {
    using Shape = PassShape<T, OwnFrames>;
    constexpr int values = Shape::lane_values;
    if (a.state->done != 0) return;
    const bool writes_parts = is_last_pass(*a.state, a.last);
    T l[OwnFrames][values];
    detail::multiply_by_factor<T, OwnFrames>(a, l);

    const index_t value = index_t{blockIdx.x} * Shape::values + core::lane_rank() * values;
    const int first_frame =
        static_cast<int>(blockIdx.y) * Shape::frames + core::warp_rank() * OwnFrames;
    T ground[values];
    load_row(a.ground + value, ground);
    T square = 0;
    int zeros = 0;
    int changes = 0;
    APERTURE_UNROLL
    for (int f = 0; f < OwnFrames; ++f) {
        const int frame = first_frame + f;
        if (frame >= a.frames) continue;
        const index_t at = frame * a.pitch + value;
        T m[values];
        T w[values];
        T next[values];
        load_row(a.m + at, m);
        load_row(a.w + at, w);
        unsigned beyond = 0;
        APERTURE_UNROLL
        for (int v = 0; v < values; ++v) {
            const T y = (w[v] - l[f][v]) * a.y_scale;
            const T difference = m[v] - l[f][v];
            const T s = detail::shrunk(difference + y, a.threshold);
            const T left = difference - s;
            const bool exists = value + v < a.values;
            square += left * left;
            zeros += exists && s == T(0) ? 1 : 0;
            if (difference > a.mask_threshold || difference < -a.mask_threshold) {
                beyond |= 1u << (8 * v);
            }
            next[v] = m[v] + y - s;
            if (writes_parts && exists) {
                if (a.low_rank != nullptr) {
                    a.low_rank[frame * a.low_rank_stride + value + v] = l[f][v] + ground[v];
                }
                if (a.sparse != nullptr) a.sparse[frame * a.sparse_stride + value + v] = s;
            }
        }
        if (!writes_parts) store_row(a.next_w + at, next);
        if (a.mask != nullptr) {
            changes += __popc(a.mask[at / 4] ^ beyond);
            a.mask[at / 4] = beyond;
        }
    }
    __syncthreads();
    const core::Sums<3> sums =
        core::block_reduce(core::Sums<3>{{static_cast<double>(square), static_cast<double>(zeros),
                                          static_cast<double>(changes)}},
                           core::shared<core::Sums<3>>());
    if (core::thread_rank() == 0) {
        a.sum_parts[index_t{blockIdx.x} * gridDim.y + blockIdx.y] = {sums.value[0], sums.value[1],
                                                                     sums.value[2]};
    }
}

}  // namespace aperture::rpca::gpu
