// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/batch_blas.cuh"
#include "libdense/gpu/hermitian_rank_k.cuh"
#include "tests/dense/blas_suite.hpp"

namespace aperture::dense::oracle {

using OnSimt = HostRunner<core::Simt, true>;
INSTANTIATE_TYPED_TEST_SUITE_P(Simt, BlasSuite, AllCombinations<OnSimt>);

}  // namespace aperture::dense::oracle
