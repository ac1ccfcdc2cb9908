// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/device_mirror.hpp"
#include "tests/rpca/camera_motion_suite.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::rpca {
namespace {

using tests::DeviceMirror;

struct GpuCamera : tests::UsableGpu {
    std::optional<CameraMotion<core::Gpu>> camera;

    CameraPath find(const Clip& clip, Stabilise how) {
        DeviceMirror frames(*gpu, clip.view());
        camera.emplace(*gpu, frames.view(), how);
        return *camera;
    }
    Clip to_common(const Clip& clip) {
        Clip common = common_of(clip, *camera);
        DeviceMirror frames(*gpu, clip.view());
        DeviceMirror to(*gpu, common.view());
        camera->to_common(frames.view(), to.view());
        to.fetch();
        return common;
    }
    Clip from_common(const Clip& common, const Clip& frames) {
        Clip backgrounds(frames.extent());
        DeviceMirror from(*gpu, common.view());
        DeviceMirror own(*gpu, frames.view());
        DeviceMirror to(*gpu, backgrounds.view());
        camera->from_common(from.view(), own.view(), to.view());
        to.fetch();
        return backgrounds;
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, CameraMotionSuite, GpuCamera);

}  // namespace
}  // namespace aperture::rpca
