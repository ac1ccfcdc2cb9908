// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/camera_motion.hpp"
#include "librpca/clip_correction.hpp"
#include "librpca/gpu/frame_pixels.cuh"
#include "libsignal/gpu/global_motion.cuh"
#include "tests/rpca/camera_motion_suite.hpp"
#include "tests/rpca/standing_man.hpp"

namespace aperture::rpca {
namespace {

struct SimtCamera : HostCamera<core::Simt> {
    SimtCamera() : HostCamera{core::Simt{core::LaneOrder::random, 7}, {}} {}
};

// More frames than have a common median.
TEST(SimtClipCorrection, IsThatOfTheCpu) {
    core::Cpu cpu(2);
    core::Simt simt(core::LaneOrder::random, 7);
    const Clip first = StandingMan::frames(20, 0, 0);
    const ClipBackground clip = clip_background(cpu, first.view(), first.view());
    Clip expected = StandingMan::frames(40, 0, 40, 0.8F);
    Clip found = StandingMan::frames(40, 0, 40, 0.8F);
    correct_backgrounds(cpu, clip, expected.view());
    correct_by_clip(simt, cpu, clip, found.view());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin()));
    EXPECT_NEAR(found(39, 0, 20, 25), 0.8F * StandingMan::ground(20, 25), 3);
}

INSTANTIATE_TYPED_TEST_SUITE_P(Simt, CameraMotionSuite, SimtCamera);

}  // namespace
}  // namespace aperture::rpca
