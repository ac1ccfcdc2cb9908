// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/image_planes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "aperture/core/error.hpp"
#include "tests/corr/oracle.hpp"

namespace aperture::corr {
namespace {

using testing::Each;
using testing::FloatNear;

Planes derived(PlaneKind kind, Normalization normalization, const Planes& image, int threads = 2) {
    core::Cpu cpu(threads);
    Planes planes({plane_count(kind), image.extent()[1], image.extent()[2]});
    std::fill(planes.begin(), planes.end(), std::nanf(""));
    ImagePlanes<core::Cpu>(cpu, kind, normalization).derive(image, planes);
    return planes;
}

Planes constant_image(index_t channels, Shape shape, const std::vector<float>& colour) {
    Planes image({channels, shape.rows, shape.columns});
    for (index_t c = 0; c < channels; ++c) {
        std::fill_n(&image(c, 0, 0), shape.rows * shape.columns,
                    colour[static_cast<std::size_t>(c)]);
    }
    return image;
}

Planes noise_image(index_t channels, Shape shape) {
    std::mt19937 generator(7);
    Planes image({channels, shape.rows, shape.columns});
    std::generate(image.begin(), image.end(),
                  [&] { return static_cast<float>(generator() % 65536) / 257; });
    return image;
}

std::vector<float> values_of(const Planes& planes, index_t p) {
    const index_t pixels = planes.extent()[1] * planes.extent()[2];
    return {planes.data() + p * pixels, planes.data() + (p + 1) * pixels};
}

TEST(LabPlanes, AreThoseOfKnownColours) {
    // From the definitions by hand, and for the primaries as tables have them.
    struct Known {
        std::vector<float> colour;
        float a, b;
    };
    for (const auto& [colour, a, b] :
         {Known{{255, 0, 0}, 80.105F, 67.223F}, Known{{0, 255, 0}, -86.188F, 83.186F},
          Known{{0, 0, 255}, 79.194F, -107.854F}, Known{{128, 64, 32}, 25.001F, 31.374F},
          Known{{3, 0, 9}, 2.036F, -3.130F}, Known{{200.5F, 100.25F, 50.125F}, 36.383F, 45.475F}}) {
        const Planes planes = derived(PlaneKind::lab_orientation, Normalization::none,
                                      constant_image(3, {4, 5}, colour));
        EXPECT_THAT(values_of(planes, 0), Each(FloatNear(a, 0.001F)));
        EXPECT_THAT(values_of(planes, 1), Each(FloatNear(b, 0.001F)));
        EXPECT_THAT(values_of(planes, 2), Each(0.0F));
        EXPECT_THAT(values_of(planes, 3), Each(0.0F));
    }
}

TEST(LabPlanes, OfGreyHaveNoColourAtAll) {
    Planes grey = noise_image(1, {20, 30});
    Planes same({3, 20, 30});
    for (index_t c = 0; c < 3; ++c) std::copy(grey.begin(), grey.end(), &same(c, 0, 0));
    for (const Planes* image : {&grey, &same}) {
        for (const Normalization normalization : {Normalization::none, Normalization::plane}) {
            const Planes planes = derived(PlaneKind::lab_orientation, normalization, *image);
            EXPECT_THAT(values_of(planes, 0), Each(0.0F));
            EXPECT_THAT(values_of(planes, 1), Each(0.0F));
        }
    }
}

class Stripes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Degrees, Stripes, testing::Values(0, 30, 45, 90, 120, 170));

TEST_P(Stripes, HaveTheOrientationOfTheirChange) {
    const double angle = GetParam() * std::numbers::pi / 180;
    Planes image({1, 60, 70});
    for (index_t y = 0; y < 60; ++y) {
        for (index_t x = 0; x < 70; ++x) {
            const double along =
                static_cast<double>(x) * std::cos(angle) + static_cast<double>(y) * std::sin(angle);
            image(0, y, x) = static_cast<float>(128 + 90 * std::sin(along * 0.5));
        }
    }
    const Planes planes = derived(PlaneKind::lab_orientation, Normalization::none, image);
    for (index_t y = 10; y < 50; ++y) {
        for (index_t x = 10; x < 60; ++x) {
            ASSERT_NEAR(planes(2, y, x), std::cos(2 * angle), 0.03) << y << ' ' << x;
            ASSERT_NEAR(planes(3, y, x), std::sin(2 * angle), 0.03) << y << ' ' << x;
        }
    }
}

TEST(Orientations, OfLittleNoiseAreWeak) {
    Planes image = noise_image(1, {40, 40});
    const auto mean_weight = [&] {
        const Planes planes = derived(PlaneKind::lab_orientation, Normalization::none, image);
        double sum = 0;
        for (index_t y = 0; y < 40; ++y) {
            for (index_t x = 0; x < 40; ++x) sum += std::hypot(planes(2, y, x), planes(3, y, x));
        }
        return sum / 1600;
    };
    const double strong = mean_weight();
    EXPECT_LT(strong, 0.5);
    EXPECT_GT(strong, 0.05);
    for (float& value : image) value = 128 + value / 1024;
    EXPECT_LT(mean_weight(), 0.1 * strong);
}

TEST(GreyPlanes, AreLumaAndGreyItself) {
    const Planes colour =
        derived(PlaneKind::grey, Normalization::none, constant_image(3, {2, 3}, {100, 200, 50}));
    EXPECT_THAT(values_of(colour, 0), Each(FloatNear(153, 1e-4F)));
    const Planes noise = noise_image(1, {5, 6});
    EXPECT_EQ(values_of(derived(PlaneKind::grey, Normalization::none, noise), 0),
              values_of(noise, 0));
}

TEST(RgbPlanes, AreTheImage) {
    const Planes colour = noise_image(3, {5, 6});
    const Planes grey = noise_image(1, {5, 6});
    const Planes of_colour = derived(PlaneKind::rgb, Normalization::none, colour);
    const Planes of_grey = derived(PlaneKind::rgb, Normalization::none, grey);
    for (index_t p = 0; p < 3; ++p) {
        EXPECT_EQ(values_of(of_colour, p), values_of(colour, p));
        EXPECT_EQ(values_of(of_grey, p), values_of(grey, 0));
    }
}

TEST(GradientPlanes, OfARampAreItsSlopes) {
    Planes image({1, 12, 14});
    for (index_t y = 0; y < 12; ++y) {
        for (index_t x = 0; x < 14; ++x) {
            image(0, y, x) = 20 + 3 * static_cast<float>(x) - 2 * static_cast<float>(y);
        }
    }
    const Planes planes = derived(PlaneKind::gradient, Normalization::none, image);
    for (index_t y = 0; y < 12; ++y) {
        for (index_t x = 0; x < 14; ++x) {
            if (x >= 2 && x < 12) {
                EXPECT_NEAR(planes(0, y, x), 3, 1e-5);
            }
            if (y >= 2 && y < 10) {
                EXPECT_NEAR(planes(1, y, x), -2, 1e-5);
            }
        }
    }
    // 8 (I1 - I0) - (I2 - I0) where what is left of the border is the border.
    EXPECT_NEAR(planes(0, 3, 0), (8 * 3 - 6) / 12.0, 1e-5);
    EXPECT_NEAR(planes(0, 3, 13), (8 * 3 - 6) / 12.0, 1e-5);
    EXPECT_NEAR(planes(1, 0, 3), -(8 * 2 - 4) / 12.0, 1e-5);
    EXPECT_NEAR(planes(1, 11, 3), -(8 * 2 - 4) / 12.0, 1e-5);
}

constexpr PlaneKind every_kind[] = {PlaneKind::lab_orientation, PlaneKind::grey, PlaneKind::rgb,
                                    PlaneKind::gradient};

TEST(NormalizedPlanes, HaveNoMeanAndUnitEnergy) {
    for (const PlaneKind kind : every_kind) {
        for (const Shape shape : {Shape{31, 47}, Shape{1, 50}, Shape{50, 1}, Shape{2, 2}}) {
            const Planes planes = derived(kind, Normalization::plane, noise_image(3, shape));
            for (index_t p = 0; p < plane_count(kind); ++p) {
                double sum = 0;
                double squares = 0;
                for (const double value : values_of(planes, p)) {
                    sum += value;
                    squares += value * value;
                }
                EXPECT_NEAR(sum, 0, 1e-5);
                // Along one row nothing changes from row to row.
                const bool may_be_zero = shape.rows <= 2 || shape.columns <= 2;
                if (squares != 0 || !may_be_zero) {
                    EXPECT_NEAR(squares, 1, 1e-5);
                }
            }
        }
    }
}

TEST(NormalizedPlanes, KeepShapeAndOrder) {
    Planes image({1, 2, 2});
    const float given[] = {10, 20, 30, 60};
    std::copy_n(given, 4, image.begin());
    const auto values = values_of(derived(PlaneKind::grey, Normalization::plane, image), 0);
    // Deviations -20, -10, 0, 30 over sqrt(1400).
    const double root = std::sqrt(1400.0);
    EXPECT_NEAR(values[0], -20 / root, 1e-7);
    EXPECT_NEAR(values[1], -10 / root, 1e-7);
    EXPECT_NEAR(values[2], 0, 1e-7);
    EXPECT_NEAR(values[3], 30 / root, 1e-7);
}

TEST(NormalizedPlanes, OfAConstantImageAreZero) {
    for (const PlaneKind kind : every_kind) {
        for (const Shape shape : {Shape{1, 1}, Shape{1, 9}, Shape{33, 7}}) {
            for (const index_t channels : {1, 3}) {
                const Planes image = constant_image(channels, shape, {33.3F, 77.7F, 11.1F});
                const Planes planes = derived(kind, Normalization::plane, image);
                for (index_t p = 0; p < plane_count(kind); ++p) {
                    EXPECT_THAT(values_of(planes, p), Each(0.0F));
                }
            }
        }
    }
}

TEST(NormalizedPlanes, AreSoWhereTheMaskIs) {
    const Planes image = noise_image(1, {1, 50});
    core::Array<float, 2> mask({1, 50});
    for (index_t x = 0; x < 50; ++x) mask(0, x) = x % 3 == 0 ? 7.0F : 0.0F;
    core::Cpu cpu(2);
    ImagePlanes<core::Cpu> planes_of(cpu, PlaneKind::grey, Normalization::plane);
    Planes planes({1, 1, 50});
    planes_of.derive(image, mask, planes);
    double sum = 0;
    double squares = 0;
    for (index_t x = 0; x < 50; x += 3) {
        sum += planes(0, 0, x);
        squares += planes(0, 0, x) * planes(0, 0, x);
    }
    EXPECT_NEAR(sum, 0, 1e-6);
    EXPECT_NEAR(squares, 1, 1e-6);
    std::fill(mask.begin(), mask.end(), 0.0F);
    planes_of.derive(image, mask, planes);
    EXPECT_THAT(values_of(planes, 0), Each(0.0F));
    EXPECT_THROW(planes_of.derive(image, core::Array<float, 2>({1, 49}), planes),
                 core::InvalidArgument);
}

TEST(NormalizedPlanes, OfRoundingAreZero) {
    // Colours of one luma, up to the last bits.
    Planes image = noise_image(3, {20, 30});
    for (index_t y = 0; y < 20; ++y) {
        for (index_t x = 0; x < 30; ++x) {
            image(1, y, x) = (120 - 0.299F * image(0, y, x) - 0.114F * image(2, y, x)) / 0.587F;
        }
    }
    const Planes luma = derived(PlaneKind::grey, Normalization::none, image);
    EXPECT_NE(*std::min_element(luma.begin(), luma.end()),
              *std::max_element(luma.begin(), luma.end()));
    EXPECT_THAT(values_of(derived(PlaneKind::grey, Normalization::plane, image), 0), Each(0.0F));
}

TEST(ImagePlanes, HaveTheSameBitsOnAnyNumberOfThreadsAndAgainWithoutAllocation) {
    const Planes image = noise_image(3, {45, 61});
    for (const PlaneKind kind : every_kind) {
        const Planes expected = derived(kind, Normalization::plane, image, 1);
        core::Cpu cpu(3);
        ImagePlanes<core::Cpu> planes_of(cpu, kind, Normalization::plane);
        Planes planes(expected.extent());
        planes_of.derive(image, planes);
        EXPECT_TRUE(std::equal(planes.begin(), planes.end(), expected.begin()));
        const auto allocations = core::host_allocations();
        planes_of.derive(image, planes);
        EXPECT_EQ(core::host_allocations(), allocations);
        EXPECT_TRUE(std::equal(planes.begin(), planes.end(), expected.begin()));
    }
}

TEST(ImagePlanes, OfOtherShapesAreRefused) {
    using testing::HasSubstr;
    using testing::ThrowsMessage;
    core::Cpu cpu(1);
    const auto refused = [&](index_t channels, Shape shape, index_t planes, const char* words) {
        Planes image({channels, shape.rows, shape.columns});
        Planes to({planes, shape.rows, shape.columns});
        EXPECT_THAT(
            [&] {
                ImagePlanes<core::Cpu>(cpu, PlaneKind::rgb, Normalization::none).derive(image, to);
            },
            ThrowsMessage<core::InvalidArgument>(HasSubstr(words)));
    };
    refused(2, {3, 4}, 3, "image is 2 x 3 x 4, expected 1 or 3 channels");
    refused(3, {0, 4}, 3, "image is 3 x 0 x 4");
    refused(3, {3, 4}, 4, "planes is 4 x 3 x 4, must be 3 x 3 x 4");
}

}  // namespace
}  // namespace aperture::corr
