// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "apps/bgsub/options.hpp"

namespace aperture::apps {

/// Frames at equal distances over the selection: [frame][channel][row][column].
using Samples = core::Array<float, 4>;
inline constexpr index_t most_samples = 64;
/// From fewer frames a background of low rank cannot be told.
inline constexpr index_t enough_frames = 10;
void warn_of_few_frames(index_t frames, Console& console);

/// Reads at most `most_samples` frames, where the method cannot see all frames at once; otherwise
/// the result is empty. Errors are left to the run that follows: the result is then what could be
/// read.
Samples sample_frames(const BgsubOptions& options);

/// Replaces --method auto: the median for few frames; robust PCA where the camera shakes, in
/// windows if there are many frames, and for clips so short that all frames fit in memory together;
/// otherwise online. `method_reason` says why. Turns off what the method does not have.
BgsubOptions choose_method(BgsubOptions options, const Samples& samples, core::Cpu& cpu);

}  // namespace aperture::apps
