// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/device_mirror.hpp"
#include "tests/flow/estimator_suite.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::flow {
namespace {

using tests::DeviceMirror;

struct GpuRunner : tests::UsableGpu {
    using Executor = core::Gpu;
    core::Gpu& executor() { return *gpu; }
    static std::vector<Shape> warp_shapes() {
        return {{1, 1}, {1, 9}, {9, 1}, {15, 31}, {16, 32}, {17, 33}, {61, 67}, {1080, 1920}};
    }
    static void change() {}

    std::uint64_t run(Estimator<core::Gpu>& estimator, ImageView<core::Host> image0,
                      ImageView<core::Host> image1, FlowView<core::Host> flow, bool start) {
        DeviceMirror device0(*gpu, image0);
        DeviceMirror device1(*gpu, image1);
        DeviceMirror device_flow(*gpu, flow);
        const auto allocations = core::device_allocations();
        estimator.run(device0.view(), device1.view(), device_flow.view(), start, nullptr);
        const auto made = core::device_allocations() - allocations;
        device_flow.fetch();
        return made;
    }
    void warp(ImageView<core::Host> image, ConstFlowView<core::Host> flow,
              signal::Interpolation interpolation, core::View<float, 2, core::Host> to) {
        DeviceMirror device_image(*gpu, image);
        DeviceMirror device_flow(*gpu, flow);
        DeviceMirror device_to(*gpu, to);
        flow::warp(*gpu, device_image.view(), device_flow.view(), interpolation, device_to.view());
        device_to.fetch();
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, EstimatorSuite, GpuRunner);

/// An image of full screen size, whose pyramid levels use every code path.
TEST(GpuEstimator, FindsTheMotionOfALargeScene) {
    GpuRunner runner;
    if (!GpuRunner::why_not().empty()) GTEST_SKIP() << GpuRunner::why_not();
    const Shape shape{1080, 1920};
    const ImagePair pair(Scene(2), shape, Motion::about_middle(shape, 0.004, 1.005));
    for (const flow::Setup& setup : all_setups()) {
        SCOPED_TRACE(name_of(setup));
        const Parameters parameters = setup.parameters();
        Estimator<core::Gpu> estimator(*runner.gpu, shape, parameters);
        Flow flow = constant_flow(shape, nan, nan);
        runner.run(estimator, pair.image0, pair.image1, flow, false);
        const Flow expected = estimated(pair.image0, pair.image1, parameters, 0);
        EXPECT_LT(mean_of(distances(flow, expected, 0)), 1e-3);
        EXPECT_LT(median_of(distances(flow, pair.truth, 20)), 0.1);
    }
}

}  // namespace
}  // namespace aperture::flow
