// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of fp32 matrices on the tensor cores, each factor the sum of two TF32 numbers: three
// products (the fourth is below the rounding error) carry 22 of the 24 bits.
// Source: PTX ISA, mma.sync m16n8k8; Ootomo & Yokota 2022, error-corrected matrix products.

#include "libcore/gpu/warp.cuh"

namespace aperture::core {

/// x = high + low to 2^-23 |x|. `high` is a TF32 number, of 11 significant bits; of `low` the
/// tensor cores read as many.
struct Tf32Sum {
    float high, low;
};

namespace detail {

inline constexpr unsigned tf32_mask = 0xffffe000u;

#if defined(__CUDACC__)
__device__ __forceinline__ unsigned bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ float float_of(unsigned bits) { return __uint_as_float(bits); }
#else
inline unsigned bits_of(float x) { return std::bit_cast<unsigned>(x); }
inline float float_of(unsigned bits) { return std::bit_cast<float>(bits); }
#endif

}  // namespace detail

__device__ __forceinline__ Tf32Sum split_tf32(float x) {
    const float high = detail::float_of((detail::bits_of(x) + 0x1000u) & detail::tf32_mask);
    return {high, x - high};
}

/// x in a register of its own, for operands that hold it twice: a compiler that knows of a copy
/// puts it where the operand before had it, and moves it for every product. (-0 becomes 0.)
__device__ __forceinline__ float second_copy(float x) { return x + 0.0f; }

namespace detail {

// The same by fp32 arithmetic, for devices without TF32.
__device__ __forceinline__ void multiply_add_by_shuffles(float (&sums)[4], const float (&a)[4],
                                                         const float (&b)[2]) {
    const auto factor = [](float x) { return float_of(bits_of(x) & tf32_mask); };
    const int first_row = lane_rank() / 4 * 4;
    const int first_column = lane_rank() % 4 * 8;
    APERTURE_UNROLL
    for (int k = 0; k < 8; ++k) {
        float row[2], column[2];
        APERTURE_UNROLL
        for (int i = 0; i < 2; ++i) {
            row[i] = factor(__shfl_sync(full_warp, a[k / 4 * 2 + i], first_row + k % 4));
            column[i] = factor(__shfl_sync(full_warp, b[k / 4], first_column + 4 * i + k % 4));
        }
        APERTURE_UNROLL
        for (int i = 0; i < 4; ++i) sums[i] = fmaf(row[i / 2], column[i % 2], sums[i]);
    }
}

#if !defined(__CUDACC__)
// What the hardware is known to do: factors cut to TF32, exact products, a sum rounded toward zero.
inline void multiply_add_tf32_on_host(float (&sums)[4], const float (&a)[4], const float (&b)[2],
                                      const std::source_location& where) {
    struct Operands {
        float a[4], b[2];
    } own{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
    const simt::Exchange all = simt::exchange(full_warp, std::bit_cast<std::uint64_t>(&own),
                                              simt::WarpOperation::matrix, where);
    if (all.arrived != full_warp) simt::fail("a matrix product needs all lanes of a warp", where);
    const auto operands = [&](int lane) {
        return std::bit_cast<const Operands*>(all.values[lane]);
    };
    const auto factor = [](float x) { return double(float_of(bits_of(x) & tf32_mask)); };
    const int group = all.lane / 4;
    const int column = 2 * (all.lane % 4);
    double exact[4];
    for (int i = 0; i < 4; ++i) {
        exact[i] = sums[i];
        for (int k = 0; k < 8; ++k) {
            exact[i] += factor(operands(4 * group + k % 4)->a[i / 2 + k / 4 * 2]) *
                        factor(operands(4 * (column + i % 2) + k % 4)->b[k / 4]);
        }
    }
    // The operands of other lanes live until all have read them.
    simt::exchange(full_warp, 0, simt::WarpOperation::matrix, where);
    for (int i = 0; i < 4; ++i) {
        const auto nearest = static_cast<float>(exact[i]);
        const bool away =
            std::isfinite(nearest) && std::fabs(double(nearest)) > std::fabs(exact[i]);
        sums[i] = away ? std::nextafter(nearest, 0.0f) : nearest;
    }
}
#endif

}  // namespace detail

/// sums += a b for matrices of 16 x 8 and 8 x 8 fp32 numbers, of which the TF32 part is read,
/// spread over the 32 lanes of a full warp: lane 4 g + p holds a(g,p), a(g+8,p), a(g,p+4),
/// a(g+8,p+4); b(p,g), b(p+4,g); sums(g,2p), sums(g,2p+1), sums(g+8,2p), sums(g+8,2p+1). The sum is
/// rounded toward zero.
__device__ __forceinline__ void multiply_add_tf32(
    float (&sums)[4], const float (&a)[4], const float (&b)[2]
#if !defined(__CUDACC__)
    ,
    const std::source_location& where = std::source_location::current()
#endif
) {
#if !defined(__CUDACC__)
    detail::multiply_add_tf32_on_host(sums, a, b, where);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    detail::multiply_add_by_shuffles(sums, a, b);
#elif defined(__CUDA_ARCH__)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(detail::bits_of(a[0])), "r"(detail::bits_of(a[1])), "r"(detail::bits_of(a[2])),
          "r"(detail::bits_of(a[3])), "r"(detail::bits_of(b[0])), "r"(detail::bits_of(b[1])));
#endif
}

}  // namespace aperture::core
