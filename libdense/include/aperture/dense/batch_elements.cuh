// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// for_each_element (batch_elements.hpp) on a Gpu, for files that nvcc compiles; the run-time
// compiler reads the kernel.

#include "aperture/dense/element.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/gpu/batch_tile.cuh"

#if !defined(__CUDACC_RTC__)
#include "aperture/dense/batch_elements.hpp"
#include "libcore/gpu/device_cast.hpp"
#endif

namespace aperture::dense {

/// An element that threads share: in shared memory.
template <class N, Access access, int row_stride, int... extents>
struct SharedElement {
    using Number = N;
    using Stored = typename detail::StoredType<N, access>::type;
    Stored* data;

    template <class... Index>
    __device__ __forceinline__ Stored& operator()(Index... index) const {
        static_assert(sizeof...(Index) == sizeof...(extents), "an index for each extent");
        // Row-major, with the stride of padded rows.
        int place = 0;
        ((place = place * row_stride + static_cast<int>(index)), ...);
        return data[place];
    }
};

/// The `threads` of a warp, or of a block of its own, that share an element.
template <int threads_>
struct Team {
    static constexpr int threads = threads_;
    int rank;
    unsigned mask;  ///< of the group in its warp
    void* sums;     ///< shared memory for a number of each warp

    __device__ __forceinline__ void sync() const {
        if constexpr (threads <= core::warp_size) {
            __syncwarp(mask);
        } else {
            __syncthreads();
        }
    }
    /// Of the values of all threads, in each of them; always added in the same order.
    template <class N>
    __device__ __forceinline__ N sum(N value) const {
        if constexpr (threads <= core::warp_size) {
            return core::warp_reduce<threads>(value, core::Sum(), mask);
        } else {
            return core::block_reduce(value, static_cast<N*>(sums));
        }
    }
};

namespace detail {

/// Threads and problems of a block.
template <int threads>
struct ElementsShape {
    static_assert(threads == 1 || threads == 2 || threads == 4 || threads == 8 || threads == 16 ||
                      (threads % 32 == 0 && threads >= 32 && threads <= 1024),
                  "1 thread, a group of 2, 4, 8, 16 or 32, or a block of 64, 96, ..., 1024");
    static constexpr int block = threads <= core::warp_size ? 128 : threads;
    static constexpr int problems = block / threads;
    /// Bytes for the sums of a block's warps, of numbers of up to 16 bytes.
    static constexpr int sum_bytes = threads <= core::warp_size ? 0 : block / 32 * 16;
};

/// Bytes of an operand's tile, to multiples of 16.
APERTURE_HD constexpr int element_tile_bytes(int problems, int rows, int columns, int threads,
                                             int number_bytes) {
    const int numbers = problems * batch_tile_problem_stride(rows, columns, threads);
    return (numbers * number_bytes + 15) / 16 * 16;
}

/// An operand's problems of this block, between global memory and where the functor sees them.
template <int threads, class Operand_>
struct StagedElements;

template <int threads, Access access, class T, int... extents>
struct StagedElements<threads, Operand<access, T, core::Kernel, extents...>> {
    using Batch = Operand<access, T, core::Kernel, extents...>;
    using Shape = ElementsShape<threads>;
    using Tile = BatchTile<T, Shape::problems, Batch::rows, Batch::columns, threads>;
    static constexpr int bytes = element_tile_bytes(Shape::problems, Batch::rows, Batch::columns,
                                                    threads, static_cast<int>(sizeof(T)));

    Batch operand;
    T* tile;
    Element<T, extents...> element;

    /// Whether a thread accesses its problem in global memory.
    APERTURE_HD static bool direct(const Batch& operand) {
        return threads == 1 && (operand.batch.stride[0] == 1 || Batch::entries == 1);
    }
    /// Takes its tile from the memory at `next`.
    __device__ __forceinline__ StagedElements(const Batch& batch, unsigned char*& next)
        : operand(batch), tile(reinterpret_cast<T*>(next)) {
        if (!direct(batch)) next += bytes;
    }
    __device__ __forceinline__ void load(index_t first, int valid) const {
        if constexpr (access != Access::out) {
            if (!direct(operand)) {
                load_rows<Tile, true>(tile, operand.batch, first, valid, 0, Batch::rows);
            }
        }
    }
    __device__ __forceinline__ void store(index_t first, int valid) const {
        if constexpr (access != Access::in) {
            if (!direct(operand)) {
                store_rows<Tile, true>(tile, operand.batch, first, valid, 0, Batch::rows);
            }
        }
    }
    /// From the tile, or from global memory, to registers.
    __device__ __forceinline__ void to_registers(int local, index_t problem) {
        if constexpr (threads == 1 && access != Access::out) {
            const bool is_direct = direct(operand);
            APERTURE_UNROLL
            for (int e = 0; e < Batch::entries; ++e) {
                const int row = e / Batch::columns, column = e % Batch::columns;
                element.value[e] =
                    is_direct
                        ? operand.batch(problem, row, column)
                        : tile[local * Tile::problem_stride + row * Tile::row_stride + column];
            }
        }
    }
    __device__ __forceinline__ void from_registers(int local, index_t problem) {
        if constexpr (threads == 1 && access != Access::in) {
            const bool is_direct = direct(operand);
            APERTURE_UNROLL
            for (int e = 0; e < Batch::entries; ++e) {
                const int row = e / Batch::columns, column = e % Batch::columns;
                if (is_direct) {
                    operand.batch(problem, row, column) = element.value[e];
                } else {
                    tile[local * Tile::problem_stride + row * Tile::row_stride + column] =
                        element.value[e];
                }
            }
        }
    }
    /// What the functor gets.
    __device__ __forceinline__ auto& seen() {
        if constexpr (access == Access::in) {
            return static_cast<const Element<T, extents...>&>(element);
        } else {
            return element;
        }
    }
    __device__ __forceinline__ auto shared_element(int local) const {
        return SharedElement<T, access, Tile::row_stride, extents...>{tile +
                                                                      local * Tile::problem_stride};
    }
};

template <int threads, class Functor, class... Staged>
__device__ __forceinline__ void run_functor(const Functor& functor, index_t first, int valid,
                                            void* sums, Staged... staged) {
    const int local = core::thread_rank() / threads;
    (staged.load(first, valid), ...);
    __syncthreads();
    if (local < valid) {
        if constexpr (threads == 1) {
            (staged.to_registers(local, first + local), ...);
            call_functor(functor, OneThread{}, staged.seen()...);
            (staged.from_registers(local, first + local), ...);
        } else {
            const int lane = core::lane_rank() / threads * threads;
            const Team<threads> team{
                core::thread_rank() % threads,
                threads < 32 ? ((1u << threads % 32) - 1u) << lane : core::full_warp, sums};
            [&](auto... elements) {
                call_functor(functor, team, elements...);
            }(staged.shared_element(local)...);
        }
    }
    __syncthreads();
    (staged.store(first, valid), ...);
}

/// The body of a kernel on all operands.
template <int threads, class Functor, class... Operands>
__device__ __forceinline__ void run_elements(index_t problems, const Functor& functor,
                                             const Operands&... operands) {
    using Shape = ElementsShape<threads>;
    unsigned char* next = core::shared<unsigned char>();
    void* const sums = next;
    next += Shape::sum_bytes;
    const index_t first = static_cast<index_t>(blockIdx.x) * Shape::problems;
    const index_t left = problems - first;
    // Each operand takes a tile, whichever is constructed first.
    run_functor<threads>(functor, first,
                         left < Shape::problems ? static_cast<int>(left) : Shape::problems, sums,
                         StagedElements<threads, Operands>(operands, next)...);
}

}  // namespace detail

/// Calls the functor for every problem. Block: 128 threads with 128 / threads problems, or the
/// threads of one problem. Grid: problems by as many on x. Shared: the sums of the block's warps
/// and a BatchTile for each operand, with one thread a problem only for those that are not
/// interleaved. Bytes: every `in` and every `out` once.
/// Source: Ha et al. 2013, sections III-B (threads and blocks) and III-E.4 (groups).
template <int threads, class Functor, class... Operands>
__global__ void __launch_bounds__(detail::ElementsShape<threads>::block)
    elements_kernel(index_t problems, Functor functor, Operands... operands) {
    detail::run_elements<threads>(problems, functor, operands...);
}

#if !defined(__CUDACC_RTC__)

namespace detail {
template <class Executor>
void expects_shared(const Executor& executor, int bytes) {
    core::expects(bytes <= executor.shared_memory_per_block(),
                  "for_each_element: a block's elements take ", bytes,
                  " bytes of shared memory, there are ", executor.shared_memory_per_block(),
                  "; more threads for an element leave fewer in a block");
}

template <int threads, class Functor, class Executor, class... Operands>
void launch_elements(Executor& executor, index_t problems, const Functor& functor,
                     const Operands&... operands) {
    using Shape = ElementsShape<threads>;
    if (problems == 0) return;
    const int shared = Shape::sum_bytes + (0 + ... +
                                           (StagedElements<threads, Operands>::direct(operands)
                                                ? 0
                                                : StagedElements<threads, Operands>::bytes));
    expects_shared(executor, shared);
    core::launch(executor, elements_kernel<threads, Functor, Operands...>,
                 core::LaunchConfig{dim3(core::blocks_for(problems, Shape::problems)),
                                    dim3(Shape::block), static_cast<std::size_t>(shared)},
                 problems, functor, operands...);
}

template <class Some>
auto kernel_operand(const Some& operand) {
    using Number = core::DeviceType<typename Some::Number>;
    return typename Some::template Rebound<Number, core::Kernel>{core::kernel_view(operand.batch)};
}
}  // namespace detail

/// See batch_elements.hpp. Asynchronous. The functor is copied to the GPU: it has no pointers to
/// host memory, and its call operator is APERTURE_HD (__host__ __device__).
template <int threads = 1, class Executor, class Functor, class... Operands>
void for_each_element(Executor& executor, const Functor& functor, const Operands&... operands) {
    const index_t problems = detail::expects_operands(operands...);
    detail::launch_elements<threads>(executor, problems, functor,
                                     detail::kernel_operand(operands)...);
}

#endif

}  // namespace aperture::dense
