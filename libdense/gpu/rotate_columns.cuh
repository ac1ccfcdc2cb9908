// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/spectral_steps.cuh"

namespace aperture::dense {

/// Operands of `rotate_columns`.
template <class T>
struct RotateArguments {
    EigenScratch<RealOf<T>> by;
    KernelView<int, 1> info;
    KernelView<T, 3> vectors;
};

/// The real rows of a warp, a lane's each: rotations are real, so that real and imaginary parts of
/// a row are rows of their own.
template <class T, int order>
struct RealRows {
    using R = RealOf<T>;
    static constexpr int parts = core::is_complex<T> ? 2 : 1;
    static constexpr int of_problem = order * parts;
    /// Neighbouring lanes that have rows of one problem, which may have rows in other warps, too.
    static constexpr int width = of_problem < core::warp_size ? of_problem : core::warp_size;
    static constexpr int problems = core::warp_size / width;
    static constexpr int warps = of_problem / width;
    static constexpr int stride = order | 1;
    /// Of a sweep: a pair for every two columns, and what says how many there are.
    static constexpr int most_slots = order / 2 + 1;
    static constexpr int shared_bytes =
        problems * most_slots * static_cast<int>(sizeof(RotationPair<R>)) +
        core::warp_size * stride * static_cast<int>(sizeof(R));

    const KernelView<T, 3>& vectors;
    R* tile;  ///< [32][stride]
    index_t problem;
    int first_row;

    __device__ __forceinline__ RealRows(const KernelView<T, 3>& its_vectors, R* its_tile)
        : vectors(its_vectors),
          tile(its_tile),
          problem(static_cast<index_t>(blockIdx.x / static_cast<unsigned>(warps)) * problems),
          first_row(static_cast<int>(blockIdx.x % static_cast<unsigned>(warps)) * width) {}

    /// Calls visit(entry in memory, its place in the tile) for the lane's entries of a tile:
    /// neighbouring lanes get neighbouring columns or, if these are farther apart, rows.
    template <class Visit>
    __device__ __forceinline__ void for_each_entry(Visit visit) const {
        const bool by_columns = vectors.stride[1] < vectors.stride[2];
        const auto lane = static_cast<unsigned>(core::lane_rank());
        APERTURE_UNROLL_BY(8)
        for (unsigned step = 0; step < order; ++step) {
            const unsigned e = step * core::warp_size + lane;
            const unsigned part = by_columns ? lane % parts : e % parts;
            const unsigned row = by_columns ? lane : e / of_problem * parts + part;
            const auto j = static_cast<int>(by_columns ? step : e % of_problem / parts);
            const index_t its_problem = problem + row / width;
            const int i = static_cast<int>(first_row + row % width) / parts;
            if (i < vectors.extent[1] && j < vectors.extent[2] && its_problem < vectors.extent[0]) {
                R* const entry = reinterpret_cast<R*>(&vectors(its_problem, i, j));
                visit(entry[part], tile[row * stride + static_cast<unsigned>(j)]);
            }
        }
    }
};

/// Rotates the columns of matrices as find_eigenvalues found, and orders them.
///
/// Block: a warp; 32 real rows, of which a lane has one in registers: those of a problem, some of
/// one, or those of several. Grid: ceil(problems / RealRows::problems) RealRows::warps on x.
/// Shared: RealRows::shared_bytes. Flops: 6 for each real row and rotation.
template <class T, int order>
__global__ void __launch_bounds__(core::warp_size) rotate_columns(RotateArguments<T> p) {
    using R = RealOf<T>;
    using Rows = RealRows<T, order>;
    constexpr int most_slots = Rows::most_slots;
    constexpr int loads = (most_slots + Rows::width - 1) / Rows::width;
    const auto n = static_cast<int>(p.vectors.extent[2]);
    const int lane = core::lane_rank();
    RotationPair<R>* const all_slots = core::shared<RotationPair<R>>();
    const Rows rows(p.vectors, reinterpret_cast<R*>(all_slots + Rows::problems * most_slots));
    R* const own_row = rows.tile + lane * Rows::stride;
    rows.for_each_entry([](const R& entry, R& in_tile) { in_tile = entry; });
    __syncwarp();
    R z[order];
    APERTURE_UNROLL
    for (int j = 0; j < order; ++j) z[j] = j < n ? own_row[j] : R(0);

    const index_t problem = rows.problem + lane / Rows::width;
    const bool exists = problem < p.vectors.extent[0];
    const bool failed = exists && p.info(problem) != 0;
    bool active = exists && !failed;
    RotationPair<R>* const slots = all_slots + lane / Rows::width * most_slots;
    const RotationPair<R>* from = p.by.rotations + problem * p.by.capacity;
    RotationPair<R> next[loads];
    const auto load_next = [&] {
        APERTURE_UNROLL
        for (int s = 0; s < loads; ++s) {
            const int slot = s * Rows::width + lane % Rows::width;
            if (active && slot < most_slots) next[s] = from[slot];
        }
    };
    load_next();
    while (__any_sync(core::full_warp, active)) {
        APERTURE_UNROLL
        for (int s = 0; s < loads; ++s) {
            const int slot = s * Rows::width + lane % Rows::width;
            if (active && slot < most_slots) slots[slot] = next[s];
        }
        __syncwarp();
        int top = -1;
        int bottom = 0;
        if (active) {
            top = static_cast<int>(slots[0].upper_c);
            bottom = static_cast<int>(slots[0].upper_s);
            from += top - bottom + 2;
            active = top >= 0;
        }
        load_next();
        APERTURE_UNROLL
        for (int k = order / 2 - 1; k >= 0; --k) {
            if (k <= top && k >= bottom) {
                const RotationPair<R> pair = slots[1 + top - k];
                if (2 * k + 2 < order) {
                    R& x = z[2 * k + 1];
                    R& y = z[2 * k + 2 < order ? 2 * k + 2 : 0];
                    const R turned = x * pair.upper_c - y * pair.upper_s;
                    y = x * pair.upper_s + y * pair.upper_c;
                    x = turned;
                }
                R& x = z[2 * k];
                R& y = z[2 * k + 1];
                const R turned = x * pair.lower_c - y * pair.lower_s;
                y = x * pair.lower_s + y * pair.lower_c;
                x = turned;
            }
        }
        __syncwarp();
    }
    const unsigned* const ranks = p.by.ranks_of(problem, n);
    APERTURE_UNROLL
    for (int j = 0; j < order; j += 4) {
        const unsigned four = exists && j < n ? ranks[j / 4] : 0;
        APERTURE_UNROLL
        for (int k = 0; k < 4; ++k) {
            if (j + k < n) own_row[four >> 8 * k & 0xff] = failed ? R(0) : z[j + k];
        }
    }
    __syncwarp();
    rows.for_each_entry([](R& entry, const R& in_tile) { entry = in_tile; });
}

}  // namespace aperture::dense
