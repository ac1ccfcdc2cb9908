// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/device_mirror.hpp"
#include "tests/rpca/light_suite.hpp"
#include "tests/rpca/masks_like_cpu_suite.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::rpca {
namespace {

using tests::DeviceMirror;

struct GpuMasks : tests::UsableGpu {
    void subtract_backgrounds(FramesView<const float, Host> frames,
                              FramesView<const float, Host> backgrounds,
                              FramesView<float, Host> differences) {
        DeviceMirror from(*gpu, frames);
        DeviceMirror ground(*gpu, backgrounds);
        DeviceMirror to(*gpu, differences);
        rpca::subtract_backgrounds(*gpu, from.view(), ground.view(), to.view());
        to.fetch();
    }
    double noise_deviation(DifferencesView<Host> differences) {
        DeviceMirror from(*gpu, differences);
        return rpca::noise_deviation(*gpu, from.view());
    }
    void pixel_scales(DifferencesView<Host> differences, ScalesView<Host> scales) {
        DeviceMirror from(*gpu, differences);
        DeviceMirror to(*gpu, scales);
        rpca::pixel_scales(*gpu, from.view(), to.view());
        to.fetch();
    }
    void follow_scales(DifferencesView<Host> differences, MasksView<Host> masks,
                       ScalesView<Host> scales) {
        DeviceMirror from(*gpu, differences);
        DeviceMirror moves(*gpu, masks);
        DeviceMirror to(*gpu, scales);
        rpca::follow_scales(*gpu, from.view(), moves.view(), to.view());
        to.fetch();
    }
    double find_masks(const MaskInputs<Host>& inputs, const MaskParameters& parameters,
                      MasksView<Host> masks) {
        DeviceMirror differences(*gpu, inputs.differences);
        DeviceMirror scales(*gpu, inputs.scales);
        DeviceMirror frames(*gpu, inputs.frames);
        DeviceMirror backgrounds(*gpu, inputs.backgrounds);
        DeviceMirror to(*gpu, masks);
        const double threshold = rpca::find_masks(
            *gpu, {differences.view(), scales.view(), frames.view(), backgrounds.view()},
            parameters, to.view());
        to.fetch();
        return threshold;
    }
};

using GpuMemory = tests::GpuTest;

TEST_F(GpuMemory, OfMasksIsNotAllocatedAgain) {
    core::Gpu gpu;
    const Scene scene({12, 1, 50, 70}, 24);
    DeviceMirror differences(gpu, scene.differences());
    DeviceMirror frames(gpu, scene.frames());
    DeviceMirror backgrounds(gpu, scene.backgrounds());
    core::Array<float, 2, core::Device> scales({50, 70});
    core::Array<std::uint8_t, 3, core::Device> masks({12, 50, 70});
    const auto run = [&] {
        rpca::pixel_scales(gpu, differences.view(), scales);
        rpca::find_masks(
            gpu,
            {differences.view(), std::as_const(scales).view(), frames.view(), backgrounds.view()},
            {.min_area = 20}, masks);
        rpca::follow_scales(gpu, differences.view(), masks, scales);
    };
    run();
    const auto allocations = core::device_allocations();
    run();
    EXPECT_EQ(core::device_allocations(), allocations);
}

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, MaskSuite, GpuMasks);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, LightSuite, GpuMasks);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, MasksLikeCpuSuite, GpuMasks);

}  // namespace
}  // namespace aperture::rpca
