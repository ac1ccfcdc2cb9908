// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/gpu/image_planes.cuh"
#include "tests/corr/image_planes_suite.hpp"

namespace aperture::corr {
namespace {

/// The kernels on the SIMT host executor; change() changes the order of the lanes.
struct SimtRunner {
    using Executor = core::Simt;
    core::Simt simt{core::LaneOrder::forward, 7};

    static std::string why_not() { return {}; }
    core::Simt& executor() { return simt; }
    static std::vector<Shape> shapes() {
        return {{1, 1}, {1, 9}, {9, 1}, {2, 2}, {31, 33}, {32, 32}, {33, 31}, {37, 67}};
    }
    void change() {
        simt.order = simt.order == core::LaneOrder::forward   ? core::LaneOrder::reverse
                     : simt.order == core::LaneOrder::reverse ? core::LaneOrder::random
                                                              : core::LaneOrder::forward;
    }
    static std::uint64_t derive(ImagePlanes<core::Simt>& planes_of,
                                core::View<const float, 3, core::Host> image,
                                const core::View<const float, 2, core::Host>* mask,
                                core::View<float, 3, core::Host> planes) {
        const auto allocations = core::host_allocations();
        if (mask == nullptr) {
            planes_of.derive(image, planes);
        } else {
            planes_of.derive(image, *mask, planes);
        }
        return core::host_allocations() - allocations;
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Simt, ImagePlanesSuite, SimtRunner);

}  // namespace
}  // namespace aperture::corr
