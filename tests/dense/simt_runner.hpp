// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "libdense/gpu/change_layout.cuh"
#include "libdense/gpu/hermitian_rank_k.cuh"
#include "libdense/gpu/solve.cuh"
#include "tests/dense/batch_runner.hpp"

namespace aperture::dense::oracle {

/// `Orders` use register-resident kernels, others the block kernel, as on a GPU without a run-time
/// compiler.
template <class SomeOrders>
struct SimtWith : core::Simt {
    using Orders = SomeOrders;
};
template <class Orders>
using SimtRunner = HostRunner<SimtWith<Orders>, true>;

/// Precompiled orders, and some that a GPU compiles at run time. Each takes long to
/// compile with sanitizers, so they test one of each kind.
#if defined(APERTURE_SANITIZE)
using RegisterOrders = std::integer_sequence<int, 1, 3, 8, 18>;
#else
using RegisterOrders = std::integer_sequence<int, 1, 2, 3, 5, 8, 12, 17, 18, 24, 31>;
#endif

}  // namespace aperture::dense::oracle
