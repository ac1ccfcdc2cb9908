// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libsignal/gpu/box_sum.cuh"
#include "libsignal/gpu/median.cuh"
#include "libsignal/gpu/pixels.cuh"
#include "libsignal/gpu/resample.cuh"
#include "libsignal/gpu/warp.cuh"
#include "tests/signal/image_suite.hpp"

namespace aperture::signal {
namespace {

/// The kernels on the SIMT host executor; change() changes the order of the lanes.
struct SimtRunner {
    core::Simt simt{core::LaneOrder::forward, 7};

    static std::string why_not() { return {}; }
    static std::vector<Size> sizes() {
        return {{1, 1}, {1, 9}, {9, 1}, {3, 3}, {15, 31}, {16, 32}, {33, 65}, {61, 67}};
    }
    void change() {
        simt.order = simt.order == core::LaneOrder::forward ? core::LaneOrder::reverse
                                                            : core::LaneOrder::random;
    }

    void median_filter(Input from, int size, Output to) {
        gpu::median_of_image(simt, from, size, to);
    }
    void gaussian_blur(Input from, float sigma, Output to) {
        gpu::blur_image(simt, from, sigma, to);
    }
    void resize(Input from, Interpolation interpolation, Output to) {
        gpu::resize_image(simt, from, interpolation, to);
    }
    void downsample(Input from, Output to) { gpu::downsample_image(simt, from, to); }
    void warp(Input from, const PixelMap& map, float outside, Output to) {
        gpu::warp_image(simt, from, map, outside, to);
    }
    void box_sum(core::View<const float, 3, core::Host> from, int size,
                 core::View<float, 3, core::Host> to) {
        gpu::box_sum_of_planes(simt, from, size, to);
    }
    template <class Sample>
    void to_grey(core::View<const Sample, 3, core::Host> planes, Output grey) {
        gpu::grey_of_planes(simt, planes, grey);
    }
    void copy_planes(core::View<const float, 3, core::Host> from,
                     core::View<float, 3, core::Host> to) {
        gpu::copy_of_planes(simt, from, to);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Simt, ImageSuite, SimtRunner);
INSTANTIATE_TYPED_TEST_SUITE_P(Simt, ImagesLikeCpuSuite, SimtRunner);
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, ImageSuite, CpuRunner);

TEST(SimtImages, WindowsThatAreTooLargeAreRefused) {
    SimtRunner runner;
    expect_large_windows_refused(runner);
}

}  // namespace
}  // namespace aperture::signal
