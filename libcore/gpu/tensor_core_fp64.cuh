// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of fp64 matrices on the tensor cores, on devices with fp64 tensor cores.
// Source: PTX ISA, mma.sync m16n8k8, m16n8k4 and m8n8k4 for .f64.

#include "libcore/gpu/warp.cuh"

namespace aperture::core {

/// Eight rows of a left factor or eight columns of a right one, 8 long: lane 4 g + p of a warp has
/// entries p and 4 + p of number g. The order along the sum is arbitrary, but must be the same in
/// both factors.
struct Fp64Slice {
    double v[2];
};

/// sums += a b for matrices of 16 x 8 and 8 x 8 numbers: lane 4 g + p has the sums (g, 2 p), (g, 2
/// p + 1), (g + 8, 2 p), (g + 8, 2 p + 1). All lanes of a full warp must call. With 4 `terms` at
/// once the two of a slice need not be in neighbouring registers; with 8 that may cost moves.
template <int terms = 8>
__device__ __forceinline__ void multiply_add(
    double (&sums)[4], const Fp64Slice& upper, const Fp64Slice& lower, const Fp64Slice& right
#if !defined(__CUDACC__)
    ,
    std::source_location where = std::source_location::current()
#endif
) {
#if !defined(__CUDACC__)
    struct Operands {
        Fp64Slice upper, lower, right;
    } own{upper, lower, right};
    const simt::Exchange all = simt::exchange(full_warp, std::bit_cast<std::uint64_t>(&own),
                                              simt::WarpOperation::matrix, where);
    if (all.arrived != full_warp) simt::fail(where, "a matrix product needs all lanes of a warp");
    const int group = all.lane / 4;
    const int column = 2 * (all.lane % 4);
    for (int k = 0; k < 8; ++k) {
        const auto operands = [&](int number) -> const Operands& {
            return *std::bit_cast<const Operands*>(all.values[4 * number + k % 4]);
        };
        for (int i = 0; i < 4; ++i) {
            const Operands& left = operands(group);
            sums[i] = std::fma((i < 2 ? left.upper : left.lower).v[k / 4],
                               operands(column + i % 2).right.v[k / 4], sums[i]);
        }
    }
    // The operands of other lanes must live until all have read them.
    simt::exchange(full_warp, 0, simt::WarpOperation::matrix, where);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (terms == 8) {
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
            "{%8, %9}, {%0, %1, %2, %3};"
            : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
            : "d"(upper.v[0]), "d"(lower.v[0]), "d"(upper.v[1]), "d"(lower.v[1]), "d"(right.v[0]),
              "d"(right.v[1]));
    } else {
        APERTURE_UNROLL
        for (int i = 0; i < 2; ++i) {
            asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, "
                "{%6}, {%0, %1, %2, %3};"
                : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
                : "d"(upper.v[i]), "d"(lower.v[i]), "d"(right.v[i]));
        }
    }
#elif defined(__CUDA_ARCH__)
    APERTURE_UNROLL
    for (int i = 0; i < 2; ++i) {
        APERTURE_UNROLL
        for (int half = 0; half < 2; ++half) {
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(sums[2 * half]), "+d"(sums[2 * half + 1])
                : "d"((half == 0 ? upper : lower).v[i]), "d"(right.v[i]));
        }
    }
#endif
}

}  // namespace aperture::core
