// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/gpu/ca_on_chip.cuh"

namespace aperture::flow::gpu {

template void solve_on_chip(core::Gpu&, Coupling, Boundary, const CaArguments&, const OnChipPlan&,
                            Sums<3>*);

}  // namespace aperture::flow::gpu
