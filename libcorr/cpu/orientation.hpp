// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/view.hpp"
#include "libcorr/cpu/bordered_plane.hpp"

namespace aperture::corr {

/// Rows that are computed together; this also needs rows above and below them.
inline constexpr index_t orientation_band = 32;

/// Bytes of scratch memory for orient_band.
std::size_t orientation_scratch_bytes();

/// Computes orientations (PlaneKind::lab_orientation) of rows `first` to `end` - 1, at most
/// orientation_band, of `lightness` in those rows of `planes`, [cosine, sine][row][column].
void orient_band(const BorderedPlane& lightness, const TensorWeights& weights, index_t first,
                 index_t end, const core::View<float, 3, core::Host>& planes, std::byte* scratch);

}  // namespace aperture::corr
