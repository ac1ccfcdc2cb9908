// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/batch_blas.cuh"
#include "libdense/gpu/batch_factor.cuh"
#include "tests/dense/blas_suite.hpp"
#include "tests/dense/factor_suite.hpp"
#include "tests/dense/orthogonal_suite.hpp"

namespace aperture::dense::oracle {

// No orders are compiled ahead: blocks have the problems.
using OnSimt = HostRunner<core::Simt, true>;
INSTANTIATE_TYPED_TEST_SUITE_P(Simt, BlasSuite, AllCombinations<OnSimt>);
INSTANTIATE_TYPED_TEST_SUITE_P(Simt, FactorSuite, AllCombinations<OnSimt>);
INSTANTIATE_TYPED_TEST_SUITE_P(Simt, OrthogonalSuite, AllCombinations<OnSimt>);

}  // namespace aperture::dense::oracle
