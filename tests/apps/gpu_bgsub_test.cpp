// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Results of `bgsub` on a GPU compared with those on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "apps/bgsub/separator.hpp"
#include "tests/same_bytes.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::apps {
namespace {

constexpr index_t frames = 20;
constexpr index_t values = 3000;

/// A noisy scene with a bright moving object.
std::vector<float> clip() {
    std::mt19937 generator(3);
    std::normal_distribution<float> noise(0, 1);
    std::vector<float> clip;
    for (index_t f = 0; f < frames; ++f) {
        for (index_t v = 0; v < values; ++v) {
            const bool moves = std::abs(v - values * f / frames) < 100;
            clip.push_back(moves ? 240 : std::round(static_cast<float>(v % 97) + noise(generator)));
        }
    }
    return clip;
}

class GpuBgsub : public aperture::tests::GpuTest {
  protected:
    struct Found {
        rpca::Outcome outcome;
        std::vector<float> background = std::vector<float>(frames * values);
        double transfer_ms = 0;
    };
    template <class Executor>
    Found find(Executor& executor) {
        const auto separator = separators_on(executor, options_).make(frames, values);
        const std::vector<float> of_clip = clip();
        Found found;
        found.outcome = separator->run({of_clip.data(), {frames, values}},
                                       {found.background.data(), {frames, values}}, {});
        found.transfer_ms = separator->transfer_ms();
        return found;
    }
    void expect_the_cpus() {
        const Found expected = find(cpu_);
        const Found found = find(*device_.gpu);
        EXPECT_EQ(found.outcome.iterations, expected.outcome.iterations);
        EXPECT_EQ(found.outcome.rank, expected.outcome.rank);
        EXPECT_GT(found.transfer_ms, 0);
        for (std::size_t i = 0; i < expected.background.size(); ++i) {
            ASSERT_NEAR(found.background[i], expected.background[i], 0.1) << i;
        }
    }

    core::Cpu cpu_{2};
    tests::UsableGpu device_;
    Console console_{"bgsub", true};
    BgsubOptions options_;
};

TEST_F(GpuBgsub, FindsTheCpusBackground) {
    // At 1e-5 in fp32, rounding errors increase the rank on both devices.
    options_.parameters.tolerance = 1e-4;
    expect_the_cpus();
}

TEST_F(GpuBgsub, FindsTheCpusBackgroundInDoublePrecision) {
    options_.precision = SolvePrecision::fp64;
    options_.parameters.tolerance = 1e-7;
    expect_the_cpus();
}

TEST_F(GpuBgsub, FindsTheCpusBackgroundByQr) {
    options_.parameters.tolerance = 1e-4;
    for (const rpca::Svd svd : {rpca::Svd::tsqr, rpca::Svd::cholqr2}) {
        options_.parameters.svd = svd;
        expect_the_cpus();
    }
}

TEST_F(GpuBgsub, FindsTheCpusBackgroundByProjections) {
    options_.parameters.solver = rpca::Solver::accaltproj;
    expect_the_cpus();
}

TEST_F(GpuBgsub, FindsTheMasksOfItsBackground) {
    constexpr index_t rows = 50;
    const auto separator = separators_on(*device_.gpu, options_).make(frames, values);
    ASSERT_TRUE(separator->finds_masks());
    const std::vector<float> of_clip = clip();
    core::Array<float, 2> background({frames, values});
    separator->run({of_clip.data(), {frames, values}}, background.view(), {});
    core::Array<float, 4> differences({frames, 1, rows, values / rows});
    core::Array<std::uint8_t, 3> masks({frames, rows, values / rows});
    const double threshold = separator->find_masks(options_.mask, differences.view(), masks.view());
    EXPECT_GT(separator->transfer_ms(), 0);

    core::Array<float, 4> expected_differences(differences.extent());
    core::Array<std::uint8_t, 3> expected(masks.extent());
    core::Array<float, 2> scales({rows, values / rows});
    const auto all = std::as_const(expected_differences).view();
    rpca::subtract_backgrounds(cpu_, {of_clip.data(), {frames, values}}, background.view(),
                               {expected_differences.data(), {frames, values}});
    rpca::pixel_scales(cpu_, all, scales);
    EXPECT_NEAR(rpca::find_masks(cpu_,
                                 {all,
                                  std::as_const(scales).view(),
                                  {of_clip.data(), all.extent},
                                  {background.data(), all.extent}},
                                 options_.mask, expected),
                threshold, 1e-9);
    EXPECT_TRUE(tests::same_bytes(differences, expected_differences));
    EXPECT_TRUE(tests::same_bytes(masks, expected));
    EXPECT_GT(std::count(masks.begin(), masks.end(), 255), 1000);

    // Neither background nor differences are copied.
    separator->run({of_clip.data(), {frames, values}}, {}, {});
    std::fill(masks.begin(), masks.end(), std::uint8_t{7});
    separator->find_masks(options_.mask, {}, masks.view());
    EXPECT_TRUE(tests::same_bytes(masks, expected));

    options_.precision = SolvePrecision::fp64;
    EXPECT_FALSE(separators_on(*device_.gpu, options_).make(frames, values)->finds_masks());
}

TEST_F(GpuBgsub, RefusesWhatACpuHasToDo) {
    options_.common.device = {DeviceKind::gpu};
    options_.method = BackgroundMethod::median;
    EXPECT_THROW(device_for(options_, console_), core::InvalidArgument);
    options_.method = BackgroundMethod::online;
    EXPECT_THROW(device_for(options_, console_), core::InvalidArgument);
    options_.common.device = {};
    EXPECT_EQ(device_for(options_, console_), DeviceChoice{DeviceKind::cpu});
}

TEST_F(GpuBgsub, RefusesWhatDoesNotFitItsMemory) {
    options_.method = BackgroundMethod::rpca;
    EXPECT_THROW(separators_on(*device_.gpu, options_).make(10000, 100'000'000), core::UnfitDevice);
}

}  // namespace
}  // namespace aperture::apps
