// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/gpu/camera_motion.cuh"
#include "libsignal/gpu/global_motion.cuh"
#include "tests/rpca/camera_motion_suite.hpp"

namespace aperture::rpca {
namespace {

struct SimtCamera : HostCamera<core::Simt> {
    SimtCamera() : HostCamera{core::Simt{core::LaneOrder::random, 7}, {}} {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(Simt, CameraMotionSuite, SimtCamera);

}  // namespace
}  // namespace aperture::rpca
