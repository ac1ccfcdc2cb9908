// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/device_mirror.hpp"
#include "tests/signal/global_motion_suite.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::signal {
namespace {

struct GpuMotionFit : tests::UsableGpu {
    std::vector<GlobalMotion> fit(MotionModel model, const Image& reference,
                                  const core::Array<float, 3>& frames,
                                  const std::vector<PixelMap>& starts) {
        tests::DeviceMirror on_reference(*gpu, reference.view());
        tests::DeviceMirror on_frames(*gpu, frames.view());
        MotionFit<core::Gpu> motions(*gpu, reference.extent(), model);
        motions.set_reference(on_reference.view());
        return motions.run(on_frames.view(), starts);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, MotionFitSuite, GpuMotionFit);

}  // namespace
}  // namespace aperture::signal
