// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selects and launches the kernel of a batched solve by order (tuning.hpp): in the registers of a
// sub-warp, or by a block.

#include <string>
#include <type_traits>
#include <utility>

#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/batch_checks.hpp"
#include "libdense/gpu/batch_factor.cuh"
#include "libdense/gpu/columns_launch.cuh"
#include "libdense/gpu/solve_in_registers.cuh"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense {

namespace detail {

/// The name of solve_in_registers for NVRTC.
template <class E>
std::string register_solve_expression(int order, tuning::RegisterSolve policy) {
    return core::text("solve_in_registers<", type_name<E>(), ", ", order, ", ", policy.lanes, ", ",
                      policy.slots, ">");
}
inline constexpr const char* register_solve_file = "libdense/gpu/solve_in_registers.cuh";

/// Gauss-Jordan elimination in registers. These return false if no such kernel is available; the
/// caller then uses another one.
template <class Executor, class E>
bool launch_jordan_in_registers(Executor& executor, const CholeskyArguments<E>& arguments) {
    const auto order = static_cast<int>(arguments.a.extent[1]);
    const tuning::RegisterSolve policy = tuning::register_solve<E>(order, arguments.x.extent[1]);
    if (policy.lanes == 0) return false;
    void (*compiled)(CholeskyArguments<E>) = nullptr;
    if_compiled(typename CompiledOrders<Executor>::type{}, order, [&](auto its_order) {
        const auto compare = [&]<bool many>() {
            constexpr tuning::RegisterSolve its =
                tuning::register_solve<E>(its_order, many ? 1 << 20 : 1);
            if constexpr (its.lanes > 0) {
                if (its.lanes == policy.lanes && its.slots == policy.slots)
                    compiled = solve_in_registers<E, its_order, its.lanes, its.slots>;
            }
        };
        compare.template operator()<false>();
        compare.template operator()<true>();
    });
    return launch_compiled(
        executor, register_solve_file, register_solve_expression<E>(order, policy), compiled,
        core::LaunchConfig{
            dim3(core::blocks_for(arguments.a.extent[0], register_solve_threads / policy.lanes)),
            dim3(register_solve_threads),
            static_cast<std::size_t>(
                register_solve_shared_bytes<E>(order, policy.lanes, policy.slots))},
        arguments);
}

template <class Executor, class E>
bool launch_solve_positive_in_rows(Executor& executor, const CholeskyArguments<E>& arguments) {
    const auto n = static_cast<int>(arguments.a.extent[1]);
    // More of them are further passes.
    int sides = arguments.x.extent[1] <= 1 ? 1 : ahead_sides;
    int lanes = triangle_lanes<E>(executor, n, arguments.a.extent[0]);
    if (lanes == 0) return false;
    void (*compiled)(CholeskyArguments<E>) = nullptr;
    if_compiled(typename CompiledOrders<Executor>::type{}, n, [&](auto order) {
        constexpr int its_lanes = tuning::triangle_lanes<E>(order);
        if constexpr (its_lanes > 0) {
            compiled = solve_positive_in_rows<E, order, ahead_sides, its_lanes>;
            sides = ahead_sides;
            lanes = its_lanes;
        }
    });
    return launch_in_rows(executor, cholesky_file,
                          core::text("solve_positive_in_rows<", type_name<E>(), ", ", n, ", ",
                                     sides, ", ", lanes, ">"),
                          compiled, arguments.a.extent[0], lanes,
                          rows_shared_bytes<E>(n, n, lanes) + rows_shared_bytes<E>(sides, n, lanes),
                          arguments);
}

}  // namespace detail

/// `solve` on a GPU or the SIMT executor. Blocks always use Cholesky.
template <class Executor, class T>
void launch_solve(Executor& executor, Factorisation factorisation,
                  MatrixBatch<const T, typename Executor::Space> a,
                  MatrixBatch<T, typename Executor::Space> x,
                  core::View<int, 1, typename Executor::Space> info,
                  core::View<Real<T>, 1, typename Executor::Space> pivot_ratio) {
    using E = core::DeviceType<T>;
    expects_solvable(a, x, info, pivot_ratio);
    // The loops over right-hand sides overshoot by up to 2^16.
    core::expects(x.extent[1] <= 0x7fff0000, "solve: ", x.extent[1],
                  " right-hand sides are too many");
    if (a.extent[0] == 0) return;
    CholeskyArguments<E> arguments{};
    arguments.a = core::kernel_view(a);
    arguments.x = core::kernel_view(x);
    arguments.info = core::kernel_view(info);
    arguments.pivot_ratio = core::kernel_view(pivot_ratio);
    const bool done = ForcedMapping::current() != Mapping::block &&
                      (factorisation == Factorisation::cholesky
                           ? detail::launch_solve_positive_in_rows(executor, arguments)
                           : detail::launch_jordan_in_registers(executor, arguments));
    if (!done) detail::launch_cholesky_in_block(executor, arguments);
}

}  // namespace aperture::dense
