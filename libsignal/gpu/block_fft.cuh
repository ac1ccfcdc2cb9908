// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Complex transforms of lengths 2^a 3^b 5^c 7^d by a block, in registers and shared memory.

#include "libcore/gpu/complex.cuh"

#if !defined(__CUDACC_RTC__)
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "aperture/core/array.hpp"
#endif

namespace aperture::signal::gpu {

using core::Complex;
using core::index_t;

namespace detail {

/// cos(2 pi i / R) and sin(2 pi i / R), 0 < i < R.
template <int R>
APERTURE_HD constexpr float cosine(int i) {
    const int k = i > R / 2 ? R - i : i;
    if constexpr (R == 3) return -0.5F;
    if constexpr (R == 5) return k == 1 ? 0.30901699437494742F : -0.80901699437494742F;
    return k == 1 ? 0.62348980185873353F : k == 2 ? -0.22252093395631440F : -0.90096886790241913F;
}
template <int R>
APERTURE_HD constexpr float sine(int i) {
    const int k = i > R / 2 ? R - i : i;
    const float sign = i > R / 2 ? -1.0F : 1.0F;
    if constexpr (R == 3) return sign * 0.86602540378443865F;
    if constexpr (R == 5) return sign * (k == 1 ? 0.95105651629515357F : 0.58778525229247313F);
    return sign * (k == 1   ? 0.78183148246802981F
                   : k == 2 ? 0.97492791218182361F
                            : 0.43388373911755812F);
}

/// The i < b with a i mod b = 1.
APERTURE_HD constexpr int inverse_modulo(int a, int b) {
    int i = 1;
    while (a * i % b != 1) ++i;
    return i;
}

APERTURE_HD constexpr Complex<float> times_minus_j(Complex<float> a) { return {a.im, -a.re}; }

template <int R>
__device__ __forceinline__ void butterfly(Complex<float> (&v)[R]);

/// Sums and differences of v[k] and v[R-k], of which each output needs real multiples.
template <int R>
__device__ __forceinline__ void odd_butterfly(Complex<float> (&v)[R]) {
    constexpr int half = R / 2;
    Complex<float> sums[half];
    Complex<float> differences[half];
    const Complex<float> first = v[0];
    APERTURE_UNROLL
    for (int k = 1; k <= half; ++k) {
        sums[k - 1] = v[k] + v[R - k];
        differences[k - 1] = v[k] - v[R - k];
        v[0] += sums[k - 1];
    }
    APERTURE_UNROLL
    for (int m = 1; m <= half; ++m) {
        Complex<float> even = first;
        Complex<float> odd{0.0F, 0.0F};
        APERTURE_UNROLL
        for (int k = 1; k <= half; ++k) {
            even = core::multiply_add(even, cosine<R>(k * m % R), sums[k - 1]);
            odd = core::multiply_add(odd, sine<R>(k * m % R), differences[k - 1]);
        }
        odd = times_minus_j(odd);
        v[m] = even + odd;
        v[R - m] = even - odd;
    }
}

/// A transform of A B samples, which have no common factor, as A x B ones without twiddles.
/// Source: Good 1958.
template <int A, int B>
__device__ __forceinline__ void coprime_butterfly(Complex<float> (&v)[A * B]) {
    Complex<float> rows[B][A];
    APERTURE_UNROLL
    for (int i = 0; i < B; ++i) {
        APERTURE_UNROLL
        for (int k = 0; k < A; ++k) rows[i][k] = v[(B * k + A * i) % (A * B)];
        butterfly(rows[i]);
    }
    constexpr int step_a = B * inverse_modulo(B, A);
    constexpr int step_b = A * inverse_modulo(A, B);
    APERTURE_UNROLL
    for (int k = 0; k < A; ++k) {
        Complex<float> column[B];
        APERTURE_UNROLL
        for (int i = 0; i < B; ++i) column[i] = rows[i][k];
        butterfly(column);
        APERTURE_UNROLL
        for (int i = 0; i < B; ++i) v[(step_a * k + step_b * i) % (A * B)] = column[i];
    }
}

/// v[k] = sum_p v[p] exp(-j 2 pi k p / R).
template <int R>
__device__ __forceinline__ void butterfly(Complex<float> (&v)[R]) {
    if constexpr (R == 2) {
        const Complex<float> first = v[0];
        v[0] = first + v[1];
        v[1] = first - v[1];
    } else if constexpr (R == 4) {
        const Complex<float> sum02 = v[0] + v[2];
        const Complex<float> difference02 = v[0] - v[2];
        const Complex<float> sum13 = v[1] + v[3];
        const Complex<float> difference13 = times_minus_j(v[1] - v[3]);
        v[0] = sum02 + sum13;
        v[1] = difference02 + difference13;
        v[2] = sum02 - sum13;
        v[3] = difference02 - difference13;
    } else if constexpr (R == 8) {
        constexpr float root = 0.70710678118654752F;
        Complex<float> even[4] = {v[0], v[2], v[4], v[6]};
        Complex<float> odd[4] = {v[1], v[3], v[5], v[7]};
        butterfly(even);
        butterfly(odd);
        odd[1] = root * (odd[1] + times_minus_j(odd[1]));
        odd[2] = times_minus_j(odd[2]);
        odd[3] = root * (times_minus_j(odd[3]) - odd[3]);
        APERTURE_UNROLL
        for (int k = 0; k < 4; ++k) {
            v[k] = even[k] + odd[k];
            v[k + 4] = even[k] - odd[k];
        }
    } else if constexpr (R == 6) {
        coprime_butterfly<2, 3>(v);
    } else if constexpr (R == 10) {
        coprime_butterfly<2, 5>(v);
    } else if constexpr (R == 15) {
        coprime_butterfly<3, 5>(v);
    } else if constexpr (R > 1) {
        odd_butterfly<R>(v);
    }
}

}  // namespace detail

/// The order in which a length is taken apart: radices whose product it is, two at least.
struct BlockFftPlan {
    static constexpr int most_passes = 20;
    int length = 1;
    int passes = 0;
    int radix[most_passes] = {};
};

/// Transforms of Columns sequences side by side, exp(-j ...), unscaled, by all threads of a block:
/// Stockham's, whose passes leave samples in order. A thread holds up to Held samples at a time
/// between two barriers, so that one buffer is enough: butterflies i, i + threads, ... of
/// length / radix for each column, neighbouring threads in neighbouring columns. The first pass
/// takes what load gives, and the last one hands its outputs over: both have sample j + r length /
/// radix as the r-th of butterfly j, so that outputs that a thread keeps can be what it loads
/// where the plan of the next transform is the reverse. Of one column: 16 bytes of shared memory
/// moved a sample for each pass but one, about 5 n log2 n flops.
/// Source: Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992, section 1.7;
/// Govindaraju et al. 2008.
template <int Columns, int Held>
struct BlockFft {
    /// Butterflies of a thread.
    APERTURE_HD static constexpr int butterflies(int radix) { return Held / radix; }

    /// `twiddles`: exp(-j 2 pi k / length); `buffer`: shared, [sample][column]. Calls load(i,
    /// sample, column) and store(i, sample, column, value) with i < Held, known when compiled, the
    /// number of a sample among the thread's; loads are of samples in the order of the first
    /// radix, stores in that of the last.
    template <class Load, class Store>
    __device__ __forceinline__ static void run(const BlockFftPlan& plan,
                                               const Complex<float>* twiddles,
                                               Complex<float>* buffer, const Load& load,
                                               const Store& store) {
        const auto from_buffer = [&](int, int sample, int column) {
            return buffer[sample * Columns + column];
        };
        const auto no_store = [](int, int, int, Complex<float>) {};
        any_pass<true, false>(plan.radix[0], plan.length, 1, twiddles, buffer, load, no_store);
        int span = plan.radix[0];
        APERTURE_NO_UNROLL
        for (int p = 1; p + 1 < plan.passes; ++p) {
            any_pass<false, false>(plan.radix[p], plan.length, span, twiddles, buffer, from_buffer,
                                   no_store);
            span *= plan.radix[p];
        }
        any_pass<false, true>(plan.radix[plan.passes - 1], plan.length, span, twiddles, buffer,
                              from_buffer, store);
    }

  private:
    template <bool First, bool Last, class Load, class Store>
    __device__ __forceinline__ static void any_pass(int radix, int length, int span,
                                                    const Complex<float>* twiddles,
                                                    Complex<float>* buffer, const Load& load,
                                                    const Store& store) {
        switch (radix) {
            case 1:
                return pass<1, First, Last>(length, span, twiddles, buffer, load, store);
            case 2:
                return pass<2, First, Last>(length, span, twiddles, buffer, load, store);
            case 3:
                return pass<3, First, Last>(length, span, twiddles, buffer, load, store);
            case 4:
                return pass<4, First, Last>(length, span, twiddles, buffer, load, store);
            case 5:
                return pass<5, First, Last>(length, span, twiddles, buffer, load, store);
            case 6:
                return pass<6, First, Last>(length, span, twiddles, buffer, load, store);
            case 7:
                return pass<7, First, Last>(length, span, twiddles, buffer, load, store);
            case 8:
                return pass<8, First, Last>(length, span, twiddles, buffer, load, store);
            case 10:
                return pass<10, First, Last>(length, span, twiddles, buffer, load, store);
            case 15:
                return pass<15, First, Last>(length, span, twiddles, buffer, load, store);
            default:
                break;
        }
    }

    /// v[r] times root^r. Powers by at most three products: as exact as a table, for fewer loads.
    template <int R>
    __device__ __forceinline__ static void twiddle(Complex<float> (&v)[R],
                                                   const Complex<float>* twiddles, int step) {
        if constexpr (R > 1) {
            Complex<float> low[4];
            low[1] = twiddles[step];
            low[2] = low[1] * low[1];
            low[3] = low[2] * low[1];
            Complex<float> high{1.0F, 0.0F};
            APERTURE_UNROLL
            for (int r = 1; r < R; ++r) {
                if (r % 4 == 0) high = twiddles[r * step];
                v[r] = v[r] * (r < 4 ? low[r] : r % 4 == 0 ? high : high * low[r % 4]);
            }
        }
    }

    /// `span`: the product of the radices before.
    template <int R, bool First, bool Last, class Load, class Store>
    __device__ __forceinline__ static void pass(int length, int span,
                                                const Complex<float>* twiddles,
                                                Complex<float>* buffer, const Load& load,
                                                const Store& store) {
        constexpr int count = butterflies(R);
        int stride = length / R;
        const float turn = __fdividef(1.0F, static_cast<float>(span));
        const auto of_span = [&](int j) {
            return First ? j : static_cast<int>((static_cast<float>(j) + 0.5F) * turn);
        };
        const int threads = core::block_threads();
        int rank = core::thread_rank();
#if defined(__CUDA_ARCH__)
        // Otherwise addresses for all radices are found before the caller's loops, and spilled.
        asm volatile("" : "+r"(rank), "+r"(stride));
#endif
        // Without a beginning it would live through all of the caller's loops.
        Complex<float> v[count][R] = {};
        APERTURE_UNROLL
        for (int b = 0; b < count; ++b) {
            const int i = rank + b * threads;
            if (i < stride * Columns) {
                const int j = i / Columns;
                APERTURE_UNROLL
                for (int r = 0; r < R; ++r) {
                    v[b][r] = load(b * R + r, j + r * stride, i % Columns);
                }
                if constexpr (!First) {
                    twiddle<R>(v[b], twiddles, (j - of_span(j) * span) * (stride / span));
                }
                detail::butterfly(v[b]);
                if constexpr (Last) {
                    APERTURE_UNROLL
                    for (int r = 0; r < R; ++r) {
                        store(b * R + r, j + r * stride, i % Columns, v[b][r]);
                    }
                }
            }
        }
        if constexpr (!Last) {
            // Of what the pass before wrote, or the transform before, everything is read.
            __syncthreads();
            APERTURE_UNROLL
            for (int b = 0; b < count; ++b) {
                const int i = rank + b * threads;
                if (i < stride * Columns) {
                    const int j = i / Columns;
                    Complex<float>* const to =
                        buffer + (j + of_span(j) * span * (R - 1)) * Columns + i % Columns;
                    APERTURE_UNROLL
                    for (int r = 0; r < R; ++r) to[r * span * Columns] = v[b][r];
                }
            }
            __syncthreads();
        }
    }
};

#if !defined(__CUDACC_RTC__)

/// Largest radices first; nothing for lengths with other prime factors than 2, 3, 5 and 7.
inline std::optional<BlockFftPlan> block_fft_plan(int length) {
    BlockFftPlan plan;
    plan.length = length;
    int rest = length;
    for (const int radix : {15, 10, 8, 7, 6, 5, 4, 3, 2}) {
        for (; rest % radix == 0; rest /= radix) plan.radix[plan.passes++] = radix;
    }
    if (rest != 1) return std::nullopt;
    while (plan.passes < 2) plan.radix[plan.passes++] = 1;
    return plan;
}

/// The same passes from last to first.
inline BlockFftPlan reversed(BlockFftPlan plan) {
    std::reverse(plan.radix, plan.radix + plan.passes);
    return plan;
}

/// Threads that hold all samples of Columns columns in every pass, whole warps.
template <int Columns, int Held>
int block_fft_threads(const BlockFftPlan& plan) {
    int threads = 1;
    for (int p = 0; p < plan.passes; ++p) {
        const int radix = plan.radix[p];
        const int held = BlockFft<Columns, Held>::butterflies(radix);
        threads = std::max(threads, (plan.length / radix * Columns + held - 1) / held);
    }
    return (threads + core::warp_size - 1) / core::warp_size * core::warp_size;
}

/// exp(j 2 pi k step / length) for 0 <= k < length.
inline core::Array<Complex<float>, 1> roots_of_unity(index_t length, index_t step) {
    core::Array<Complex<float>, 1> roots({length});
    for (index_t k = 0; k < length; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(k * step % length) /
                             static_cast<double>(length);
        roots(k) = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    }
    return roots;
}

#endif

}  // namespace aperture::signal::gpu
