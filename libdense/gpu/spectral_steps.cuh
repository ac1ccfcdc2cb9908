// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the kernels of eigenvalues and of singular values share.

#include "libdense/gpu/block_matrix.cuh"

namespace aperture::dense {

/// Unit roundoff.
template <class R>
inline constexpr R roundoff = R(1) / R(1ull << (sizeof(R) == sizeof(float) ? 24 : 53));

/// The larger part of an entry; infinity if it is not finite.
template <class T>
__device__ __forceinline__ RealOf<T> size_or_infinity(T entry) {
    using R = RealOf<T>;
    R size = magnitude(core::real_part(entry));
    if constexpr (core::is_complex<T>) {
        const R other = magnitude(entry.im);
        size = other <= size ? size : other;
    }
    // Sums are NaN where either part is.
    R sum = magnitude(core::real_part(entry)) * R(0);
    if constexpr (core::is_complex<T>) sum += entry.im * R(0);
    return sum == R(0) ? size : R(2) * largest_finite<R>;
}

/// A power of two, by its exponent, that brings entries near one; `failed` where some are not
/// finite.
struct SpectralScale {
    bool failed;
    int exponent;

    /// Of the largest size_or_infinity.
    template <class R>
    __device__ __forceinline__ explicit SpectralScale(R largest) {
        failed = !(largest <= largest_finite<R>);
        exponent = failed ? 0 : ilogb(core::Maximum()(largest, smallest_normal<R>));
    }
    template <class T>
    __device__ __forceinline__ T scaled(T entry) const {
        return failed ? T(RealOf<T>(0)) : entry * ldexp(RealOf<T>(1), -exponent);
    }
};

/// Rotations of columns 2 k + 1, 2 k + 2 and then 2 k, 2 k + 1 of a matrix.
template <class R>
struct alignas(16) RotationPair {
    R upper_c, upper_s, lower_c, lower_s;
};

/// What the kernels of `eigen_hermitian` keep of a problem of order n in scratch memory.
template <class R>
struct EigenScratch {
    static constexpr int failed = 1 << 20;  ///< an exponent of matrices that are not finite

    R* tridiagonal;              ///< [problem][2][n], the diagonal, and what is beside it
    int* exponents;              ///< [problem], of the factor that the values lack
    unsigned* ranks;             ///< see ranks_of
    RotationPair<R>* rotations;  ///< [problem][capacity], see `find_eigenvalues`
    int capacity;

    /// Four ranks in a number of the values of a problem, in ascending order.
    APERTURE_HD unsigned* ranks_of(index_t problem, int n) const {
        return ranks + problem * rank_words(n);
    }
    APERTURE_HD static constexpr int rank_words(int n) { return (n + 3) / 4; }
    /// Three sweeps for each value, of half the columns. They take fewer than two on average.
    APERTURE_HD static constexpr int capacity_for(int n) { return 3 * n * (n / 4 + 2) + 64; }
};

}  // namespace aperture::dense
