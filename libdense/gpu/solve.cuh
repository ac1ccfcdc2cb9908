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

/// The register-resident kernel of an order, if it is compiled with the program.
template <class E, Elimination elimination, int... orders>
auto compiled_kernel(std::integer_sequence<int, orders...>, int order,
                     tuning::RegisterSolve policy) {
    void (*found)(CholeskyArguments<E>) = nullptr;
    [[maybe_unused]] const auto compare = [&]<int its_order, bool many>() {
        constexpr tuning::RegisterSolve its =
            tuning::register_solve<E>(its_order, many ? 1 << 20 : 1);
        if constexpr (its.lanes > 0) {
            if (its_order != order || its.lanes != policy.lanes || its.slots != policy.slots)
                return;
            found = solve_in_registers<E, its_order, its.lanes, its.slots, elimination>;
        }
    };
    (compare.template operator()<orders, false>(), ...);
    (compare.template operator()<orders, true>(), ...);
    return found;
}

/// The kernel's name expression for NVRTC.
template <class E>
std::string register_solve_expression(int order, tuning::RegisterSolve policy,
                                      Elimination elimination) {
    return core::text("aperture::dense::solve_in_registers<", type_name<E>(), ", ", order, ", ",
                      policy.lanes, ", ", policy.slots, ", aperture::dense::Elimination::",
                      elimination == Elimination::below ? "below" : "above_and_below", ">");
}

inline constexpr const char* register_solve_file = "libdense/gpu/solve_in_registers.cuh";

/// Returns false if no such kernel is available; the caller then uses another one.
template <class Orders, class Executor, class E>
bool solve_in_sub_warps(Executor& executor, Elimination elimination,
                        const CholeskyArguments<E>& arguments) {
    const auto order = static_cast<int>(arguments.a.extent[1]);
    const tuning::RegisterSolve policy = tuning::register_solve<E>(order, arguments.x.extent[1]);
    if (policy.lanes == 0) return false;
    const core::LaunchConfig config{
        dim3(core::blocks_for(arguments.a.extent[0], register_solve_threads / policy.lanes)),
        dim3(register_solve_threads),
        static_cast<std::size_t>(
            register_solve_shared_bytes<E>(order, policy.lanes, policy.slots))};
    if (const auto compiled =
            elimination == Elimination::below
                ? compiled_kernel<E, Elimination::below>(Orders{}, order, policy)
                : compiled_kernel<E, Elimination::above_and_below>(Orders{}, order, policy)) {
        core::launch(executor, compiled, config, arguments);
        return true;
    }
#if defined(__CUDACC__)
    const auto kernel = core::specialise<void(CholeskyArguments<E>)>(
        executor, kernel_source(register_solve_file),
        register_solve_expression<E>(order, policy, elimination));
    // Without it a block solves it.
    if (kernel) core::launch(executor, kernel, config, arguments);
    return static_cast<bool>(kernel);
#else
    return false;
#endif
}

}  // namespace detail

/// `solve` on a GPU or the SIMT executor. Blocks always use Cholesky. A GPU compiles the
/// register-resident kernel of an order on first use; `Orders` are compiled ahead, for the SIMT
/// executor.
template <class Orders = std::integer_sequence<int>, class Executor, class T>
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
    const Elimination elimination = factorisation == Factorisation::cholesky
                                        ? Elimination::below
                                        : Elimination::above_and_below;
    if (ForcedMapping::current() == Mapping::block ||
        !detail::solve_in_sub_warps<Orders>(executor, elimination, arguments)) {
        detail::launch_cholesky_in_block(executor, arguments);
    }
}

}  // namespace aperture::dense
