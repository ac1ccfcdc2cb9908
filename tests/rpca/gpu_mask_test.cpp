// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/device_mirror.hpp"
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

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, MaskSuite, GpuMasks);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, MasksLikeCpuSuite, GpuMasks);

}  // namespace
}  // namespace aperture::rpca
