// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/dense/batch_spectral.hpp"
#include "libdense/gpu/spectral_steps.cuh"

namespace aperture::dense {

/// Operands of `find_eigenvalues`.
template <class R>
struct EigenvalueArguments {
    EigenScratch<R> of;  ///< without rotations where no vectors are wanted
    KernelView<R, 2> values;
    KernelView<int, 1> info;
};

namespace detail {

/// For numbers that are normal.
__device__ __forceinline__ float reciprocal_root(float x) {
    float y;
#if defined(__CUDA_ARCH__)
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
#else
    y = rsqrtf(x);
#endif
    return fmaf(0.5f * y, fmaf(-x * y, y, 1.0f), y);
}
__device__ __forceinline__ double reciprocal_root(double x) { return rsqrt(x); }

/// A row of a tridiagonal matrix: the diagonal, and what is behind it.
template <class R>
struct alignas(2 * sizeof(R)) TridiagonalRow {
    R d, e;
};

/// Rows of a lane are so far apart in shared memory, in which a spare one is before the first.
inline constexpr int lane_stride = core::warp_size + 1;
/// A sweep from row `last` of a block to row `first`. (Golub & Van Loan 2013, section 8.3.4, from
/// the other end.)
template <class R>
struct QlSweep {
    TridiagonalRow<R>* row;  ///< i + 1
    int i;
    R tolerance;
    int split;  ///< the first row whose `e` has become as good as zero, or the last one
    R g, p, c, s;
    R upper;                 ///< d of row i + 1
    TridiagonalRow<R> next;  ///< row i

    __device__ __forceinline__ QlSweep(TridiagonalRow<R>* matrix, int first, int last,
                                       R its_tolerance)
        : row(matrix + last * lane_stride),
          i(last - 1),
          tolerance(its_tolerance),
          split(last),
          p(R(0)),
          c(R(1)),
          s(R(1)) {
        // Wilkinson's shift.
        const TridiagonalRow<R> top = matrix[first * lane_stride];
        const R ratio = (matrix[(first + 1) * lane_stride].d - top.d) / (R(2) * top.e);
        const R root = sqrt(ratio * ratio + R(1));
        upper = row->d;
        g = upper - top.d + top.e / (ratio + (ratio < R(0) ? -root : root));
        next = *(row - lane_stride);
    }
    /// Rotates rows and columns i and i + 1 by c and s.
    __device__ __forceinline__ void step() {
        // What is less does not matter, but its square would vanish.
        constexpr R least = roundoff<R> * roundoff<R>;
        const TridiagonalRow<R> lower = next;
        next = *(row - 2 * lane_stride);
        const R f = s * lower.e;
        const R b = c * lower.e;
        g = magnitude(g) < least ? least : g;
        const R square = g * g + f * f;
        const R inverse = reciprocal_root(square);
        c = g * inverse;
        s = f * inverse;
        const R size = square * inverse;
        if (size <= tolerance) split = i + 1;
        const R shifted = upper - p;
        const R r = (lower.d - shifted) * s + (c + c) * b;
        p = s * r;
        *row = {shifted + p, size};
        g = c * r - b;
        upper = lower.d;
        row -= lane_stride;
        --i;
    }
    /// Returns whether row `first` is done.
    __device__ __forceinline__ bool finish() {
        *row = {upper - p, g};
        return magnitude(g) <= tolerance;
    }
};

/// What makes a lane's matrix of order n diagonal.
template <class R>
struct QlIterations {
    TridiagonalRow<R>* matrix;
    int n;
    R tolerance;
    int first = 0, last = 0;  ///< of the block that is not diagonal
    int used = 0;             ///< pairs of all sweeps
    bool active = true;
    bool converged = true;

    __device__ __forceinline__ TridiagonalRow<R>& at(int i) const {
        return matrix[i * lane_stride];
    }
    __device__ __forceinline__ QlIterations(TridiagonalRow<R>* its_matrix, int order)
        : matrix(its_matrix), n(order) {
        R norm = R(0);
        APERTURE_NO_UNROLL
        for (int i = 0; i < n; ++i) {
            norm = core::Maximum()(norm, magnitude(at(i).d) + magnitude(at(i).e));
        }
        tolerance = roundoff<R> * norm;
    }
    __device__ __forceinline__ void find_block() {
        while (first < n - 1 && magnitude(at(first).e) <= tolerance) ++first;
        last = first + 1;
        while (last < n - 1 && magnitude(at(last).e) > tolerance) ++last;
    }
    /// Does a sweep and stores its rotations, or their end. Returns the number of pairs.
    __device__ __forceinline__ int sweep(RotationPair<R>* to, int capacity) {
        if (first >= last) find_block();
        const int top = (last - 1) / 2;
        const int bottom = first / 2;
        const int pairs = top - bottom + 2;
        active = first < n - 1;
        converged = !active || used + pairs + 1 + max_spectral_order / 2 < capacity;
        if (!active || !converged) {
            active = false;
            *to = {R(-1), R(0), R(0), R(0)};
            return 1;
        }
        *to++ = {R(top), R(bottom), R(0), R(0)};
        QlSweep<R> its(matrix, first, last, tolerance);
        if (last % 2 != 0) {
            its.step();
            *to++ = {R(1), R(0), its.c, its.s};
        }
        APERTURE_NO_UNROLL
        while (its.i > first) {
            its.step();
            RotationPair<R> pair{its.c, its.s, R(0), R(0)};
            its.step();
            pair.lower_c = its.c;
            pair.lower_s = its.s;
            *to++ = pair;
        }
        if (first % 2 != 0) {
            its.step();
            *to = {its.c, its.s, R(1), R(0)};
        }
        at(last).e = R(0);
        first += its.finish() ? 1 : 0;
        last = its.split;
        return pairs;
    }
};

/// Pairs of a lane's sweep in shared memory: an odd number, so that those of neighbouring lanes are
/// in different banks.
APERTURE_HD constexpr int lane_pairs(int n) { return (n / 2 + 1) | 1; }

APERTURE_HD constexpr int round_to_pairs(int bytes) { return (bytes + 15) / 16 * 16; }
template <class R>
APERTURE_HD constexpr int tridiagonal_row_bytes(int n) {
    return round_to_pairs((n + 1) * lane_stride * static_cast<int>(sizeof(TridiagonalRow<R>)));
}
/// Shared memory of `find_eigenvalues`: rows, one more, and the rotations of a sweep.
template <class R>
APERTURE_HD constexpr int eigenvalue_shared_bytes(int n) {
    return tridiagonal_row_bytes<R>(n) +
           core::warp_size * lane_pairs(n) * static_cast<int>(sizeof(RotationPair<R>));
}

/// Stores `count` pairs of each lane's sweep behind its first `used` ones: eight lanes those of a
/// problem, for what a lane alone stores takes as long as a whole line of memory.
template <class R>
__device__ __forceinline__ void store_rotations(const RotationPair<R>* staged, int n, int valid,
                                                RotationPair<R>* to, index_t capacity, int used,
                                                int count) {
    constexpr int group = 8;
    const int lane = core::lane_rank();
    APERTURE_NO_UNROLL
    for (int base = 0; base < core::warp_size; base += core::warp_size / group) {
        const int problem = base + lane / group;
        const int its_used = core::broadcast(used, problem);
        const int its_count = core::broadcast(count, problem);
        const RotationPair<R>* const from = staged + problem * lane_pairs(n);
        RotationPair<R>* const its = to + problem * capacity + its_used;
        for (int e = lane % group; e < (problem < valid ? its_count : 0); e += group) {
            its[e] = from[e];
        }
    }
}

/// Replaces the `e` of a lane's matrix by its diagonal in ascending order, times `factor`, and
/// stores the ranks if `ranks` is not null.
template <class R>
__device__ __forceinline__ void sort_diagonal(int n, TridiagonalRow<R>* matrix, int exponent,
                                              unsigned* ranks) {
    const auto d = [&](int i) { return matrix[i * lane_stride].d; };
    APERTURE_NO_UNROLL
    for (int four = 0; four < n; four += 4) {
        unsigned bytes = 0;
        APERTURE_NO_UNROLL
        for (int j = four; j < four + 4 && j < n; ++j) {
            const R own = d(j);
            int before = 0;
            APERTURE_UNROLL_BY(4)
            for (int i = 0; i < j; ++i) before += d(i) <= own ? 1 : 0;
            APERTURE_UNROLL_BY(4)
            for (int i = j + 1; i < n; ++i) before += d(i) < own ? 1 : 0;
            matrix[before * lane_stride].e =
                exponent == EigenScratch<R>::failed ? R(0) : ldexp(own, exponent);
            bytes |= static_cast<unsigned>(before) << 8 * (j - four);
        }
        if (ranks != nullptr) ranks[four / 4] = bytes;
    }
}

}  // namespace detail

/// Eigenvalues of real symmetric tridiagonal matrices by implicit QL iterations with Wilkinson's
/// shift (Golub & Van Loan 2013, alg. 8.3.3), and the rotations that the vectors need.
///
/// Block: a warp, 32 problems. Lane: a problem. Grid: ceil(problems / 32) on x. Shared:
/// eigenvalue_shared_bytes. Rotations of a problem are sweeps of columns 2 bottom to 2 top + 2 or
/// less, from the last ones on: a pair with `top` and `bottom` in upper_c and upper_s, pairs from k
/// = top down to bottom; a pair with -1 ends them.
template <class R>
__global__ void __launch_bounds__(core::warp_size) find_eigenvalues(EigenvalueArguments<R> p) {
    const auto n = static_cast<int>(p.values.extent[1]);
    const int lane = core::lane_rank();
    const index_t first = static_cast<index_t>(blockIdx.x) * core::warp_size;
    const index_t left = p.info.extent[0] - first;
    const int valid = left < core::warp_size ? static_cast<int>(left) : core::warp_size;
    detail::TridiagonalRow<R>* const rows =
        core::shared<detail::TridiagonalRow<R>>() + detail::lane_stride;
    APERTURE_UNROLL_BY(8)
    for (int l = 0; l < valid; ++l) {
        const R* const from = p.of.tridiagonal + (first + l) * 2 * n;
        for (int i = lane; i < n; i += core::warp_size) {
            rows[i * detail::lane_stride + l] = {from[i], i < n - 1 ? from[n + i] : R(0)};
        }
    }
    __syncwarp();
    const bool has_vectors = p.of.rotations != nullptr;
    auto* const staged = reinterpret_cast<RotationPair<R>*>(core::shared<unsigned char>() +
                                                            detail::tridiagonal_row_bytes<R>(n));
    detail::QlIterations<R> iterations(rows + lane, lane < valid ? n : 0);
    while (__any_sync(core::full_warp, iterations.active)) {
        const int pairs =
            iterations.active
                ? iterations.sweep(staged + lane * detail::lane_pairs(n), p.of.capacity)
                : 0;
        __syncwarp();
        if (has_vectors) {
            detail::store_rotations(staged, n, valid, p.of.rotations + first * p.of.capacity,
                                    p.of.capacity, iterations.used, pairs);
        }
        iterations.used += pairs;
        __syncwarp();
    }
    if (lane < valid) {
        const int exponent =
            iterations.converged ? p.of.exponents[first + lane] : EigenScratch<R>::failed;
        p.info(first + lane) = exponent == EigenScratch<R>::failed ? 1 : 0;
        detail::sort_diagonal(n, rows + lane, exponent,
                              has_vectors ? p.of.ranks_of(first + lane, n) : nullptr);
    }
    __syncwarp();
    APERTURE_UNROLL_BY(4)
    for (int l = 0; l < valid; ++l) {
        for (int j = lane; j < n; j += core::warp_size) {
            p.values(first + l, j) = rows[j * detail::lane_stride + l].e;
        }
    }
}

}  // namespace aperture::dense
