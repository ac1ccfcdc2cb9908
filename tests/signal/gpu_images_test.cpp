// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/device_mirror.hpp"
#include "tests/signal/image_suite.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::signal {
namespace {

using tests::DeviceMirror;
using tests::GpuTest;

struct GpuRunner : tests::UsableGpu {
    static std::vector<Size> sizes() {
        std::vector<Size> all = signal::sizes();
        all.insert(all.end(), {{15, 31}, {16, 32}, {33, 65}});
        if (!tests::small_shapes()) all.push_back({1080, 1920});
        return all;
    }
    static void change() {}

    void median_filter(Input from, int size, Output to) {
        on_device(from, to,
                  [&](auto source, auto sink) { signal::median_filter(*gpu, source, size, sink); });
    }
    void gaussian_blur(Input from, float sigma, Output to) {
        on_device(from, to, [&](auto source, auto sink) {
            signal::gaussian_blur(*gpu, source, sigma, sink);
        });
    }
    void resize(Input from, Interpolation interpolation, Output to) {
        on_device(from, to, [&](auto source, auto sink) {
            signal::resize(*gpu, source, interpolation, sink);
        });
    }
    void downsample(Input from, Output to) {
        on_device(from, to,
                  [&](auto source, auto sink) { signal::downsample(*gpu, source, sink); });
    }
    void warp(Input from, const PixelMap& map, float outside, Output to) {
        on_device(from, to,
                  [&](auto source, auto sink) { signal::warp(*gpu, source, map, outside, sink); });
    }
    void box_sum(core::View<const float, 3, core::Host> from, int size,
                 core::View<float, 3, core::Host> to) {
        on_device(from, to,
                  [&](auto source, auto sink) { signal::box_sum(*gpu, source, size, sink); });
    }

    template <class Sample>
    void to_grey(core::View<const Sample, 3, core::Host> planes, Output grey) {
        on_device(planes, grey,
                  [&](auto source, auto sink) { signal::to_grey(*gpu, source, sink); });
    }
    void copy_planes(core::View<const float, 3, core::Host> from,
                     core::View<float, 3, core::Host> to) {
        on_device(from, to,
                  [&](auto source, auto sink) { signal::copy_planes(*gpu, source, sink); });
    }

  private:
    /// The operation on copies in device memory; it allocates none itself.
    template <class T, int FromRank, int ToRank, class Call>
    void on_device(core::View<const T, FromRank, core::Host> from,
                   core::View<float, ToRank, core::Host> to, const Call& call) {
        DeviceMirror source(*gpu, from);
        DeviceMirror sink(*gpu, to);
        const auto allocations = core::device_allocations();
        call(source.view(), sink.view());
        EXPECT_EQ(core::device_allocations(), allocations);
        sink.fetch();
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, ImageSuite, GpuRunner);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, ImagesLikeCpuSuite, GpuRunner);

TEST_F(GpuTest, WindowsThatAreTooLargeAreRefused) {
    GpuRunner runner;
    expect_large_windows_refused(runner);
}

}  // namespace
}  // namespace aperture::signal
