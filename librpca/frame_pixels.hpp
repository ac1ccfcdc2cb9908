// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "aperture/core/portable.hpp"
#include "aperture/core/view.hpp"

namespace aperture::rpca {

using core::index_t;

/// At most this many frames have a common median.
inline constexpr index_t most_sampled = 33;
/// Every how many-th of `count` frames.
inline index_t frame_step(index_t count) { return (count + most_sampled - 1) / most_sampled; }
/// What no frame shows.
inline constexpr float unseen = std::numeric_limits<float>::quiet_NaN();

/// What a pixel's difference from the reference counts. Large ones, which objects make, count as 20
/// grey levels.
APERTURE_HD float counted_difference(float value, float reference) {
    const float size = std::fabs(value - reference);
    return size < 20 ? size : 20.0F;
}

/// The work on pixels, which is each executor's. Views are dense, but for distances of frames.
///
///     FramePixels(Executor&)
///     void means(ConstFrames, which, to)       means of the channels of frames which[0], ...
///     void median(frames, to)                  [frame][value], of up to most_sampled frames; that
///                                              of an even number is the mean of the middle two
///     void halve(images, to)                   downsamples [image][row][column]
///     void move(ConstFrames, maps, instead, to)
///                                              to(p) = frame(map p); where it has no value that
///                                              of `instead`, or if that is empty unseen
///     void fill_unseen(frames)                 [frame][value]: by the (upper) median of the frames
///                                              that show a value, by 0 if none does
///     double difference(frames, shown, reference)
///                                              sum of counted differences where `shown` is seen
///     void replace(which, ground, frames)      frames [frame][channel][pixel] become ground
///                                              [channel][pixel] where `which`, a std::uint8_t on
///                                              the host for each pixel, is not 0
template <class Executor>
class FramePixels;

}  // namespace aperture::rpca
