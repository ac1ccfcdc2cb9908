// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/batch_spectral.cuh"
#include "tests/dense/spectral_suite.hpp"

namespace aperture::dense::oracle {

using OnSimt = HostRunner<core::Simt, true>;
INSTANTIATE_TYPED_TEST_SUITE_P(Simt, SpectralSuite, AllCombinations<OnSimt>);

}  // namespace aperture::dense::oracle
