// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/media/picture.hpp"

namespace aperture::bench {

/// Learns from a frame and says where something moves in it: 255 in [row][column], which has the
/// frame's extents; shadows are 127, the rest is 0. Returns its milliseconds.
using BackgroundModel =
    std::function<double(const media::Picture& frame, core::Array<std::uint8_t, 2>& mask)>;

struct BackgroundPeer {
    std::string name;
    /// A model that has seen nothing yet, for frames in their order.
    std::function<BackgroundModel()> begin;
};

/// OpenCV's background subtractors with their own defaults, on `threads` threads: MOG2 and KNN,
/// both also with detectShadows off, since what they take for shadow is lost for a mask, and from
/// its contributed modules, where they are installed, MOG, CNT, LSBP and GSOC. (GMG has no mask for
/// the first 120 frames that it sees.) Empty in a build without OpenCV.
std::vector<BackgroundPeer> background_peers(int threads);

/// What is left out of `background_peers` and why; empty where nothing is.
std::string missing_background_peers();

}  // namespace aperture::bench
