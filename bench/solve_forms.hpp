// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"

/// A solver with loops at run time and with unrolled loops. Source: Anderson 2014, figure 6.5.
namespace aperture::bench {

/// The thesis's systems: matrices of 18 x 18 with 16 right-hand sides, 64 threads each.
inline constexpr int form_order = 18;
inline constexpr int form_sides = 16;
enum class SolveForm {
    global,   ///< loops at run time; entries are in global memory, and in caches
    local,    ///< likewise in a thread's own memory, which is global memory, too, but interleaved
    unrolled  ///< loops are unrolled; entries are in registers
};

/// Operands in the device's memory, diagonally dominant.
struct FormProblems {
    core::Array<std::complex<float>, 3, core::Device> a, b, x, work;

    FormProblems(core::Gpu& gpu, core::index_t problems);
    void restore(core::Gpu& gpu);  ///< x := b
    /// x := A^-1 b.
    void solve(core::Gpu& gpu, SolveForm form);
    /// The largest residual of a few problems, relative to their operands.
    double error(core::Gpu& gpu) const;
};

}  // namespace aperture::bench
