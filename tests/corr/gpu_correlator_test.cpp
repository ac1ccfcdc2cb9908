// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/corr/correlation_cases.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::corr {
namespace {

using core::Array;
using core::Device;

/// Images and their sums on the device.
class GpuRun {
  public:
    explicit GpuRun(const Problem& problem)
        : correlator_(gpu_, problem),
          a_({problem.images * problem.planes, problem.image.rows, problem.image.columns}),
          b_(a_.extent()),
          sums_({problem.images * problem.surfaces(), problem.lags.extent().rows,
                 problem.lags.extent().columns}) {}

    Array<double, 3> operator()(const Planes& a, const Planes& b) {
        core::copy<float, 3, core::Strided>(gpu_, a.view(), a_.view());
        const bool same = a.data() == b.data();
        if (!same) core::copy<float, 3, core::Strided>(gpu_, b.view(), b_.view());
        correlator_.run(std::as_const(a_).view(), std::as_const(same ? a_ : b_).view(),
                        sums_.view());
        Array<double, 3> sums(sums_.extent());
        core::copy<double, 3, core::Strided>(gpu_, std::as_const(sums_).view(), sums.view());
        gpu_.synchronize();
        return sums;
    }

  private:
    core::Gpu gpu_;
    Correlator<core::Gpu> correlator_;
    Array<float, 3, Device> a_;
    Array<float, 3, Device> b_;
    Array<double, 3, Device> sums_;
};

Array<double, 3> correlated(const Planes& a, const Planes& b, const Problem& problem) {
    return GpuRun(problem)(a, b);
}

using tests::GpuTest;
class GpuCorrelations : public GpuTest, public testing::WithParamInterface<Case> {};
INSTANTIATE_TEST_SUITE_P(Cases, GpuCorrelations, testing::ValuesIn(cases()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(GpuCorrelations, AreTheOracles) {
    const Case& c = GetParam();
    for (const Content content : contents) {
        if (tests::small_shapes() && content != Content::contrast) continue;
        for (const bool each_plane : {false, true}) {
            expect_the_oracles(
                content, c, device_ways({3, c.image, c.lags, Method::fft, each_plane}), correlated);
        }
    }
}

TEST_F(GpuTest, LargeImagesGiveTheOracles) {
    const Case c{{300, 411}, {35, 70, true}};
    for (const Content content : {Content::contrast, Content::bright, Content::stripes}) {
        expect_the_oracles(content, c, device_ways({1, c.image, c.lags}), correlated);
    }
}

/// More rows of spectra than a grid has blocks along y.
TEST_F(GpuTest, SumsOfManyRowsAreThoseOfTheirDefinition) {
    const Problem problem{1, {40000, 2}, {40000, 1, true}};
    const Planes a = planes_of(Content::contrast, 1, problem.image, 1);
    const Planes b = planes_of(Content::contrast, 1, problem.image, 2);
    const Array<double, 3> sums = correlated(a, b, problem);
    for (const index_t dy : {-39999, -20000, 0, 1, 39999}) {
        double expected = 0;
        for (index_t y = std::max<index_t>(0, -dy); y < std::min<index_t>(40000, 40000 - dy); ++y) {
            for (index_t x = 0; x < 2; ++x) {
                expected += static_cast<double>(a(0, y + dy, x)) * static_cast<double>(b(0, y, x));
            }
        }
        EXPECT_NEAR(sums(0, dy + 39999, 0), expected, largest_error(problem) * magnitude(a, b, 0));
    }
}

TEST_F(GpuTest, SeveralImagesAtOnceAreThoseOneByOne) {
    for (const Method method : {Method::direct, Method::fft}) {
        for (const bool each_plane : {false, true}) {
            expect_one_by_one({2, {200, 230}, {40, 30, true}, method, each_plane}, 60, 1,
                              correlated);
        }
    }
}

TEST_F(GpuTest, SixtyFourMegapixelsTakeFourGigabytes) {
    constexpr index_t size = 8000;
    const Problem problem{4, {size, size}, {256, 256}};
    Planes a({4, size, size});
    std::uint32_t state = 1;
    for (float& value : a) {
        state = state * 1664525U + 1013904223U;
        value = static_cast<float>(state >> 8) * 0x1p-24F;
    }
    core::Gpu gpu;
    const std::size_t before = gpu.free_memory();
    Array<float, 3, Device> planes(a.extent());
    Array<double, 3, Device> surface({1, 256, 256});
    Correlator<core::Gpu> correlator(gpu, problem);
    core::copy<float, 3, core::Strided>(gpu, a.view(), planes.view());
    correlator.run(std::as_const(planes).view(), std::as_const(planes).view(), surface.view());
    gpu.synchronize();
    EXPECT_LE(before - gpu.free_memory(), std::size_t{4} << 30);
    Array<double, 3> sums(surface.extent());
    core::copy<double, 3, core::Strided>(gpu, std::as_const(surface).view(), sums.view());
    gpu.synchronize();
    double expected = 0;
    double size_of_all = 0;
    for (index_t p = 0; p < 4; ++p) {
        size_of_all += magnitude(a, a, p);
        for (index_t y = 0; y + 100 < size; ++y) {
            for (index_t x = 0; x + 255 < size; ++x) {
                expected +=
                    static_cast<double>(a(p, y + 100, x + 255)) * static_cast<double>(a(p, y, x));
            }
        }
    }
    EXPECT_NEAR(sums(0, 100, 255), expected, largest_error(problem) * size_of_all);
}

TEST_F(GpuTest, RunsGiveTheSameBitsAndAllocateNothing) {
    const Shape shape{75, 90};
    const Planes a = planes_of(Content::bright, 2, shape, 5);
    const Planes b = planes_of(Content::bright, 2, shape, 6);
    for (const Problem& way : device_ways({2, shape, {40, 50, true}})) {
        SCOPED_TRACE(name_of_way(way));
        GpuRun run(way);
        const Array<double, 3> first = run(a, b);
        run(b, b);
        const auto before = core::device_allocations();
        const Array<double, 3> second = run(a, b);
        EXPECT_EQ(core::device_allocations(), before);
        EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin()));
    }
}

}  // namespace
}  // namespace aperture::corr
