// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/signal/image_suite.hpp"

namespace aperture::signal {
namespace {

struct CpuRunner {
    core::Cpu cpu{2};

    static std::string why_not() { return {}; }
    static std::vector<Size> sizes() { return {{1, 9}, {33, 65}}; }
    static void change() {}

    void median_filter(Input from, int size, Output to) {
        signal::median_filter(cpu, from, size, to);
    }
    void gaussian_blur(Input from, float sigma, Output to) {
        signal::gaussian_blur(cpu, from, sigma, to);
    }
    void resize(Input from, Interpolation interpolation, Output to) {
        signal::resize(cpu, from, interpolation, to);
    }
    void downsample(Input from, Output to) { signal::downsample(cpu, from, to); }
    void box_sum(core::View<const float, 3, core::Host> from, int size,
                 core::View<float, 3, core::Host> to) {
        signal::box_sum(cpu, from, size, to);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, ImageSuite, CpuRunner);

}  // namespace
}  // namespace aperture::signal
