// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The coarse end of multigrid: all levels that fit into one block's shared memory. Launching a
// kernel for each of them would take longer than their work.

#include "libcore/gpu/block.cuh"
#include "libflow/gpu/relaxation.cuh"

namespace aperture::flow::gpu {

inline constexpr int most_tail_threads = 512;
/// Larger levels are faster with many blocks.
inline constexpr int most_tail_pixels = 4096;
/// Levels of up to this size, with one pixel of a colour for each lane, run in one warp: its
/// barrier costs less than the block's.
inline constexpr int one_warp_pixels = 64;

struct TailArguments {
    LevelPlanes finest;        ///< the first of the levels
    Planes<const float> from;  ///< its unknowns; null: zero
    Planes<float> to;
    int levels;
    bool full;     ///< a full cycle, or a V-cycle
    float share;   ///< of the correction of the first level by a V-cycle
    float hidden;  ///< see hidden_tensor
};

/// Floats of shared memory for each pixel: tensor, inverse, right-hand side, unknowns, weights.
template <Coupling coupling>
constexpr int tail_planes() {
    return coupling == Coupling::weighted ? 12 : 10;
}

/// The threads that process a level together.
struct Team {
    int rank;
    int size;

    __device__ __forceinline__ void wait() const {
        if (size == core::warp_size) {
            __syncwarp();
        } else {
            __syncthreads();
        }
    }
};

/// A level in shared memory, every plane dense.
template <Coupling coupling>
struct TailLevel {
    Planes<float> tensor;
    Planes<float> inverse;
    Planes<float> right;
    Planes<float> unknowns;
    Planes<float> weights;
    float smoothness;
    BorderWeights border;

    __device__ TailLevel(float* base, int rows, int columns, float alpha2,
                         const BorderWeights& border_weights)
        : smoothness(alpha2), border(border_weights) {
        const index_t pixels = static_cast<index_t>(rows) * columns;
        const auto planes = [&](int first, int count) {
            return Planes<float>{base + first * pixels, {count, rows, columns}};
        };
        tensor = planes(0, 3);
        inverse = planes(3, 3);
        right = planes(6, 2);
        unknowns = planes(8, 2);
        if constexpr (coupling == Coupling::weighted) weights = planes(10, 2);
    }

    __device__ int pixels() const { return rows_of(unknowns) * columns_of(unknowns); }
    __device__ LevelPlanes system() const {
        return {{tensor, inverse, right, weights, smoothness}, border};
    }
};

/// All levels in consecutive memory, the finest first.
template <Coupling coupling, Boundary boundary>
class Tail {
  public:
    __device__ Tail(const TailArguments& arguments, float* memory)
        : arguments_(arguments), memory_(memory), last_(arguments.levels - 1) {
        one_warp_ = 0;
        while (level(one_warp_).pixels() > one_warp_pixels) ++one_warp_;
        if (block().size == core::warp_size) one_warp_ = 0;
    }

    /// Loads the finest level; computes the tensors and inverses of all.
    __device__ void load() const {
        const TailLevel<coupling> finest = level(0);
        for_pixels(block(), finest, [&](int y, int x) {
            const auto copy = [&](const Planes<float>& to, const Planes<const float>& from,
                                  int planes) {
                for (int i = 0; i < planes; ++i) to(i, y, x) = from(i, y, x);
            };
            copy(finest.tensor, arguments_.finest.tensor, 3);
            copy(finest.right, arguments_.finest.right, 2);
            if constexpr (coupling == Coupling::weighted) {
                copy(finest.weights, arguments_.finest.weights, 2);
            }
            const bool zero = arguments_.from.data == nullptr;
            store_pair(finest.unknowns, y, x,
                       zero ? Pair{0.0F, 0.0F} : pair_at(arguments_.from, y, x));
        });
        __syncthreads();
        for (int l = 1; l <= last_; ++l) {
            coarsen(level(l - 1), level(l));
            __syncthreads();
        }
        for (int l = 0; l <= last_; ++l) {
            const TailLevel<coupling> here = level(l);
            const LevelPlanes system = here.system();
            const bool mean = l == last_ && l > 0 && boundary == Boundary::replicate;
            for_pixels(block(), here, [&](int y, int x) {
                const SymmetricBlock inverse =
                    mean ? inverse_of_mean(block_at(system.tensor, y, x), arguments_.hidden)
                         : relaxation_block<coupling, boundary>(system, y, x);
                here.inverse(0, y, x) = inverse.a11;
                here.inverse(1, y, x) = inverse.a12;
                here.inverse(2, y, x) = inverse.a22;
            });
        }
        __syncthreads();
    }

    __device__ void store() const {
        const TailLevel<coupling> finest = level(0);
        for_pixels(block(), finest, [&](int y, int x) {
            store_pair(arguments_.to, y, x, pair_at(finest.unknowns, y, x));
        });
    }

    /// Down to the coarsest level and back, with two sweeps on each.
    __device__ void v_cycle(int first) const {
        const int alone = max(first, min(one_warp_, last_));
        for (int l = first; l < alone; ++l) descend(block(), l);
        if (core::warp_rank() == 0) {
            const Team warp{core::lane_rank(), core::warp_size};
            for (int l = alone; l < last_; ++l) descend(warp, l);
            sweep(warp, level(last_), 1);
            for (int l = last_; l-- > alone;) ascend(warp, l, share_at(l));
        }
        __syncthreads();
        for (int l = alone; l-- > first;) ascend(block(), l, share_at(l));
    }

    /// Corrects from the coarsest level to the finest, with a V-cycle on each.
    __device__ void full_cycle() const {
        for (int l = 0; l < last_; ++l) {
            restrict_residual(block(), l);
            __syncthreads();
        }
        v_cycle(last_);
        for (int l = last_; l-- > 0;) {
            prolong(block(), l, 1.0F);
            __syncthreads();
            v_cycle(l);
        }
    }

  private:
    __device__ Team block() const { return {core::thread_rank(), core::block_threads()}; }

    __device__ float share_at(int l) const { return l == 0 ? arguments_.share : 1.0F; }

    __device__ TailLevel<coupling> level(int l) const {
        float* base = memory_;
        float smoothness = arguments_.finest.smoothness;
        int rows = rows_of(arguments_.to);
        int columns = columns_of(arguments_.to);
        BorderWeights border = arguments_.finest.border;
        for (int i = 0; i < l; ++i) {
            base += tail_planes<coupling>() * rows * columns;
            if constexpr (boundary == Boundary::zero) border = border.coarser(rows, columns);
            rows = (rows + 1) / 2;
            columns = (columns + 1) / 2;
            smoothness *= 0.25F;
        }
        return {base, rows, columns, smoothness, border};
    }

    template <class Visit>
    __device__ void for_pixels(const Team& team, const TailLevel<coupling>& of,
                               const Visit& visit) const {
        const int columns = columns_of(of.unknowns);
        for (int i = team.rank; i < of.pixels(); i += team.size) visit(i / columns, i % columns);
    }

    __device__ void coarsen(const TailLevel<coupling>& fine,
                            const TailLevel<coupling>& coarse) const {
        const LevelPlanes from = fine.system();
        for_pixels(block(), coarse, [&](int y, int x) {
            for (int i = 0; i < 3; ++i) {
                coarse.tensor(i, y, x) =
                    average(rows_of(from.tensor), columns_of(from.tensor), y, x,
                            [&](int row, int column) { return from.tensor(i, row, column); });
            }
            if constexpr (coupling == Coupling::weighted) {
                store_pair(coarse.weights, y, x, coarse_weights(from.weights, y, x));
            }
            store_pair(coarse.unknowns, y, x, {0.0F, 0.0F});
        });
    }

    __device__ void sweep(const Team& team, const TailLevel<coupling>& here, int count) const {
        const LevelPlanes system = here.system();
        const auto field = [&](int y, int x) { return pair_at(here.unknowns, y, x); };
        const int rows = rows_of(here.unknowns);
        const int columns = columns_of(here.unknowns);
        const int even_columns = (columns + 1) / 2 * 2;
        const int pixels = coloured_pixels<coupling>((rows + 1) / 2 * 2, even_columns);
        for (int step = 0; step < count * colours_of(coupling); ++step) {
            const int colour = step % colours_of(coupling);
            for (int i = team.rank; i < pixels; i += team.size) {
                const auto [y, x] = coloured_pixel<coupling>(i, colour, 0, 0, even_columns);
                if (y >= rows || x >= columns) continue;
                store_pair(here.unknowns, y, x,
                           relaxed<coupling, boundary>(system, block_at(system.inverse, y, x), y, x,
                                                       field));
            }
            team.wait();
        }
    }

    /// The right-hand side of level l + 1 becomes the average of the residual of level l; its
    /// unknowns start at zero.
    __device__ void restrict_residual(const Team& team, int l) const {
        const TailLevel<coupling> fine = level(l);
        const TailLevel<coupling> coarse = level(l + 1);
        const LevelPlanes system = fine.system();
        const auto field = [&](int y, int x) { return pair_at(fine.unknowns, y, x); };
        for_pixels(team, coarse, [&](int y, int x) {
            store_pair(coarse.right, y, x,
                       average(rows_of(fine.unknowns), columns_of(fine.unknowns), y, x,
                               [&](int row, int column) {
                                   return level_residual<coupling, boundary>(system, row, column,
                                                                             field);
                               }));
            store_pair(coarse.unknowns, y, x, {0.0F, 0.0F});
        });
    }

    __device__ void prolong(const Team& team, int l, float share) const {
        const Planes<float> fine = level(l).unknowns;
        const Planes<float> coarse = level(l + 1).unknowns;
        for_pixels(team, level(l), [&](int y, int x) {
            store_pair(fine, y, x,
                       pair_at(fine, y, x) +
                           share * prolonged<boundary>(
                                       rows_of(coarse), columns_of(coarse), y, x,
                                       [&](int i, int j) { return pair_at(coarse, i, j); }));
        });
    }

    __device__ void descend(const Team& team, int l) const {
        sweep(team, level(l), smoothing_sweeps);
        restrict_residual(team, l);
        team.wait();
    }

    __device__ void ascend(const Team& team, int l, float share) const {
        prolong(team, l, share);
        team.wait();
        sweep(team, level(l), smoothing_sweeps);
    }

    const TailArguments& arguments_;
    float* memory_;
    int last_;
    int one_warp_;  ///< the first level that runs in one warp
};

/// One cycle by one block, over levels of which the finest has at most most_tail_pixels. A thread
/// relaxes pixels of a colour, the block's size apart. Shared memory: tail_planes floats for each
/// pixel of all levels, at most 4/3 of the finest's and some borders. Reads 28 bytes and writes 8
/// for each pixel of the finest level. A cycle has about 8 barriers a level and is bound by
/// latency.
template <Coupling coupling, Boundary boundary>
__global__ void __launch_bounds__(most_tail_threads)
    multigrid_tail_kernel(TailArguments arguments) {
    const Tail<coupling, boundary> tail(arguments, core::shared<float>());
    tail.load();
    if (arguments.full) {
        tail.full_cycle();
    } else {
        tail.v_cycle(0);
    }
    tail.store();
}

}  // namespace aperture::flow::gpu
