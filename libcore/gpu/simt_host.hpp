// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs kernels on the host: CUDA's own names for plain g++, and the executor behind them. Without a
// CUDA compiler, a kernel file that includes libcore/gpu/kernel.cuh compiles against this. A
// program that uses it links Boost.Context.

#include <math.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <vector>

#include "aperture/core/executor.hpp"

// The tag distinguishes a kernel compiled here from nvcc's launch function of the same name, when
// both are linked into one program.
#define __global__ __attribute__((abi_tag("simt")))
#define __device__ __attribute__((abi_tag("simt")))
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

#define APERTURE_VECTOR_TYPES(name, T)                                   \
    struct alignas(2 * sizeof(T)) name##2 {                              \
        T x, y;                                                          \
    };                                                                   \
    struct alignas(sizeof(T) < 8 ? 4 * sizeof(T) : 16) name##4 {         \
        T x, y, z, w;                                                    \
    };                                                                   \
    inline constexpr name##2 make_##name##2(T x, T y) { return {x, y}; } \
    inline constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
APERTURE_VECTOR_TYPES(int, int)
APERTURE_VECTOR_TYPES(uint, unsigned)
APERTURE_VECTOR_TYPES(float, float)
APERTURE_VECTOR_TYPES(double, double)
#undef APERTURE_VECTOR_TYPES

// One of each in the process, for kernels in libraries that are loaded, too.
#pragma GCC visibility push(default)
inline thread_local constinit uint3 threadIdx{};
inline thread_local constinit uint3 blockIdx{};
inline thread_local constinit dim3 blockDim{};
inline thread_local constinit dim3 gridDim{};
#pragma GCC visibility pop

namespace aperture::core {

/// The order in which the threads of a block run between two barriers. A result that depends on it
/// comes from a missing barrier.
enum class LaneOrder { forward, reverse, random };
inline constexpr LaneOrder all_lane_orders[] = {LaneOrder::forward, LaneOrder::reverse,
                                                LaneOrder::random};

namespace simt {

class Scheduler;

struct Shape {
    dim3 grid, block;
    std::size_t shared = 0;
    bool cooperative = false;
    std::source_location where;
};

enum class WarpOperation { sync, shuffle, vote, matrix };

/// Operands of a warp operation: `values[lane]` of the lanes in `arrived`.
struct Exchange {
    const std::uint64_t* values;
    std::uint32_t arrived;
    int lane;
};

Exchange exchange(std::uint32_t mask, std::uint64_t value, WarpOperation operation,
                  std::source_location where);
void block_barrier(std::source_location where);
void grid_barrier(std::source_location where);
void* shared_memory();
void copy_later(void* to, const void* from, std::size_t bytes);
void commit_copies();
void wait_for_copies(int groups_left);
[[noreturn]] void fail_with(const std::string& what, std::source_location where);
/// Apart from its callers and by value, so that their stack holds no text and no argument, which
/// AddressSanitizer would mark at each call.
template <class... Parts>
[[noreturn, gnu::noinline]] void fail(std::source_location where, Parts... parts) {
    fail_with(text(parts...), where);
}

}  // namespace simt

/// The limits of the device that a Simt emulates.
struct SimtDevice {
    int compute_capability = 90;  ///< ten times the major number plus the minor number
    int shared_memory_per_block = 227 * 1024;
    int multiprocessors = 4;  ///< few, so that grids sized by them stay small
};
/// The device of the compute capability in APERTURE_SIMT_DEVICE (80, 86, 89, 90, 100 or 120), by
/// default a Hopper GPU. Throws InvalidArgument for another name.
SimtDevice simt_device();

/// Runs kernels on the host, one thread of a block after the other, each on its own fiber;
/// everything is synchronous. Throws DeviceError for barriers that not all threads of a block
/// reach, shuffles that read an inactive lane, copies never waited for and impossible launches;
/// exceptions from a kernel reach the caller of `launch`. Belongs to one host thread.
/// Deterministic.
class Simt {
  public:
    using Space = Host;

    LaneOrder order = LaneOrder::forward;
    unsigned seed = 1;  ///< of LaneOrder::random
    SimtDevice device = simt_device();

    explicit Simt(LaneOrder lane_order = LaneOrder::forward, unsigned random_seed = 1);
    ~Simt();
    Simt(Simt&&) noexcept;
    Simt& operator=(Simt&&) noexcept;

    std::string name() const { return "SIMT host executor"; }
    int compute_capability() const { return device.compute_capability; }
    int multiprocessors() const { return device.multiprocessors; }
    int shared_memory_per_block() const { return device.shared_memory_per_block; }
    void synchronize() {}
    void finish() noexcept {}

    /// Calls `thread(kernel)` for every thread of the grid; `launch` is the typed interface to it.
    void run(const simt::Shape& shape, void (*thread)(const void* kernel), const void* kernel);

    /// As Gpu::scratch.
    std::byte* scratch(std::size_t bytes) {
        if (scratch_.size() < bytes) scratch_.resize(bytes);
        return scratch_.data();
    }

  private:
    std::unique_ptr<simt::Scheduler> scheduler_;
    std::vector<std::byte> scratch_;
};

/// The counterpart of `copy` on a Gpu, for orchestration that is a template on the executor: both
/// sides are host memory here.
template <class T, int Rank, class Layout>
void copy(Simt&, View<const T, Rank, Host, Layout> from, View<T, Rank, Host, Layout> to) {
    detail::expects_copyable(from, to);
    std::copy_n(from.data, from.size(), to.data);
}

/// The block's dynamic shared memory; filled with 0xFF before each block and exactly as large as
/// the launch requested, so that AddressSanitizer detects an overrun. It also detects accesses to
/// the target of an asynchronous copy of 8 or 16 bytes before the thread that started it has
/// waited.
template <class T>
inline T* shared() {
    return static_cast<T*>(simt::shared_memory());
}

}  // namespace aperture::core

inline void __syncthreads(std::source_location where = std::source_location::current()) {
    aperture::core::simt::block_barrier(where);
}

inline void __syncwarp(unsigned mask = 0xffffffffu,
                       std::source_location where = std::source_location::current()) {
    aperture::core::simt::exchange(mask, 0, aperture::core::simt::WarpOperation::sync, where);
}

namespace aperture::core::simt {

template <class T>
T shuffle(unsigned mask, T value, int width, std::source_location where, auto&& source_of) {
    static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
        fail(where, "shuffle width ", width, " is not a power of two up to 32");
    }
    const Exchange all = exchange(mask, std::bit_cast<Bits>(value), WarpOperation::shuffle, where);
    const int first = all.lane & ~(width - 1);
    const int source = source_of(all.lane, first, first + width - 1);
    if ((all.arrived >> source & 1u) == 0) {
        fail(where, "shuffle: lane ", all.lane, " reads the inactive lane ", source);
    }
    return std::bit_cast<T>(static_cast<Bits>(all.values[source]));
}

inline unsigned ballot(unsigned mask, bool predicate, std::source_location where,
                       std::uint32_t* arrived) {
    const Exchange all = exchange(mask, predicate, WarpOperation::vote, where);
    unsigned votes = 0;
    for (int lane = 0; lane < 32; ++lane) {
        if (all.arrived >> lane & 1u) votes |= static_cast<unsigned>(all.values[lane]) << lane;
    }
    *arrived = all.arrived;
    return votes;
}

}  // namespace aperture::core::simt

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32,
              std::source_location where = std::source_location::current()) {
    return aperture::core::simt::shuffle(mask, value, width, where, [=](int, int first, int) {
        return first + (source & (width - 1));
    });
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 std::source_location where = std::source_location::current()) {
    return aperture::core::simt::shuffle(mask, value, width, where, [=](int lane, int first, int) {
        const int source = lane - static_cast<int>(delta & 31u);
        return source < first ? lane : source;
    });
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   std::source_location where = std::source_location::current()) {
    return aperture::core::simt::shuffle(mask, value, width, where, [=](int lane, int, int last) {
        const int source = lane + static_cast<int>(delta & 31u);
        return source > last ? lane : source;
    });
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                  std::source_location where = std::source_location::current()) {
    return aperture::core::simt::shuffle(mask, value, width, where, [=](int lane, int, int last) {
        const int source = lane ^ (lane_mask & 31);
        return source > last ? lane : source;
    });
}

inline unsigned __ballot_sync(unsigned mask, int predicate,
                              std::source_location where = std::source_location::current()) {
    std::uint32_t arrived = 0;
    return aperture::core::simt::ballot(mask, predicate != 0, where, &arrived);
}
inline int __any_sync(unsigned mask, int predicate,
                      std::source_location where = std::source_location::current()) {
    std::uint32_t arrived = 0;
    return aperture::core::simt::ballot(mask, predicate != 0, where, &arrived) != 0;
}
inline int __all_sync(unsigned mask, int predicate,
                      std::source_location where = std::source_location::current()) {
    std::uint32_t arrived = 0;
    return aperture::core::simt::ballot(mask, predicate != 0, where, &arrived) == arrived;
}

inline void __threadfence() {}
inline void __threadfence_block() {}

template <class T>
requires std::is_integral_v<T> T atomicAdd(T* address, std::type_identity_t<T> value) {
    const T before = *address;
    *address = static_cast<T>(before + value);
    return before;
}

template <class T>
requires std::is_integral_v<T> T atomicMax(T* address, std::type_identity_t<T> value) {
    const T before = *address;
    *address = std::max(before, value);
    return before;
}

template <class T>
requires std::is_integral_v<T> T atomicCAS(T* address, std::type_identity_t<T> expected,
                                           std::type_identity_t<T> value) {
    const T before = *address;
    if (before == expected) *address = value;
    return before;
}

template <class T>
T __ldg(const T* address) {
    return *address;
}

using std::max;
using std::min;

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline float __fdividef(float x, float y) { return x / y; }
/// Saturates beyond the range of int; NaN becomes zero.
inline int __float2int_rn(float x) {
    if (!(std::abs(x) < 0x1p31F)) return x != x ? 0 : x < 0 ? INT_MIN : INT_MAX;
    return static_cast<int>(std::nearbyint(x));
}
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
