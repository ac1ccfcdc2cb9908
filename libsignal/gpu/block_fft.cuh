// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Complex FFTs of lengths 2^a 3^b 5^c 7^d by a block, in registers and shared memory.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "libcore/gpu/complex.cuh"
#include "libcore/gpu/kernel.cuh"
#include "libsignal/butterflies.hpp"

namespace aperture::signal::gpu {

using core::Complex;
using core::index_t;

/// Samples that a thread holds, at most.
inline constexpr int block_fft_samples = 16;

/// A pass of a transform: `stride` butterflies of `radix` samples that lie `stride` apart.
struct BlockFftPass {
    int radix;
    int stride;           ///< length / radix
    int span;             ///< product of the radices of earlier passes
    int step;             ///< stride / span: twiddle distance of neighbouring butterflies
    unsigned reciprocal;  ///< 2^32 / span, rounded up; where span is 1, nothing is divided by it
};

/// The factorisation of a length into radices, at least two.
struct BlockFftPlan {
    static constexpr int max_passes = 20;
    int length = 1;
    int lanes = 1;  ///< threads for a sequence
    int passes = 0;
    BlockFftPass pass[max_passes] = {};
};

/// A transform of a sequence, exp(-j ...), unscaled, by plan.lanes threads: Stockham's algorithm,
/// whose passes leave samples in order. A block transforms as many sequences at once as its threads
/// have room for. A thread holds up to block_fft_samples between two barriers, so that one buffer
/// is enough: butterflies lane, lane + lanes, ... of length / radix. The first pass calls load, and
/// the last one store: both have sample j + r length / radix as the r-th of butterfly j. So outputs
/// that a thread keeps can be its inputs if the plan of the next transform is the reverse. 16 bytes
/// of shared memory moved a sample for each pass but one, about 5 n log2 n flops. Source: Van Loan,
/// Computational Frameworks for the Fast Fourier Transform, 1992, section 1.7; Govindaraju et al.
/// 2008.
/// Step: distance of a sequence's samples in the buffer. With one, neighbouring threads are
/// neighbouring lanes with neighbouring samples; otherwise they have the same sample of Step
/// neighbouring sequences.
template <int Step>
struct BlockFft {
    const BlockFftPlan& plan;
    int lane;
    const Complex<float>* twiddles;  ///< exp(-j 2 pi k / length)
    Complex<float>* buffer;          ///< shared memory: the sequence's first sample

    /// Butterflies of a thread. Radix 1 occurs for the shortest lengths only; it has 8 butterflies,
    /// since 16 would need more registers for addresses.
    APERTURE_HD static constexpr int butterflies(int radix) {
        return block_fft_samples / (radix == 1 ? 2 : radix);
    }

    /// Calls load(i, sample) and store(i, sample, value) with a compile-time i < block_fft_samples,
    /// the number of a sample among the thread's; loads are in the order of the first radix, stores
    /// in that of the last.
    template <class Load, class Store>
    __device__ __forceinline__ void run(const Load& load, const Store& store) const {
        any_pass<true, false>(0, load, NoStore());
        middle_passes(plan.passes - 1);
        any_pass<false, true>(plan.passes - 1, from_buffer(), store);
    }

    /// The same, with the result in the buffer for all threads of the block.
    template <class Load>
    __device__ __forceinline__ void run_to_buffer(const Load& load) const {
        any_pass<true, false>(0, load, NoStore());
        middle_passes(plan.passes);
    }

  private:
    struct NoStore {
        __device__ void operator()(int, int, Complex<float>) const {}
    };
    __device__ __forceinline__ auto from_buffer() const {
        return [from = buffer](int, int sample) { return from[sample * Step]; };
    }
    __device__ __forceinline__ void middle_passes(int end) const {
        APERTURE_NO_UNROLL
        for (int p = 1; p < end; ++p) any_pass<false, false>(p, from_buffer(), NoStore());
    }

    template <bool First, bool Last, class Load, class Store>
    __device__ __forceinline__ void any_pass(int number, const Load& load,
                                             const Store& store) const {
#if defined(__CUDA_ARCH__)
        // Otherwise the compiler hoists the pass's data out of the caller's loops, and spills it.
        if constexpr (!First) asm volatile("" : "+r"(number));
#endif
        const BlockFftPass& it = plan.pass[number];
        switch (it.radix) {
            case 1:
                return pass<1, First, Last>(it, load, store);
            case 2:
                return pass<2, First, Last>(it, load, store);
            case 3:
                return pass<3, First, Last>(it, load, store);
            case 4:
                return pass<4, First, Last>(it, load, store);
            case 5:
                return pass<5, First, Last>(it, load, store);
            case 6:
                return pass<6, First, Last>(it, load, store);
            case 7:
                return pass<7, First, Last>(it, load, store);
            case 8:
                return pass<8, First, Last>(it, load, store);
            case 10:
                return pass<10, First, Last>(it, load, store);
            case 15:
                return pass<15, First, Last>(it, load, store);
            default:
                break;
        }
    }

    /// Multiplies v[r] by root^r. Powers by at most three products: as exact as a table, fewer
    /// loads.
    template <int R>
    __device__ __forceinline__ void twiddle(Complex<float> (&v)[R], unsigned step) const {
        if constexpr (R > 1) {
            Complex<float> low[4];
            low[1] = twiddles[step];
            low[2] = low[1] * low[1];
            low[3] = low[2] * low[1];
            Complex<float> high{1.0F, 0.0F};
            APERTURE_UNROLL
            for (int r = 1; r < R; ++r) {
                if (r % 4 == 0) high = twiddles[static_cast<unsigned>(r) * step];
                v[r] = v[r] * (r < 4 ? low[r] : r % 4 == 0 ? high : high * low[r % 4]);
            }
        }
    }

    template <int R, bool First, bool Last, class Load, class Store>
    __device__ __forceinline__ void pass(const BlockFftPass& it, const Load& load,
                                         const Store& store) const {
        constexpr int count = butterflies(R);
        int first = lane;
        int stride = it.stride;
        const int span = First ? 1 : it.span;
        // The last butterfly j' <= j with a twiddle of one.
        const auto begin_of_span = [&](int j) {
            return First ? j
                         : static_cast<int>(
                               (std::uint64_t{it.reciprocal} * static_cast<unsigned>(j)) >> 32) *
                               span;
        };
#if defined(__CUDA_ARCH__)
        // Otherwise the compiler hoists addresses for all radices out of the caller's loops, and
        // spills.
        asm volatile("" : "+r"(first), "+r"(stride));
#endif
        // Without initialisation it would stay live through all of the caller's loops.
        Complex<float> v[count][R] = {};
        APERTURE_UNROLL
        for (int b = 0; b < count; ++b) {
            const int j = first + b * plan.lanes;
            if (j < stride) {
                APERTURE_UNROLL
                for (int r = 0; r < R; ++r) v[b][r] = load(b * R + r, j + r * stride);
                if constexpr (!First) {
                    twiddle<R>(v[b], static_cast<unsigned>((j - begin_of_span(j)) * it.step));
                }
                butterfly(v[b]);
                if constexpr (Last) {
                    APERTURE_UNROLL
                    for (int r = 0; r < R; ++r) store(b * R + r, j + r * stride, v[b][r]);
                }
            }
        }
        if constexpr (!Last) {
            // All of the previous pass's, or previous transform's, samples must have been read.
            __syncthreads();
            APERTURE_UNROLL
            for (int b = 0; b < count; ++b) {
                const int j = first + b * plan.lanes;
                if (j < stride) {
                    Complex<float>* const to = buffer + (j + begin_of_span(j) * (R - 1)) * Step;
                    APERTURE_UNROLL
                    for (int r = 0; r < R; ++r) to[r * span * Step] = v[b][r];
                }
            }
            __syncthreads();
        }
    }
};

/// Passes of these radices.
inline BlockFftPlan block_fft_plan(int length, const std::vector<int>& radices) {
    BlockFftPlan plan;
    plan.length = length;
    int span = 1;
    for (const int radix : radices) {
        const int stride = length / radix;
        plan.pass[plan.passes++] = {
            radix, stride, span, stride / span,
            static_cast<unsigned>(((std::uint64_t{1} << 32) + static_cast<unsigned>(span) - 1) /
                                  static_cast<unsigned>(span))};
        span *= radix;
        const int held = BlockFft<1>::butterflies(radix);
        plan.lanes = std::max(plan.lanes, (stride + held - 1) / held);
    }
    return plan;
}

/// A plan with few passes, ordered by the power of two in their radices, odd ones first, so that
/// stores have no bank conflicts; equal powers by decreasing radix. Empty for
/// lengths with prime factors other than 2, 3, 5 and 7.
inline std::optional<BlockFftPlan> block_fft_plan(int length) {
    std::vector<int> radices;
    int rest = length;
    for (const int radix : {15, 10, 8, 7, 6, 5, 4, 3, 2}) {
        for (; rest % radix == 0; rest /= radix) radices.push_back(radix);
    }
    if (rest != 1) return std::nullopt;
    while (radices.size() < 2) radices.push_back(1);
    std::sort(radices.begin(), radices.end(),
              [](int a, int b) { return std::pair(a & -a, -a) < std::pair(b & -b, -b); });
    return block_fft_plan(length, radices);
}

/// The same passes in reverse order.
inline BlockFftPlan reversed(const BlockFftPlan& plan) {
    std::vector<int> radices;
    for (int p = plan.passes; p-- > 0;) radices.push_back(plan.pass[p].radix);
    return block_fft_plan(plan.length, radices);
}

/// exp(j 2 pi k step / length) for 0 <= k < length, in the executor's memory.
template <class Executor>
core::Array<Complex<float>, 1, typename Executor::Space> roots_of_unity(Executor& executor,
                                                                        index_t length,
                                                                        index_t step) {
    core::Array<Complex<float>, 1> roots({length});
    for (index_t k = 0; k < length; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(k * step % length) /
                             static_cast<double>(length);
        roots(k) = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    }
    core::Array<Complex<float>, 1, typename Executor::Space> there({length});
    core::copy(executor, std::as_const(roots).view(), there.view());
    executor.synchronize();
    return there;
}

}  // namespace aperture::signal::gpu
