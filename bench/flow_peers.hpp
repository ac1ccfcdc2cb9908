// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aperture/core/array.hpp"

namespace aperture::bench {

/// A flow from image 0 to image 1, [row][column] in 0..255 with 8 bits of it used, as
/// [2][row][column].
struct FlowPeer {
    std::string name;
    std::function<core::Array<float, 3>(const core::Array<float, 2>& image0,
                                        const core::Array<float, 2>& image1)>
        estimate;
};

/// OpenCV's dense flows with their own defaults, on `threads` threads: DIS (ultrafast, fast,
/// medium) and Farneback, and from its contributed modules, where they are installed, DualTVL1 and
/// DeepFlow. Empty in a build without OpenCV.
std::vector<FlowPeer> flow_peers(int threads);

/// What is left out of `flow_peers` and why; empty where nothing is.
std::string missing_flow_peers();

}  // namespace aperture::bench
