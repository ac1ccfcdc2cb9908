// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libsignal/gpu/registration.cuh"
#include "tests/signal/registration_suite.hpp"

namespace aperture::signal {

// The kernels beside it are tested, not cuFFT.
template <>
ForwardFft<core::Simt>::ForwardFft(core::Simt&, const FftBatch& batch) {
    core::Cpu cpu(1);
    plan_ = std::make_shared<ForwardFft<core::Cpu>>(cpu, batch);
}
template <>
void ForwardFft<core::Simt>::run(std::complex<float>* first) const {
    static_cast<const ForwardFft<core::Cpu>*>(plan_.get())->run(first);
}

namespace {

struct SimtRegistration {
    core::Simt simt{core::LaneOrder::random, 7};
    static constexpr bool is_slow = true;

    static std::string why_not() { return {}; }
    static std::vector<Size> sizes() { return {{64, 80}, {97, 131}, {128, 150}}; }
    Alignment find(const Image& a, const Image& b, Motion motion) {
        Registration<core::Simt> registration(simt, a.extent(), motion);
        return registration.run(a, b);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Simt, RegistrationSuite, SimtRegistration);
INSTANTIATE_TYPED_TEST_SUITE_P(Simt, RegistrationLikeCpuSuite, SimtRegistration);

}  // namespace
}  // namespace aperture::signal
