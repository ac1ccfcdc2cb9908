// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <complex>

/// cuBLAS's and cuSOLVER's functions on batches, by scalar type.
namespace aperture::bench {

template <class T>
struct Vendor;

#define APERTURE_VENDOR(T, C, X)                                    \
    template <>                                                     \
    struct Vendor<T> {                                              \
        using Value = C;                                            \
        static constexpr auto gemm = cublas##X##gemmStridedBatched; \
        static constexpr auto gemv = cublas##X##gemvStridedBatched; \
        static constexpr auto getrf = cublas##X##getrfBatched;      \
        static constexpr auto getri = cublas##X##getriBatched;      \
        static constexpr auto getrs = cublas##X##getrsBatched;      \
        static constexpr auto geqrf = cublas##X##geqrfBatched;      \
        static constexpr auto matinv = cublas##X##matinvBatched;    \
        static constexpr auto potrf = cusolverDn##X##potrfBatched;  \
    };
APERTURE_VENDOR(float, float, S)
APERTURE_VENDOR(double, double, D)
APERTURE_VENDOR(std::complex<float>, cuComplex, C)
APERTURE_VENDOR(std::complex<double>, cuDoubleComplex, Z)
#undef APERTURE_VENDOR

}  // namespace aperture::bench
