// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Walks over the problems of batches. A generated kernel K has
//     K(void* const* symbols)    loads scalars and computes those that depend on them alone
//     Chip<On>                   numbers of its symbols, and what calls need beside; without those
//                                that compute() has in registers
//     load(on, chip)             from memory
//     compute(on, chip)          the calls, by a group of threads for each problem
//     store(on, chip)            what lives on
//     store_scalars()
//     Real                       of all its numbers, or void if they have several types
// `On` says where numbers are and who works on them.

#include "libcompose/kernels/arguments.hpp"
#include "libcompose/operations/block_factors.cuh"

#if defined(APERTURE_COMPOSE_CPU)
#include "libcompose/kernels/lanes.hpp"
#else
#include "libcore/gpu/block.cuh"
#endif

namespace aperture::compose::kernels {

#if defined(APERTURE_COMPOSE_CPU)

/// One problem, by one thread.
struct OneProblem {
    index_t problem;

    template <class T, int size>
    struct Numbers {
        T values[size];
    };
    bodies::Alone group() const { return {}; }
    template <int rows, int columns, class T, int size>
    bodies::Small<T, rows, columns> view(Numbers<T, size>& numbers) const {
        return {numbers.values};
    }
    template <class T, int size>
    void load(const T* from, Numbers<T, size>& to) const {
        for (int i = 0; i < size; ++i) to.values[i] = from[problem * size + i];
    }
    template <class T, int size>
    void store(const Numbers<T, size>& from, T* to) const {
        for (int i = 0; i < size; ++i) to[problem * size + i] = from.values[i];
    }
};

/// As many problems as a register has lanes, or the last ones of a batch.
template <class Real>
struct LaneProblems {
    static constexpr int lanes = Lanes<Real>::count;
    index_t first;
    int count;  ///< of problems; lanes beyond compute the first one again

    template <class T, int size>
    struct Numbers {
        /// Real numbers of a problem.
        static constexpr int reals = size * int(sizeof(T) / sizeof(Real));
        LanesOf<T> values[size];
        core::Pack<Real>* packs() { return reinterpret_cast<core::Pack<Real>*>(values); }
        const core::Pack<Real>* packs() const {
            return reinterpret_cast<const core::Pack<Real>*>(values);
        }
    };
    bodies::Alone group() const { return {}; }
    template <int rows, int columns, class T, int size>
    bodies::Small<LanesOf<T>, rows, columns> view(Numbers<T, size>& numbers) const {
        return {numbers.values};
    }
    template <class T, int size>
    void load(const T* from, Numbers<T, size>& to) const {
        constexpr int reals = Numbers<T, size>::reals;
        const Real* const problems = reinterpret_cast<const Real*>(from + first * size);
        const auto of_lane = [&](int lane) { return problems + (lane < count ? lane : 0) * reals; };
        int i = 0;
        for (; i + lanes <= reals; i += lanes) {
            core::Pack<Real> square[lanes];
            for (int lane = 0; lane < lanes; ++lane) square[lane] = core::load(of_lane(lane) + i);
            core::transpose<Real>(square);
            for (int k = 0; k < lanes; ++k) to.packs()[i + k] = square[k];
        }
        for (; i < reals; ++i) {
            for (int lane = 0; lane < lanes; ++lane) to.packs()[i][lane] = of_lane(lane)[i];
        }
    }
    template <class T, int size>
    void store(const Numbers<T, size>& from, T* to) const {
        constexpr int reals = Numbers<T, size>::reals;
        Real* const problems = reinterpret_cast<Real*>(to + first * size);
        int i = 0;
        for (; i + lanes <= reals; i += lanes) {
            core::Pack<Real> square[lanes];
            for (int k = 0; k < lanes; ++k) square[k] = from.packs()[i + k];
            core::transpose<Real>(square);
            for (int lane = 0; lane < count; ++lane) {
                core::store(problems + lane * reals + i, square[lane]);
            }
        }
        for (; i < reals; ++i) {
            for (int lane = 0; lane < count; ++lane) {
                problems[lane * reals + i] = from.packs()[i][lane];
            }
        }
    }
};

/// Arrays on the stack, which compilers know not to overlap, are limited.
template <class K, class On>
inline constexpr bool fits_stack = sizeof(typename K::template Chip<On>) <= (256 << 10);

template <class K, class Real>
inline constexpr bool fits_lanes = fits_stack<K, LaneProblems<Real>>;
template <class K>
inline constexpr bool fits_lanes<K, void> = false;

template <class K, class On>
inline void compute_on(const K& kernel, const On& on) {
    using Chip = typename K::template Chip<On>;
    const auto compute = [&](Chip& chip) {
        kernel.load(on, chip);
        kernel.compute(on, chip);
        kernel.store(on, chip);
    };
    if constexpr (fits_stack<K, On>) {
        Chip chip;
        compute(chip);
    } else {
        auto* const chip = new Chip;
        compute(*chip);
        delete chip;
    }
}

/// The problems of strips `first` to `end` - 1.
template <class K>
inline void compute_problems(const KernelArguments& arguments, index_t first, index_t end) {
    const K kernel(arguments.symbols);
    const index_t of_strip = strip_rows * arguments.walk.columns;
    const index_t last =
        end * of_strip < arguments.walk.count ? end * of_strip : arguments.walk.count;
    index_t problem = first * of_strip;
    if constexpr (fits_lanes<K, typename K::Real>) {
        using On = LaneProblems<typename K::Real>;
        for (; problem < last; problem += On::lanes) {
            const index_t left = last - problem;
            compute_on(kernel, On{problem, left < On::lanes ? int(left) : On::lanes});
        }
    } else {
        for (; problem < last; ++problem) compute_on(kernel, OneProblem{problem});
    }
}

/// After all strips.
template <class K>
inline void finish_problems(const KernelArguments& arguments, index_t, index_t) {
    K(arguments.symbols).store_scalars(arguments.symbols);
}

#else

/// A thread, neighbouring threads of a warp, or a block.
template <int threads>
struct ThreadGroup {
    static_assert(threads <= core::warp_size ? core::warp_size % threads == 0 : true);
    static constexpr int size = threads;
    static constexpr bool in_registers = threads == 1;
    int rank = core::thread_rank() % threads;

    __device__ __forceinline__ void sync() const {
        if constexpr (threads > core::warp_size) {
            __syncthreads();
        } else if constexpr (threads > 1) {
            constexpr unsigned all = core::full_warp >> (core::warp_size - threads);
            __syncwarp(all << (core::lane_rank() / threads * threads));
        }
    }
};

/// What a thread moves at once.
struct alignas(16) Piece {
    unsigned long long halves[2];
};

/// Problems of a block of threads, each by a group. What is loaded or stored is in shared memory;
/// the other numbers, too, if a group has more than one thread.
template <int threads, int problems>
struct BlockProblems {
    index_t first;
    int count;  ///< of `problems`, those that there are

    template <class T, int size>
    struct alignas(sizeof(Piece)) Numbers {
        static constexpr int stride =
            problems == 1 ? size : int(stride_of_problems(threads, size, sizeof(T)));
        static constexpr bool is_dense = stride == size;
        static constexpr int of_piece = int(sizeof(Piece) / sizeof(T));
        /// Whether a block's problems, or each of them, are whole pieces here and in memory.
        static constexpr bool are_pieces = is_dense
                                               ? problems * size % of_piece == 0
                                               : size % of_piece == 0 && stride % of_piece == 0;
        T values[problems * stride];

        /// Of numbers i `width`, ..., i `width` + `width` - 1 of the block's in memory.
        template <int width>
        __device__ __forceinline__ static int place(int i) {
            if constexpr (is_dense) {
                return i * width;
            } else {
                constexpr int of_problem = size / width;
                return i / of_problem * stride + i % of_problem * width;
            }
        }
    };
    /// In registers.
    template <class T, int size>
    struct Own {
        T values[size];
    };
    __device__ __forceinline__ ThreadGroup<threads> group() const { return {}; }
    template <int rows, int columns, class T, int size>
    __device__ __forceinline__ bodies::Small<T, rows, columns> view(
        Numbers<T, size>& numbers) const {
        const int mine = core::thread_rank() / threads;
        return {numbers.values + mine * Numbers<T, size>::stride};
    }
    template <int rows, int columns, class T, int size>
    __device__ __forceinline__ bodies::Small<T, rows, columns> view(Own<T, size>& numbers) const {
        return {numbers.values};
    }
    /// Starts a load, which wait_for_copies() and a barrier complete.
    template <class T, int size>
    __device__ __forceinline__ void load(const T* from, Numbers<T, size>& to) const {
        using There = Numbers<T, size>;
        const T* const source = from + first * size;
        if constexpr (There::are_pieces) {
            if (is_whole(source)) {
                constexpr int width = There::of_piece;
                each(problems * size / width, [&](int i) {
                    core::copy_async<sizeof(Piece)>(to.values + There::template place<width>(i),
                                                    source + i * width);
                });
                return;
            }
        }
        each(count * size, [&](int i) {
            T* const number = to.values + There::template place<1>(i);
            if constexpr (sizeof(T) >= 4) {
                core::copy_async<sizeof(T)>(number, source + i);
            } else {
                *number = source[i];
            }
        });
    }
    template <class T, int size>
    __device__ __forceinline__ void store(const Numbers<T, size>& from, T* to) const {
        using There = Numbers<T, size>;
        T* const target = to + first * size;
        if constexpr (There::are_pieces) {
            if (is_whole(target)) {
                constexpr int width = There::of_piece;
                each(problems * size / width, [&](int i) {
                    *reinterpret_cast<Piece*>(target + i * width) = *reinterpret_cast<const Piece*>(
                        from.values + There::template place<width>(i));
                });
                return;
            }
        }
        each(count * size, [&](int i) { target[i] = from.values[There::template place<1>(i)]; });
    }

  private:
    /// Whether all problems are there and their memory is aligned to pieces.
    __device__ __forceinline__ bool is_whole(const void* memory) const {
        return count == problems && reinterpret_cast<unsigned long long>(memory) % 16 == 0;
    }
    /// body(i) for each i < `all`, by one thread of the block.
    template <class Body>
    __device__ __forceinline__ static void each(int all, const Body& body) {
        APERTURE_UNROLL_BY(4)
        for (int i = core::thread_rank(); i < all; i += threads * problems) body(i);
    }
};

/// Of blocks of `threads` * `problems` threads in a row; the grid may have any size.
template <class K, int threads, int problems, int shared_bytes>
__device__ __forceinline__ void compute_problems(const KernelArguments& arguments) {
    using On = BlockProblems<threads, problems>;
    using Chip = typename K::template Chip<On>;
    static_assert(sizeof(Chip) <= shared_bytes);
    const K kernel(arguments.symbols);
    auto& chip = *core::shared<Chip>();
    for (index_t first = index_t(blockIdx.x) * problems; first < arguments.walk.count;
         first += index_t(gridDim.x) * problems) {
        const index_t left = arguments.walk.count - first;
        const On on{first, left < problems ? int(left) : problems};
        kernel.load(on, chip);
        core::commit_copies();
        core::wait_for_copies();
        __syncthreads();
        if (core::thread_rank() / threads < on.count) kernel.compute(on, chip);
        __syncthreads();
        kernel.store(on, chip);
        __syncthreads();
    }
    if (blockIdx.x == 0 && core::thread_rank() == 0) kernel.store_scalars(arguments.symbols);
}

#endif

}  // namespace aperture::compose::kernels
