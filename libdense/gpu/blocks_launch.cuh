// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The launch of kernels that give a block a problem.

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "libcore/gpu/launch.cuh"
#include "libdense/gpu/lu_in_block.cuh"
#include "libdense/gpu/qr_in_block.cuh"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense::detail {

/// Whether a matrix of m x n beside `other_bytes` may be too large for a block's shared memory.
template <class Executor, class E>
constexpr bool may_need_scratch(int m, int n, int other_bytes) {
    const int bytes = static_cast<int>(sizeof(E)) * m * panel_row_stride<E>(n) + other_bytes;
    return !std::is_same_v<Executor, core::Gpu> || bytes > tuning::least_shared_memory;
}

/// The launch of a kernel that gives a block a matrix of m x n, beside `other_bytes` of shared
/// memory. Where the matrix does not fit there, the block works in scratch memory.
template <class E>
struct BlockLaunch {
    MatrixPlace place = MatrixPlace::shared;
    E* scratch = nullptr;
    core::LaunchConfig config;

    template <class Executor>
    BlockLaunch(Executor& executor, index_t problems, int m, int n, int other_bytes,
                std::size_t bytes_per_thread)
        : config(dim3(core::blocks_for(problems, 1)), dim3(32),
                 static_cast<std::size_t>(other_bytes)) {
        const std::size_t bytes = sizeof(E) * static_cast<std::size_t>(m) *
                                  static_cast<std::size_t>(panel_row_stride<E>(n));
        const auto shared = static_cast<std::size_t>(executor.shared_memory_per_block());
        const auto most = static_cast<unsigned>(block_solver_threads_of(block_slots(m)));
        while (config.block.x < most && 2 * config.block.x * bytes_per_thread <= bytes) {
            config.block.x *= 2;
        }
        if (config.shared + bytes <= shared) {
            config.shared += bytes;
            return;
        }
        const index_t blocks = std::min<index_t>(problems, 2 * index_t(executor.multiprocessors()));
        config.grid = dim3(core::blocks_for(blocks, 1));
        place = MatrixPlace::scratch;
        scratch = reinterpret_cast<E*>(executor.scratch(bytes * static_cast<std::size_t>(blocks)));
    }
};

template <class Executor, class E>
void launch_elimination_in_block(Executor& executor, const LuArguments<E>& p) {
    const auto n = static_cast<int>(p.a.extent[1]);
    const bool jordan = !p.inverse.empty() || p.elimination == GeneralElimination::gauss_jordan;
    const BlockLaunch<E> launch(
        executor, p.a.extent[0], n, n, elimination_bytes<E>(jordan, n),
        jordan ? tuning::right_looking_bytes : tuning::lu_bytes_per_thread<E>);
    const auto kernel_of = [&]<bool its_jordan>() {
        using enum MatrixPlace;
        constexpr int other_bytes = elimination_bytes<E>(its_jordan, max_order);
        if constexpr (may_need_scratch<Executor, E>(max_order, max_order, other_bytes)) {
            if (launch.place == scratch) return lu_in_block<E, 4, scratch, its_jordan>;
        }
        return n <= 64 ? lu_in_block<E, 2, shared, its_jordan>
                       : lu_in_block<E, 4, shared, its_jordan>;
    };
    core::launch(
        executor,
        jordan ? kernel_of.template operator()<true>() : kernel_of.template operator()<false>(),
        launch.config, p, launch.scratch);
}

template <class Executor, class E>
void launch_cholesky_in_block(Executor& executor, const CholeskyArguments<E>& p) {
    const auto n = static_cast<int>(p.a.extent[1]);
    const BlockLaunch<E> launch(executor, p.a.extent[0], n, n, cholesky_bytes,
                                tuning::cholesky_bytes_per_thread<E>);
    using enum MatrixPlace;
    auto* kernel = n <= 64 ? cholesky_in_block<E, 2, shared> : cholesky_in_block<E, 4, shared>;
    if constexpr (may_need_scratch<Executor, E>(max_order, max_order, cholesky_bytes)) {
        if (launch.place == scratch) kernel = cholesky_in_block<E, 4, scratch>;
    }
    core::launch(executor, kernel, launch.config, p, launch.scratch);
}

template <class Executor, class E>
void launch_qr_in_block(Executor& executor, const QrArguments<E>& p) {
    const auto m = static_cast<int>(p.a.extent[1]);
    const auto n = static_cast<int>(p.a.extent[2]);
    BlockLaunch<E> launch(executor, p.a.extent[0], m, n, qr_vector_bytes<E>(block_slots(m), n),
                          tuning::right_looking_bytes);
    using enum MatrixPlace;
    if (launch.place == scratch) {
        launch.config.shared = static_cast<std::size_t>(qr_vector_bytes<E>(row_slots, n));
    }
    core::launch(executor,
                 launch.place == scratch ? qr_in_block<E, row_slots, scratch>
                 : m <= 64               ? qr_in_block<E, 2, shared>
                 : m <= 128              ? qr_in_block<E, 4, shared>
                                         : qr_in_block<E, 8, shared>,
                 launch.config, p, launch.scratch);
}

template <class Executor, class E>
void substitute(Executor& executor, const SubstituteArguments<E>& arguments) {
    const auto n = static_cast<int>(arguments.factor.extent[1]);
    const index_t problems = arguments.factor.extent[0];
    const index_t sides = arguments.x.extent[1];
    if (problems == 0 || sides == 0) return;
    const auto threads =
        static_cast<unsigned>(std::min<index_t>(sides * core::warp_size, block_solver_threads));
    core::launch(executor, substitute_in_block<E>,
                 core::LaunchConfig{dim3(core::blocks_for(problems, 1)), dim3(threads),
                                    static_cast<std::size_t>(index_bytes(n))},
                 arguments);
}

template <class Executor, class E>
void apply_q(Executor& executor, const ApplyQArguments<E>& arguments) {
    if (arguments.c.empty()) return;
    const auto threads = static_cast<unsigned>(
        std::min<index_t>(arguments.c.extent[1] * core::warp_size, block_solver_threads));
    core::launch(
        executor, apply_q_in_block<E>,
        core::LaunchConfig{dim3(core::blocks_for(arguments.c.extent[0], 1)), dim3(threads)},
        arguments);
}

}  // namespace aperture::dense::detail
