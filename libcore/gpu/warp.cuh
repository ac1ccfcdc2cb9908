// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Collective operations of a warp, or of a sub-warp of Width = 1, 2, 4, ..., 32 lanes. All lanes in
// `mask` must call; a sub-warp is `Width` consecutive lanes aligned to `Width`.

#include "libcore/gpu/complex.cuh"
#include "libcore/gpu/kernel.cuh"

namespace aperture::core {

/// The value of lane `source` of the sub-warp, in all of its lanes.
template <int Width = warp_size, class T>
__device__ __forceinline__ T broadcast(T value, int source, unsigned mask = full_warp) {
    if constexpr (Width == 1) {
        return value;
    } else {
        return __shfl_sync(mask, value, source, Width);
    }
}
template <int Width = warp_size, class T>
__device__ __forceinline__ Complex<T> broadcast(Complex<T> value, int source,
                                                unsigned mask = full_warp) {
    return {broadcast<Width>(value.re, source, mask), broadcast<Width>(value.im, source, mask)};
}

/// The value of the lane whose number differs in the bits `lane_mask`.
template <int Width = warp_size, class T>
__device__ __forceinline__ T exchange_xor(T value, int lane_mask, unsigned mask = full_warp) {
    return __shfl_xor_sync(mask, value, lane_mask, Width);
}
template <int Width = warp_size, class T>
__device__ __forceinline__ Complex<T> exchange_xor(Complex<T> value, int lane_mask,
                                                   unsigned mask = full_warp) {
    return {exchange_xor<Width>(value.re, lane_mask, mask),
            exchange_xor<Width>(value.im, lane_mask, mask)};
}

/// Several sums at once.
template <int count>
struct Sums {
    double value[count];
};

template <int count>
APERTURE_HD Sums<count> operator+(Sums<count> a, const Sums<count>& b) {
    for (int i = 0; i < count; ++i) a.value[i] += b.value[i];
    return a;
}
template <int Width = warp_size, int count>
__device__ __forceinline__ Sums<count> exchange_xor(Sums<count> sums, int lane_mask,
                                                    unsigned mask = full_warp) {
    APERTURE_UNROLL
    for (int i = 0; i < count; ++i) {
        sums.value[i] = exchange_xor<Width>(sums.value[i], lane_mask, mask);
    }
    return sums;
}

struct Sum {
    template <class T>
    APERTURE_HD T operator()(T a, T b) const {
        return a + b;
    }
};
struct Maximum {
    template <class T>
    APERTURE_HD T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};
struct Minimum {
    template <class T>
    APERTURE_HD T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};

/// Reduces the sub-warp's values by a butterfly: bitwise equal in all of its lanes, and
/// reproducible. `combine` must be commutative.
template <int Width = warp_size, class T, class Combine = Sum>
__device__ __forceinline__ T warp_reduce(T value, Combine combine = {}, unsigned mask = full_warp) {
    APERTURE_UNROLL
    for (int distance = Width / 2; distance > 0; distance /= 2) {
        value = combine(value, exchange_xor<Width>(value, distance, mask));
    }
    return value;
}

/// The warp's largest, and smallest, number.
__device__ __forceinline__ unsigned warp_maximum(unsigned value) {
#if defined(__CUDA_ARCH__)
    return __reduce_max_sync(full_warp, value);
#else
    return warp_reduce(value, Maximum());
#endif
}
__device__ __forceinline__ unsigned long long warp_maximum(unsigned long long value) {
    const auto mine = static_cast<unsigned>(value >> 32);
    const unsigned upper = warp_maximum(mine);
    const unsigned lower = warp_maximum(mine == upper ? static_cast<unsigned>(value) : 0u);
    return static_cast<unsigned long long>(upper) << 32 | lower;
}
__device__ __forceinline__ unsigned warp_minimum(unsigned value) { return ~warp_maximum(~value); }

}  // namespace aperture::core
