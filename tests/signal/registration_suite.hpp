// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "aperture/core/error.hpp"
#include "aperture/signal/registration.hpp"
#include "tests/signal/images.hpp"

/// Registration on every executor.
///
/// A Runner runs the library on host views and copies data if its executor has memory of its own:
///     std::string why_not();            // not empty: the reason to skip the suite
///     std::vector<Size> sizes();        // of images
///     bool is_slow;                     // for which one motion is enough
///     Alignment find(const Image& a, const Image& b, Motion motion);
namespace aperture::signal {

inline Alignment shifted(double dy, double dx) {
    Alignment alignment;
    alignment.dy = dy;
    alignment.dx = dx;
    return alignment;
}

/// Bright and dark spots at random, known between pixels, and noise.
class Spots {
  public:
    /// For images of this size.
    Spots(Size size, unsigned seed) : size_(size) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> uniform(0, 1);
        // Around the image and the farthest shift, too.
        for (index_t y = -margin; y < size.rows + margin; y += distance) {
            for (index_t x = -margin; x < size.columns + margin; x += distance) {
                const auto beyond = [&](index_t from) {
                    return static_cast<double>(from) + distance * uniform(random);
                };
                spots_.push_back(
                    {beyond(y), beyond(x), 1.2 + 3 * uniform(random), 80 * uniform(random) - 40});
            }
        }
    }
    /// As they lie on those of image({}).
    Image image(const Alignment& alignment, double noise, unsigned seed) const {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal(0, 1);
        Image image({size_.rows, size_.columns});
        for (float& pixel : image) pixel = 100 + static_cast<float>(noise) * normal(random);
        const double angle = alignment.rotation * std::numbers::pi / 180;
        const double along = alignment.scale * std::cos(angle);
        const double across = alignment.scale * std::sin(angle);
        const double middle_y = 0.5 * static_cast<double>(size_.rows - 1);
        const double middle_x = 0.5 * static_cast<double>(size_.columns - 1);
        for (const Spot& spot : spots_) {
            const double from_y = spot.y - middle_y;
            const double from_x = spot.x - middle_x;
            const double y = middle_y + alignment.dy + along * from_y - across * from_x;
            const double x = middle_x + alignment.dx + across * from_y + along * from_x;
            const double width = alignment.scale * spot.width;
            const double reach = 5 * width;
            const auto from = [&](double at) {
                return std::max<index_t>(0, static_cast<index_t>(std::ceil(at - reach)));
            };
            const auto to = [&](double at, index_t count) {
                return std::min(count, static_cast<index_t>(std::floor(at + reach)) + 1);
            };
            for (index_t row = from(y); row < to(y, size_.rows); ++row) {
                for (index_t column = from(x); column < to(x, size_.columns); ++column) {
                    const double away =
                        std::hypot(static_cast<double>(row) - y, static_cast<double>(column) - x);
                    image(row, column) += static_cast<float>(
                        spot.height * std::exp(-away * away / (2 * width * width)));
                }
            }
        }
        return image;
    }

  private:
    static constexpr index_t margin = 60, distance = 9;
    struct Spot {
        double y, x, width, height;
    };
    Size size_;
    std::vector<Spot> spots_;
};

struct CpuRegistration {
    core::Cpu cpu{2};
    static constexpr bool is_slow = false;

    static std::string why_not() { return {}; }
    static std::vector<Size> sizes() { return {{64, 80}, {97, 131}, {160, 129}, {240, 320}}; }
    Alignment find(const Image& a, const Image& b, Motion motion) {
        Registration<core::Cpu> registration(cpu, a.extent(), motion);
        return registration.run(a, b);
    }
};

template <class Runner>
class RegistrationSuite : public testing::Test {
  protected:
    Runner runner;

    void SetUp() override {
        const std::string reason = runner.why_not();
        if (!reason.empty()) GTEST_SKIP() << reason;
    }
};

TYPED_TEST_SUITE_P(RegistrationSuite);

TYPED_TEST_P(RegistrationSuite, FindsShiftsToAFractionOfAPixel) {
    const double shifts[][2] = {{-2.5, 4.25}, {0, 0}, {0.1, -0.3}, {9.4, -17.7}};
    unsigned seed = 0;
    for (const Size size : this->runner.sizes()) {
        const Spots spots(size, ++seed);
        for (const auto& [dy, dx] : shifts) {
            SCOPED_TRACE(testing::Message()
                         << size.rows << " x " << size.columns << ", shift " << dy << ", " << dx);
            const Image a = spots.image({}, 1, ++seed);
            const Image b = spots.image(shifted(dy, dx), 1, ++seed);
            const Alignment found = this->runner.find(a, b, Motion::shift);
            ASSERT_TRUE(found.found);
            EXPECT_NEAR(found.dy, dy, 0.04);
            EXPECT_NEAR(found.dx, dx, 0.04);
            EXPECT_LT(std::abs(found.dy - dy), 5 * found.dy_deviation);
            EXPECT_LT(std::abs(found.dx - dx), 5 * found.dx_deviation);
            EXPECT_GT(found.correlation, 0.98);
            EXPECT_LE(found.correlation, 1 + 1e-6);
            if (TypeParam::is_slow) break;
        }
    }
}

TYPED_TEST_P(RegistrationSuite, OfAnImageAndItselfIsZero) {
    const Image a = Spots({66, 73}, 7).image({}, 3, 8);
    const Alignment found = this->runner.find(a, a, Motion::shift);
    ASSERT_TRUE(found.found);
    EXPECT_NEAR(found.dy, 0, 1e-5);
    EXPECT_NEAR(found.dx, 0, 1e-5);
    EXPECT_LT(found.dy_deviation, 1e-5);
    EXPECT_NEAR(found.correlation, 1, 1e-6);
}

TYPED_TEST_P(RegistrationSuite, DoesNotDependOnBrightness) {
    const Spots spots({80, 96}, 11);
    const Image a = spots.image({}, 1, 12);
    const Image b = spots.image(shifted(1.25, -3.5), 1, 13);
    Image brighter(b.extent());
    for (index_t i = 0; i < b.size(); ++i) brighter.data()[i] = 0.3F * b.data()[i] + 500;
    const Alignment expected = this->runner.find(a, b, Motion::shift);
    const Alignment found = this->runner.find(a, brighter, Motion::shift);
    EXPECT_NEAR(found.dy, expected.dy, 1e-3);
    EXPECT_NEAR(found.dx, expected.dx, 1e-3);
    EXPECT_NEAR(found.dy_deviation, expected.dy_deviation, 1e-4);
    EXPECT_NEAR(found.correlation, expected.correlation, 1e-4);
}

TYPED_TEST_P(RegistrationSuite, FindsNothingWhereThereIsNothing) {
    const Size size{64, 64};
    const Image textured = Spots(size, 17).image({}, 1, 18);
    Image grey({size.rows, size.columns});
    for (index_t i = 0; i < grey.size(); ++i) grey.data()[i] = 128;
    Image broken = Spots(size, 17).image({}, 1, 19);
    broken(3, 5) = std::numeric_limits<float>::quiet_NaN();
    const auto expect_nothing = [&](const Image& a, const Image& b) {
        const Alignment found = this->runner.find(a, b, Motion::shift);
        EXPECT_FALSE(found.found);
        EXPECT_EQ(found.dy, 0);
        EXPECT_EQ(found.correlation, 0);
    };
    expect_nothing(grey, grey);
    expect_nothing(grey, textured);
    expect_nothing(textured, grey);
    expect_nothing(textured, broken);
}

TYPED_TEST_P(RegistrationSuite, TellsUnrelatedImages) {
    for (unsigned seed = 0; seed < 4; ++seed) {
        const Image a = Spots({96, 96}, 100 + seed).image({}, 1, seed);
        const Image b = Spots({96, 96}, 200 + seed).image({}, 1, seed);
        EXPECT_LT(this->runner.find(a, b, Motion::shift).correlation, 0.75);
    }
}

TYPED_TEST_P(RegistrationSuite, FindsSimilarities) {
    const double cases[][4] = {
        {3.3, -5.2, 21, 0.85}, {0, 0, 0, 1}, {-2.6, 1.8, -30, 1.15}, {0.4, 0.7, 80, 1}};
    unsigned seed = 400;
    for (const auto& [dy, dx, rotation, scale] : cases) {
        SCOPED_TRACE(testing::Message() << "rotation " << rotation << ", scale " << scale);
        Alignment expected = shifted(dy, dx);
        expected.rotation = rotation;
        expected.scale = scale;
        const Spots spots({128, 140}, ++seed);
        const Image a = spots.image({}, 1, ++seed);
        const Image b = spots.image(expected, 1, ++seed);
        const Alignment found = this->runner.find(a, b, Motion::similarity);
        ASSERT_TRUE(found.found);
        EXPECT_NEAR(found.dy, dy, 0.05);
        EXPECT_NEAR(found.dx, dx, 0.05);
        EXPECT_NEAR(found.rotation, rotation, 0.05);
        EXPECT_NEAR(found.scale, scale, 0.001);
        EXPECT_LT(std::abs(found.rotation - rotation), 5 * found.rotation_deviation);
        EXPECT_LT(std::abs(found.scale - scale), 5 * found.scale_deviation);
        EXPECT_GT(found.correlation, 0.9);
        if (TypeParam::is_slow) break;
    }
    const Size size{96, 96};
    EXPECT_FALSE(
        this->runner
            .find(Spots(size, 500).image({}, 1, 501), constant_image(size, 100), Motion::similarity)
            .found);
}

/// Of executors other than the Cpu.
template <class Runner>
class RegistrationLikeCpuSuite : public RegistrationSuite<Runner> {};

TYPED_TEST_SUITE_P(RegistrationLikeCpuSuite);

TYPED_TEST_P(RegistrationLikeCpuSuite, IsThatOfTheCpu) {
    CpuRegistration cpu;
    unsigned seed = 300;
    for (const Size size : this->runner.sizes()) {
        SCOPED_TRACE(testing::Message() << size.rows << " x " << size.columns);
        const Spots spots(size, ++seed);
        const Image a = spots.image({}, 10, ++seed);
        const Image b = spots.image(shifted(-6.6, 3.3), 10, ++seed);
        const Alignment expected = cpu.find(a, b, Motion::shift);
        const Alignment found = this->runner.find(a, b, Motion::shift);
        // Paddings differ, and so do the frequencies at which both are summed.
        EXPECT_NEAR(found.dy, expected.dy, 2e-3);
        EXPECT_NEAR(found.dx, expected.dx, 2e-3);
        EXPECT_NEAR(found.dy_deviation / expected.dy_deviation, 1, 0.1);
        EXPECT_NEAR(found.dx_deviation / expected.dx_deviation, 1, 0.1);
        EXPECT_NEAR(found.correlation, expected.correlation, 1e-3);
    }
}

REGISTER_TYPED_TEST_SUITE_P(RegistrationSuite, FindsShiftsToAFractionOfAPixel,
                            OfAnImageAndItselfIsZero, DoesNotDependOnBrightness,
                            FindsNothingWhereThereIsNothing, TellsUnrelatedImages,
                            FindsSimilarities);
REGISTER_TYPED_TEST_SUITE_P(RegistrationLikeCpuSuite, IsThatOfTheCpu);

}  // namespace aperture::signal
