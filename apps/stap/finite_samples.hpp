// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>

#include "aperture/core/view.hpp"

namespace aperture::apps {

/// Samples of a cube that are NaN or infinite in either part.
struct NonFiniteSamples {
    core::index_t count = 0;
    core::Extents<3> first{};  ///< channel, pulse, range cell; where count > 0
};

NonFiniteSamples find_non_finite(core::View<const std::complex<float>, 3, core::Host> cube,
                                 int threads);

}  // namespace aperture::apps
