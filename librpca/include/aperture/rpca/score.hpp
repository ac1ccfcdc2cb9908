// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "aperture/core/view.hpp"

namespace aperture::rpca {

using core::index_t;

/// Comparison of masks with ground truth by the rules of changedetection.net (Goyette et al. 2012):
/// pixels are counted over all frames, and ratios use these totals. 0 / 0 is NaN.
struct Score {
    index_t true_positives = 0;
    index_t false_positives = 0;
    index_t true_negatives = 0;
    index_t false_negatives = 0;
    index_t shadow_positives = 0;  ///< false positives in shadow

    double precision() const;
    double recall() const;
    double f_measure() const;
    double false_positive_rate() const;
    double false_negative_rate() const;
    /// 100 (FN + FP) / all.
    double percentage_of_wrong() const;

    Score& operator+=(const Score& other);
};

/// [row][column]
using MaskView = core::View<const std::uint8_t, 2, core::Host>;

/// Scores one frame. In `truth`, 255 is foreground; 0 and 50 (shadow) are background. Other values,
/// such as 85 (outside the region of interest) and 170 (unknown), are not counted; nor are pixels
/// where a non-empty `region` is 0. Throws core::InvalidArgument if the extents differ.
Score score(MaskView mask, MaskView truth, MaskView region);

/// A mask that is a comparison with one threshold, without further steps.
struct ThresholdScore {
    Score score;
    index_t foreground = 0;  ///< pixels of the mask, scored or not
};

/// The masks of a frame at many thresholds, in their order: of a pixel any of whose differences
/// [channel][row][column] has a size above the threshold. Differences are read once, and counted by
/// the truth's classes between neighbouring thresholds; `truth` is that of `score`, or empty.
/// Throws core::InvalidArgument for a negative threshold or NaN, and if extents differ.
std::vector<ThresholdScore> score_thresholds(core::View<const float, 3, core::Host> differences,
                                             MaskView truth, const std::vector<double>& thresholds);

}  // namespace aperture::rpca
