// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/gpu/block.cuh"
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
    /// On a multiprocessor, as registers suffice for.
    static constexpr int blocks = order * static_cast<int>(sizeof(R)) > 256 ? 12 : 16;
    static constexpr int stride = order | 1;
    /// Of a sweep: a pair for every two columns, and what says how many there are.
    static constexpr int most_slots = order / 2 + 1;
    static constexpr int all_slots = problems * most_slots;
    static constexpr int shared_bytes = 2 * all_slots * static_cast<int>(sizeof(RotationPair<R>)) +
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
__global__ void __launch_bounds__(core::warp_size, RealRows<T, order>::blocks)
    rotate_columns(RotateArguments<T> p) {
    using R = RealOf<T>;
    using Rows = RealRows<T, order>;
    constexpr int most_slots = Rows::most_slots;
    const auto n = static_cast<int>(p.vectors.extent[2]);
    const int lane = core::lane_rank();
    RotationPair<R>* const first_slots = core::shared<RotationPair<R>>();
    const Rows rows(p.vectors, reinterpret_cast<R*>(first_slots + 2 * Rows::all_slots));
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
    const RotationPair<R>* from = p.by.rotations + problem * p.by.capacity;
    RotationPair<R>* const own_slots = first_slots + lane / Rows::width * most_slots;
    RotationPair<R>* slots = own_slots + Rows::all_slots;
    // Starts to copy the next sweep to the slots that are free.
    const auto load_next = [&] {
        slots = slots == own_slots ? own_slots + Rows::all_slots : own_slots;
        for (int slot = lane % Rows::width; slot < (active ? most_slots : 0); slot += Rows::width) {
            APERTURE_UNROLL
            for (int part = 0; part < static_cast<int>(sizeof(R)) / 4; ++part) {
                core::copy_async<16>(&slots[slot].upper_c + part * 2,
                                     &from[slot].upper_c + part * 2);
            }
        }
        core::commit_copies();
    };
    const auto turn = [](R c, R s, R& x, R& y) {
        const R turned = x * c - y * s;
        y = x * s + y * c;
        x = turned;
    };
    load_next();
    while (__any_sync(core::full_warp, active)) {
        core::wait_for_copies();
        __syncwarp();
        const RotationPair<R>* const sweep = slots;
        int top = -1;
        int bottom = 0;
        if (active) {
            top = static_cast<int>(sweep[0].upper_c);
            bottom = static_cast<int>(sweep[0].upper_s);
            from += top - bottom + 2;
            active = top >= 0;
        }
        load_next();
        // A bit for each pair: the compiler knows that a vote is the same for all lanes.
        unsigned wanted = active ? (2u << top) - (1u << bottom) : 0;
        if constexpr (Rows::problems == 1) {
            wanted = __ballot_sync(core::full_warp, lane >= bottom && lane <= top);
        }
        APERTURE_UNROLL
        for (int k = order / 2 - 1; k >= 0; --k) {
            if ((wanted >> k & 1) != 0) {
                const RotationPair<R> its = sweep[1 + top - k];
                if (2 * k + 2 < order) {
                    turn(its.upper_c, its.upper_s, z[2 * k + 1],
                         z[2 * k + 2 < order ? 2 * k + 2 : 0]);
                }
                turn(its.lower_c, its.lower_s, z[2 * k], z[2 * k + 1]);
            }
        }
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
