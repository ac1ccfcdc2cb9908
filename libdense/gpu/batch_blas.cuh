// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "aperture/dense/batch_blas.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libcore/rounding.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/gpu/products_in_tiles.cuh"
#include "libdense/gpu/vectors_in_groups.cuh"

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

/// op(A) with its rows (`lines` = 1) or columns (2) as the middle dimension.
template <class E>
KernelView<E, 3> lines_of(KernelView<E, 3> a, Op op, int lines) {
    const bool turned = (op == Op::none) != (lines == 1);
    return turned ? KernelView<E, 3>{a.data,
                                     {a.extent[0], a.extent[2], a.extent[1]},
                                     {a.stride[0], a.stride[2], a.stride[1]}}
                  : a;
}

/// The order in which threads load a panel: dimensions by their strides in memory.
template <class E>
PanelOrder panel_order(const KernelView<E, 3>& operand, int problems, int lines, int depth) {
    PanelOrder order{};
    std::array<int, 3> by_stride{0, 1, 2};
    const auto distance = [&](int d) {
        return operand.extent[d] <= 1 ? index_t(1) << 62 : operand.stride[d];
    };
    std::sort(by_stride.begin(), by_stride.end(),
              [&](int a, int b) { return distance(a) < distance(b); });
    const std::array<int, 3> extents{problems, lines, depth};
    order.line_stride = core::round_up(lines, product_tile) | 1;
    order.problem_stride = order.line_stride * depth;
    const std::array<int, 3> tile_strides{order.problem_stride, 1, order.line_stride};
    for (int d = 0; d < 3; ++d) {
        const int its = by_stride[static_cast<std::size_t>(d)];
        order.dimension[d] = its;
        order.stride[d] = operand.stride[its];
        order.tile_stride[d] = tile_strides[static_cast<std::size_t>(its)];
        if (d < 2) order.extent[d] = FastDivider(extents[static_cast<std::size_t>(its)]);
    }
    return order;
}

/// C = alpha op(A) op(B) + beta C of checked operands.
template <class Executor, class E>
void multiply(Executor& executor, Op op_a, Op op_b, E alpha, KernelView<const E, 3> a,
              KernelView<const E, 3> b, E beta, KernelView<E, 3> c) {
    if (c.empty()) return;
    ProductArguments<E> p{};
    p.a = lines_of(a, op_a, 1);
    p.b = lines_of(b, op_b, 2);
    p.c = c;
    p.alpha = alpha;
    p.beta = beta;
    p.conjugate_a = op_a == Op::adjoint;
    p.conjugate_b = op_b == Op::adjoint;
    // At most 16 x 16 tiles of C in a block.
    constexpr int most = 16 * product_tile;
    const auto rows = static_cast<int>(c.extent[1]);
    const auto columns = static_cast<int>(c.extent[2]);
    p.rows = std::min(rows, most);
    p.columns = std::min(columns, most);
    const int tile_rows = core::round_up(p.rows, product_tile) / product_tile;
    const bool vector = columns == 1;
    const int tile_columns = core::round_up(p.columns, product_tile) / product_tile;
    const int tiles = tile_rows * tile_columns;
    p.row_blocks = FastDivider(core::round_up(rows, p.rows) / p.rows);
    p.tiles = FastDivider(tiles);
    p.tile_columns = FastDivider(tile_columns);
    // A panel of few problems keeps several blocks on a multiprocessor.
    constexpr int most_bytes = 40 * 1024;
    const auto depth = static_cast<int>(p.a.extent[2]);
    const int line = static_cast<int>(sizeof(E)) * ((core::round_up(p.rows, product_tile) | 1) +
                                                    (core::round_up(p.columns, product_tile) | 1));
    p.depth = std::clamp(most_bytes / line, 1, std::max(depth, 1));
    p.problems_per_block =
        std::clamp(most_bytes / (line * p.depth), 1, std::max(product_threads / tiles, 1));
    p.panel_a = panel_order(p.a, p.problems_per_block, p.rows, p.depth);
    p.panel_b = panel_order(p.b, p.problems_per_block, p.columns, p.depth);
    const int threads =
        std::min(core::round_up(tiles * p.problems_per_block, core::warp_size), product_threads);
    const index_t blocks_of_c =
        index_t(p.row_blocks.size()) * ((columns + p.columns - 1) / p.columns);
    const index_t groups = core::ceil_div(c.extent[0], index_t(p.problems_per_block));
    core::launch(
        executor, vector ? products_in_tiles<E, 1> : products_in_tiles<E, product_tile>,
        core::LaunchConfig{
            dim3(core::blocks_for(groups * blocks_of_c, 1)), dim3(static_cast<unsigned>(threads)),
            sizeof(E) * static_cast<std::size_t>(p.problems_per_block) *
                static_cast<std::size_t>(p.panel_a.problem_stride + p.panel_b.problem_stride)},
        p);
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
    core::expects(a.extent[1] <= 0x40000000, "dot: vectors of ", a.extent[1], " are too long");
    const int lanes = detail::lanes_of(a);
    core::launch(executor, dot_in_groups<E>,
                 core::LaunchConfig{dim3(core::blocks_for(a.extent[0], vector_threads / lanes)),
                                    dim3(vector_threads)},
                 DotArguments<E>{core::kernel_view(a), core::kernel_view(c),
                                 core::kernel_view(result), lanes});
}

template <class Executor, class T>
void launch_norm(Executor& executor, VectorBatch<const T, typename Executor::Space> a,
                 core::View<Real<T>, 1, typename Executor::Space> result) {
    using E = core::DeviceType<T>;
    expects_norm(a, result);
    if (a.extent[0] == 0) return;
    const int lanes = detail::lanes_of(a);
    core::launch(executor, norm_in_groups<E>,
                 core::LaunchConfig{dim3(core::blocks_for(a.extent[0], vector_threads / lanes)),
                                    dim3(vector_threads)},
                 NormArguments<E>{core::kernel_view(a), core::kernel_view(result), lanes});
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
    detail::multiply(executor, op, Op::none, detail::device_value(alpha), core::kernel_view(a),
                     core::kernel_view(transposed(as_rows(x))), detail::device_value(beta),
                     core::kernel_view(transposed(as_rows(y))));
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
