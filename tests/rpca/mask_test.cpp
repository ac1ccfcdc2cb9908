// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/rpca/mask_suite.hpp"

namespace aperture::rpca {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, MaskSuite, CpuMasks);

}  // namespace
}  // namespace aperture::rpca
