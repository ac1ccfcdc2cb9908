// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/gpu/estimator.cuh"
#include "tests/flow/estimator_suite.hpp"

namespace aperture::flow {

namespace {

/// The kernels on the SIMT host executor; change() takes the next order of the lanes.
struct SimtRunner {
    using Executor = core::Simt;
    core::Simt simt{core::LaneOrder::forward, 9};

    static std::string why_not() { return {}; }
    core::Simt& executor() { return simt; }
    static std::vector<Shape> warp_shapes() {
        return {{1, 1}, {1, 9}, {9, 1}, {15, 31}, {16, 32}, {17, 33}, {61, 67}};
    }
    void change() {
        using enum core::LaneOrder;
        simt.order = simt.order == forward ? reverse : simt.order == reverse ? random : forward;
    }
    std::uint64_t run(Estimator<core::Simt>& estimator, ImageView<core::Host> image0,
                      ImageView<core::Host> image1, FlowView<core::Host> flow, bool start) {
        const auto allocations = core::host_allocations();
        estimator.run(image0, image1, flow, start, nullptr);
        return core::host_allocations() - allocations;
    }
    void warp(ImageView<core::Host> image, ConstFlowView<core::Host> flow,
              signal::Interpolation interpolation, core::View<float, 2, core::Host> to) {
        gpu::warp_image(simt, image, flow, interpolation, to);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Simt, EstimatorSuite, SimtRunner);

}  // namespace
}  // namespace aperture::flow
