// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "aperture/core/executor.hpp"
#include "libcorr/cpu/bordered_plane.hpp"

namespace aperture::corr {

/// Computes orientations (PlaneKind::lab_orientation) from the lightness, [cosine, sine][row]
/// [column], and calls row_stored(row) after each row.
void compute_orientations(core::Cpu& cpu, const BorderedPlane& lightness,
                          const core::View<float, 3, core::Host>& planes,
                          const std::function<void(index_t)>& row_stored);

}  // namespace aperture::corr
