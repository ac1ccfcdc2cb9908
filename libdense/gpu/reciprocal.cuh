// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reciprocals and roots to rounding or an ulp, without the branches of divisions for special cases:
// their calls cost registers, and panels are unrolled.

#include "libcore/gpu/complex.cuh"
#include "libcore/gpu/kernel.cuh"

namespace aperture::dense {

template <class R>
inline constexpr R smallest_normal = R(1.17549435082228750797e-38);
template <>
inline constexpr double smallest_normal<double> = 2.22507385850720138309e-308;

/// A power of two, times which a nonzero finite number and its reciprocal are normal.
template <class R>
__device__ __forceinline__ R scale_to_normal(R size) {
    constexpr R far = R(1ull << 60);
    return size < smallest_normal<R> ? far : size > R(1) / smallest_normal<R> ? R(1) / far : R(1);
}

/// 1 / value, of numbers that are normal and whose reciprocals are.
__device__ __forceinline__ float reciprocal_of_normal(float value) {
#if defined(__CUDA_ARCH__)
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(value));
    return fmaf(r, fmaf(-value, r, 1.0f), r);
#else
    return 1 / value;
#endif
}
__device__ __forceinline__ double reciprocal_of_normal(double value) {
#if defined(__CUDA_ARCH__)
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(value));
    const double error = fma(-value, r, 1.0);
    return fma(r, fma(error, error, error), r);
#else
    return 1 / value;
#endif
}

/// 1 / sqrt(value), of positive normal numbers.
__device__ __forceinline__ float reciprocal_root_of_normal(float value) {
#if defined(__CUDA_ARCH__)
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(value));
    return fmaf(0.5f * r, fmaf(-value * r, r, 1.0f), r);
#else
    return 1 / sqrt(value);
#endif
}
__device__ __forceinline__ double reciprocal_root_of_normal(double value) {
#if defined(__CUDA_ARCH__)
    double r;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(value));
    const double error = fma(-value * r, r, 1.0);
    return fma(r * error, fma(0.375, error, 0.5), r);
#else
    return 1 / sqrt(value);
#endif
}

/// A square root and its reciprocal.
template <class R>
struct Root {
    R root;
    R reciprocal;
};

/// Of a positive finite number.
template <class R>
__device__ __forceinline__ Root<R> root_of(R value) {
    const R up = value < smallest_normal<R> ? R(1ull << 60) : R(1);
    const R scaled = value * (up * up);
    const R reciprocal = reciprocal_root_of_normal(scaled);
    const R root = scaled * reciprocal;
    const R error = core::multiply_add(scaled, -root, root);
    return {core::multiply_add(root, R(0.5) * reciprocal, error) * (R(1) / up), reciprocal * up};
}

}  // namespace aperture::dense
