// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "aperture/core/error.hpp"
#include "aperture/signal/box_sum.hpp"
#include "aperture/signal/copy_planes.hpp"
#include "aperture/signal/grey.hpp"
#include "aperture/signal/median.hpp"
#include "aperture/signal/resample.hpp"
#include "aperture/signal/warp.hpp"
#include "tests/signal/images.hpp"

/// Images on every executor. ImagesLikeCpuSuite compares kernels with the Cpu's functions, which
/// other tests compare with oracles.
///
/// A Runner runs the library on host views and copies data if its executor has memory of its own:
///     std::string why_not();          // not empty: the reason to skip the suite
///     std::vector<Size> sizes();      // around the kernels' tiles
///     void median_filter(Input, int size, Output);
///     void gaussian_blur(Input, float sigma, Output);
///     void resize(Input, Interpolation, Output);
///     void downsample(Input, Output);
///     void warp(Input, const PixelMap&, float outside, Output);
///     void box_sum(View<const float, 3, Host>, int size, View<float, 3, Host>);
///     void to_grey(View<const T, 3, Host>, Output);
///     void copy_planes(View<const float, 3, Host>, View<float, 3, Host>);
///     void change();  // between two runs that must yield the same bits
namespace aperture::signal {

using Planes = core::Array<float, 3>;

struct CpuRunner {
    core::Cpu cpu{2};

    static std::string why_not() { return {}; }
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
    void warp(Input from, const PixelMap& map, float outside, Output to) {
        signal::warp(cpu, from, map, outside, to);
    }
    void box_sum(core::View<const float, 3, core::Host> from, int size,
                 core::View<float, 3, core::Host> to) {
        signal::box_sum(cpu, from, size, to);
    }
    template <class Sample>
    void to_grey(core::View<const Sample, 3, core::Host> planes, Output grey) {
        signal::to_grey(cpu, planes, grey);
    }
    void copy_planes(core::View<const float, 3, core::Host> from,
                     core::View<float, 3, core::Host> to) {
        signal::copy_planes(cpu, from, to);
    }
};

template <class Runner>
class ImageSuite : public testing::Test {
  protected:
    Runner runner;

    void SetUp() override {
        const std::string reason = runner.why_not();
        if (!reason.empty()) GTEST_SKIP() << reason;
    }

    /// The result in an untouched frame; a second run on dense images must yield its bits.
    template <class Call>
    Image result_of(const Image& from, Size to_size, const Call& call) {
        FramedImage framed(from);
        FramedImage to(to_size);
        call(runner, framed.view(), to.view());
        EXPECT_TRUE(to.frame_is_untouched());
        const Image result = to.inner();
        runner.change();
        Image again({to_size.rows, to_size.columns});
        call(runner, from.view(), again.view());
        EXPECT_TRUE(tests::same_bytes(again, result)) << "a second run has other bits";
        return to.inner();
    }
};
TYPED_TEST_SUITE_P(ImageSuite);

template <class Runner>
class ImagesLikeCpuSuite : public ImageSuite<Runner> {
  protected:
    /// Compares results within `bound`; call(runner, from, to).
    template <class Call>
    void expect_the_cpus(const Image& from, Size to_size, double bound, const Call& call) {
        Image expected({to_size.rows, to_size.columns});
        CpuRunner cpu;
        call(cpu, from.view(), expected.view());
        expect_near(this->result_of(from, to_size, call), Plane(expected), bound);
    }
};
TYPED_TEST_SUITE_P(ImagesLikeCpuSuite);

TYPED_TEST_P(ImagesLikeCpuSuite, MediansAreTheCpus) {
    for (const Size size : this->runner.sizes()) {
        for (const int window : {3, 5, 7}) {
            SCOPED_TRACE(testing::PrintToString(size) + ", window " + std::to_string(window));
            this->expect_the_cpus(
                random_image(size, 1), size, 0,
                [&](auto& on, Input from, Output to) { on.median_filter(from, window, to); });
        }
    }
}

/// A rotation, a scale, a shift and a little perspective.
inline constexpr PixelMap perspective{{{0.9, -0.2, 1.3}, {0.3, 1.1, -2.1}, {1e-4, -2e-4, 1}}};

TYPED_TEST_P(ImagesLikeCpuSuite, WarpsAreTheCpus) {
    for (const Size size : this->runner.sizes()) {
        SCOPED_TRACE(testing::PrintToString(size));
        const Size to_size{size.rows + 2, size.columns + 1};
        this->expect_the_cpus(
            random_image(size, 1), to_size, 1e-6,
            [&](auto& on, Input from, Output to) { on.warp(from, perspective, 7, to); });
    }
}

/// Samples [row][column][channel].
template <class Sample>
std::vector<Sample> random_samples(Size size, index_t channels) {
    std::mt19937 generator(3);
    std::uniform_int_distribution<int> level(0, sizeof(Sample) == 1 ? 255 : 65535);
    std::vector<Sample> samples(static_cast<std::size_t>(size.rows * size.columns * channels));
    for (Sample& sample : samples) sample = static_cast<Sample>(level(generator));
    return samples;
}
/// The view [channel][row][column] of values [row][column][channel].
template <class T>
core::View<T, 3, core::Host> planes_in(T* pixels, Size size, index_t channels) {
    return {pixels, {channels, size.rows, size.columns}, {1, size.columns * channels, channels}};
}

TYPED_TEST_P(ImagesLikeCpuSuite, GreyLevelsAreTheCpus) {
    for (const Size size : this->runner.sizes()) {
        for (const index_t channels : {1, 3}) {
            SCOPED_TRACE(testing::PrintToString(size) + ", channels " + std::to_string(channels));
            const auto compare = [&](auto type, double largest) {
                using Sample = decltype(type);
                const auto samples = random_samples<Sample>(size, channels);
                const auto planes = planes_in(samples.data(), size, channels);
                Image expected({size.rows, size.columns});
                CpuRunner().to_grey(planes, expected.view());
                FramedImage grey(size);
                this->runner.to_grey(planes, grey.view());
                EXPECT_TRUE(grey.frame_is_untouched());
                // Executors may or may not round products before they add them.
                const double bound = channels == 1 ? 0 : 4 * unit_roundoff * largest;
                expect_near(grey.inner(), Plane(expected), bound);
            };
            compare(std::uint8_t(), 255);
            compare(std::uint16_t(), 255);
            compare(float(), 65535);
        }
    }
}

TYPED_TEST_P(ImagesLikeCpuSuite, CopiesOfPlanesAreExact) {
    for (const Size size : this->runner.sizes()) {
        SCOPED_TRACE(testing::PrintToString(size));
        const auto pixels = random_samples<float>(size, 2);
        Planes planes({2, size.rows, size.columns});
        this->runner.copy_planes(planes_in(pixels.data(), size, 2), planes.view());
        for (index_t y = 0; y < size.rows; ++y) {
            for (index_t x = 0; x < size.columns; ++x) {
                for (index_t i : {0, 1}) {
                    const index_t at = (y * size.columns + x) * 2 + i;
                    ASSERT_EQ(planes(i, y, x), pixels[static_cast<std::size_t>(at)])
                        << y << ' ' << x;
                }
            }
        }
        std::vector<float> back(pixels.size());
        this->runner.copy_planes(std::as_const(planes).view(), planes_in(back.data(), size, 2));
        EXPECT_EQ(back, pixels);
    }
}

// If zeros and ones are almost balanced, an error of one rank changes the median.
TYPED_TEST_P(ImageSuite, MediansOfBarelyBalancedWindows) {
    for (const int size : {3, 5, 7}) {
        const index_t windows = 300;
        std::mt19937 generator(4);
        Image image({size, size * windows});
        std::vector<float> window(static_cast<std::size_t>(size * size));
        for (index_t w = 0; w < windows; ++w) {
            std::fill(window.begin(), window.end(), 0.0F);
            std::fill_n(window.begin(), size * size / 2 + w % 2, 1.0F);
            std::shuffle(window.begin(), window.end(), generator);
            for (int i = 0; i < size * size; ++i) {
                image(i / size, w * size + i % size) = window[static_cast<std::size_t>(i)];
            }
        }
        Image to({size, size * windows});
        this->runner.median_filter(image, size, to);
        for (index_t w = 0; w < windows; ++w) {
            ASSERT_EQ(to(size / 2, w * size + size / 2), static_cast<float>(w % 2))
                << "size " << size << ", window " << w;
        }
    }
}

TYPED_TEST_P(ImagesLikeCpuSuite, BlursAreTheCpus) {
    for (const Size size : this->runner.sizes()) {
        for (const float sigma : {0.0F, 0.7F, 4.0F}) {
            SCOPED_TRACE(testing::PrintToString(size) + ", sigma " + std::to_string(sigma));
            const auto taps = static_cast<index_t>(2 * std::ceil(3 * sigma) + 1);
            this->expect_the_cpus(
                random_image(size, 2), size, 2 * separable_bound(taps, taps, 1, 1),
                [&](auto& on, Input from, Output to) { on.gaussian_blur(from, sigma, to); });
        }
    }
}

TYPED_TEST_P(ImagesLikeCpuSuite, ResizedImagesAreTheCpus) {
    for (const Size from_size : this->runner.sizes()) {
        for (const Size to_size : {Size{1, 1}, Size{17, 40}, Size{2 * from_size.rows, 33}}) {
            for (const Interpolation kind : {Interpolation::bilinear, Interpolation::bicubic}) {
                SCOPED_TRACE(testing::PrintToString(from_size) + " to " +
                             testing::PrintToString(to_size));
                this->expect_the_cpus(
                    random_image(from_size, 3), to_size, 2 * separable_bound(4, 4, 1.25, 1),
                    [&](auto& on, Input from, Output to) { on.resize(from, kind, to); });
            }
        }
    }
}

TYPED_TEST_P(ImagesLikeCpuSuite, LevelsOfAPyramidAreTheCpus) {
    for (const Size size : this->runner.sizes()) {
        for (const double factor : {0.5, 0.3, 0.8, 1.3}) {
            const auto scaled = [=](index_t extent) {
                return std::max<index_t>(1, std::llround(static_cast<double>(extent) * factor));
            };
            const Size to_size{scaled(size.rows), scaled(size.columns)};
            SCOPED_TRACE(testing::PrintToString(size) + " to " + testing::PrintToString(to_size));
            this->expect_the_cpus(random_image(size, 4), to_size,
                                  2 * separable_bound(20, 20, 1.25, 1),
                                  [](auto& on, Input from, Output to) { on.downsample(from, to); });
        }
    }
}

TYPED_TEST_P(ImageSuite, LevelsOfAConstantImageAreConstant) {
    const Image image = constant_image({61, 67}, 201.7F);
    const Image level = this->result_of(
        image, {31, 34}, [](auto& on, Input from, Output to) { on.downsample(from, to); });
    for (const float pixel : level) EXPECT_NEAR(pixel, 201.7F, 1e-4F);
}

TYPED_TEST_P(ImagesLikeCpuSuite, BoxSumsAreTheCpus) {
    for (const Size size : this->runner.sizes()) {
        for (const int window : {1, 3, 9, 31}) {
            SCOPED_TRACE(testing::PrintToString(size) + ", window " + std::to_string(window));
            const index_t planes = 2;
            const Image values = random_image({planes * size.rows, size.columns + 3}, 5);
            const core::View<const float, 3, core::Host> from(
                values.data(), {planes, size.rows, size.columns},
                {size.rows * (size.columns + 3), size.columns + 3, 1});
            Planes expected(from.extent);
            core::Cpu cpu;
            box_sum(cpu, from, window, expected);
            for (int run : {1, 2}) {
                Planes to(from.extent);
                this->runner.box_sum(from, window, to);
                this->runner.change();
                // Each error is bounded by the rounding of the sum of magnitudes to float.
                const double bound = 2 * rounded_sum_bound(window * window);
                for (index_t i = 0; i < to.size(); ++i) {
                    ASSERT_NEAR(to.data()[i], expected.data()[i], bound) << "run " << run;
                }
            }
        }
    }
}

TYPED_TEST_P(ImageSuite, ABoxSumForgetsWhatHasLeftTheWindow) {
    Planes from({1, 40, 90});
    std::fill(from.begin(), from.end(), 0.25F);
    from(0, 20, 40) = std::numeric_limits<float>::quiet_NaN();
    from(0, 5, 5) = 1e30F;
    Planes to({1, 40, 90});
    this->runner.box_sum(from, 5, to);
    for (index_t y = 0; y < 40; ++y) {
        for (index_t x = 0; x < 90; ++x) {
            if (std::abs(y - 20) <= 2 && std::abs(x - 40) <= 2) {
                ASSERT_TRUE(std::isnan(to(0, y, x))) << y << ", " << x;
            } else if (std::abs(y - 5) <= 2 && std::abs(x - 5) <= 2) {
                ASSERT_EQ(to(0, y, x), 1e30F) << y << ", " << x;
            } else {
                ASSERT_EQ(to(0, y, x), 25 * 0.25F) << y << ", " << x;
            }
        }
    }
}

TYPED_TEST_P(ImageSuite, NothingHappensToEmptyImages) {
    const Image image = random_image({4, 6}, 1);
    for (const Size size : {Size{0, 0}, Size{0, 5}, Size{5, 0}}) {
        const Input from(nullptr, {size.rows, size.columns});
        const Output to(nullptr, {size.rows, size.columns});
        EXPECT_NO_THROW(this->runner.median_filter(from, 5, to));
        EXPECT_NO_THROW(this->runner.gaussian_blur(from, 1, to));
        EXPECT_NO_THROW(this->runner.resize(from, Interpolation::bilinear, to));
        EXPECT_NO_THROW(this->runner.downsample(from, to));
        EXPECT_NO_THROW(this->runner.resize(image, Interpolation::bicubic, to));
        EXPECT_NO_THROW(this->runner.downsample(image, to));
    }
    for (const auto& extents : {core::Extents<3>{0, 3, 3}, {2, 0, 3}, {2, 3, 0}}) {
        EXPECT_NO_THROW(this->runner.box_sum({nullptr, extents}, 3, {nullptr, extents}));
    }
}

REGISTER_TYPED_TEST_SUITE_P(ImageSuite, MediansOfBarelyBalancedWindows,
                            LevelsOfAConstantImageAreConstant, ABoxSumForgetsWhatHasLeftTheWindow,
                            NothingHappensToEmptyImages);
REGISTER_TYPED_TEST_SUITE_P(ImagesLikeCpuSuite, WarpsAreTheCpus, MediansAreTheCpus,
                            GreyLevelsAreTheCpus, CopiesOfPlanesAreExact, BlursAreTheCpus,
                            ResizedImagesAreTheCpus, LevelsOfAPyramidAreTheCpus, BoxSumsAreTheCpus);

/// Windows that exceed a block's shared memory.
template <class Runner>
void expect_large_windows_refused(Runner& runner) {
    const auto is_refused =
        testing::ThrowsMessage<core::InvalidArgument>(testing::HasSubstr("too large"));
    Planes planes({1, 6, 7});
    EXPECT_THAT([&] { runner.box_sum(planes, 1001, planes); }, is_refused);
    const Image wide = constant_image({1, 5000}, 1);
    Image pixel({1, 1});
    EXPECT_THAT([&] { runner.downsample(wide, pixel); }, is_refused);
}

}  // namespace aperture::signal
