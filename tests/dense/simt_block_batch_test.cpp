// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/change_layout.cuh"
#include "libdense/gpu/hermitian_rank_k.cuh"
#include "libdense/gpu/solve.cuh"
#include "tests/dense/batch_suite.hpp"
#include "tests/dense/simt_runner.hpp"

namespace aperture::dense::oracle {

// No register-resident kernels: every order up to 64 uses the block kernel.
using SimtBlocks = SimtRunner<std::integer_sequence<int>>;
INSTANTIATE_TYPED_TEST_SUITE_P(SimtBlocks, BatchSuite, AllCombinations<SimtBlocks>);

}  // namespace aperture::dense::oracle
