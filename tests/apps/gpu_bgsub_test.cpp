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
constexpr index_t rows = 50;
constexpr index_t columns = 60;
constexpr index_t values = rows * columns;
constexpr core::Extents<4> extent{frames, 1, rows, columns};

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

/// A scene of waves that shakes by up to 3 pixels, with an object of 9 x 9 pixels.
std::vector<float> shaken_clip() {
    std::mt19937 generator(4);
    std::normal_distribution<float> noise(0, 1);
    std::vector<float> clip;
    for (index_t f = 0; f < frames; ++f) {
        const auto t = static_cast<double>(f);
        const double dy = 3 * std::sin(2.7 * t);
        const double dx = 3 * std::cos(4.1 * t);
        for (index_t y = 0; y < rows; ++y) {
            for (index_t x = 0; x < columns; ++x) {
                double value = 110;
                for (int i = 0; i < 12; ++i) {
                    const double k = 0.9 * std::pow(0.82, i);
                    value += 10 * std::sin(k * ((static_cast<double>(y) - dy) * std::sin(2.4 * i) +
                                                (static_cast<double>(x) - dx) * std::cos(2.4 * i)) +
                                           1.7 * i);
                }
                const bool moves = std::abs(y - 25) < 5 && std::abs(x - 5 - 2 * f) < 5;
                clip.push_back(moves ? 250 : static_cast<float>(value) + noise(generator));
            }
        }
    }
    return clip;
}

class GpuBgsub : public aperture::tests::GpuTest {
  protected:
    GpuBgsub() { options_.stabilise = rpca::Stabilise::off; }

    struct Found {
        rpca::Outcome outcome;
        std::vector<float> background = std::vector<float>(frames * values);
        double transfer_ms = 0;
    };
    template <class Executor>
    Found find(Executor& executor) {
        const auto separator = separators_on(executor, cpu_, options_).make();
        const std::vector<float> of_clip = clip();
        Found found;
        separator->take({of_clip.data(), extent});
        found.outcome = separator->run({found.background.data(), extent}, {});
        found.transfer_ms = separator->times().transfer_ms;
        separator->finish(nullptr);
        found.transfer_ms += separator->times().transfer_ms;
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
    const auto separator = separators_on(*device_.gpu, cpu_, options_).make();
    MaskFinder* const finder = separator->mask_finder();
    ASSERT_NE(finder, nullptr);
    const std::vector<float> of_clip = clip();
    core::Array<float, 4> background(extent);
    separator->take({of_clip.data(), extent});
    EXPECT_EQ(separator->camera(), nullptr);
    separator->run(background.view(), {});
    separator->finish(nullptr);
    core::Array<float, 4> differences(extent);
    core::Array<std::uint8_t, 3> masks({frames, rows, columns});
    const double threshold = finder->find(options_.mask, differences.view(), masks.view());
    EXPECT_GT(finder->transfer_ms(), 0);

    core::Array<float, 4> expected_differences(extent);
    core::Array<std::uint8_t, 3> expected(masks.extent());
    core::Array<float, 2> scales({rows, columns});
    const auto all = std::as_const(expected_differences).view();
    rpca::subtract_backgrounds(cpu_, {of_clip.data(), {frames, values}},
                               {background.data(), {frames, values}},
                               {expected_differences.data(), {frames, values}});
    rpca::pixel_scales(cpu_, all, scales);
    EXPECT_NEAR(rpca::find_masks(cpu_,
                                 {all,
                                  std::as_const(scales).view(),
                                  {of_clip.data(), extent},
                                  {background.data(), extent}},
                                 options_.mask, expected),
                threshold, 1e-9);
    EXPECT_TRUE(tests::same_bytes(differences, expected_differences));
    EXPECT_TRUE(tests::same_bytes(masks, expected));
    EXPECT_GT(std::count(masks.begin(), masks.end(), 255), 1000);

    // Neither background nor differences are copied.
    separator->run({}, {});
    separator->finish(nullptr);
    std::fill(masks.begin(), masks.end(), std::uint8_t{7});
    finder->find(options_.mask, {}, masks.view());
    EXPECT_TRUE(tests::same_bytes(masks, expected));

    options_.precision = SolvePrecision::fp64;
    EXPECT_EQ(separators_on(*device_.gpu, cpu_, options_).make()->mask_finder(), nullptr);
}

TEST_F(GpuBgsub, StabilisesLikeTheCpu) {
    options_.stabilise = rpca::Stabilise::automatic;
    options_.parameters.tolerance = 1e-4;
    const std::vector<float> shaken = shaken_clip();
    const auto take = [&](auto& executor) {
        auto separator = separators_on(executor, cpu_, options_).make();
        separator->take({shaken.data(), extent});
        return separator;
    };
    const auto on_cpu = take(cpu_);
    const auto on_gpu = take(*device_.gpu);
    ASSERT_NE(on_cpu->camera(), nullptr);
    ASSERT_NE(on_gpu->camera(), nullptr);
    EXPECT_EQ(on_gpu->camera()->extent(), on_cpu->camera()->extent());
    EXPECT_EQ(on_gpu->camera()->lost(), 0);
    EXPECT_NEAR(on_gpu->camera()->shake(), on_cpu->camera()->shake(), 0.01);
    EXPECT_GT(on_gpu->times().stabilise_ms, 0);
    core::Array<float, 4> expected(extent), found(extent);
    on_cpu->run(expected.view(), {});
    on_cpu->finish(nullptr);
    on_gpu->run(found.view(), {});
    on_gpu->finish(nullptr);
    double sum = 0;
    for (index_t i = 0; i < found.size(); ++i) {
        sum += std::abs(static_cast<double>(found.data()[i] - expected.data()[i]));
    }
    EXPECT_LT(sum / static_cast<double>(found.size()), 0.1);

    // The object of 81 pixels, rounded, and nothing of the scene.
    core::Array<std::uint8_t, 3> masks({frames, rows, columns});
    on_gpu->mask_finder()->find(options_.mask, {}, masks.view());
    const auto moving = std::count(masks.begin(), masks.end(), 255);
    EXPECT_GT(moving, frames * 55);
    EXPECT_LT(moving, frames * 95);
}

TEST_F(GpuBgsub, CorrectsByTheBackgroundOfTheClip) {
    const std::vector<float> of_clip = clip();
    // An object that is not in the clip's background stands in all frames.
    core::Array<float, 4> standing(extent);
    std::copy(of_clip.begin(), of_clip.end(), standing.begin());
    rpca::ClipBackground ground{core::Array<float, 3>({1, rows, columns}),
                                core::Array<float, 2>({rows, columns})};
    std::fill(ground.scales.begin(), ground.scales.end(), 1.0F);
    for (index_t v = 0; v < values; ++v) ground.ground.data()[v] = static_cast<float>(v % 97);
    for (index_t f = 0; f < frames; ++f) {
        for (index_t y = 10; y < 30; ++y) {
            for (index_t x = 20; x < 40; ++x) standing(f, 0, y, x) = 200;
        }
    }
    options_.parameters.tolerance = 1e-4;
    const auto background_on = [&](auto& executor) {
        const auto separator = separators_on(executor, cpu_, options_).make();
        core::Array<float, 4> background(extent);
        separator->take(std::as_const(standing).view());
        separator->run(background.view(), {});
        separator->finish(&ground);
        return background;
    };
    const core::Array<float, 4> expected = background_on(cpu_);
    const core::Array<float, 4> found = background_on(*device_.gpu);
    // The light of the window is the median ratio.
    EXPECT_NEAR(expected(0, 0, 20, 30), ground.ground(0, 20, 30), 2);
    for (index_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(found.data()[i], expected.data()[i], 0.1) << i;
    }
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
    const auto separator = separators_on(*device_.gpu, cpu_, options_).make();
    EXPECT_THROW(separator->take({nullptr, {10000, 1, 10000, 10000}}), core::UnfitDevice);
}

}  // namespace
}  // namespace aperture::apps
