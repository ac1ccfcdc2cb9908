// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/view.hpp"
#include "libcorr/cpu/bordered_plane.hpp"

namespace aperture::corr {

/// Rows that are computed together: rows above and below them are needed, too.
inline constexpr index_t orientation_band = 32;

/// Scratch memory of orient_band.
std::size_t orientation_scratch_bytes();

/// Orientations (PlaneKind::lab_orientation) of rows `first` to `end` - 1, at most
/// orientation_band, of `lightness`, to those rows of `planes`, [cosine, sine][row][column].
void orient_band(const BorderedPlane& lightness, const TensorWeights& weights, index_t first,
                 index_t end, const core::View<float, 3, core::Host>& planes, std::byte* scratch);

}  // namespace aperture::corr
