// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/clip_background.hpp"
#include "tests/device_mirror.hpp"
#include "tests/rpca/camera_motion_suite.hpp"
#include "tests/rpca/moving_clip.hpp"
#include "tests/rpca/standing_man.hpp"
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

using GpuClipCorrection = tests::GpuTest;

TEST_F(GpuClipCorrection, IsThatOfTheCpu) {
    core::Cpu cpu(2);
    core::Gpu gpu;
    const Clip first = StandingMan::frames(20, 0, 0);
    const ClipBackground clip = clip_background(cpu, first.view(), first.view());
    Clip expected = StandingMan::frames(40, 0, 40, 0.8F);
    Clip found = StandingMan::frames(40, 0, 40, 0.8F);
    DeviceMirror there(gpu, found.view());
    correct_backgrounds(cpu, clip, expected.view());
    correct_backgrounds(gpu, cpu, clip, there.view());
    there.fetch();
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin()));
}

TEST_F(GpuClipCorrection, OfAMovingCamera) {
    core::Gpu gpu;
    MovingClipCase{0, 0, true}.expect_ground(gpu);
    MovingClipCase{0, 5, true, 0.8F}.expect_ground(gpu);
    MovingClipCase{0, 20, false}.expect_ground(gpu);
}

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, CameraMotionSuite, GpuCamera);

}  // namespace
}  // namespace aperture::rpca
