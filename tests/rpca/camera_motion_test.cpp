// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/rpca/camera_motion_suite.hpp"

namespace aperture::rpca {
namespace {

struct CpuCamera : HostCamera<core::Cpu> {
    CpuCamera() : HostCamera{core::Cpu(3), {}} {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, CameraMotionSuite, CpuCamera);

}  // namespace
}  // namespace aperture::rpca
