// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/gpu/image_planes.cuh"
#include "tests/corr/image_planes_suite.hpp"

namespace aperture::corr {
namespace {

/// The kernels on the SIMT host executor; change() changes the order of the lanes.
struct SimtRunner : HostRunner {
    using Executor = core::Simt;
    core::Simt simt{core::LaneOrder::forward, 7};

    core::Simt& executor() { return simt; }
    void change() {
        simt.order = simt.order == core::LaneOrder::forward   ? core::LaneOrder::reverse
                     : simt.order == core::LaneOrder::reverse ? core::LaneOrder::random
                                                              : core::LaneOrder::forward;
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Simt, ImagePlanesSuite, SimtRunner);
INSTANTIATE_TYPED_TEST_SUITE_P(Simt, ImagePlanesLikeCpuSuite, SimtRunner);

}  // namespace
}  // namespace aperture::corr
