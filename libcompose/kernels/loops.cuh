// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A loop as one cooperative kernel: all blocks run the kernels of its body one after the other, and
// wait for each other after each.

#include "libcompose/kernels/elements.cuh"
#include "libcore/gpu/grid.cuh"

namespace aperture::compose::kernels {

/// What a block of (32, n) threads knows of the loop, n a multiple of 8. The table of symbols, and
/// the scalars that the loop reads or sets, are in its own shared memory, so that conditions,
/// counters and what depends on scalars alone need no barrier of the grid. All its threads call
/// each function, and may read what the one before has set.
class Loop {
  public:
    /// `shared_before`: bytes that kernels of the body need for themselves.
    __device__ __forceinline__ Loop(const LoopArguments& arguments, int shared_before,
                                    int symbol_count, index_t most_sums)
        : arguments_(arguments),
          barrier_(arguments.arrivals),
          sums_(arguments.sums),
          sums_before_(arguments.sums + most_sums),
          symbols_(reinterpret_cast<void**>(core::shared<unsigned char>() + shared_before)),
          scalars_(reinterpret_cast<SumNumber*>(symbols_ + (symbol_count + 1) / 2 * 2)) {
        for (int i = core::thread_rank(); i < symbol_count; i += core::block_threads()) {
            symbols_[i] = arguments.symbols[i];
        }
        __syncthreads();
    }

    /// Makes scalar `i` of the block that of a symbol; __syncthreads() completes all of these.
    template <class T>
    __device__ __forceinline__ void take(int i, int symbol) const {
        // Warps wait for memory at the same time.
        if (core::lane_rank() != 0 || core::warp_rank() != i % static_cast<int>(blockDim.y)) return;
        scalars_[i].set(*static_cast<const T*>(symbols_[symbol]));
        symbols_[symbol] = &scalars_[i];
    }
    __device__ __forceinline__ bool holds(int i) const { return scalars_[i].bytes[0] != 0; }
    __device__ __forceinline__ void set(int i, long long value) const {
        if (is_first()) scalars_[i].set(value);
        __syncthreads();
    }
    __device__ __forceinline__ void exchange(int a, int b) const {
        if (is_first()) {
            void* const of_a = symbols_[a];
            symbols_[a] = symbols_[b];
            symbols_[b] = of_a;
        }
        __syncthreads();
    }
    __device__ __forceinline__ void tell_unended() const { *arguments_.unended = 1; }

    /// A kernel of scalars alone.
    template <class K>
    __device__ __forceinline__ void scalars() const {
        const K kernel(symbols_);
        __syncthreads();
        store_scalars(kernel);
    }
    /// Warps of a block have rows one below the other. Where these are added up, tasks are few, and
    /// neighbours are of different multiprocessors. Each block adds up the sums of pieces.
    template <class K>
    __device__ __forceinline__ void elements(const Walk& walk) {
        constexpr int columns = K::sums > 0 ? piece_length / lanes : 4;
        constexpr int columns_of_warp = columns * lanes;
        constexpr unsigned height = K::sums > 0 ? 1 : 8;
        const K kernel(symbols_);
        const KernelArguments arguments = next(walk);
        const auto tasks = [](index_t all, index_t of_one) {
            return static_cast<unsigned>((all + of_one - 1) / of_one);
        };
        const unsigned across = tasks(walk.columns, columns_of_warp);
        const unsigned down = tasks(walk.rows, height);
        for (unsigned task = threadIdx.y / height * gridDim.x + blockIdx.x; task < across * down;
             task += blockDim.y / height * gridDim.x) {
            const index_t row = index_t(task / across) * height + threadIdx.y % height;
            if (row >= walk.rows) continue;
            compute_piece<columns>(kernel, arguments, row,
                                   index_t(task % across) * columns_of_warp);
        }
        barrier_.sync();
        if constexpr (K::sums > 0) {
            const auto memory_of = [&]<class T, class Combine>(
                                       int i, const bodies::LaneSums<T, Combine, 1>&) {
                return reinterpret_cast<T*>(core::shared<SumNumber>() + i * walk.strips());
            };
            add_strips<K>(arguments, threadIdx.y, blockDim.y, memory_of);
            __syncthreads();
            store_totals(kernel, arguments, memory_of);
        }
        store_scalars(kernel);
    }
    /// After the loop, before one block gives what it has changed to others.
    __device__ __forceinline__ void end() { barrier_.sync(); }
    template <class T>
    __device__ __forceinline__ void give(int i, int symbol) const {
        if (blockIdx.x == 0 && is_first()) {
            *static_cast<T*>(arguments_.symbols[symbol]) = scalars_[i].as<T>();
        }
    }
    __device__ __forceinline__ void give_place(int symbol) const {
        if (blockIdx.x == 0 && is_first()) arguments_.symbols[symbol] = symbols_[symbol];
    }

  private:
    __device__ __forceinline__ static bool is_first() { return core::thread_rank() == 0; }
    template <class K>
    __device__ __forceinline__ void store_scalars(const K& kernel) const {
        if (is_first()) kernel.store_scalars(symbols_);
        __syncthreads();
    }
    /// Other blocks may still read the sums of the kernel before.
    __device__ __forceinline__ KernelArguments next(const Walk& walk) {
        SumNumber* const now = sums_;
        sums_ = sums_before_;
        sums_before_ = now;
        return {symbols_, walk, now, nullptr};
    }

    const LoopArguments& arguments_;
    core::GridBarrier barrier_;
    SumNumber *sums_, *sums_before_;
    void** symbols_;
    SumNumber* scalars_;
};

}  // namespace aperture::compose::kernels
