// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/device_mirror.hpp"
#include "tests/signal/registration_suite.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::signal {
namespace {

struct GpuRegistration : tests::UsableGpu {
    static constexpr bool is_slow = false;

    static std::vector<Size> sizes() {
        return {{64, 80}, {97, 131}, {128, 150}, {480, 640}, {1080, 1920}};
    }
    Alignment find(const Image& a, const Image& b, Motion motion) {
        tests::DeviceMirror on_a(*gpu, a.view());
        tests::DeviceMirror on_b(*gpu, b.view());
        Registration<core::Gpu> registration(*gpu, a.extent(), motion);
        return registration.run(on_a.view(), on_b.view());
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, RegistrationSuite, GpuRegistration);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, RegistrationLikeCpuSuite, GpuRegistration);

}  // namespace
}  // namespace aperture::signal
