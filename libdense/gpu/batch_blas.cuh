// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/dense/batch_blas.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libcore/rounding.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/gpu/vectors_in_groups.cuh"
#include "libdense/gpu/vectors_launch.cuh"

namespace aperture::dense {
namespace detail {

/// Threads that share a vector of `pieces`: neighbouring ones load neighbouring pieces, of one
/// vector or, where the entries of many vectors are interleaved, of many.
template <class E>
int lanes_of(const KernelView<const E, 2>& batch, index_t pieces) {
    if (batch.extent[0] > 1 && batch.stride[0] == 1) return 1;
    // Eight pieces fill lines or sectors; more would leave a thread few of them.
    const index_t most = pieces < 128 ? 8 : core::warp_size;
    return 1 << log2_below(std::clamp<index_t>(pieces, 1, most));
}

/// Vectors of a block of norms_of_runs, or 0.
template <class E>
int problems_of_run(const KernelView<const E, 2>& a) {
    return is_run(a) ? problems_of_run(1, a.extent[1] * index_t(sizeof(E))) : 0;
}

template <class E, class Executor>
void find_norms_of_runs(Executor& executor, const KernelView<const E, 2>& a,
                        const KernelView<RealOf<E>, 1>& result, int problems) {
    const auto n = static_cast<int>(a.extent[1]);
    const bool in_chunks = n % chunk_entries<E> == 0;
    const int pieces = std::min(in_chunks ? n / chunk_entries<E> : n, core::warp_size);
    int lanes = 1;
    while (problems * lanes < vector_threads && 2 * lanes <= pieces) lanes *= 2;
    core::launch(
        executor, in_chunks ? norms_of_runs<E, chunk_entries<E>> : norms_of_runs<E, 1>,
        core::LaunchConfig{dim3(core::blocks_for(a.extent[0], problems)), dim3(vector_threads),
                           sizeof(E) * static_cast<std::size_t>(problems * n)},
        RunNormArguments<E>{a.data, result, n, problems, lanes});
}

template <class E, class Executor>
E* scratch_entries(Executor& executor, index_t entries) {
    return reinterpret_cast<E*>(executor.scratch(sizeof(E) * static_cast<std::size_t>(entries)));
}

template <class T>
core::DeviceType<T> device_value(T value) {
    if constexpr (std::same_as<T, Real<T>>) {
        return value;
    } else {
        return {value.real(), value.imag()};
    }
}

}  // namespace detail

// The functions of batch_blas.hpp on a GPU or the SIMT executor.

template <class Executor, class T>
void launch_dot(Executor& executor, VectorBatch<const T, typename Executor::Space> a,
                VectorBatch<const T, typename Executor::Space> c,
                core::View<T, 1, typename Executor::Space> result) {
    using E = core::DeviceType<T>;
    expects_dot(a, c, result);
    if (a.extent[0] == 0) return;
    const KernelView<const E, 2> left = core::kernel_view(a), right = core::kernel_view(c);
    if (detail::is_long(left)) {
        detail::multiply_long_vectors(
            executor, left, right, core::kernel_view(result),
            detail::scratch_entries<E>(executor, detail::entries_of_parts(left)));
        return;
    }
    const E one(RealOf<E>(1)), zero(RealOf<E>(0));
    const auto results = core::kernel_view(result);
    detail::multiply_vectors<Executor, E>(
        executor, true, one, core::kernel_view(as_rows(a)), right, zero,
        {results.data, {results.extent[0], 1}, {results.stride[0], 1}});
}

template <class Executor, class T>
void launch_norm(Executor& executor, VectorBatch<const T, typename Executor::Space> a,
                 core::View<Real<T>, 1, typename Executor::Space> result) {
    using E = core::DeviceType<T>;
    expects_norm(a, result);
    if (a.extent[0] == 0) return;
    NormArguments<E> arguments{core::kernel_view(a), core::kernel_view(result), {}, 0};
    if (const int of_run = detail::problems_of_run(arguments.a); of_run > 0) {
        return detail::find_norms_of_runs(executor, arguments.a, arguments.result, of_run);
    }
    const bool in_chunks = detail::is_in_chunks(arguments.a, 1);
    const int lanes =
        detail::lanes_of(arguments.a, a.extent[1] / (in_chunks ? chunk_entries<E> : 1));
    arguments.lanes = lanes;
    if (detail::is_long(arguments.a)) {
        const index_t problems = a.extent[0];
        E* const scratch =
            detail::scratch_entries<E>(executor, problems + detail::entries_of_parts(arguments.a));
        KernelView<E, 1> squares(scratch, {problems});
        detail::multiply_long_vectors(executor, arguments.a, arguments.a, squares,
                                      scratch + problems);
        arguments.squares = squares;
    }
    core::launch(executor, in_chunks ? norm_in_groups<E, chunk_entries<E>> : norm_in_groups<E, 1>,
                 core::LaunchConfig{dim3(core::blocks_for(a.extent[0], vector_threads / lanes)),
                                    dim3(vector_threads)},
                 arguments);
}

template <class Executor, class T>
void launch_axpy(Executor& executor, T alpha, VectorBatch<const T, typename Executor::Space> x,
                 VectorBatch<T, typename Executor::Space> y) {
    using E = core::DeviceType<T>;
    expects_axpy(x, y);
    if (x.empty()) return;
    AxpyArguments<E> arguments{detail::device_value(alpha), core::kernel_view(x),
                               core::kernel_view(y)};
    if (order_of(as_rows(y)) == Order::problems) {
        const auto turn = [](auto view) {
            return decltype(view){
                view.data, {view.extent[1], view.extent[0]}, {view.stride[1], view.stride[0]}};
        };
        arguments.x = turn(arguments.x);
        arguments.y = turn(arguments.y);
    }
    const auto gapless = [](const auto& view) { return view.stride[0] == view.extent[1]; };
    if (gapless(arguments.x) && gapless(arguments.y)) {
        const auto as_one = [](auto view) {
            const index_t entries = view.size();
            return decltype(view){view.data, {1, entries}, {entries, view.stride[1]}};
        };
        arguments.x = as_one(arguments.x);
        arguments.y = as_one(arguments.y);
    }
    const bool in_chunks =
        detail::is_in_chunks(arguments.x, 1) && detail::is_in_chunks(arguments.y, 1);
    constexpr index_t most_blocks = 1 << 16;
    constexpr index_t of_block = 4 * vector_threads;
    const index_t pieces = x.size() / (in_chunks ? chunk_entries<E> : 1);
    core::launch(
        executor, in_chunks ? axpy_by_pieces<E, chunk_entries<E>> : axpy_by_pieces<E, 1>,
        core::LaunchConfig{
            dim3(core::blocks_for(std::min(core::ceil_div(pieces, of_block), most_blocks), 1)),
            dim3(vector_threads)},
        arguments);
}

template <class Executor, class T>
void launch_gemv(Executor& executor, Op op, T alpha,
                 MatrixBatch<const T, typename Executor::Space> a,
                 VectorBatch<const T, typename Executor::Space> x, T beta,
                 VectorBatch<T, typename Executor::Space> y) {
    expects_gemv(op, a, x, y);
    const auto view = core::kernel_view(a);
    detail::multiply_vectors(executor, op == Op::adjoint, detail::device_value(alpha),
                             op == Op::none ? view : detail::turned(view), core::kernel_view(x),
                             detail::device_value(beta), core::kernel_view(y));
}

template <class Executor, class T>
void launch_gemm(Executor& executor, Op op_a, Op op_b, T alpha,
                 MatrixBatch<const T, typename Executor::Space> a,
                 MatrixBatch<const T, typename Executor::Space> b, T beta,
                 MatrixBatch<T, typename Executor::Space> c) {
    expects_gemm(op_a, op_b, a, b, c);
    detail::multiply(executor, op_a, op_b, detail::device_value(alpha), core::kernel_view(a),
                     core::kernel_view(b), detail::device_value(beta), core::kernel_view(c));
}

}  // namespace aperture::dense
