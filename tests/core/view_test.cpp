// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/view.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace aperture::core {
namespace {

template <class V>
concept Indexable = requires(const V& view) {
    view(0, 0);
};

static_assert(Indexable<View<float, 2, Host>>);
static_assert(!Indexable<View<float, 2, Device>>, "the host must not touch device memory");
static_assert(Indexable<KernelView<float, 2>>);
static_assert(!std::is_convertible_v<View<float, 2, Device>, KernelView<float, 2>>);
static_assert(!Indexable<View<float, 3, Host>>, "as many positions as dimensions");
static_assert(std::is_trivially_copyable_v<View<float, 3, Device, Interleaved>>);
static_assert(std::is_convertible_v<View<float, 2, Host>, View<const float, 2, Host>>);
static_assert(!std::is_convertible_v<View<const float, 2, Host>, View<float, 2, Host>>);
static_assert(!std::is_convertible_v<View<float, 2, Host>, View<float, 2, Device>>);
static_assert(
    !std::is_convertible_v<View<float, 3, Host, Interleaved>, View<float, 3, Host, Concatenated>>);

TEST(View, WalksInCOrder) {
    std::vector<int> values(2 * 3 * 4);
    std::iota(values.begin(), values.end(), 0);
    const View<int, 3> view(values.data(), {2, 3, 4});
    EXPECT_EQ(view(0, 0, 0), 0);
    EXPECT_EQ(view(0, 0, 3), 3);
    EXPECT_EQ(view(0, 2, 1), 9);
    EXPECT_EQ(view(1, 2, 3), 23);
    EXPECT_EQ(view.size(), 24);
    EXPECT_TRUE(view.dense());
}

TEST(View, InterleavedRunsOverProblemsFirst) {
    std::vector<int> values(5 * 2 * 3);
    std::iota(values.begin(), values.end(), 0);
    const View<int, 3, Host, Interleaved> view(values.data(), {5, 2, 3});
    EXPECT_EQ(view(4, 0, 0), 4);
    EXPECT_EQ(view(0, 0, 1), 5);
    EXPECT_EQ(view(0, 1, 0), 15);
    EXPECT_TRUE(view.dense());
    const View<int, 3> strided = view;
    EXPECT_EQ(strided(3, 1, 2), view(3, 1, 2));
    EXPECT_FALSE(strided.dense());
}

TEST(View, RowsOfAConcatenatedViewMayBeFarApart) {
    std::vector<int> values(2 * 3 * 7);
    std::iota(values.begin(), values.end(), 0);
    const View<int, 3, Host, Concatenated> padded(values.data(), {2, 3, 4}, {21, 7, 1});
    EXPECT_EQ(padded(1, 2, 3), 21 + 14 + 3);
    EXPECT_FALSE(padded.dense());
    // The layout's unit stride does not matter where there is one column.
    const View<int, 3, Host, Concatenated> column(values.data(), {2, 3, 1}, {21, 7, 5});
    EXPECT_EQ(column(1, 2, 0), 21 + 14);
}

TEST(View, AnIndexDropsTheFirstDimension) {
    std::vector<int> values(2 * 3 * 4);
    std::iota(values.begin(), values.end(), 0);
    const View<int, 3> view(values.data(), {2, 3, 4});
    const View<int, 2> matrix = view[1];
    EXPECT_EQ(matrix.extent, (Extents<2>{3, 4}));
    EXPECT_EQ(matrix(2, 3), 23);
    EXPECT_EQ(view.slice(2, 1, 3)[1][2].extent, (Extents<1>{2}));
    view[1][2][3] = -1;
    EXPECT_EQ(values.back(), -1);
}

TEST(Extents, BindingsReadAndWriteTheirElements) {
    Extents<3> extents{2, 3, 4};
    auto& [planes, rows, columns] = extents;
    EXPECT_EQ(planes * rows * columns, 24);
    columns = 5;
    EXPECT_EQ(extents, (Extents<3>{2, 3, 5}));
    EXPECT_FALSE((extents == Extents<3>{2, 3, 4}));
}

TEST(View, SliceSharesTheData) {
    std::vector<int> values(4 * 6);
    std::iota(values.begin(), values.end(), 0);
    const View<int, 2> view(values.data(), {4, 6});
    const View<int, 2> part = view.slice(0, 1, 3).slice(1, 2, 5);
    EXPECT_EQ(part.extent, (Extents<2>{2, 3}));
    EXPECT_EQ(part(0, 0), 8);
    EXPECT_EQ(part(1, 2), 16);
    EXPECT_FALSE(part.dense());
    part(1, 1) = -1;
    EXPECT_EQ(view(2, 3), -1);
}

TEST(View, StrideOfAnExtentOfOneDoesNotMatter) {
    std::vector<int> values(2 * 3 * 4);
    const View<int, 3> plane(values.data(), {2, 3, 4});
    EXPECT_TRUE(plane.slice(0, 0, 1).slice(1, 0, 1).dense());
    EXPECT_TRUE(plane.slice(0, 0, 1).slice(1, 0, 2).dense());
    EXPECT_FALSE(plane.slice(1, 0, 1).dense()) << "planes are 12 elements apart";
    const View<int, 3, Host, Interleaved> problems(values.data(), {2, 3, 4});
    EXPECT_TRUE(problems.slice(1, 0, 1).slice(2, 0, 3).dense());
    EXPECT_FALSE(problems.slice(0, 0, 1).dense());
}

TEST(View, EmptyExtentsAreDense) {
    const View<float, 2> view(nullptr, {0, 7});
    EXPECT_TRUE(view.empty());
    EXPECT_TRUE(view.dense());
    EXPECT_EQ(view.size(), 0);
}

}  // namespace
}  // namespace aperture::core
