// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "aperture/core/executor.hpp"

/// Factorisations in registers with three layouts of a matrix on a block. Source: Anderson 2014,
/// section 4.5.
namespace aperture::bench {

using core::index_t;

enum class MatrixLayout {
    rows,     ///< a thread has a row, or a part of one
    columns,  ///< likewise
    cyclic,   ///< both are distributed over a square of threads
};

/// 64 threads up to order 64, 256 above.
inline constexpr std::array layout_orders{16, 32, 56, 64, 96, 112};

/// QR or LU factors of `problems` matrices of an order of layout_orders, [problem][order][order];
/// tau [problem][order].
void factor_in_layout(core::Gpu& gpu, bool qr, MatrixLayout layout, int order, index_t problems,
                      const float* from, float* to, float* tau);

/// Cycles in one thread, the mean of all problems, with the others on the device.
struct StepCycles {
    double load = 0;
    double store = 0;
    /// Of the operation on the column, of its product with the others, and of their update.
    std::vector<std::array<double, 3>> panels;
};

/// Of matrices of 56 x 56 on 64 threads, cyclically: Table 4.3 and figure 4.6.
inline constexpr int timed_order = 56;
inline constexpr int timed_threads = 64;
StepCycles measure_step_cycles(core::Gpu& gpu, bool qr, index_t problems, const float* from,
                               float* to, float* tau);
/// Blocks of that kernel on a multiprocessor.
int timed_blocks(core::Gpu& gpu, bool qr);

}  // namespace aperture::bench
