// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

/// Foreground masks: 0 or 255. [frame][row][column]
template <class Space>
using MasksView = core::View<std::uint8_t, 3, Space>;
/// |frame - background|: [frame][channel][row][column]
template <class Space>
using DifferencesView = core::View<const float, 4, Space>;

/// How differences become a mask.
struct MaskParameters {
    /// A pixel is foreground if any channel differs by more than this, in units of the frames.
    double threshold = 17;
    /// If positive, replaces `threshold`: a multiple of the noise standard deviation that is
    /// estimated from all differences (`noise_deviation`).
    double noise_multiple = 0;
    int clean = 5;         ///< side of the median window over the mask, odd; 0 for none
    index_t min_area = 0;  ///< in pixels: smaller 8-connected regions are removed
};

/// Throws core::InvalidArgument for a negative threshold or area and an even or negative window.
void validate(const MaskParameters& parameters);

/// differences = |frames - backgrounds|. A frame stride of 0 makes one background that of all
/// frames. `differences` may alias one of the others. Throws core::InvalidArgument if extents
/// differ or values are not contiguous.
void subtract_backgrounds(core::Cpu& cpu, FramesView<const float, core::Host> frames,
                          FramesView<const float, core::Host> backgrounds,
                          FramesView<float, core::Host> differences);

/// Standard deviation of normal noise with the same median of |difference|: median / 0.6745. Sparse
/// outliers hardly change it. Samples 10^6 to 2 10^6 values of larger inputs.
double noise_deviation(DifferencesView<core::Host> differences);

/// Thresholds, cleans and removes small regions, frame by frame. The window is clipped at the
/// picture's edge. Returns the threshold used. Throws core::InvalidArgument as `validate` does, if
/// the masks have other sizes, and if rows are not contiguous.
double find_masks(core::Cpu& cpu, DifferencesView<core::Host> differences,
                  const MaskParameters& parameters, MasksView<core::Host> masks);

}  // namespace aperture::rpca
