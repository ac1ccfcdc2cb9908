// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/blas_suite.hpp"
#include "tests/dense/factor_suite.hpp"
#include "tests/dense/orthogonal_suite.hpp"

namespace aperture::dense::oracle {

using OnCpu = HostRunner<core::Cpu, false>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, BlasSuite, AllCombinations<OnCpu>);
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, FactorSuite, AllCombinations<OnCpu>);
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, OrthogonalSuite, AllCombinations<OnCpu>);

}  // namespace aperture::dense::oracle
