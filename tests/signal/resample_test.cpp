// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/resample.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numbers>

#include "aperture/core/error.hpp"
#include "tests/signal/images.hpp"

namespace aperture::signal {
namespace {

using std::numbers::pi;
using testing::HasSubstr;
using testing::ThrowsMessage;

Operation blur(float sigma) {
    return [sigma](core::Cpu& cpu, Input from, Output to) { gaussian_blur(cpu, from, sigma, to); };
}
Operation resized(Interpolation interpolation) {
    return [interpolation](core::Cpu& cpu, Input from, Output to) {
        resize(cpu, from, interpolation, to);
    };
}
const Operation downsampled = [](core::Cpu& cpu, Input from, Output to) {
    downsample(cpu, from, to);
};

index_t radius_of(double sigma) { return static_cast<index_t>(std::ceil(3 * sigma)); }

/// Weighted means over the window of `sigma`, with samples (dy, dx) apart.
Plane blur_along(const Plane& from, double sigma, index_t dy, index_t dx) {
    Plane to(from.size);
    for (index_t row = 0; row < to.size.rows; ++row)
        for (index_t column = 0; column < to.size.columns; ++column) {
            double sum = 0;
            double weights = 0;
            for (index_t k = -radius_of(sigma); k <= radius_of(sigma); ++k) {
                const auto distance = static_cast<double>(k);
                const double w = k == 0 ? 1 : std::exp(-distance * distance / (2 * sigma * sigma));
                sum += w * from(row + k * dy, column + k * dx);
                weights += w;
            }
            to.at(row, column) = sum / weights;
        }
    return to;
}

/// The blur along both axes; row_sigma applies across rows.
Plane blur_oracle(const Plane& from, double row_sigma, double column_sigma) {
    return blur_along(blur_along(from, row_sigma, 1, 0), column_sigma, 0, 1);
}

/// The interpolating kernel at a distance: a triangle, or Keys 1981, equation 15.
double kernel(Interpolation interpolation, double distance) {
    const double s = std::abs(distance);
    if (interpolation == Interpolation::bilinear) return std::max(0.0, 1 - s);
    if (s <= 1) return 1.5 * s * s * s - 2.5 * s * s + 1;
    if (s <= 2) return -0.5 * s * s * s + 2.5 * s * s - 4 * s + 2;
    return 0;
}

Plane resize_oracle(const Plane& from, Interpolation interpolation, Size size) {
    Plane to(size);
    for (index_t row = 0; row < size.rows; ++row)
        for (index_t column = 0; column < size.columns; ++column) {
            const double y = (double(row) + 0.5) * double(from.size.rows) / double(size.rows) - 0.5;
            const double x =
                (double(column) + 0.5) * double(from.size.columns) / double(size.columns) - 0.5;
            const auto top = static_cast<index_t>(std::floor(y));
            const auto left = static_cast<index_t>(std::floor(x));
            double sum = 0;
            for (index_t i = top - 1; i <= top + 2; ++i)
                for (index_t j = left - 1; j <= left + 2; ++j)
                    sum += kernel(interpolation, y - double(i)) *
                           kernel(interpolation, x - double(j)) * from(i, j);
            to.at(row, column) = sum;
        }
    return to;
}

double pyramid_sigma(index_t from, index_t to) {
    const double factor = double(to) / double(from);
    return factor < 1 ? 0.6 * std::sqrt(1 / (factor * factor) - 1) : 0;
}

/// Maximum sum of the magnitudes of cubic convolution's weights (half way between pixels).
constexpr double cubic_gain = 1.25;

class BlurSizes : public testing::TestWithParam<std::tuple<float, Size>> {};

TEST_P(BlurSizes, AgreesWithTheSum) {
    const auto [sigma, size] = GetParam();
    const Image image = random_image(size, 1);
    const index_t taps = 2 * radius_of(sigma) + 1;
    expect_near(result_of(blur(sigma), image, size), blur_oracle(Plane(image), sigma, sigma),
                separable_bound(taps, taps, 1, 1));
}

INSTANTIATE_TEST_SUITE_P(Resample, BlurSizes,
                         testing::Combine(testing::Values(0.3f, 1.0f, 2.5f),
                                          testing::ValuesIn(sizes())));

TEST(Resample, WindowsLargerThanTheImage) {
    for (Size size : {Size{1, 1}, Size{5, 3}, Size{19, 23}}) {
        const Image image = random_image(size, 2);
        const index_t taps = 2 * radius_of(9.0) + 1;
        expect_near(result_of(blur(9), image, size), blur_oracle(Plane(image), 9, 9),
                    separable_bound(taps, taps, 1, 1));
    }
}

TEST(Resample, NoBlurCopies) {
    const Image image = random_image({61, 67}, 3);
    EXPECT_TRUE(tests::same_bytes(result_of(blur(0), image, {61, 67}), image));
}

struct Sizes {
    Size from;
    Size to;
};
void PrintTo(const Sizes& sizes, std::ostream* stream) {
    PrintTo(sizes.from, stream);
    *stream << " to ";
    PrintTo(sizes.to, stream);
}

std::vector<Sizes> resize_sizes() {
    std::vector<Sizes> cases;
    for (Size size : sizes()) {
        cases.push_back({size, size});
        cases.push_back({size, {(size.rows + 1) / 2, (size.columns + 1) / 2}});
        cases.push_back({size, {2 * size.rows, size.columns * 3 / 2 + 1}});
    }
    cases.push_back({{61, 67}, {43, 101}});
    cases.push_back({{61, 67}, {1, 1}});
    cases.push_back({{1, 1}, {61, 67}});
    cases.push_back({{480, 5}, {7, 400}});
    return cases;
}

class ResizeSizes : public testing::TestWithParam<Sizes> {};

TEST_P(ResizeSizes, AgreesWithTheSum) {
    const auto [from, to] = GetParam();
    const Image image = random_image(from, 4);
    expect_near(result_of(resized(Interpolation::bilinear), image, to),
                resize_oracle(Plane(image), Interpolation::bilinear, to),
                separable_bound(2, 2, 1, 1));
    expect_near(result_of(resized(Interpolation::bicubic), image, to),
                resize_oracle(Plane(image), Interpolation::bicubic, to),
                separable_bound(4, 4, cubic_gain, 1));
}

TEST_P(ResizeSizes, DownsampleIsBlurThenResize) {
    const auto [from, to] = GetParam();
    const Image image = random_image(from, 5);
    const double row_sigma = pyramid_sigma(from.rows, to.rows);
    const double column_sigma = pyramid_sigma(from.columns, to.columns);
    expect_near(result_of(downsampled, image, to),
                resize_oracle(blur_oracle(Plane(image), row_sigma, column_sigma),
                              Interpolation::bicubic, to),
                separable_bound(2 * radius_of(row_sigma) + 4, 2 * radius_of(column_sigma) + 4,
                                cubic_gain, 1));
}

INSTANTIATE_TEST_SUITE_P(Resample, ResizeSizes, testing::ValuesIn(resize_sizes()));

TEST(Resample, SameSizeCopies) {
    const Image image = random_image({61, 67}, 6);
    for (auto interpolation : {Interpolation::bilinear, Interpolation::bicubic})
        EXPECT_TRUE(tests::same_bytes(result_of(resized(interpolation), image, {61, 67}), image));
}

TEST(Resample, ConstantsStay) {
    const Size from{61, 67};
    constexpr float value = 200.7f;
    const Image image = constant_image(from, value);
    for (Size to : {from, Size{31, 34}, Size{122, 100}, Size{5, 6}}) {
        Plane expected(to);
        std::fill(expected.pixels.begin(), expected.pixels.end(), value);
        // Two units in the last place: roundings of equal terms largely cancel.
        const double bound = 4 * unit_roundoff * value;
        const double cubic_bound = cubic_gain * cubic_gain * bound;
        expect_near(result_of(resized(Interpolation::bilinear), image, to), expected, bound);
        expect_near(result_of(resized(Interpolation::bicubic), image, to), expected, cubic_bound);
        expect_near(result_of(downsampled, image, to), expected, cubic_bound);
    }
    Plane expected(from);
    std::fill(expected.pixels.begin(), expected.pixels.end(), value);
    for (float sigma : {0.5f, 1.0f, 3.0f})
        expect_near(result_of(blur(sigma), image, from), expected, 4 * unit_roundoff * value);
}

// The responses of one row to every impulse are the weights of its columns. In double precision
// they sum to one up to the rounding of the largest weight, which is below one half.
TEST(Resample, RoundedWeightsSumToOne) {
    const index_t columns = 40;
    for (float sigma : {1.0f, 1.7f, 2.3f, 4.1f}) {
        std::vector<double> sums(static_cast<std::size_t>(columns));
        for (index_t i = 0; i < columns; ++i) {
            Image impulse = constant_image({1, columns}, 0);
            impulse(0, i) = 1;
            const Image response = result_of(blur(sigma), impulse, {1, columns});
            std::transform(sums.begin(), sums.end(), response.begin(), sums.begin(), std::plus());
        }
        for (index_t i = radius_of(sigma); i < columns - radius_of(sigma); ++i)
            EXPECT_NEAR(sums[static_cast<std::size_t>(i)], 1, unit_roundoff / 4);
    }
}

TEST(Resample, Linear) {
    const Size from{61, 67};
    const Size to{37, 41};
    const Image a = random_image(from, 7);
    const Image b = random_image(from, 8);
    Image sum({from.rows, from.columns});
    for (index_t i = 0; i < sum.size(); ++i) sum.data()[i] = a.data()[i] + 0.5f * b.data()[i];
    const double sigma = pyramid_sigma(from.rows, to.rows);
    const index_t taps = 2 * radius_of(sigma) + 4;
    Plane expected(result_of(downsampled, a, to));
    const Plane second(result_of(downsampled, b, to));
    for (std::size_t i = 0; i < expected.pixels.size(); ++i)
        expected.pixels[i] += 0.5 * second.pixels[i];
    expect_near(result_of(downsampled, sum, to), expected,
                2 * separable_bound(taps, taps, cubic_gain, 1.5));
}

/// A sinusoid across columns, or rows, sampled at the middles of cells of a unit interval.
Plane sinusoid(Size size, double cycles, bool across_rows) {
    Plane wave(size);
    for (index_t row = 0; row < size.rows; ++row)
        for (index_t column = 0; column < size.columns; ++column) {
            const double place = across_rows ? (double(row) + 0.5) / double(size.rows)
                                             : (double(column) + 0.5) / double(size.columns);
            wave.at(row, column) = std::sin(2 * pi * cycles * place);
        }
    return wave;
}
Image rounded(const Plane& plane) {
    Image image({plane.size.rows, plane.size.columns});
    std::transform(plane.pixels.begin(), plane.pixels.end(), image.begin(),
                   [](double pixel) { return static_cast<float>(pixel); });
    return image;
}

// Two cycles of 32 pixels: half a pixel is 0.1 radian, and linear interpolation has an error of
// w^2/8 = 0.005. The border is excluded because the wave is not level there.
TEST(Resample, PhaseOfASinusoidIsKept) {
    const Size from{64, 64};
    for (bool across_rows : {false, true})
        for (index_t extent : {32, 41, 96, 128}) {
            const Size to = across_rows ? Size{extent, 64} : Size{64, extent};
            const Image wave = rounded(sinusoid(from, 2, across_rows));
            const Plane expected = sinusoid(to, 2, across_rows);
            const double sigma = pyramid_sigma(64, extent);
            const double w = 2 * pi / 32;
            const double kept = std::exp(-sigma * sigma * w * w / 2);
            const Image linear = result_of(resized(Interpolation::bilinear), wave, to);
            const Image cubic = result_of(resized(Interpolation::bicubic), wave, to);
            const Image level = result_of(downsampled, wave, to);
            for (index_t i = extent / 4; i < extent * 3 / 4; ++i) {
                const index_t row = across_rows ? i : 32;
                const index_t column = across_rows ? 32 : i;
                EXPECT_NEAR(linear(row, column), expected(row, column), 0.006);
                EXPECT_NEAR(cubic(row, column), expected(row, column), 0.003);
                EXPECT_NEAR(level(row, column), kept * expected(row, column), 0.003);
            }
        }
}

// The cubic weights half way between pixels have no response at the highest frequency, so even and
// odd pixels have the same weight. With zeros near the border the mean is preserved.
TEST(Resample, DownsamplingByTwoKeepsTheMean) {
    const Size from{96, 128};
    Image image = random_image(from, 9);
    double sum = 0;
    for (index_t row = 0; row < from.rows; ++row)
        for (index_t column = 0; column < from.columns; ++column) {
            const bool inside = row >= 12 && row < 84 && column >= 12 && column < 116;
            image(row, column) = inside ? image(row, column) + 2 : 0;
            sum += image(row, column);
        }
    const Plane half(result_of(downsampled, image, {48, 64}));
    double half_sum = 0;
    for (double pixel : half.pixels) half_sum += pixel;
    EXPECT_NEAR(half_sum / (48 * 64), sum / (96 * 128), separable_bound(12, 12, cubic_gain, 3));
}

TEST(Resample, ValuesThatAreNotFiniteStayNear) {
    const Size size{40, 50};
    Image image = random_image(size, 10);
    const Image clean = result_of(blur(1), image, size);
    image(20, 25) = std::numeric_limits<float>::quiet_NaN();
    image(3, 7) = std::numeric_limits<float>::infinity();
    const Image spoilt = result_of(blur(1), image, size);
    for (index_t row = 0; row < size.rows; ++row)
        for (index_t column = 0; column < size.columns; ++column) {
            const bool near_nan = std::max(std::abs(row - 20), std::abs(column - 25)) <= 3;
            const bool near_infinity = std::max(std::abs(row - 3), std::abs(column - 7)) <= 3;
            if (near_nan || near_infinity) {
                EXPECT_FALSE(std::isfinite(spoilt(row, column)));
            } else {
                EXPECT_EQ(spoilt(row, column), clean(row, column));
            }
        }
}

TEST(Resample, Refusals) {
    core::Cpu cpu;
    Image image = random_image({4, 6}, 1);
    Image to({4, 6});
    Image other({4, 5});
    for (float sigma : {-1.0f, 1001.0f, std::numeric_limits<float>::quiet_NaN()}) {
        EXPECT_THAT([&] { gaussian_blur(cpu, image, sigma, to); },
                    ThrowsMessage<core::InvalidArgument>(core::text(
                        "Gaussian blur: sigma is ", sigma, ", expected 0 to 1000 pixels")));
    }
    EXPECT_THAT([&] { gaussian_blur(cpu, image, 1, other); },
                ThrowsMessage<core::InvalidArgument>(HasSubstr("4 x 6, but 'to' is 4 x 5")));
    const Output apart(to.data(), {4, 3}, {6, 2});
    const Output together(image.data(), {4, 3}, {6, 1});
    const Input empty(nullptr, {0, 3});
    for (const Operation& operation : {blur(1), resized(Interpolation::bicubic), downsampled}) {
        EXPECT_THAT([&] { operation(cpu, apart, together); },
                    ThrowsMessage<core::InvalidArgument>(HasSubstr("'from' have stride 2")));
        EXPECT_THAT([&] { operation(cpu, together, apart); },
                    ThrowsMessage<core::InvalidArgument>(HasSubstr("'to' have stride 2")));
        EXPECT_THAT([&] { operation(cpu, empty, together); },
                    ThrowsMessage<core::InvalidArgument>(HasSubstr("0 x 3, but 'to' is 4 x 3")));
    }
}

}  // namespace
}  // namespace aperture::signal
