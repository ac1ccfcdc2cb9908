// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <concepts>

#include "aperture/core/executor.hpp"
#include "aperture/core/view.hpp"

/// Batches of small dense matrices: many independent problems of one order, up to `max_order`.
///
/// Every function accepts two layouts: core::Concatenated (one matrix after another; the last
/// stride must be 1) and core::Interleaved (element (i, j) of all problems contiguous; the first
/// stride must be 1). The other strides are arbitrary. Every function is compiled for float, double
/// and their complex types, on core::Cpu and core::Gpu. Calls on a Gpu are asynchronous. A batch
/// may hold any number of problems. Wrong extents or strides throw core::InvalidArgument.
namespace aperture::dense {

inline constexpr int max_order = 128;

template <class T>
concept Scalar = std::same_as<T, float> || std::same_as<T, double> ||
    std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

template <class T>
struct RealOfScalar {
    using type = T;
};
template <class T>
struct RealOfScalar<std::complex<T>> {
    using type = T;
};
/// float for float and std::complex<float>; double likewise.
template <class T>
using Real = typename RealOfScalar<T>::type;

/// [problem][row][column]
template <class T, class Space, class Layout>
using MatrixBatch = core::View<T, 3, Space, Layout>;

/// How `solve` eliminates. Both work without pivoting, for Hermitian positive definite matrices.
enum class Factorisation {
    cholesky,      ///< A = L D L^H and two triangular sweeps: backward stable
    gauss_jordan,  ///< one sweep that clears above and below the pivot: forward stable
};

/// Hermitian rank-k update: C_b = alpha A_b A_b^H + beta C_b, with A_b of n x k and C_b of n x n.
/// Writes both triangles of C as exact mirror images, with an exactly real diagonal. With beta = 0
/// the old C is not read. The order of summation over k is fixed.
template <Scalar T, class Layout>
void hermitian_rank_k(core::Cpu& cpu, Real<T> alpha, MatrixBatch<const T, core::Host, Layout> a,
                      Real<T> beta, MatrixBatch<T, core::Host, Layout> c);

/// Solves A_b X_b = B_b for every problem b.
///
/// `a` is [problem][n][n], Hermitian positive definite; only its lower triangle is read, and it is
/// not changed. `x` is [problem][right-hand side][n]: row r of problem b holds right-hand side r on
/// entry and its solution on return (any number of right-hand sides). `info` [problem] is 0, or the
/// order i >= 1 of the first leading minor that is not positive (or holds a NaN or an infinity), as
/// in LAPACK's potrf; the solutions of such a problem are set to zero and no other problem is
/// affected. On a Gpu a pivot whose reciprocal overflows counts as not positive, too. `pivot_ratio`
/// [problem] receives the ratio of the largest to the smallest pivot of L D
/// L^H, a lower bound of the condition number (infinity if info is not 0); it may be an empty view.
///
/// A Gpu with 99 KiB of shared memory per block solves std::complex<double> up to order 108;
/// above, it throws core::UnfitDevice.
///
/// Source: Anderson 2014, ch. 4 and 6.3; Higham 2002, ch. 10 (Cholesky), ch. 14.4 (Gauss-Jordan).
template <Scalar T, class Layout>
void solve(core::Cpu& cpu, Factorisation factorisation, MatrixBatch<const T, core::Host, Layout> a,
           MatrixBatch<T, core::Host, Layout> x, core::View<int, 1, core::Host> info,
           core::View<Real<T>, 1, core::Host> pivot_ratio);

/// Transposes a batch from one layout to the other (Ha et al. 2013, section III-C). Same extents.
template <Scalar T, class From, class To>
void change_layout(core::Cpu& cpu, MatrixBatch<const T, core::Host, From> from,
                   MatrixBatch<T, core::Host, To> to);

#if APERTURE_CUDA
template <Scalar T, class Layout>
void hermitian_rank_k(core::Gpu& gpu, Real<T> alpha, MatrixBatch<const T, core::Device, Layout> a,
                      Real<T> beta, MatrixBatch<T, core::Device, Layout> c);
template <Scalar T, class Layout>
void solve(core::Gpu& gpu, Factorisation factorisation,
           MatrixBatch<const T, core::Device, Layout> a, MatrixBatch<T, core::Device, Layout> x,
           core::View<int, 1, core::Device> info, core::View<Real<T>, 1, core::Device> pivot_ratio);
template <Scalar T, class From, class To>
void change_layout(core::Gpu& gpu, MatrixBatch<const T, core::Device, From> from,
                   MatrixBatch<T, core::Device, To> to);
#endif

}  // namespace aperture::dense
