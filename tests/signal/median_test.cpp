// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/median.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "aperture/core/error.hpp"
#include "tests/signal/images.hpp"

namespace aperture::signal {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Operation median(int size) {
    return [size](core::Cpu& cpu, Input from, Output to) { median_filter(cpu, from, size, to); };
}

std::vector<double> window_of(const Plane& image, int size, index_t row, index_t column) {
    std::vector<double> window;
    for (int i = -(size / 2); i <= size / 2; ++i)
        for (int j = -(size / 2); j <= size / 2; ++j) window.push_back(image(row + i, column + j));
    return window;
}

Plane oracle(const Image& image, int size) {
    const Plane from(image);
    Plane to(from.size);
    for (index_t row = 0; row < to.size.rows; ++row)
        for (index_t column = 0; column < to.size.columns; ++column) {
            std::vector<double> window = window_of(from, size, row, column);
            const auto middle = window.begin() + size * size / 2;
            std::nth_element(window.begin(), middle, window.end());
            to.at(row, column) = *middle;
        }
    return to;
}

class MedianSizes : public testing::TestWithParam<std::tuple<int, Size>> {};

TEST_P(MedianSizes, AgreesWithSorting) {
    const auto [size, extents] = GetParam();
    const Image image = random_image(extents, 1);
    expect_near(result_of(median(size), image, extents), oracle(image, size), 0);
}

INSTANTIATE_TEST_SUITE_P(Median, MedianSizes,
                         testing::Combine(testing::Values(3, 5, 7), testing::ValuesIn(sizes())));

class MedianNetwork : public testing::TestWithParam<int> {};

TEST_P(MedianNetwork, AllRanksInAllPlaces) {
    const Size extents{61, 67};
    Image image({extents.rows, extents.columns});
    std::iota(image.begin(), image.end(), 0.0f);
    std::mt19937 generator(2);
    for (int trial = 0; trial < 5; ++trial) {
        std::shuffle(image.begin(), image.end(), generator);
        expect_near(result_of(median(GetParam()), image, extents), oracle(image, GetParam()), 0);
    }
}

// A network of minima and maxima that is correct for zeros and ones is correct for all values.
TEST_P(MedianNetwork, ZerosAndOnes) {
    const Size extents{240, 250};
    std::mt19937 generator(3);
    for (double share : {0.4, 0.48, 0.5, 0.52, 0.6}) {
        std::bernoulli_distribution one(share);
        Image image({extents.rows, extents.columns});
        for (float& pixel : image) pixel = one(generator) ? 1.0f : 0.0f;
        expect_near(result_of(median(GetParam()), image, extents), oracle(image, GetParam()), 0);
    }
}

TEST_P(MedianNetwork, ValuesThatAreNotFinite) {
    const Size extents{19, 35};
    Image image = random_image(extents, 5);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (index_t row = 0; row < extents.rows; row += 3) image(row, row) = infinity;
    for (index_t row = 0; row < extents.rows; row += 4) image(row, 34 - row) = -infinity;
    Plane expected = oracle(image, GetParam());
    const Image result = result_of(median(GetParam()), image, extents);
    for (index_t row = 0; row < extents.rows; ++row)
        for (index_t column = 0; column < extents.columns; ++column)
            ASSERT_EQ(result(row, column), expected(row, column));

    image(9, 17) = std::numeric_limits<float>::quiet_NaN();
    const Image spoilt = result_of(median(GetParam()), image, extents);
    for (index_t row = 0; row < extents.rows; ++row)
        for (index_t column = 0; column < extents.columns; ++column)
            if (std::max(std::abs(row - 9), std::abs(column - 17)) > GetParam() / 2) {
                ASSERT_EQ(spoilt(row, column), expected(row, column));
            }
}

INSTANTIATE_TEST_SUITE_P(Median, MedianNetwork, testing::Values(3, 5, 7));

TEST(Median, HandSized) {
    Image image({1, 5});
    std::ranges::copy(std::vector<float>{5, 1, 4, 2, 3}, image.begin());
    Image to({1, 5});
    core::Cpu cpu;
    median_filter(cpu, image, 3, to);
    EXPECT_THAT(pixels_of(to), testing::ElementsAre(5, 4, 2, 3, 3));
}

// All 2^9 windows of zeros and ones.
TEST(Median, EveryWindowOfThree) {
    Image image({3, 3 * 512});
    for (index_t w = 0; w < 512; ++w)
        for (index_t i = 0; i < 9; ++i) image(i / 3, 3 * w + i % 3) = float(w >> i & 1);
    Image to({3, 3 * 512});
    core::Cpu cpu;
    median_filter(cpu, image, 3, to);
    for (index_t w = 0; w < 512; ++w)
        ASSERT_EQ(to(1, 3 * w + 1), std::popcount(unsigned(w)) >= 5 ? 1 : 0) << "window " << w;
}

TEST(Median, Refusals) {
    core::Cpu cpu;
    Image image = random_image({4, 6}, 1);
    Image to({4, 6});
    Image other({4, 5});
    for (int size : {-3, 0, 1, 4, 9}) {
        EXPECT_THAT([&] { median_filter(cpu, image, size, to); },
                    ThrowsMessage<core::InvalidArgument>(
                        core::text("median filter: size is ", size, ", expected 3, 5 or 7")));
    }
    EXPECT_THAT([&] { median_filter(cpu, image, 3, other); },
                ThrowsMessage<core::InvalidArgument>(HasSubstr("4 x 6, but 'to' is 4 x 5")));
    const Output apart(to.data(), {4, 3}, {6, 2});
    const Output together(image.data(), {4, 3}, {6, 1});
    EXPECT_THAT([&] { median_filter(cpu, apart, 3, together); },
                ThrowsMessage<core::InvalidArgument>(HasSubstr("'from' have stride 2")));
    EXPECT_THAT([&] { median_filter(cpu, together, 3, apart); },
                ThrowsMessage<core::InvalidArgument>(HasSubstr("'to' have stride 2")));
}

}  // namespace
}  // namespace aperture::signal
