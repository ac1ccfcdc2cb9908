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

#define APERTURE_VENDOR(T, C, X, EIGEN, TYPE, REAL)                                  \
    template <>                                                                      \
    struct Vendor<T> {                                                               \
        using Value = C;                                                             \
        static constexpr cudaDataType type = TYPE, real = REAL;                      \
        static constexpr auto gemm = cublas##X##gemmStridedBatched;                  \
        static constexpr auto gemv = cublas##X##gemvStridedBatched;                  \
        static constexpr auto getrf = cublas##X##getrfBatched;                       \
        static constexpr auto getri = cublas##X##getriBatched;                       \
        static constexpr auto getrs = cublas##X##getrsBatched;                       \
        static constexpr auto geqrf = cublas##X##geqrfBatched;                       \
        static constexpr auto matinv = cublas##X##matinvBatched;                     \
        static constexpr auto potrf = cusolverDn##X##potrfBatched;                   \
        static constexpr auto potrs = cusolverDn##X##potrsBatched;                   \
        static constexpr auto eigen = cusolverDn##X##EIGEN##Batched;                 \
        static constexpr auto eigen_size = cusolverDn##X##EIGEN##Batched_bufferSize; \
        static constexpr auto gesvd = cusolverDn##X##gesvdjBatched;                  \
        static constexpr auto gesvd_size = cusolverDn##X##gesvdjBatched_bufferSize;  \
    };
APERTURE_VENDOR(float, float, S, syevj, CUDA_R_32F, CUDA_R_32F)
APERTURE_VENDOR(double, double, D, syevj, CUDA_R_64F, CUDA_R_64F)
APERTURE_VENDOR(std::complex<float>, cuComplex, C, heevj, CUDA_C_32F, CUDA_R_32F)
APERTURE_VENDOR(std::complex<double>, cuDoubleComplex, Z, heevj, CUDA_C_64F, CUDA_R_64F)
#undef APERTURE_VENDOR

}  // namespace aperture::bench
