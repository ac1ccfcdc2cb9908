// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selects and launches the kernel of a batched solve by order (tuning.hpp): in the registers of a
// sub-warp, in those of a block, or in shared memory.

#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "libcore/gpu/compile_kernel.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/gpu/batch_view.hpp"
#include "libdense/gpu/solve_in_block.cuh"
#include "libdense/gpu/solve_in_registers.cuh"
#include "libdense/gpu/solve_in_shared.cuh"
#include "libdense/gpu/tuning.hpp"

#if defined(__CUDACC__)
#include "libcore/gpu/specialise.hpp"
#endif

namespace aperture::dense {

/// The kernel files of this library, for the run-time compiler.
std::span<const core::KernelText> kernel_texts();

/// A register-resident kernel compiled with the program.
template <class E>
struct RegisterSolveKernel {
    int order;
    tuning::RegisterSolve policy;
    Elimination elimination;
    void (*kernel)(SolveArguments<E>);
};

namespace detail {

template <class E, int order, bool many, Elimination elimination, class Visit>
void visit_register_kernel(const Visit& visit) {
    constexpr tuning::RegisterSolve policy = tuning::register_solve<E>(order, many ? 1 << 20 : 1);
    if constexpr (policy.lanes > 0) {
        visit(RegisterSolveKernel<E>{
            order, policy, elimination,
            solve_in_registers<E, order, policy.lanes, policy.slots, elimination>});
    }
}

/// Calls `visit` with every compiled register-resident kernel of `orders`.
template <class E, class Visit, int... orders>
void for_each_register_kernel(std::integer_sequence<int, orders...>, const Visit& visit) {
    const auto visit_both = [&]<Elimination elimination>() {
        (visit_register_kernel<E, orders, false, elimination>(visit), ...);
        (visit_register_kernel<E, orders, true, elimination>(visit), ...);
    };
    visit_both.template operator()<Elimination::below>();
    visit_both.template operator()<Elimination::above_and_below>();
}

template <class E>
std::string type_name() {
    const std::string real = std::is_same_v<RealOf<E>, float> ? "float" : "double";
    return core::is_complex<E> ? "aperture::core::Complex<" + real + ">" : real;
}

/// The kernel's name expression for NVRTC.
template <class E>
std::string register_solve_expression(int order, tuning::RegisterSolve policy,
                                      Elimination elimination) {
    return core::text("aperture::dense::solve_in_registers<", type_name<E>(), ", ", order, ", ",
                      policy.lanes, ", ", policy.slots, ", aperture::dense::Elimination::",
                      elimination == Elimination::below ? "below" : "above_and_below", ">");
}

inline core::KernelSource register_solve_source() {
    return {"libdense/gpu/solve_in_registers.cuh", {core::kernel_texts(), kernel_texts()}};
}

/// Returns false if no such kernel is available; the caller then uses another one.
template <class Orders, class Executor, class E>
bool solve_in_sub_warps(Executor& executor, Elimination elimination,
                        const SolveArguments<E>& arguments) {
    const tuning::RegisterSolve policy =
        tuning::register_solve<E>(arguments.order, arguments.right_hand_sides);
    if (policy.lanes == 0) return false;
    const core::LaunchConfig config{
        dim3(blocks_for(arguments.problems, register_solve_threads / policy.lanes)),
        dim3(register_solve_threads),
        static_cast<std::size_t>(
            register_solve_shared_bytes<E>(arguments.order, policy.lanes, policy.slots))};
    bool started = false;
    for_each_register_kernel<E>(Orders{}, [&](const RegisterSolveKernel<E>& compiled) {
        if (started || compiled.order != arguments.order || compiled.policy.slots != policy.slots ||
            compiled.elimination != elimination) {
            return;
        }
        core::launch(executor, compiled.kernel, config, arguments);
        started = true;
    });
#if defined(__CUDACC__)
    if (!started) {
        const auto kernel = core::specialise<void(SolveArguments<E>)>(
            executor, register_solve_source(),
            register_solve_expression<E>(arguments.order, policy, elimination));
        if (!kernel) return false;  // the block kernel takes any such order
        core::launch(executor, kernel, config, arguments);
        started = true;
    }
#endif
    return started;
}

template <class E, int row_tiles, int right_hand_side_tiles, class Executor>
void solve_in_blocks(Executor& executor, Elimination elimination,
                     const SolveArguments<E>& arguments) {
    const auto kernel =
        elimination == Elimination::below
            ? solve_in_block<E, row_tiles, right_hand_side_tiles, Elimination::below>
            : solve_in_block<E, row_tiles, right_hand_side_tiles, Elimination::above_and_below>;
    core::launch(
        executor, kernel,
        core::LaunchConfig{dim3(blocks_for(arguments.problems, 1)), dim3(block_side, block_side),
                           static_cast<std::size_t>(
                               block_solve_shared_bytes<E>(row_tiles, right_hand_side_tiles))},
        arguments);
}

template <class E, class Executor>
void solve_in_shared_memory(Executor& executor, const SolveArguments<E>& arguments) {
    constexpr int few_tiles = 6;
    constexpr int many_tiles = 8;
    static_assert(many_tiles * block_side == max_order);
    const bool few = arguments.order <= few_tiles * block_side;
    core::launch(
        executor, few ? solve_in_shared<E, few_tiles> : solve_in_shared<E, many_tiles>,
        core::LaunchConfig{dim3(blocks_for(arguments.problems, 1)), dim3(block_side, block_side),
                           static_cast<std::size_t>(shared_solve_bytes<E>(
                               arguments.order, few ? few_tiles : many_tiles))},
        arguments);
}

/// Selects the kernel by the 16 x 16 tiles of the order and of the right-hand sides: 1 or 4 tiles a
/// pass.
template <class E, class Executor>
void solve_in_block_registers(Executor& executor, Elimination elimination,
                              const SolveArguments<E>& arguments) {
    const bool few = arguments.right_hand_sides <= block_side;
    if (arguments.order <= 2 * block_side) {
        few ? solve_in_blocks<E, 2, 1>(executor, elimination, arguments)
            : solve_in_blocks<E, 2, 4>(executor, elimination, arguments);
    } else if (arguments.order <= 3 * block_side) {
        few ? solve_in_blocks<E, 3, 1>(executor, elimination, arguments)
            : solve_in_blocks<E, 3, 4>(executor, elimination, arguments);
    } else {
        few ? solve_in_blocks<E, 4, 1>(executor, elimination, arguments)
            : solve_in_blocks<E, 4, 4>(executor, elimination, arguments);
    }
}

}  // namespace detail

/// `solve` on a GPU or the SIMT executor. Orders above tuning::largest_block_order always use
/// Cholesky (Elimination::below): Gauss-Jordan would need the whole matrix in shared memory.
template <class Orders = tuning::PrecompiledOrders, class Executor, class T, class Layout>
void launch_solve(Executor& executor, Factorisation factorisation,
                  MatrixBatch<const T, typename Executor::Space, Layout> a,
                  MatrixBatch<T, typename Executor::Space, Layout> x,
                  core::View<int, 1, typename Executor::Space> info,
                  core::View<Real<T>, 1, typename Executor::Space> pivot_ratio) {
    using E = core::DeviceType<T>;
    const index_t problems = a.extent[0];
    const index_t n = a.extent[1];
    core::expects(a.extent[2] == n, "solve: a is ", n, " x ", a.extent[2], ", must be square");
    core::expects(n <= max_order, "solve: order ", n, " exceeds ", max_order);
    core::expects(x.extent[0] == problems && x.extent[2] == n, "solve: x holds ", x.extent[0],
                  " problems of order ", x.extent[2], ", a holds ", problems, " of order ", n);
    // The loops over right-hand sides overshoot by up to 2^16.
    core::expects(x.extent[1] <= 0x7fff0000, "solve: ", x.extent[1],
                  " right-hand sides are too many");
    core::expects(info.extent[0] == problems, "solve: info holds ", info.extent[0], " entries for ",
                  problems, " problems");
    core::expects(pivot_ratio.empty() || pivot_ratio.extent[0] == problems,
                  "solve: pivot_ratio holds ", pivot_ratio.extent[0], " entries for ", problems,
                  " problems");
    SolveArguments<E> arguments{};
    arguments.a = strided(a, "a");
    arguments.x = strided(x, "x");
    arguments.info = info.data;
    arguments.info_stride = info.stride[0];
    arguments.pivot_ratio = pivot_ratio.empty() ? nullptr : pivot_ratio.data;
    arguments.pivot_ratio_stride = pivot_ratio.stride[0];
    arguments.problems = problems;
    arguments.order = static_cast<int>(n);
    arguments.right_hand_sides = static_cast<int>(x.extent[1]);
    if (problems == 0) return;

    const Elimination elimination = factorisation == Factorisation::cholesky
                                        ? Elimination::below
                                        : Elimination::above_and_below;
    if (detail::solve_in_sub_warps<Orders>(executor, elimination, arguments)) return;
    if (n <= tuning::largest_block_order) {
        detail::solve_in_block_registers(executor, elimination, arguments);
    } else {
        detail::solve_in_shared_memory(executor, arguments);
    }
}

}  // namespace aperture::dense
