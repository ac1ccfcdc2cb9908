// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "libdense/gpu/change_layout.cuh"
#include "libdense/gpu/hermitian_rank_k.cuh"
#include "libdense/gpu/solve.cuh"

namespace aperture::dense::oracle {

/// Runs the kernels on the SIMT host executor for BatchSuite. `Orders` use register-resident
/// kernels, others up to 64 the block kernel, as on a GPU without a run-time compiler.
template <class Orders>
struct SimtRunner {
    static constexpr bool emulated = true;
    core::Simt executor{};

    void solve(auto... arguments) { launch_solve<Orders>(executor, arguments...); }
    void hermitian_rank_k(auto... arguments) { launch_hermitian_rank_k(executor, arguments...); }
    void change_layout(auto... arguments) { launch_change_layout(executor, arguments...); }
};

/// Precompiled orders, and some that a GPU compiles at run time. Each takes long to
/// compile with sanitizers, so they test one of each kind.
#if defined(APERTURE_SANITIZE)
using RegisterOrders = std::integer_sequence<int, 1, 3, 8, 18>;
#else
using RegisterOrders = std::integer_sequence<int, 1, 2, 3, 5, 8, 12, 17, 18, 24, 31>;
#endif

}  // namespace aperture::dense::oracle
