// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/dense/batch_spectral.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/batch_checks.hpp"
#include "libdense/gpu/jacobi_svd.cuh"
#include "libdense/gpu/rotate_columns.cuh"
#include "libdense/gpu/tridiagonal.cuh"
#include "libdense/gpu/tridiagonal_values.cuh"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense {
namespace detail {

/// The threads of a block whose teams are parts of warps.
inline constexpr int small_jacobi_threads = 64;

/// Launches a kernel whose teams have matrices in shared memory or, where they do not fit, in
/// scratch memory.
template <class E, class Executor, class Arguments>
void launch_jacobi(Executor& executor, void (*kernel)(Arguments, JacobiPlace<E>),
                   const Arguments& arguments, const JacobiShape& shape) {
    const index_t problems = arguments.a.extent[0];
    if (problems == 0) return;
    const int threads = shape.lanes > core::warp_size ? shape.lanes : small_jacobi_threads;
    const int teams = threads / shape.lanes;
    JacobiPlace<E> place{shape, nullptr};
    index_t blocks = core::ceil_div(problems, index_t{teams});
    if (teams * place.shared_bytes() > executor.shared_memory_per_block()) {
        blocks = std::min<index_t>(blocks, 2 * index_t(executor.multiprocessors()));
        const index_t bytes = blocks * teams * JacobiMemory<E>::matrix_bytes(shape);
        place.scratch = reinterpret_cast<E*>(executor.scratch(static_cast<std::size_t>(bytes)));
    }
    core::launch(
        executor, kernel,
        core::LaunchConfig{dim3(core::blocks_for(blocks, 1)), dim3(static_cast<unsigned>(threads)),
                           static_cast<std::size_t>(teams * place.shared_bytes())},
        arguments, place);
}

/// Calls found(order as a constant) for the smallest order of kernels that n columns fit.
template <class Found>
void with_spectral_order(int n, const Found& found) {
    if (n <= 4) return found(std::integral_constant<int, 4>{});
    if (n <= 8) return found(std::integral_constant<int, 8>{});
    if (n <= 16) return found(std::integral_constant<int, 16>{});
    if (n <= 32) return found(std::integral_constant<int, 32>{});
    return found(std::integral_constant<int, 64>{});
}

/// Scratch memory of up to most_bytes, or for one problem, and how many problems it is for.
template <class R>
struct EigenPiece {
    EigenScratch<R> scratch{};
    index_t problems = 0;

    template <class Executor>
    EigenPiece(Executor& executor, index_t all, int n, bool with_vectors, index_t most_bytes) {
        constexpr index_t real = sizeof(R);
        scratch.capacity = EigenScratch<R>::capacity_for(n);
        const index_t each = 2 * n * real + index_t{sizeof(int)} +
                             (with_vectors ? scratch.rank_words(n) * index_t{sizeof(int)} +
                                                 scratch.capacity * 4 * real
                                           : 0);
        const index_t pieces = core::ceil_div(all * each, most_bytes);
        problems = core::ceil_div(all, pieces);
        auto* const rotations = reinterpret_cast<RotationPair<R>*>(
            executor.scratch(static_cast<std::size_t>(problems * each)));
        const index_t pairs = with_vectors ? problems * scratch.capacity : 0;
        scratch.rotations = with_vectors ? rotations : nullptr;
        scratch.tridiagonal = reinterpret_cast<R*>(rotations + pairs);
        scratch.exponents = reinterpret_cast<int*>(scratch.tridiagonal + problems * 2 * n);
        scratch.ranks = reinterpret_cast<unsigned*>(scratch.exponents + problems);
    }
};

/// The kernels of one piece.
template <class E, int order, class Executor>
void eigen_piece(Executor& executor, const TridiagonalArguments<E>& tridiagonal,
                 const EigenvalueArguments<RealOf<E>>& values) {
    using R = RealOf<E>;
    using Team = TridiagonalTeam<E, order>;
    const index_t problems = values.info.extent[0];
    const auto n = static_cast<int>(tridiagonal.a.extent[1]);
    core::launch(
        executor, tridiagonalise<E, order>,
        core::LaunchConfig{dim3(core::blocks_for(problems, Team::teams)), dim3(Team::block_threads),
                           sizeof(E) * Team::teams * Team::shared_elements(n)},
        tridiagonal);
    core::launch(
        executor, find_eigenvalues<R>,
        core::LaunchConfig{dim3(core::blocks_for(problems, core::warp_size)), dim3(core::warp_size),
                           std::size_t(eigenvalue_shared_bytes<R>(n))},
        values);
    if (tridiagonal.q.empty()) return;
    using Rows = RealRows<E, order>;
    core::launch(executor, rotate_columns<E, order>,
                 core::LaunchConfig{dim3(core::blocks_for(problems * Rows::warps, Rows::problems)),
                                    dim3(core::warp_size), Rows::shared_bytes},
                 RotateArguments<E>{values.of, values.info, tridiagonal.q});
}

template <class E, class Executor>
void eigen(Executor& executor, const KernelView<const E, 3>& a,
           const KernelView<RealOf<E>, 2>& values, const KernelView<E, 3>& vectors,
           const KernelView<int, 1>& info,
           index_t most_scratch_bytes = tuning::eigen_scratch_bytes) {
    const index_t problems = a.extent[0];
    const auto n = static_cast<int>(a.extent[1]);
    if (problems == 0) return;
    const EigenPiece<RealOf<E>> piece(executor, problems, n, !vectors.empty(), most_scratch_bytes);
    for (index_t first = 0; first < problems; first += piece.problems) {
        const index_t end = std::min(problems, first + piece.problems);
        const TridiagonalArguments<E> tridiagonal{
            a.slice(0, first, end), vectors.empty() ? vectors : vectors.slice(0, first, end),
            piece.scratch};
        const EigenvalueArguments<RealOf<E>> of_piece{piece.scratch, values.slice(0, first, end),
                                                      info.slice(0, first, end)};
        with_spectral_order(
            n, [&](auto order) { eigen_piece<E, order>(executor, tridiagonal, of_piece); });
    }
}

}  // namespace detail

// The functions of batch_spectral.hpp on a GPU or the SIMT executor.

template <class Executor, class T>
void launch_eigen_hermitian(Executor& executor, MatrixBatch<const T, typename Executor::Space> a,
                            VectorBatch<Real<T>, typename Executor::Space> values,
                            MatrixBatch<T, typename Executor::Space> vectors,
                            core::View<int, 1, typename Executor::Space> info) {
    using E = core::DeviceType<T>;
    expects_eigen(a, values, vectors, info);
    detail::eigen<E>(executor, core::kernel_view(a), core::kernel_view(values),
                     core::kernel_view(vectors), core::kernel_view(info));
}

template <class Executor, class T>
void launch_svd(Executor& executor, MatrixBatch<const T, typename Executor::Space> a,
                MatrixBatch<T, typename Executor::Space> u,
                VectorBatch<Real<T>, typename Executor::Space> values,
                MatrixBatch<T, typename Executor::Space> v,
                core::View<int, 1, typename Executor::Space> info) {
    using E = core::DeviceType<T>;
    expects_svd(a, u, values, v, info);
    const auto n = static_cast<int>(a.extent[2]);
    const JacobiShape shape(static_cast<int>(a.extent[1]), n);
    SvdArguments<E> arguments{core::kernel_view(a),      core::kernel_view(u),
                              core::kernel_view(values), core::kernel_view(v),
                              core::kernel_view(info),   {}};
    if (n >= tuning::least_svd_order_with_basis) {
        // A is still needed.
        const bool replaces_a = arguments.v.data == arguments.a.data;
        arguments.basis = replaces_a ? arguments.u : arguments.v;
        detail::launch_jacobi<E>(executor, gram_of_columns<E>, arguments, shape);
        detail::eigen<E>(executor, arguments.basis, arguments.values, arguments.basis,
                         arguments.info);
    }
    detail::launch_jacobi<E>(executor, svd_by_jacobi<E>, arguments, shape);
}

}  // namespace aperture::dense
