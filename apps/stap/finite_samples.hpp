// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>

#include "aperture/core/view.hpp"

namespace aperture::apps {

/// The samples of a cube with a NaN or infinite part.
struct NonFiniteSamples {
    core::index_t count = 0;
    core::Extents<3> first{};  ///< channel, pulse, range cell; valid if count > 0
};

NonFiniteSamples find_non_finite(core::View<const std::complex<float>, 3, core::Host> cube,
                                 int threads);

}  // namespace aperture::apps
