// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/dense/batch_spectral.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/batch_checks.hpp"
#include "libdense/gpu/jacobi_eigen.cuh"
#include "libdense/gpu/jacobi_svd.cuh"

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

}  // namespace detail

// The functions of batch_spectral.hpp on a GPU or the SIMT executor.

template <class Executor, class T>
void launch_eigen_hermitian(Executor& executor, MatrixBatch<const T, typename Executor::Space> a,
                            VectorBatch<Real<T>, typename Executor::Space> values,
                            MatrixBatch<T, typename Executor::Space> vectors,
                            core::View<int, 1, typename Executor::Space> info) {
    using E = core::DeviceType<T>;
    expects_eigen(a, values, vectors, info);
    const auto n = static_cast<int>(a.extent[1]);
    detail::launch_jacobi<E>(executor, eigen_by_jacobi<E>,
                             EigenArguments<E>{core::kernel_view(a), core::kernel_view(values),
                                               core::kernel_view(vectors), core::kernel_view(info)},
                             JacobiShape(JacobiShape::players_of(n), n));
}

template <class Executor, class T>
void launch_svd(Executor& executor, MatrixBatch<const T, typename Executor::Space> a,
                MatrixBatch<T, typename Executor::Space> u,
                VectorBatch<Real<T>, typename Executor::Space> values,
                MatrixBatch<T, typename Executor::Space> v,
                core::View<int, 1, typename Executor::Space> info) {
    using E = core::DeviceType<T>;
    expects_svd(a, u, values, v, info);
    detail::launch_jacobi<E>(
        executor, svd_by_jacobi<E>,
        SvdArguments<E>{core::kernel_view(a), core::kernel_view(u), core::kernel_view(values),
                        core::kernel_view(v), core::kernel_view(info)},
        JacobiShape(static_cast<int>(a.extent[1]), static_cast<int>(a.extent[2])));
}

}  // namespace aperture::dense
