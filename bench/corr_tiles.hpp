// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aperture/corr/correlator.hpp"

namespace aperture::bench {

/// Correlates planes in GPU memory with themselves. Asynchronous.
using GpuCorrelation =
    std::function<void(corr::PlanesView<core::Device>, core::View<double, 3, core::Device>)>;

/// Makes ready for a problem.
using PrepareCorrelation = std::function<GpuCorrelation(core::Gpu&, const corr::Problem&)>;

/// A kernel of the direct method that the library does not use.
struct SlowerKernel {
    std::string name;  ///< planes and tile
    corr::Precision precision;
    PrepareCorrelation prepare;
};
std::vector<SlowerKernel> slower_kernels();

}  // namespace aperture::bench
