// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/vendor_batches.hpp"

/// cuBLAS's and cuSOLVER's functions on single problems, by scalar type.
namespace aperture::bench {

template <class T>
struct VendorCall;

#define APERTURE_VENDOR_CALL(T, X, DOT)                                      \
    template <>                                                              \
    struct VendorCall<T> {                                                   \
        static constexpr auto dot = cublas##X##DOT;                          \
        static constexpr auto gemv = cublas##X##gemv;                        \
        static constexpr auto gemm = cublas##X##gemm;                        \
        static constexpr auto potrf = cusolverDn##X##potrf;                  \
        static constexpr auto potrf_words = cusolverDn##X##potrf_bufferSize; \
        static constexpr auto getrf = cusolverDn##X##getrf;                  \
        static constexpr auto getrf_words = cusolverDn##X##getrf_bufferSize; \
        static constexpr auto geqrf = cusolverDn##X##geqrf;                  \
        static constexpr auto geqrf_words = cusolverDn##X##geqrf_bufferSize; \
    };
APERTURE_VENDOR_CALL(float, S, dot)
APERTURE_VENDOR_CALL(double, D, dot)
APERTURE_VENDOR_CALL(std::complex<float>, C, dotc)
#undef APERTURE_VENDOR_CALL

}  // namespace aperture::bench
