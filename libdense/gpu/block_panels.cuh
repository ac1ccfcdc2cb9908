// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Panels of the operands of large products in shared memory: of a size that the compiler knows, so
// that a copy is a few instructions.

#include "libdense/gpu/chunks.cuh"

namespace aperture::dense {

/// Whether neighbouring threads copy along the depth or along lines, and chunks or single entries.
struct PanelCopy {
    bool along_depth, in_chunks;
};

/// Where a lane has its entries of a panel for products on tensor cores, those of lines 8 i and
/// steps 4 m from its first one on.
struct PanelLane {
    int first, eight_lines, four_steps, turn;

    __device__ __forceinline__ int at(int i, int m) const {
        return first + i * eight_lines + (m ^ turn) * four_steps;
    }
};

/// A panel of `lines` x `depth` entries in shared memory, copied asynchronously by `threads`, which
/// are a power of two, as is `depth`. It is [depth][line] or, where threads are along the depth and
/// it is not `transposed`, [line][depth]: requests for lines of memory are whole ones, and what a
/// warp stores or loads is in different banks. What the operand does not have becomes zero.
template <class T, int lines, int depth, int threads, bool transposed>
class BlockPanel {
    static constexpr int depth_stride =
        lines + (sizeof(T) == 16 || (transposed && sizeof(T) == 8) ? 2 : 4);
    /// Of [line][depth], fours of steps in other places in so many successive lines.
    static constexpr int turns = 32 / static_cast<int>(sizeof(T));

  public:
    static constexpr int entries = depth * depth_stride;
    static constexpr int step_stride = depth_stride;  ///< of [depth][line]
    static_assert(transposed || lines * depth <= entries);

    /// `from`: the panel's first entry; `left`: the lines that the operand has from there on.
    __device__ __forceinline__ BlockPanel(const T* from, index_t from_line, index_t from_step,
                                          int left, PanelCopy copy)
        : from_(from), from_line_(from_line), from_step_(from_step), left_(left), copy_(copy) {
        with_pieces([&](auto own) {
            using Own = decltype(own);
            const int thread = core::thread_rank();
            const int fast = thread % Own::fast_threads * Own::width;
            const int slow = thread / Own::fast_threads;
            first_line_ = Own::along_depth ? slow : fast;
            first_step_ = Own::along_depth ? fast : slow;
        });
        from_ += first_line_ * from_line_ + first_step_ * from_step_;
    }

    /// Starts to copy the panel of the next `depth` steps, of which the operand has `steps`.
    __device__ __forceinline__ void start_to_load(T* tile, int steps) {
        with_pieces([&](auto own) {
            constexpr int width = decltype(own)::width;
            for_each_piece(own, tile, [&](int line, int step, const T* its, T* to) {
                if (line < left_ && step < steps) {
                    core::copy_async<width* static_cast<int>(sizeof(T))>(to, its);
                } else {
                    APERTURE_UNROLL
                    for (int e = 0; e < width; ++e) to[e] = T(RealOf<T>(0));
                }
            });
        });
        from_ += depth * from_step_;
    }
    /// `line`: a multiple of eight.
    __device__ __forceinline__ PanelLane lane_from(int line) const {
        const int group = core::lane_rank() / 4, step = core::lane_rank() % 4;
        line += group;
        if (is_turned()) return {line * depth + step, 8 * depth, 4, group % turns};
        return {line + step * depth_stride, 8, 4 * depth_stride, 0};
    }
    /// Conjugates what this thread has copied.
    __device__ __forceinline__ void conjugate(T* tile) const {
        with_pieces([&](auto own) {
            for_each_piece(own, tile, [&](int, int, const T*, T* its) {
                APERTURE_UNROLL
                for (int e = 0; e < decltype(own)::width; ++e) its[e] = core::conj(its[e]);
            });
        });
    }

  private:
    static constexpr int power_from(int count) {
        int power = 1;
        while (power < count) power *= 2;
        return power;
    }
    /// Threads copy pieces of `width` entries, `fast_threads` neighbours those of one line or step.
    template <bool is_along_depth, int its_width>
    struct Pieces {
        static constexpr bool along_depth = is_along_depth;
        static constexpr int width = its_width;
        static constexpr int pieces = power_from((along_depth ? depth : lines) / width);
        static constexpr int fast_threads = pieces < threads ? pieces : threads;
        static constexpr int slow_threads = threads / fast_threads;
        static constexpr int line_pass = along_depth ? slow_threads : fast_threads * width;
        static constexpr int step_pass = along_depth ? fast_threads * width : slow_threads;
    };
    __device__ __forceinline__ bool is_turned() const { return !transposed && copy_.along_depth; }
    template <class Use>
    __device__ __forceinline__ void with_pieces(const Use& use) const {
        constexpr int width = chunk_entries<T>;
        if (copy_.along_depth) {
            copy_.in_chunks && !transposed ? use(Pieces < true, transposed ? 1 : width > {})
                                           : use(Pieces<true, 1>{});
        } else {
            copy_.in_chunks ? use(Pieces<false, width>{}) : use(Pieces<false, 1>{});
        }
    }
    /// Calls visit(line, step, place in the operand, place in the tile) for the thread's pieces.
    template <class Own, class Visit>
    __device__ __forceinline__ void for_each_piece(Own, T* tile, const Visit& visit) const {
        constexpr bool turned = Own::along_depth && !transposed;
        constexpr int tile_line = turned ? depth : 1, tile_step = turned ? 1 : depth_stride;
        static_assert(!turned || (Own::step_pass == depth && Own::line_pass % turns == 0));
        const T* row = from_;
        T* const first = tile + first_line_ * tile_line +
                         (turned ? first_step_ ^ first_line_ % turns * 4 : first_step_ * tile_step);
        APERTURE_UNROLL
        for (int s = 0; s < depth; s += Own::step_pass) {
            const T* its = row;
            APERTURE_UNROLL
            for (int l = 0; l < lines; l += Own::line_pass) {
                const bool exists = (lines % Own::line_pass == 0 || first_line_ + l < lines) &&
                                    (depth % Own::step_pass == 0 || first_step_ + s < depth);
                if (exists) {
                    visit(first_line_ + l, first_step_ + s, its,
                          first + l * tile_line + s * tile_step);
                }
                its += Own::line_pass * from_line_;
            }
            row += Own::step_pass * from_step_;
        }
    }

    const T* from_;  ///< the thread's first entry
    index_t from_line_, from_step_;
    int left_;
    PanelCopy copy_;
    int first_line_ = 0, first_step_ = 0;  ///< of the thread
};

}  // namespace aperture::dense
