// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "aperture/core/executor.hpp"
#include "aperture/core/view.hpp"

namespace aperture::rpca {

using core::index_t;

/// Where something is: 0 or 255. [frame][row][column]
template <class Space>
using MasksView = core::View<std::uint8_t, 3, Space>;
/// |frame - background|: [frame][channel][row][column]
template <class Space>
using DifferencesView = core::View<const float, 4, Space>;

/// What becomes of a difference.
struct MaskParameters {
    /// A pixel moves where a channel differs by more, in the units of the frames.
    double threshold = 17;
    /// Where positive, instead of `threshold`: times the standard deviation of the noise, estimated
    /// from all differences (`noise_deviation`).
    double noise_multiple = 0;
    int clean = 5;         ///< side of the window of a median over the mask, odd; 0 for none
    index_t min_area = 0;  ///< connected regions (of 8 neighbours) of fewer pixels are left out
};

/// Throws core::InvalidArgument for a negative threshold or area and an even or negative window.
void validate(const MaskParameters& parameters);

/// The standard deviation of normal noise that has the median of the differences' sizes, which
/// sparse outliers hardly move: median / 0.6745, over all values but at most some 10^6 of them.
double noise_deviation(DifferencesView<core::Host> differences);

/// Thresholds, cleans and leaves out small regions, frame by frame. The window is cut at the
/// picture's edge. Returns the threshold that was used. Throws core::InvalidArgument as `validate`
/// does, for masks of other sizes, and where rows are not contiguous.
double find_masks(core::Cpu& cpu, DifferencesView<core::Host> differences,
                  const MaskParameters& parameters, MasksView<core::Host> masks);

}  // namespace aperture::rpca
