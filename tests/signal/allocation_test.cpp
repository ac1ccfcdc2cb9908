// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "aperture/signal/box_sum.hpp"
#include "aperture/signal/median.hpp"
#include "aperture/signal/resample.hpp"
#include "tests/stap/counted_new.hpp"

namespace aperture::signal {
namespace {

TEST(SteadyState, SecondCallsAllocateNothing) {
    core::Array<float, 3> planes({2, 61, 67});
    std::fill(planes.begin(), planes.end(), 1.0f);
    core::Array<float, 3> sums({2, 61, 67});
    const core::View<const float, 2> image(planes.data(), {61, 67});
    core::Array<float, 2> same({61, 67});
    core::Array<float, 2> half({31, 34});
    core::Cpu cpu(2);
    const auto call_all = [&] {
        for (int size : {3, 5, 7}) median_filter(cpu, image, size, same);
        gaussian_blur(cpu, image, 2, same);
        resize(cpu, image, Interpolation::bicubic, half);
        downsample(cpu, image, half);
        box_sum(cpu, planes, 15, sums);
    };
    call_all();
    const auto arrays = core::host_allocations();
    const long news = calls_of_new();
    call_all();
    EXPECT_EQ(calls_of_new(), news);
    EXPECT_EQ(core::host_allocations(), arrays);
}

}  // namespace
}  // namespace aperture::signal
