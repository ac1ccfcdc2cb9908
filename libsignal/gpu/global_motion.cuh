// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <numeric>

#include "libcore/gpu/block.cuh"
#include "libcore/gpu/launch.cuh"
#include "libcore/gpu/mirrored_array.hpp"
#include "libsignal/global_motion.hpp"
#include "libsignal/gpu/motion_reference.cuh"
#include "libsignal/gpu/resample.cuh"

namespace aperture::signal::gpu {

/// Of a block that visits pixels.
inline constexpr int motion_warps = 8;
/// A step sums the cells of a frame by groups of threads, one for each product.
inline constexpr int step_groups = 8;
inline constexpr int step_group = 64;
static_assert(most_products <= step_group);

/// Fits under way on one level.
struct MotionBatch {
    const float* frames;  ///< [frame][row][column], dense, of the level's extents
    const int* active;    ///< the frames, of which each row of a grid has one
    MotionState* states;  ///< [frame]
    int* more;            ///< [frame]: whether another step is needed
    void* cells;          ///< [active frame][cell]
    unsigned* counts;     ///< [active frame][row of cells][bin]

    __device__ __forceinline__ int frame() const { return active[blockIdx.y]; }
};

/// Shared memory of motion_cells_kernel.
struct CellMemory {
    unsigned counts[residual_bins];
    MotionPass pass;
};

/// Sums of cells and counts of residuals, of every `row_step`-th row of cells. Warp: cells; lane:
/// half the rows of a column of a cell. Block: a row of cells. Grid: rows of cells, frames. Shared
/// memory: CellMemory. 16 loads, mostly of one cache, 12 bytes and 100 flops a pixel.
template <MotionModel model>
__global__ void __launch_bounds__(motion_warps* core::warp_size)
    motion_cells_kernel(MotionLevel level, MotionBatch batch, int row_step) {
    constexpr int n = unknowns_of(model);
    auto& memory = *core::shared<CellMemory>();
    const int frame = batch.frame();
    if (batch.more[frame] == 0) return;
    const int thread = core::thread_rank();
    for (int i = thread; i < residual_bins; i += core::block_threads()) memory.counts[i] = 0;
    if (thread == 0) memory.pass = MotionPass(level, batch.states[frame]);
    __syncthreads();
    const MotionPass pass = memory.pass;
    const float* const image = batch.frames + index_t{frame} * level.rows * level.columns;
    const int cell_row = static_cast<int>(blockIdx.x) * row_step;
    const index_t row = index_t{blockIdx.y} * gridDim.x + blockIdx.x;
    auto* const cells = static_cast<CellSums<model>*>(batch.cells) + row * level.cell_columns();
    const int lane = core::lane_rank();
    for (int cell = core::warp_rank(); cell < level.cell_columns(); cell += motion_warps) {
        CellSums<model> sums{};
        const int x = cell * motion_cell + lane % motion_cell;
        const float v = pass.first_v + pass.unit_x * static_cast<float>(x);
        for (int i = lane / motion_cell; i < motion_cell; i += core::warp_size / motion_cell) {
            const int y = cell_row * motion_cell + i;
            if (y >= level.rows) break;
            const index_t at = index_t{y} * level.stride + x;
            const float value = level.values[at];
            const float down = level.down[at];
            const float across = level.across[at];
            const MotionPlace place = motion_place(level, pass, y, x);
            const float residual = motion_residual(pass, image, level.columns, place.first,
                                                   place.down, place.across, value);
            const BiweightOf of(residual * pass.inverse_width);
            const float weighted = of.weight > 0 ? of.weight * residual : 0.0F;
            const float energy = pixel_energy(down, across, level.energy);
            sums.weight += of.weight * energy;
            sums.slope += of.slope * energy;
            sums.inliers += of.weight > 0 ? 1.0F : 0.0F;
            sums.inside += is_residual(residual) ? 1.0F : 0.0F;
            float derivatives[n];
            derivatives_at<model>(down, across, value,
                                  pass.first_u + pass.unit_y * static_cast<float>(y), v,
                                  derivatives);
            APERTURE_UNROLL
            for (int k = 0; k < n; ++k) sums.gradient[k] += weighted * derivatives[k];
            if (is_residual(residual) && energy > 2 * level.energy) {
                atomicAdd(memory.counts + residual_bin(residual), 1u);
            }
        }
        APERTURE_UNROLL
        for (int k = 0; k < n; ++k) sums.gradient[k] = core::warp_reduce(sums.gradient[k]);
        sums.weight = core::warp_reduce(sums.weight);
        sums.slope = core::warp_reduce(sums.slope);
        sums.inliers = core::warp_reduce(sums.inliers);
        sums.inside = core::warp_reduce(sums.inside);
        if (lane == 0) cells[cell] = sums;
    }
    __syncthreads();
    unsigned* const counts = batch.counts + row * residual_bins;
    for (int i = thread; i < residual_bins; i += core::block_threads()) {
        counts[i] = memory.counts[i];
    }
}

/// Shared memory of motion_step_kernel.
struct StepMemory {
    MotionSums sums;
    MotionState state;
    double scale;
    double parts[step_groups][4][step_group];
    unsigned counts[residual_bins];
};

/// Sums of all cells of a frame, in an order that does not depend on scheduling.
template <MotionModel model>
__device__ __forceinline__ void sum_cells(const MotionLevel& level, const MotionBatch& batch,
                                          StepMemory& memory) {
    constexpr int n = unknowns_of(model);
    constexpr int products = products_of(model);
    const int group = core::thread_rank() / step_group;
    const int item = core::thread_rank() % step_group;
    const auto* const cells =
        static_cast<const CellSums<model>*>(batch.cells) + index_t{blockIdx.y} * level.cells();
    int i = 0;
    while ((i + 1) * (i + 2) / 2 <= item) ++i;
    const int j = item - i * (i + 1) / 2;
    double normal = 0, slopes = 0, spread = 0, single = 0;
    for (int cell = group; cell < level.cells(); cell += step_groups) {
        const CellSums<model>& of = cells[cell];
        if (item < products) {
            const float product = level.products[index_t{cell} * products + item];
            normal += static_cast<double>(of.weight * product);
            slopes += static_cast<double>(of.slope * product);
            spread += static_cast<double>(of.gradient[i]) * static_cast<double>(of.gradient[j]);
        }
        if (item < n + 2) {
            single += static_cast<double>(item < n    ? of.gradient[item]
                                          : item == n ? of.inliers
                                                      : of.inside);
        }
    }
    memory.parts[group][0][item] = normal;
    memory.parts[group][1][item] = slopes;
    memory.parts[group][2][item] = spread;
    memory.parts[group][3][item] = single;
    __syncthreads();
    if (group >= 4) return;
    double sum = 0;
    for (int part = 0; part < step_groups; ++part) sum += memory.parts[part][group][item];
    MotionSums& sums = memory.sums;
    if (group < 3) {
        double* const to = group == 0 ? sums.normal : group == 1 ? sums.slopes : sums.spread;
        if (item < products) to[item] = sum;
    } else if (item < n) {
        sums.gradient[item] = sum;
    } else if (item < n + 2) {
        (item == n ? sums.inliers : sums.inside) = sum;
    }
}

/// A step from the sums of `rows` rows of cells, or only the residuals' first scale. One thread
/// solves for the step while another finds the scale. Grid: 1, frames. Shared memory: StepMemory.
template <MotionModel model>
__global__ void __launch_bounds__(step_groups* step_group)
    motion_step_kernel(MotionLevel level, MotionBatch batch, int rows, bool first) {
    auto& memory = *core::shared<StepMemory>();
    const int frame = batch.frame();
    if (batch.more[frame] == 0) return;
    const int thread = core::thread_rank();
    const unsigned* const counts = batch.counts + index_t{blockIdx.y} * rows * residual_bins;
    for (int i = thread; i < residual_bins; i += core::block_threads()) {
        unsigned sum = 0;
        for (int row = 0; row < rows; ++row) sum += counts[index_t{row} * residual_bins + i];
        memory.counts[i] = sum;
    }
    if (!first) sum_cells<model>(level, batch, memory);
    if (thread == 0) memory.state = batch.states[frame];
    __syncthreads();
    MotionState& state = memory.state;
    bool more = true;
    if (thread == core::warp_size) memory.scale = residual_scale(memory.counts, level);
    if (thread == 0) {
        if (first) {
            begin_level(state);
        } else {
            more = take_step(level, memory.sums, state);
        }
    }
    __syncthreads();
    if (thread != 0) return;
    state.scale = memory.scale;
    if (!more) {
        end_level(state);
        if (level.down_by == 1 && !state.failed) finish_motion(level, memory.sums, state);
    }
    batch.states[frame] = state;
    batch.more[frame] = more ? 1 : 0;
}

/// scores[frame][shift] of all shifts that are tried. Warp: a shift. Block: motion_warps shifts.
/// Grid: shifts, frames. No shared memory.
inline __global__ void __launch_bounds__(motion_warps* core::warp_size)
    motion_scores_kernel(MotionLevel level, const float* frames, float* scores) {
    const int shifts_across = tried_shifts(level.columns);
    const int shifts = tried_shifts(level.rows) * shifts_across;
    const int tried = static_cast<int>(blockIdx.x) * motion_warps + core::warp_rank();
    if (tried >= shifts) return;
    const int dy = tried_shift(tried / shifts_across, level.rows);
    const int dx = tried_shift(tried % shifts_across, level.columns);
    const int next = level.columns;
    const float* const frame = frames + index_t{blockIdx.y} * level.rows * next;
    const auto by_down = static_cast<float>(0.5 / level.down_by);
    const auto by_across = static_cast<float>(0.5 / level.across_by);
    const int first_row = max(1, 1 - dy);
    const int first_column = max(1, 1 - dx);
    const int rows = min(level.rows, level.rows - dy) - 1 - first_row;
    const int columns = min(next, next - dx) - 1 - first_column;
    float sum = 0;
    for (int i = core::lane_rank(); i < rows * columns; i += core::warp_size) {
        const int y = first_row + i / columns;
        const int x = first_column + i % columns;
        const index_t at = index_t{y} * level.stride + x;
        const float* const moved = frame + (y + dy) * next + x + dx;
        sum += agreement(level.down[at], level.across[at], by_down * (moved[next] - moved[-next]),
                         by_across * (moved[1] - moved[-1]), level.energy);
    }
    sum = core::warp_reduce(sum);
    if (core::lane_rank() == 0) {
        scores[index_t{blockIdx.y} * shifts + tried] = sum / static_cast<float>(rows * columns);
    }
}

/// Begins at the shift with the largest score. Block: one warp. Grid: 1, frames.
inline __global__ void __launch_bounds__(core::warp_size)
    motion_start_kernel(MotionLevel level, const float* scores, MotionState* states) {
    const int shifts = tried_shifts(level.rows) * tried_shifts(level.columns);
    unsigned long long best = 0;
    for (int i = core::lane_rank(); i < shifts; i += core::warp_size) {
        const float score = scores[index_t{blockIdx.y} * shifts + i];
        unsigned bits;
        memcpy(&bits, &score, sizeof(bits));
        // Bits that order as the numbers do; of equal ones the first counts.
        bits ^= bits >> 31 != 0 ? 0xffffffffu : 0x80000000u;
        const unsigned long long key =
            static_cast<unsigned long long>(bits) << 32 | (0xffffffffu - static_cast<unsigned>(i));
        if (score == score && key > best) best = key;
    }
    best = core::warp_maximum(best);
    if (core::lane_rank() != 0) return;
    const int tried = best == 0 ? 0 : static_cast<int>(0xffffffffu - static_cast<unsigned>(best));
    start_shift(level, tried, states[blockIdx.y]);
}

}  // namespace aperture::signal::gpu

namespace aperture::signal {

/// By kernels, on a GPU or on the SIMT host executor.
template <class Executor>
class MotionFrames {
  public:
    using Space = typename Executor::Space;

    MotionFrames(Executor& executor, std::vector<MotionLevel> levels)
        : executor_(executor),
          reference_(executor, std::move(levels)),
          pyramid_(reference_.levels().size()),
          states_(executor),
          active_(executor),
          more_(executor) {}

    /// Synchronises.
    double set(core::View<const float, 2, Space> image) {
        build({image.data, {1, image.extent[0], image.extent[1]}, {0, image.stride[0], 1}});
        return reference_.set(pyramid_);
    }

    void run(core::View<const float, 3, Space> frames, bool search,
             std::vector<MotionState>& states) {
        for (index_t begin = 0; begin < frames.extent[0]; begin += most_frames) {
            const index_t end = std::min(begin + most_frames, frames.extent[0]);
            const auto at = states.begin() + static_cast<std::ptrdiff_t>(begin);
            states_.reshape({end - begin});
            std::copy_n(at, end - begin, states_.host().data);
            states_.to_device();
            build(frames.slice(0, begin, end));
            if (search) find_shifts();
            for (std::size_t l = pyramid_.size(); l-- > 0;) fit(l);
            states_.to_host();
            executor_.synchronize();
            std::copy_n(states_.host().data, end - begin, at);
        }
    }

  private:
    static constexpr index_t most_frames = 128;
    /// Steps between looks at which fits go on.
    static constexpr int steps_at_once = 3;

    index_t count() { return states_.device().extent[0]; }

    /// The pyramids of frames.
    void build(core::View<const float, 3, Space> frames) {
        const auto frames_in = static_cast<int>(frames.extent[0]);
        for (std::size_t l = 0; l < pyramid_.size(); ++l) {
            const MotionLevel& level = reference_.levels()[l];
            pyramid_[l].reshape({frames.extent[0], level.rows, level.columns});
            const auto to = gpu::planes_of(pyramid_[l].view());
            if (l == 0) {
                gpu::blur(executor_, gpu::planes_of(frames), motion_blur, frames_in, to);
            } else {
                gpu::downsample(executor_, gpu::planes_of(std::as_const(pyramid_[l - 1]).view()),
                                frames_in, to);
            }
        }
    }

    void find_shifts() {
        const MotionLevel& level = reference_.levels().back();
        const index_t shifts = index_t{tried_shifts(level.rows)} * tried_shifts(level.columns);
        scores_.reshape({count(), shifts});
        const auto frames = static_cast<unsigned>(count());
        core::launch(executor_, &gpu::motion_scores_kernel,
                     {dim3(core::blocks_for(shifts, gpu::motion_warps), frames),
                      dim3(gpu::motion_warps * core::warp_size)},
                     level, pyramid_.back().data(), scores_.data());
        core::launch(executor_, &gpu::motion_start_kernel, {dim3(1, frames), dim3(core::warp_size)},
                     level, scores_.data(), states_.device().data);
    }

    /// All frames on one level, until the last fit ends.
    void fit(std::size_t l) {
        const MotionLevel& level = reference_.levels()[l];
        active_.reshape({count()});
        more_.reshape({count()});
        auto* const active = active_.host().data;
        std::iota(active, active + count(), 0);
        std::fill_n(more_.host().data, count(), 1);
        more_.to_device();
        with_model(level.model, [&](auto model) {
            cells_.reshape(
                {count() * level.cells() * static_cast<index_t>(sizeof(CellSums<model()>))});
            counts_.reshape({count(), level.cell_rows(), residual_bins});
            index_t left = count();
            active_.to_device();
            pass<model()>(l, left, first_rows);
            while (left > 0) {
                for (int i = 0; i < steps_at_once; ++i) pass<model()>(l, left, 1);
                more_.to_host();
                executor_.synchronize();
                const int* const more = more_.host().data;
                left = std::remove_if(active, active + left,
                                      [&](int frame) { return more[frame] == 0; }) -
                       active;
                if (left > 0) active_.to_device();
            }
        });
    }

    /// The pass for the first scale visits every `first_rows`-th row of cells, others all.
    template <MotionModel model>
    void pass(std::size_t l, index_t frames, int row_step) {
        const MotionLevel& level = reference_.levels()[l];
        const gpu::MotionBatch batch{pyramid_[l].data(),    active_.device().data,
                                     states_.device().data, more_.device().data,
                                     cells_.data(),         counts_.data()};
        const int rows = (level.cell_rows() + row_step - 1) / row_step;
        const auto frames_in = static_cast<unsigned>(frames);
        core::launch(executor_, &gpu::motion_cells_kernel<model>,
                     {dim3(static_cast<unsigned>(rows), frames_in),
                      dim3(gpu::motion_warps * core::warp_size), sizeof(gpu::CellMemory)},
                     level, batch, row_step);
        core::launch(
            executor_, &gpu::motion_step_kernel<model>,
            {dim3(1, frames_in), dim3(gpu::step_groups * gpu::step_group), sizeof(gpu::StepMemory)},
            level, batch, rows, row_step != 1);
    }

    Executor& executor_;
    gpu::MotionReference<Executor> reference_;
    std::vector<core::Array<float, 3, Space>> pyramid_;
    core::MirroredArray<MotionState, 1, Executor> states_;
    core::MirroredArray<int, 1, Executor> active_;
    core::MirroredArray<int, 1, Executor> more_;
    core::Array<float, 2, Space> scores_;
    core::Array<std::byte, 1, Space> cells_;
    core::Array<unsigned, 3, Space> counts_;
};

}  // namespace aperture::signal
