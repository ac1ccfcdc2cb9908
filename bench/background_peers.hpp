// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/media/picture.hpp"

namespace aperture::bench {

/// Learns from a frame and marks motion in it. The mask [row][column] has the frame's extents: 255
/// moving, 127 shadow, 0 other. Returns its milliseconds.
using BackgroundModel =
    std::function<double(const media::Picture& frame, core::Array<std::uint8_t, 2>& mask)>;

struct BackgroundPeer {
    std::string name;
    /// Creates an untrained model for frames in order.
    std::function<BackgroundModel()> begin;
};

/// OpenCV's background subtractors with their own defaults on `threads` threads: MOG2 and KNN, both
/// also with detectShadows off, since a mask loses what they classify as shadow; from its
/// contributed modules, if installed, MOG, GMG (whose first 120 masks are empty), CNT, LSBP and
/// GSOC. Empty in a build without OpenCV.
std::vector<BackgroundPeer> background_peers(int threads);

/// Names the methods missing from `background_peers` and why; empty if none is.
std::string missing_background_peers();

}  // namespace aperture::bench
