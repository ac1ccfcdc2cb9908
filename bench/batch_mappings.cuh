// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Mappings of problems to threads that Ha et al. 2013 describe and the library does not have for
// these functions: interleaved groups (section III-E.4, figure 7a), and walk and grid (section
// III-D, algorithms 5 and 6). docs/notes/batches.md compares them.

#include "bench/batch_mappings.hpp"
#include "libcore/gpu/warp.cuh"

namespace aperture::bench {

/// Threads along the problems of a block of interleaved groups.
inline constexpr int group_problems = core::warp_size;

/// Bytes of shared memory for the matrices of a block.
APERTURE_HD constexpr int group_bytes(MappedFunction function, int n) {
    const int matrices = function == MappedFunction::gemm       ? 2
                         : function == MappedFunction::cholesky ? 1
                                                                : 0;
    return matrices * n * n * group_problems * static_cast<int>(sizeof(float));
}

namespace detail {

/// A thread's place in interleaved groups, and its matrices in shared memory.
struct GroupPlace {
    int lane = core::warp_rank();
    int lanes = core::block_threads() / core::warp_size;
    index_t problem = index_t{blockIdx.x} * group_problems + core::lane_rank();

    __device__ __forceinline__ static float& at(int matrix, int n, int e) {
        return core::shared<float>()[(matrix * n * n + e) * group_problems + core::lane_rank()];
    }
    /// Calls visit(e, where entry e is in memory).
    template <class Visit>
    __device__ __forceinline__ void for_each_entry(const MappedProblems& on, Visit visit) const {
        if (problem >= on.problems) return;
        for (int e = lane; e < on.n * on.n; e += lanes) visit(e, e * on.problems + problem);
    }
};

__device__ __forceinline__ void gemv_in_group(const MappedProblems& on, const GroupPlace& place) {
    const int n = on.n;
    for (int i = place.lane; place.problem < on.problems && i < n; i += place.lanes) {
        float sum = 0;
        APERTURE_UNROLL_BY(4)
        for (int j = 0; j < n; ++j) {
            sum += on.a[(index_t{i} * n + j) * on.problems + place.problem] *
                   on.x[place.problem * n + j];
        }
        on.y[place.problem * n + i] = sum;
    }
}

__device__ __forceinline__ void gemm_in_group(const MappedProblems& on, const GroupPlace& place) {
    const int n = on.n;
    place.for_each_entry(on, [&](int e, index_t from) {
        place.at(0, n, e) = on.a[from];
        place.at(1, n, e) = on.b[from];
    });
    __syncthreads();
    place.for_each_entry(on, [&](int e, index_t to) {
        float sum = 0;
        APERTURE_UNROLL_BY(4)
        for (int k = 0; k < n; ++k) {
            sum += place.at(0, n, e / n * n + k) * place.at(1, n, k * n + e % n);
        }
        on.c[to] = sum;
    });
}

__device__ __forceinline__ void cholesky_in_group(const MappedProblems& on,
                                                  const GroupPlace& place) {
    const int n = on.n;
    const auto at = [&](int i, int j) -> float& { return place.at(0, n, i * n + j); };
    const bool exists = place.problem < on.problems;
    place.for_each_entry(on, [&](int e, index_t from) { place.at(0, n, e) = on.a[from]; });
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        const float scale = exists ? 1 / sqrtf(at(k, k)) : 0;
        __syncthreads();
        for (int i = k + place.lane; exists && i < n; i += place.lanes) at(i, k) *= scale;
        __syncthreads();
        for (int i = k + 1 + place.lane; exists && i < n; i += place.lanes) {
            for (int j = k + 1; j <= i; ++j) at(i, j) -= at(i, k) * at(j, k);
        }
        __syncthreads();
    }
    place.for_each_entry(
        on, [&](int e, index_t to) { on.c[to] = e % n <= e / n ? place.at(0, n, e) : 0; });
}

}  // namespace detail

/// Interleaved groups: lane l of problem p's group is thread l 32 + p, so that a warp has the same
/// entry of 32 problems.
///
/// Block: 32 problems, and as many threads for each as there are warps. Grid: ceil(problems / 32)
/// on x. Shared: group_bytes.
template <MappedFunction function>
__global__ void __launch_bounds__(1024) in_interleaved_groups(MappedProblems on) {
    const detail::GroupPlace place;
    if constexpr (function == MappedFunction::gemv) {
        detail::gemv_in_group(on, place);
    } else if constexpr (function == MappedFunction::gemm) {
        detail::gemm_in_group(on, place);
    } else {
        detail::cholesky_in_group(on, place);
    }
}

namespace detail {

/// A square part of a matrix in shared memory.
struct MatrixTile {
    static constexpr int side = mapped_tile;
    float* entries;

    __device__ __forceinline__ float& operator()(int i, int j) const {
        return entries[i * (side + 1) + j];
    }
    /// Of the identity beyond the matrix.
    __device__ __forceinline__ void load(const float* matrix, int n, int row, int column) const {
        for (int e = core::thread_rank(); e < side * side; e += core::block_threads()) {
            const int i = row * side + e / side;
            const int j = column * side + e % side;
            (*this)(e / side, e % side) = i < n && j < n ? matrix[index_t{i} * n + j] : i == j;
        }
    }
    __device__ __forceinline__ void store(float* matrix, int n, int row, int column) const {
        for (int e = core::thread_rank(); e < side * side; e += core::block_threads()) {
            const int i = row * side + e / side;
            const int j = column * side + e % side;
            if (i < n && j < n) matrix[index_t{i} * n + j] = (*this)(e / side, e % side);
        }
    }
};

/// Rows [tile part, tile (part + 1)) of A x, a warp each.
__device__ __forceinline__ void gemv_part(const MappedProblems& on, index_t problem, int part) {
    const float* const x = on.x + problem * on.n;
    for (int r = core::warp_rank(); r < mapped_tile; r += core::block_threads() / 32) {
        const int i = part * mapped_tile + r;
        if (i >= on.n) break;
        const float* const row = on.a + (problem * on.n + i) * on.n;
        float sum = 0;
        APERTURE_UNROLL_BY(4)
        for (int j = core::lane_rank(); j < on.n; j += core::warp_size) sum += row[j] * x[j];
        sum = core::warp_reduce(sum);
        if (core::lane_rank() == 0) on.y[problem * on.n + i] = sum;
    }
}

/// A tile of C = A B, or of what is left of C after `panel`.
template <bool gemm>
__device__ __forceinline__ void product_part(const MappedProblems& on, index_t problem, int row,
                                             int column, int panel, const MatrixTile& left,
                                             const MatrixTile& right) {
    constexpr int side = mapped_tile;
    constexpr int own = side * side / mapped_threads;
    const int tiles = (on.n + side - 1) / side;
    const index_t matrix = problem * on.n * on.n;
    const int j = core::thread_rank() % side;
    const int first = core::thread_rank() / side;
    float sum[own] = {};
    for (int k = gemm ? 0 : panel; k < (gemm ? tiles : panel + 1); ++k) {
        left.load((gemm ? on.a : on.c) + matrix, on.n, row, k);
        right.load((gemm ? on.b : on.c) + matrix, on.n, gemm ? k : column, gemm ? column : k);
        __syncthreads();
        const int depth = on.n - k * side < side ? on.n - k * side : side;
        for (int d = 0; d < depth; ++d) {
            const float factor = gemm ? right(d, j) : right(j, d);
            APERTURE_UNROLL
            for (int s = 0; s < own; ++s) {
                sum[s] += left(first + s * (mapped_threads / side), d) * factor;
            }
        }
        __syncthreads();
    }
    APERTURE_UNROLL
    for (int s = 0; s < own; ++s) {
        const int i = row * side + first + s * (mapped_threads / side);
        if (i >= on.n || column * side + j >= on.n) continue;
        float& entry = on.c[matrix + index_t{i} * on.n + column * side + j];
        entry = gemm ? sum[s] : entry - sum[s];
    }
}

/// The factor of a diagonal tile, with zeros above it.
__device__ __forceinline__ void factor_diagonal(const MappedProblems& on, index_t problem,
                                                int panel, const MatrixTile& tile) {
    constexpr int side = mapped_tile;
    float* const matrix = on.c + problem * on.n * on.n;
    tile.load(matrix, on.n, panel, panel);
    __syncthreads();
    const int i = core::lane_rank();
    for (int k = 0; core::warp_rank() == 0 && k < side; ++k) {
        const float scale = 1 / sqrtf(tile(k, k));
        __syncwarp();
        tile(i, k) = i < k ? 0 : tile(i, k) * scale;
        __syncwarp();
        for (int j = k + 1; j <= i; ++j) tile(i, j) -= tile(i, k) * tile(j, k);
        __syncwarp();
    }
    __syncthreads();
    tile.store(matrix, on.n, panel, panel);
}

/// A tile below it, multiplied by the inverse of its transpose; zeros above it.
__device__ __forceinline__ void solve_part(const MappedProblems& on, index_t problem, int panel,
                                           int row, const MatrixTile& diagonal,
                                           const MatrixTile& tile) {
    float* const matrix = on.c + problem * on.n * on.n;
    diagonal.load(matrix, on.n, panel, panel);
    tile.load(matrix, on.n, row, panel);
    __syncthreads();
    const int i = core::lane_rank();
    for (int k = 0; core::warp_rank() == 0 && k < mapped_tile; ++k) {
        float sum = tile(i, k);
        for (int j = 0; j < k; ++j) sum -= tile(i, j) * diagonal(k, j);
        tile(i, k) = sum / diagonal(k, k);
    }
    __syncthreads();
    tile.store(matrix, on.n, row, panel);
    for (int e = core::thread_rank(); e < mapped_tile * mapped_tile; e += core::block_threads()) {
        const int above = panel * mapped_tile + e / mapped_tile;
        const int right = row * mapped_tile + e % mapped_tile;
        if (above < on.n && right < on.n) matrix[index_t{above} * on.n + right] = 0;
    }
    __syncthreads();
}

}  // namespace detail

/// Parts of a function that do not wait for one another. Phases of Cholesky factors follow one
/// another for each panel.
enum class MappedPhase { gemv, gemm, diagonal, below, update };

template <MappedPhase phase>
APERTURE_HD constexpr int parts_of(int n, int panel) {
    const int tiles = (n + mapped_tile - 1) / mapped_tile;
    const int behind = tiles - panel - 1;
    return phase == MappedPhase::gemv       ? tiles
           : phase == MappedPhase::gemm     ? tiles * tiles
           : phase == MappedPhase::diagonal ? 1
           : phase == MappedPhase::below    ? behind
                                            : behind * behind;
}

template <MappedPhase phase>
__device__ __forceinline__ void run_part(const MappedProblems& on, index_t problem, int panel,
                                         int part) {
    const detail::MatrixTile left{core::shared<float>()};
    const detail::MatrixTile right{left.entries + mapped_tile * (mapped_tile + 1)};
    const int tiles = (on.n + mapped_tile - 1) / mapped_tile;
    if constexpr (phase == MappedPhase::gemv) {
        detail::gemv_part(on, problem, part);
    } else if constexpr (phase == MappedPhase::gemm) {
        detail::product_part<true>(on, problem, part / tiles, part % tiles, 0, left, right);
    } else if constexpr (phase == MappedPhase::diagonal) {
        detail::factor_diagonal(on, problem, panel, left);
    } else if constexpr (phase == MappedPhase::below) {
        detail::solve_part(on, problem, panel, panel + 1 + part, left, right);
    } else {
        const int behind = tiles - panel - 1;
        const int row = panel + 1 + part / behind;
        const int column = panel + 1 + part % behind;
        if (column > row) return;
        detail::product_part<false>(on, problem, row, column, panel, left, right);
    }
    __syncthreads();
}

/// Walk: a block goes through all parts of its problem, phase after phase. Block: mapped_threads.
/// Grid: problems on x. Shared: mapped_bytes.
template <MappedFunction function>
__global__ void __launch_bounds__(mapped_threads) walk_parts(MappedProblems on) {
    const auto walk = [&]<MappedPhase phase>(int panel) {
        for (int part = 0; part < parts_of<phase>(on.n, panel); ++part) {
            run_part<phase>(on, blockIdx.x, panel, part);
        }
    };
    if constexpr (function == MappedFunction::gemv) {
        walk.template operator()<MappedPhase::gemv>(0);
    } else if constexpr (function == MappedFunction::gemm) {
        walk.template operator()<MappedPhase::gemm>(0);
    } else {
        for (int panel = 0; panel * mapped_tile < on.n; ++panel) {
            walk.template operator()<MappedPhase::diagonal>(panel);
            walk.template operator()<MappedPhase::below>(panel);
            walk.template operator()<MappedPhase::update>(panel);
        }
    }
}

/// Grid: a block has one part of every problem, in one phase. Block: mapped_threads. Grid: parts_of
/// on x. Shared: mapped_bytes.
template <MappedPhase phase>
__global__ void __launch_bounds__(mapped_threads) part_of_all(MappedProblems on, int panel) {
    for (index_t problem = 0; problem < on.problems; ++problem) {
        run_part<phase>(on, problem, panel, static_cast<int>(blockIdx.x));
    }
}

}  // namespace aperture::bench
