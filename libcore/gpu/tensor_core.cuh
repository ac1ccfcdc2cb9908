// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of complex fp32 matrices on the tensor cores, with each number as the sum of two TF32
// numbers: three products (the fourth is below the rounding error) preserve 22 of the 24 bits.
// Source: PTX ISA, mma.sync m16n8k8; Ootomo & Yokota 2022, error-corrected matrix products.

#include "libcore/gpu/warp.cuh"

namespace aperture::core {

namespace detail {

inline constexpr unsigned tf32_mask = 0xffffe000u;

#if defined(__CUDACC__)
__device__ __forceinline__ unsigned bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ float float_of(unsigned bits) { return __uint_as_float(bits); }
#else
inline unsigned bits_of(float x) { return std::bit_cast<unsigned>(x); }
inline float float_of(unsigned bits) { return std::bit_cast<float>(bits); }
#endif

#if !defined(__CUDACC__)
// The sum of a number and eight products as observed on an NVIDIA H200: all are truncated 25 bits
// below the first bit of the largest one, added exactly, and the sum is rounded toward zero. A
// product's first bit follows from its factors' first bits, with or without a carry.
inline float add_products_cut_off(float sum, const double (&x)[8], const double (&y)[8]) {
    double exact = sum;
    for (int k = 0; k < 8; ++k) exact += x[k] * y[k];
    if (!std::isfinite(exact)) return static_cast<float>(exact);
    // Every float but zero is a normal double.
    const auto first_bit = [](double number) {
        return static_cast<int>(std::bit_cast<std::uint64_t>(number) >> 52 & 0x7ff) - 1023;
    };
    constexpr int none = -10000;
    int highest = sum == 0 ? none : first_bit(sum);
    for (int k = 0; k < 8; ++k) {
        if (x[k] == 0 || y[k] == 0) continue;
        highest = std::max(highest, first_bit(x[k]) + first_bit(y[k]));
    }
    if (highest == none) return 0;
    // Powers of two between 2^-323 and 2^323, made of their bits: ldexp takes longer than the rest.
    const auto power_of_2 = [](int exponent) {
        return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
    };
    const double scale = power_of_2(25 - highest);
    double total = std::trunc(sum * scale);
    for (int k = 0; k < 8; ++k) total += std::trunc(x[k] * y[k] * scale);
    total *= power_of_2(highest - 25);
    const auto nearest = static_cast<float>(total);
    const bool away = std::isfinite(nearest) && std::fabs(double(nearest)) > std::fabs(total);
    // The next number toward zero.
    return away ? float_of(bits_of(nearest) - 1) : nearest;
}

inline void multiply_add_on_host(float (&sums)[4], const float (&a)[4], const float (&b)[2],
                                 std::source_location where) {
    struct Operands {
        float a[4], b[2];
    } own{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
    const simt::Exchange all = simt::exchange(full_warp, std::bit_cast<std::uint64_t>(&own),
                                              simt::WarpOperation::matrix, where);
    if (all.arrived != full_warp) simt::fail(where, "a matrix product needs all lanes of a warp");
    const auto operands = [&](int lane) {
        return std::bit_cast<const Operands*>(all.values[lane]);
    };
    const auto factor = [](float x) { return double(float_of(bits_of(x) & tf32_mask)); };
    const int group = all.lane / 4;
    const int column = 2 * (all.lane % 4);
    double rows[2][8], columns[2][8];
    for (int i = 0; i < 2; ++i) {
        for (int k = 0; k < 8; ++k) {
            rows[i][k] = factor(operands(4 * group + k % 4)->a[i + k / 4 * 2]);
            columns[i][k] = factor(operands(4 * (column + i) + k % 4)->b[k / 4]);
        }
    }
    for (int i = 0; i < 4; ++i) {
        sums[i] = add_products_cut_off(sums[i], rows[i / 2], columns[i % 2]);
    }
    // The operands of other lanes must live until all have read them.
    simt::exchange(full_warp, 0, simt::WarpOperation::matrix, where);
}
#endif

// sums += a b for matrices of 16 x 8 and 8 x 8 fp32 numbers, truncated to TF32, distributed over
// the 32 lanes of a full warp: lane 4 g + p holds a(g,p), a(g+8,p), a(g,p+4), a(g+8,p+4); b(p,g),
// b(p+4,g); sums(g,2p), sums(g,2p+1), sums(g+8,2p), sums(g+8,2p+1).
__device__ __forceinline__ void multiply_add_tf32(
    float (&sums)[4], const float (&a)[4], const float (&b)[2]
#if !defined(__CUDACC__)
    ,
    std::source_location where = std::source_location::current()
#endif
) {
#if !defined(__CUDACC__)
    multiply_add_on_host(sums, a, b, where);
#elif defined(__CUDA_ARCH__)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(bits_of(a[0])), "r"(bits_of(a[1])), "r"(bits_of(a[2])), "r"(bits_of(a[3])),
          "r"(bits_of(b[0])), "r"(bits_of(b[1])));
#endif
}

}  // namespace detail

/// x = high + low exactly. `high` is a TF32 number with 11 significant bits. The tensor cores read
/// as many bits of `low`, so that 2^-22 |x| is lost.
struct Tf32Sum {
    float high, low;
};
__device__ __forceinline__ Tf32Sum split_tf32(float x) {
    const float high = detail::float_of((detail::bits_of(x) + 0x1000u) & detail::tf32_mask);
    return {high, x - high};
}

/// An entry of the left matrix of ConjugateProduct: lane 4 g + p has row g, column p. Its real and
/// its imaginary row are 8 rows apart.
struct LeftFactor {
    float high[4], low[4];

    __device__ __forceinline__ explicit LeftFactor(Complex<float> x) {
        const Tf32Sum re = split_tf32(x.re);
        const Tf32Sum im = split_tf32(x.im);
        place(high, re.high, im.high);
        place(low, re.low, im.low);
    }

  private:
    // The sum with zero makes a separate number (-0 becomes 0): a compiler that sees a copy puts it
    // where another operand was, and moves it for every product.
    __device__ __forceinline__ static void place(float (&operand)[4], float re, float im) {
        operand[0] = re;
        operand[1] = -im;
        operand[2] = im;
        operand[3] = re + 0.0f;
    }
};

/// An entry of the right matrix: lane 4 g + p has row p, column g.
struct RightFactor {
    float high[2], low[2];

    __device__ __forceinline__ explicit RightFactor(Complex<float> y) {
        const Tf32Sum re = split_tf32(y.re);
        const Tf32Sum im = split_tf32(y.im);
        high[0] = re.high;
        high[1] = im.high;
        low[0] = re.low;
        low[1] = im.low;
    }
};

/// The sums of conj(x) y of matrices of 8 x 4 and 4 x 8 numbers: lane 4 g + p has row g, columns 2
/// p and 2 p + 1. Every addition rounds toward zero. All lanes of a full warp must call, for each
/// pair of factors once with each `part`.
struct ConjugateProduct {
    static constexpr int parts = 3;
    float sums[4] = {};

    __device__ __forceinline__ void add(int part, const LeftFactor& x, const RightFactor& y) {
        detail::multiply_add_tf32(sums, part == 0 ? x.low : x.high, part == 1 ? y.low : y.high);
    }
    /// Increases the sums by one unit in the last place: about what truncation costs in the three
    /// parts of a product of random numbers (0.29 to 0.39 units each, NVIDIA H200).
    __device__ __forceinline__ void make_up_for_cuts() {
        APERTURE_UNROLL
        for (int i = 0; i < 4; ++i) sums[i] = fmaf(sums[i], 0x1p-24f, sums[i]);
    }
    /// Entry (g, 2 p + column).
    __device__ __forceinline__ Complex<float> entry(int column) const {
        return {sums[column], sums[column + 2]};
    }
};

}  // namespace aperture::core
