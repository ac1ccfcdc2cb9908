// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/box_sum.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "aperture/core/error.hpp"
#include "tests/signal/images.hpp"

namespace aperture::signal {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

template <class T>
core::View<T, 3, core::Host> one_plane(const core::View<T, 2, core::Host>& image) {
    return {
        image.data, {1, image.extent[0], image.extent[1]}, {0, image.stride[0], image.stride[1]}};
}

Operation box(int size) {
    return [size](core::Cpu& cpu, Input from, Output to) {
        box_sum(cpu, one_plane(from), size, one_plane(to));
    };
}

/// Box sums along one axis after the other.
Plane oracle(const Plane& from, int size) {
    Plane columns(from.size);
    Plane to(from.size);
    for (bool first : {true, false})
        for (index_t row = 0; row < to.size.rows; ++row)
            for (index_t column = 0; column < to.size.columns; ++column)
                for (int k = -(size / 2); k <= size / 2; ++k) {
                    if (first) {
                        columns.at(row, column) += from(row + k, column);
                    } else {
                        to.at(row, column) += columns(row, column + k);
                    }
                }
    return to;
}

void expect_sums(const Image& image, int size) {
    const Size extents{image.extent()[0], image.extent()[1]};
    const Image result = result_of(box(size), image, extents);
    const Plane from(image);
    Plane magnitudes = from;
    for (double& pixel : magnitudes.pixels) pixel = std::abs(pixel);
    const Plane expected = oracle(from, size);
    const Plane magnitude = oracle(magnitudes, size);
    for (index_t row = 0; row < extents.rows; ++row)
        for (index_t column = 0; column < extents.columns; ++column)
            ASSERT_NEAR(result(row, column), expected(row, column),
                        rounded_sum_bound(magnitude(row, column)))
                << "row " << row << ", column " << column;
}

class BoxSumSizes : public testing::TestWithParam<std::tuple<int, Size>> {};

TEST_P(BoxSumSizes, AgreesWithTheSum) {
    const auto [size, extents] = GetParam();
    expect_sums(random_image(extents, 1), size);
}

INSTANTIATE_TEST_SUITE_P(BoxSum, BoxSumSizes,
                         testing::Combine(testing::Values(1, 3, 5, 21, 77),
                                          testing::ValuesIn(sizes())));

TEST(BoxSum, HandSized) {
    Image image({2, 3});
    std::ranges::copy(std::vector<float>{1, 2, 3, 10, 20, 30}, image.begin());
    EXPECT_THAT(pixels_of(result_of(box(3), image, {2, 3})),
                testing::ElementsAre(48, 72, 96, 84, 126, 168));
}

// A running sum would lose precision here.
TEST(BoxSum, ErrorsDoNotGrowWithTheImage) {
    for (Size extents : {Size{1, 10000}, Size{2000, 30}}) {
        Image image = random_image(extents, 2);
        for (float& pixel : image) pixel += 1e6f;
        expect_sums(image, 15);
        for (index_t i = 0; i < image.size(); ++i)
            image.data()[i] = i % 1000 < 40 ? 1e30f : image.data()[i] - 1e6f;
        expect_sums(image, 15);
    }
}

TEST(BoxSum, PlanesAreIndependent) {
    const Size extents{37, 41};
    core::Array<float, 3> from({4, extents.rows, extents.columns});
    core::Array<float, 3> to({4, extents.rows, extents.columns});
    std::vector<Image> images;
    for (index_t p = 0; p < 4; ++p) {
        images.push_back(random_image(extents, unsigned(p)));
        std::ranges::copy(images.back(), from.begin() + p * images.back().size());
    }
    // Every other plane, in reverse.
    const index_t plane = extents.rows * extents.columns;
    core::Cpu cpu(2);
    std::fill(to.begin(), to.end(), -1.0f);
    box_sum(cpu,
            core::View<const float, 3>(from.data() + 3 * plane, {2, extents.rows, extents.columns},
                                       {-2 * plane, extents.columns, 1}),
            5,
            core::View<float, 3>(to.data(), {2, extents.rows, extents.columns},
                                 {2 * plane, extents.columns, 1}));
    for (index_t p : {0, 2}) {
        const Image expected = result_of(box(5), images[p == 0 ? 3 : 1], extents);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.begin() + p * plane));
        EXPECT_TRUE(std::all_of(to.begin() + (p + 1) * plane, to.begin() + (p + 2) * plane,
                                [](float pixel) { return pixel == -1; }));
    }
}

TEST(BoxSum, Refusals) {
    core::Cpu cpu;
    Image image = random_image({4, 6}, 1);
    Image to({4, 6});
    Image other({4, 5});
    for (int size : {-1, 0, 4}) {
        EXPECT_THAT([&] { box(size)(cpu, image, to); },
                    ThrowsMessage<core::InvalidArgument>(core::text(
                        "box sum: size is ", size, ", expected an odd number of at least 1")));
    }
    EXPECT_THAT(
        [&] { box(3)(cpu, image, other); },
        ThrowsMessage<core::InvalidArgument>(HasSubstr("1 x 4 x 6, but 'to' is 1 x 4 x 5")));
    const Output apart(to.data(), {4, 3}, {6, 2});
    const Output together(image.data(), {4, 3}, {6, 1});
    EXPECT_THAT([&] { box(3)(cpu, apart, together); },
                ThrowsMessage<core::InvalidArgument>(HasSubstr("'from' have stride 2")));
    EXPECT_THAT([&] { box(3)(cpu, together, apart); },
                ThrowsMessage<core::InvalidArgument>(HasSubstr("'to' have stride 2")));
}

}  // namespace
}  // namespace aperture::signal
