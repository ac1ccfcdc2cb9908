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

/// Threads that share a vector: neighbouring ones load neighbouring entries, of one vector or,
/// where the entries of many vectors are interleaved, of many.
template <class T, class Space>
int lanes_of(const VectorBatch<const T, Space>& batch) {
    if (order_of(as_rows(batch)) == Order::problems) return 1;
    // Eight lanes load whole sectors; more would have few entries each.
    const index_t n = batch.extent[1];
    int lanes = 1;
    while (lanes < 8 && 2 * lanes < n) lanes *= 2;
    return n <= 64 ? lanes : n <= 128 ? 16 : core::warp_size;
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
    const int lanes = detail::lanes_of(a);
    NormArguments<E> arguments{core::kernel_view(a), core::kernel_view(result), {}, lanes};
    if (detail::is_long(arguments.a)) {
        const index_t problems = a.extent[0];
        E* const scratch = detail::scratch_entries<E>(
            executor, problems + detail::entries_of_parts(arguments.a));
        KernelView<E, 1> squares(scratch, {problems});
        detail::multiply_long_vectors(executor, arguments.a, arguments.a, squares,
                                      scratch + problems);
        arguments.squares = squares;
    }
    core::launch(executor, norm_in_groups<E>,
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
    constexpr index_t most_blocks = 1 << 16;
    core::launch(
        executor, axpy_by_entries<E>,
        core::LaunchConfig{
            dim3(core::blocks_for(
                std::min(core::ceil_div(x.size(), index_t(vector_threads)), most_blocks), 1)),
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
