// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/change_layout.cuh"
#include "libdense/gpu/hermitian_rank_k.cuh"
#include "libdense/gpu/solve.cuh"
#include "tests/dense/batch_suite.hpp"
#include "tests/dense/simt_runner.hpp"

namespace aperture::dense::oracle {

using Batches = SomeOrders<SimtMappings<Mapping::automatic, Mapping::block>, 18>;
INSTANTIATE_TYPED_TEST_SUITE_P(Simt, BatchSuite, Batches);

}  // namespace aperture::dense::oracle
