// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "aperture/core/error.hpp"
#include "tests/corr/image_planes_suite.hpp"
#include "tests/corr/oracle.hpp"

namespace aperture::corr {
namespace {

struct CpuRunner : HostRunner {
    using Executor = core::Cpu;
    core::Cpu cpu{2};

    core::Cpu& executor() { return cpu; }
    static void change() {}
};
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, ImagePlanesSuite, CpuRunner);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ImagePlanesLikeCpuSuite);

using testing::Each;
using testing::FloatNear;

Planes derived(PlaneKind kind, Normalization normalization, const Planes& image, int threads = 2,
               double sigma = default_orientation_sigma) {
    core::Cpu cpu(threads);
    Planes planes({plane_count(kind), image.extent()[1], image.extent()[2]});
    std::fill(planes.begin(), planes.end(), std::nanf(""));
    ImagePlanes<core::Cpu>(cpu, kind, normalization, sigma).derive(image, planes);
    return planes;
}

std::vector<float> values_of(const Planes& planes, index_t p) {
    const index_t pixels = planes.extent()[1] * planes.extent()[2];
    return {planes.data() + p * pixels, planes.data() + (p + 1) * pixels};
}

TEST(LabPlanes, AreThoseOfKnownColours) {
    // Computed by hand from the definitions; published values for the primaries.
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

/// Linear light of an sRGB value, 0..255.
double light_of(float value) {
    const double v = static_cast<double>(value) / 255;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

/// L*, a* and b* by their definition.
std::array<double, 3> lab_by_definition(const Planes& image, index_t y, index_t x) {
    double light[3];
    for (index_t c = 0; c < 3; ++c) light[c] = light_of(image(c, y, x));
    const auto [r, g, b] = light;
    const auto root = [](double t) {
        return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
    };
    const double fx = root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
    const double fy = root(0.2126 * r + 0.7152 * g + 0.0722 * b);
    const double fz = root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.0890);
    return {116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)};
}

/// The orientation by its definition. The borders of the image and of the products are replicated.
class OrientationByDefinition {
  public:
    explicit OrientationByDefinition(const Planes& image, double sigma = 2)
        : reach_(static_cast<int>(std::ceil(3 * sigma))),
          rows_(image.extent()[1]),
          columns_(image.extent()[2]) {
        std::vector<double> lightness;
        for (index_t y = 0; y < rows_; ++y) {
            for (index_t x = 0; x < columns_; ++x) {
                lightness.push_back(lab_by_definition(image, y, x)[0]);
            }
        }
        for (index_t y = 0; y < rows_; ++y) {
            for (index_t x = 0; x < columns_; ++x) {
                const auto slope = [&, v = y, u = x](index_t down, index_t across) {
                    const auto value = [&](index_t i) {
                        return lightness[nearest(v + i * down, u + i * across)];
                    };
                    return (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / 12;
                };
                const double by_x = slope(0, 1);
                const double by_y = slope(1, 0);
                products_.push_back({by_x * by_x, by_x * by_y, by_y * by_y});
            }
        }
        double sum = 0;
        for (int k = -reach_; k <= reach_; ++k) {
            weights_.push_back(std::exp(-0.5 * k * k / (sigma * sigma)));
            sum += weights_.back();
        }
        for (double& weight : weights_) weight /= sum;
    }
    std::array<double, 2> at(index_t y, index_t x) const {
        double xx = 0;
        double xy = 0;
        double yy = 0;
        for (int dy = -reach_; dy <= reach_; ++dy) {
            for (int dx = -reach_; dx <= reach_; ++dx) {
                const double weight = weight_at(dy) * weight_at(dx);
                const auto& product = products_[nearest(y + dy, x + dx)];
                xx += weight * product[0];
                xy += weight * product[1];
                yy += weight * product[2];
            }
        }
        return {(xx - yy) / (xx + yy + 0.25), 2 * xy / (xx + yy + 0.25)};
    }

  private:
    double weight_at(index_t distance) const {
        return weights_[static_cast<std::size_t>(distance + reach_)];
    }
    std::size_t nearest(index_t y, index_t x) const {
        return static_cast<std::size_t>(std::clamp<index_t>(y, 0, rows_ - 1) * columns_ +
                                        std::clamp<index_t>(x, 0, columns_ - 1));
    }

    int reach_;
    index_t rows_;
    index_t columns_;
    std::vector<std::array<double, 3>> products_;
    std::vector<double> weights_;
};

TEST(LabPlanes, AreThoseOfTheirDefinition) {
    // Sizes around the blur's bands and tiles, with steep and faint slopes.
    for (const Shape shape : {Shape{1, 1}, Shape{1, 40}, Shape{40, 1}, Shape{3, 4}, Shape{31, 20},
                              Shape{32, 256}, Shape{33, 257}, Shape{65, 263}}) {
        for (const float contrast : {1.0F, 0.004F}) {
            SCOPED_TRACE(testing::Message()
                         << shape.rows << " x " << shape.columns << ", contrast " << contrast);
            Planes image = noise_image(3, shape);
            for (float& value : image) value = 40 + contrast * (value - 40);
            const Planes planes = derived(PlaneKind::lab_orientation, Normalization::none, image);
            const OrientationByDefinition orientation(image);
            for (index_t y = 0; y < shape.rows; ++y) {
                for (index_t x = 0; x < shape.columns; ++x) {
                    const auto lab = lab_by_definition(image, y, x);
                    ASSERT_NEAR(planes(0, y, x), lab[1], 1e-4) << y << ' ' << x;
                    ASSERT_NEAR(planes(1, y, x), lab[2], 5e-5) << y << ' ' << x;
                    const auto [cosine, sine] = orientation.at(y, x);
                    ASSERT_NEAR(planes(2, y, x), cosine, 5e-5) << y << ' ' << x;
                    ASSERT_NEAR(planes(3, y, x), sine, 5e-5) << y << ' ' << x;
                }
            }
        }
    }
}

TEST(Orientations, AreAveragedWithAnySigma) {
    const Planes image = noise_image(3, {41, 70});
    for (const double sigma : {0.2, 0.7, 1.5, 2.0, 2.1, 5.0}) {
        SCOPED_TRACE(testing::Message() << "sigma " << sigma);
        const Planes planes =
            derived(PlaneKind::lab_orientation, Normalization::none, image, 2, sigma);
        const OrientationByDefinition orientation(image, sigma);
        for (index_t y = 0; y < 41; ++y) {
            for (index_t x = 0; x < 70; ++x) {
                const auto [cosine, sine] = orientation.at(y, x);
                ASSERT_NEAR(planes(2, y, x), cosine, 5e-5) << y << ' ' << x;
                ASSERT_NEAR(planes(3, y, x), sine, 5e-5) << y << ' ' << x;
            }
        }
    }
    core::Cpu cpu(2);
    ImagePlanes<core::Cpu> planes_of(cpu, PlaneKind::lab_orientation, Normalization::none, 7);
    Planes planes({4, 41, 70});
    for (const double sigma : {0.7, 5.0, 2.0}) {
        planes_of.set_orientation_sigma(sigma);
        planes_of.derive(image, planes);
        const Planes expected =
            derived(PlaneKind::lab_orientation, Normalization::none, image, 2, sigma);
        EXPECT_TRUE(std::equal(planes.begin(), planes.end(), expected.begin())) << sigma;
    }
    for (const double sigma : {0.0, -1.0, 100.5, std::nan("")}) {
        EXPECT_THROW(
            ImagePlanes<core::Cpu>(cpu, PlaneKind::lab_orientation, Normalization::none, sigma),
            core::InvalidArgument);
        EXPECT_THROW(planes_of.set_orientation_sigma(sigma), core::InvalidArgument);
    }
}

TEST(LabPlanes, AreExactForEveryDarkAndBrightValue) {
    // Covers the points at which the sRGB curve and the cube root become linear.
    Planes image({3, 1, 65536});
    for (index_t i = 0; i < 65536; ++i) {
        const float value = static_cast<float>(i) / 257;
        image(0, 0, i) = value;
        image(1, 0, i) = 255 - value;
        image(2, 0, i) = static_cast<float>(i * 7919 % 65536) / 257;
    }
    const Planes planes = derived(PlaneKind::lab_orientation, Normalization::none, image);
    for (index_t i = 0; i < 65536; ++i) {
        const auto lab = lab_by_definition(image, 0, i);
        ASSERT_NEAR(planes(0, 0, i), lab[1], 1e-4) << i;
        ASSERT_NEAR(planes(1, 0, i), lab[2], 5e-5) << i;
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
    // Pixels beyond the border repeat it: 8 (I1 - I0) - (I2 - I0).
    EXPECT_NEAR(planes(0, 3, 0), (8 * 3 - 6) / 12.0, 1e-5);
    EXPECT_NEAR(planes(0, 3, 13), (8 * 3 - 6) / 12.0, 1e-5);
    EXPECT_NEAR(planes(1, 0, 3), -(8 * 2 - 4) / 12.0, 1e-5);
    EXPECT_NEAR(planes(1, 11, 3), -(8 * 2 - 4) / 12.0, 1e-5);
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

TEST(ImagePlanes, HaveTheSameBitsOnAnyNumberOfThreads) {
    const Planes image = noise_image(3, {45, 61});
    for (const PlaneKind kind : every_kind) {
        EXPECT_TRUE(tests::same_bytes(derived(kind, Normalization::plane, image, 1),
                                      derived(kind, Normalization::plane, image, 3)));
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
    Planes planes({3, 3, 4});
    EXPECT_THAT(
        [&] {
            ImagePlanes<core::Cpu>(cpu, PlaneKind::rgb, Normalization::none)
                .derive(planes, core::Array<float, 2>({3, 5}), planes);
        },
        ThrowsMessage<core::InvalidArgument>(HasSubstr("mask is 3 x 5")));
}

}  // namespace
}  // namespace aperture::corr
