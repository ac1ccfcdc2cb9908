// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aperture/core/array.hpp"

namespace aperture::bench {

/// The flow from image 0 to image 1 as [2][row][column]; images are [row][column] in 0..255 and use
/// 8 bits.
struct FlowPeer {
    std::string name;
    std::function<core::Array<float, 3>(const core::Array<float, 2>& image0,
                                        const core::Array<float, 2>& image1)>
        estimate;
};

/// OpenCV's dense flows with their own defaults on `threads` threads: DIS (ultrafast, fast, medium)
/// and Farneback; from its contributed modules, if installed, DualTVL1 and DeepFlow. Empty in a
/// build without OpenCV.
std::vector<FlowPeer> flow_peers(int threads);

/// Names the methods missing from `flow_peers` and why; empty if none is.
std::string missing_flow_peers();

}  // namespace aperture::bench
