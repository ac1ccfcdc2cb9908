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
#include "libdense/gpu/qr_in_warps.cuh"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense::detail {

/// Whether a matrix of `lines` of `stride` entries beside `other_bytes` may be too large for a
/// block's shared memory.
template <class Executor, class E>
constexpr bool may_need_scratch(int lines, int stride, int other_bytes) {
    const int bytes = static_cast<int>(sizeof(E)) * lines * stride + other_bytes;
    return !std::is_same_v<Executor, core::Gpu> || bytes > tuning::least_shared_memory;
}

/// The launch of a kernel that gives a block a matrix in `lines` of `stride` entries, beside
/// `other_bytes` of shared memory. Where the matrix does not fit there, lines of it are in scratch
/// memory: as many as necessary, or all if they are not `split`.
template <class E>
struct BlockLaunch {
    MatrixPlace place = MatrixPlace::shared;
    BlockScratch<E> scratch;
    core::LaunchConfig config;

    template <class Executor>
    BlockLaunch(Executor& executor, index_t problems, int lines, int stride, bool split,
                int other_bytes, std::size_t bytes_per_thread)
        : config(dim3(core::blocks_for(problems, 1)), dim3(32),
                 static_cast<std::size_t>(other_bytes)) {
        const std::size_t line_bytes = sizeof(E) * static_cast<std::size_t>(stride);
        const std::size_t bytes = line_bytes * static_cast<std::size_t>(lines);
        const auto shared = static_cast<std::size_t>(executor.shared_memory_per_block());
        while (config.block.x < block_solver_threads &&
               2 * config.block.x * bytes_per_thread <= config.shared + bytes) {
            config.block.x *= 2;
        }
        if (config.shared + bytes <= shared) {
            config.shared += bytes;
            return;
        }
        place = MatrixPlace::scratch;
        const std::size_t inside = split ? (shared - config.shared) / line_bytes : 0;
        config.shared += inside * line_bytes;
        const index_t blocks =
            std::min<index_t>(problems, (split ? 1 : 2) * index_t(executor.multiprocessors()));
        config.grid = dim3(core::blocks_for(blocks, 1));
        scratch.lines = lines - static_cast<int>(inside);
        scratch.data = reinterpret_cast<E*>(
            executor.scratch((bytes - inside * line_bytes) * static_cast<std::size_t>(blocks)));
    }
};

/// The kernel for matrices of order n, which is from `least` to `most`.
template <BlockElimination how, int least, int most, class Executor, class E>
auto* elimination_kernel(int n, MatrixPlace place) {
    using enum MatrixPlace;
    void (*kernel)(LuArguments<E>, BlockScratch<E>) = nullptr;
    if constexpr (least <= 64) kernel = lu_in_block<E, 2, shared, how>;
    if constexpr (most > 64) {
        if (n > 64) kernel = lu_in_block<E, 4, shared, how>;
    }
    constexpr int other_bytes = elimination_bytes<E>(how == BlockElimination::jordan, most);
    if constexpr (may_need_scratch<Executor, E>(most, panel_row_stride<E>(most), other_bytes)) {
        if (place == scratch) kernel = lu_in_block<E, 4, scratch, how>;
    }
    return kernel;
}

template <class Executor, class E>
void launch_elimination_in_block(Executor& executor, const LuArguments<E>& p) {
    using enum BlockElimination;
    constexpr int largest_of_left = tuning::largest_left_looking_order<E>;
    const auto n = static_cast<int>(p.a.extent[1]);
    const bool by_jordan = !p.inverse.empty() || p.elimination == GeneralElimination::gauss_jordan;
    const bool left = !by_jordan && n <= largest_of_left;
    const BlockLaunch<E> launch(
        executor, p.a.extent[0], n, panel_row_stride<E>(n), true,
        elimination_bytes<E>(by_jordan, n),
        left ? tuning::lu_bytes_per_thread<E> : tuning::right_looking_bytes);
    auto* kernel = elimination_kernel<jordan, 1, max_order, Executor, E>(n, launch.place);
    if (left) {
        kernel = elimination_kernel<looks_left, 1, largest_of_left, Executor, E>(n, launch.place);
    }
    if constexpr (largest_of_left < max_order) {
        if (!by_jordan && !left) {
            kernel = elimination_kernel<looks_right, largest_of_left + 1, max_order, Executor, E>(
                n, launch.place);
        }
    }
    core::launch(executor, kernel, launch.config, p, launch.scratch);
}

template <class Executor, class E>
void launch_cholesky_in_block(Executor& executor, const CholeskyArguments<E>& p) {
    const auto n = static_cast<int>(p.a.extent[1]);
    using Panels = TrianglePanels<E>;
    const BlockLaunch<E> launch(executor, p.a.extent[0], Panels::lines(n), Panels::stride, false,
                                cholesky_bytes, tuning::cholesky_bytes_per_thread);
    using enum MatrixPlace;
    auto* kernel = n <= 64 ? cholesky_in_block<E, 2, shared> : cholesky_in_block<E, 4, shared>;
    if constexpr (may_need_scratch<Executor, E>(Panels::lines(max_order), Panels::stride,
                                                cholesky_bytes)) {
        if (launch.place == scratch) kernel = cholesky_in_block<E, 4, scratch>;
    }
    core::launch(executor, kernel, launch.config, p, launch.scratch);
}

/// Returns false if there is no such kernel, or several blocks of the other would be on a
/// multiprocessor.
template <class Executor, class E>
bool launch_qr_in_warps(Executor& executor, const QrArguments<E>& p) {
    using Shape = tuning::QrInWarps;
    const auto m = static_cast<int>(p.a.extent[1]);
    const auto n = static_cast<int>(p.a.extent[2]);
    if (m > core::warp_size * Shape::heights || n > Shape::slots * Shape::warps) return false;
    const auto available = static_cast<std::size_t>(executor.shared_memory_per_block());
    const std::size_t matrix = sizeof(E) * static_cast<std::size_t>(m * panel_row_stride<E>(n));
    const std::size_t shared =
        matrix + static_cast<std::size_t>(qr_in_warps_bytes<E>(Shape::heights));
    if (!p.info.empty() || shared > available || 2 * matrix <= available) return false;
    core::launch(executor, qr_in_warps<E, Shape::heights, Shape::slots, Shape::warps>,
                 core::LaunchConfig{dim3(core::blocks_for(p.a.extent[0], 1)),
                                    dim3(Shape::warps * core::warp_size), shared},
                 p);
    return true;
}

template <class Executor, class E>
void launch_qr_in_block(Executor& executor, const QrArguments<E>& p) {
    const auto m = static_cast<int>(p.a.extent[1]);
    const auto n = static_cast<int>(p.a.extent[2]);
    if constexpr (tuning::has_qr_in_warps<E>) {
        if (launch_qr_in_warps(executor, p)) return;
    }
    BlockLaunch<E> launch(executor, p.a.extent[0], m, panel_row_stride<E>(n), false,
                          qr_vector_bytes<E>(block_slots(m), n), tuning::right_looking_bytes);
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
void launch_substitute_in_block(Executor& executor, const SubstituteArguments<E>& arguments) {
    const auto n = static_cast<int>(arguments.factor.extent[1]);
    const index_t problems = arguments.factor.extent[0];
    const index_t sides = arguments.x.extent[1];
    const auto threads =
        static_cast<unsigned>(std::min<index_t>(sides * core::warp_size, block_solver_threads));
    core::launch(executor, substitute_in_block<E>,
                 core::LaunchConfig{dim3(core::blocks_for(problems, 1)), dim3(threads),
                                    static_cast<std::size_t>(index_bytes(n))},
                 arguments);
}

template <class Executor, class E>
void launch_apply_q_in_block(Executor& executor, const ApplyQArguments<E>& arguments) {
    const auto threads = static_cast<unsigned>(
        std::min<index_t>(arguments.vectors() * core::warp_size, block_solver_threads));
    core::launch(
        executor, apply_q_in_block<E>,
        core::LaunchConfig{dim3(core::blocks_for(arguments.c.extent[0], 1)), dim3(threads)},
        arguments);
}

}  // namespace aperture::dense::detail
