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
    /// Of a sweep: a pair for every two columns.
    static constexpr int pairs = order / 2;
    /// Those that are done together, by identities where the sweep has fewer: without branches
    /// loads and rotations overlap.
    static constexpr int group = pairs < 4 ? pairs : 4;
    static constexpr int shared_bytes =
        problems * pairs * static_cast<int>(sizeof(RotationPair<R>)) +
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

namespace detail {

/// Rotates a row by `count` pairs, of which the first is that of columns 2 high to 2 high + 2.
template <int count, class R, int order>
__device__ __forceinline__ void rotate_row(R (&z)[order], int high, const RotationPair<R>* from) {
    RotationPair<R> pair[count];
    APERTURE_UNROLL
    for (int i = 0; i < count; ++i) pair[i] = from[i];
    // The next rotation waits for one operation of each.
    const auto rotate = [](R c, R s, R& x, R& y) {
        const R turned = core::multiply_add(x * c, -y, s);
        y = core::multiply_add(y * c, x, s);
        x = turned;
    };
    APERTURE_UNROLL
    for (int i = 0; i < count; ++i) {
        const int k = high - i;
        if (2 * k + 2 < order) {
            rotate(pair[i].upper_c, pair[i].upper_s, z[2 * k + 1],
                   z[2 * k + 2 < order ? 2 * k + 2 : 0]);
        }
        rotate(pair[i].lower_c, pair[i].lower_s, z[2 * k], z[2 * k + 1]);
    }
}

}  // namespace detail

/// Rotates the columns of matrices as find_eigenvalues found, and orders them.
///
/// Block: a warp; 32 real rows, of which a lane has one in registers: those of a problem, some of
/// one, or those of several. Grid: ceil(problems / RealRows::problems) RealRows::warps on x.
/// Shared: RealRows::shared_bytes. Flops: 6 for each real row and rotation.
template <class T, int order>
__global__ void __launch_bounds__(core::warp_size) rotate_columns(RotateArguments<T> p) {
    using R = RealOf<T>;
    using Rows = RealRows<T, order>;
    constexpr int pairs = Rows::pairs;
    constexpr int loads = pairs / Rows::width + 1;
    const auto n = static_cast<int>(p.vectors.extent[2]);
    const int lane = core::lane_rank();
    RotationPair<R>* const all_pairs = core::shared<RotationPair<R>>();
    const Rows rows(p.vectors, reinterpret_cast<R*>(all_pairs + Rows::problems * pairs));
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
    RotationPair<R>* const its_pairs = all_pairs + lane / Rows::width * pairs;
    const RotationPair<R>* from = p.by.rotations + problem * p.by.capacity;
    // What says which columns a sweep has, and its pairs.
    RotationPair<R> next[loads];
    const auto slot_of = [&](int l) { return l * Rows::width + lane % Rows::width; };
    const auto load_next = [&] {
        APERTURE_UNROLL
        for (int l = 0; l < loads; ++l) {
            if (active && slot_of(l) <= pairs) next[l] = from[slot_of(l)];
        }
    };
    load_next();
    while (__any_sync(core::full_warp, active)) {
        const auto limit = [&](R of_first_lane) {
            return static_cast<int>(core::broadcast<Rows::width>(of_first_lane, 0));
        };
        const int top = limit(active ? next[0].upper_c : R(-1));
        const int bottom = limit(active ? next[0].upper_s : R(0));
        active = top >= 0;
        APERTURE_UNROLL
        for (int l = 0; l < loads; ++l) {
            if (slot_of(l) < pairs) its_pairs[slot_of(l)] = {R(1), R(0), R(1), R(0)};
        }
        __syncwarp();
        APERTURE_UNROLL
        for (int l = 0; l < loads; ++l) {
            const int k = top + 1 - slot_of(l);
            if (active && k <= top && k >= bottom) its_pairs[pairs - 1 - k] = next[l];
        }
        __syncwarp();
        from += top - bottom + 2;
        load_next();
        APERTURE_UNROLL
        for (int high = pairs - 1; high >= 0; high -= Rows::group) {
            if (high >= bottom && high - Rows::group < top) {
                detail::rotate_row<Rows::group>(z, high, its_pairs + pairs - 1 - high);
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
