// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/array.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "aperture/core/executor.hpp"

namespace aperture::core {
namespace {

static_assert(!std::is_copy_constructible_v<Array<float, 1>>);
static_assert(std::is_nothrow_move_constructible_v<Array<float, 1>>);

TEST(Array, IsAlignedForVectors) {
    for (const index_t elements : {1, 3, 1000, 5'000'000}) {
        Array<float, 1> array({elements});
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0u) << elements;
        EXPECT_EQ(array.size(), elements);
    }
}

TEST(Array, EmptyOwnsNothing) {
    const std::uint64_t before = host_allocations();
    const Array<double, 3> array({4, 0, 2});
    EXPECT_EQ(array.data(), nullptr);
    EXPECT_TRUE(array.view().empty());
    EXPECT_EQ(host_allocations(), before);
}

TEST(Array, CountsAllocationsAndReshapeReuses) {
    const std::uint64_t before = host_allocations();
    Array<float, 2> array({8, 8});
    EXPECT_EQ(host_allocations(), before + 1);
    array.reshape({4, 4});
    array.reshape({2, 8});
    EXPECT_EQ(array.extent(), (Extents<2>{2, 8}));
    EXPECT_EQ(host_allocations(), before + 1);
    array.reshape({8, 8});
    EXPECT_EQ(host_allocations(), before + 1) << "the first block still holds 8 x 8";
    array.reshape({9, 9});
    EXPECT_EQ(host_allocations(), before + 2);
}

TEST(Array, ReshapesToPagesOfItsKind) {
    if (gpu_status().usable) GTEST_SKIP() << "pages can be locked here";
    Array<float, 1> array({0}, Pages::locked);
    EXPECT_THROW(array.reshape({1}), DeviceError);
    Array<float, 1> pageable({0});
    pageable.reshape({1});
    EXPECT_EQ(pageable.size(), 1);
}

TEST(Array, RefusesImpossibleExtents) {
    EXPECT_THROW((Array<float, 1>({-1})), InvalidArgument);
    constexpr index_t huge = std::numeric_limits<index_t>::max();
    EXPECT_THROW((Array<float, 2>({huge, 2})), InvalidArgument);
    EXPECT_THROW((Array<float, 2>({index_t{1} << 40, index_t{1} << 40})), InvalidArgument);
    Array<float, 2> array({4, 4});
    EXPECT_THROW(array.reshape({2, -1}), InvalidArgument);
    EXPECT_THROW(array.reshape({index_t{1} << 40, index_t{1} << 40}), InvalidArgument);
    EXPECT_EQ(array.size(), 16);
}

// AddressSanitizer ends the program where an allocation fails.
#if !defined(__SANITIZE_ADDRESS__)
TEST(Array, IsEmptyAfterAReshapeThatFails) {
    Array<std::byte, 1> array({16});
    EXPECT_THROW(array.reshape({std::numeric_limits<index_t>::max() / 4}), DeviceError);
    EXPECT_EQ(array.size(), 0) << "the old block is released before the new one is allocated";
    EXPECT_EQ(array.data(), nullptr);
    array.reshape({16});
    EXPECT_EQ(array.size(), 16);
}
#endif

// NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
TEST(Array, IsEmptyWhenMovedFrom) {
    Array<float, 2> first({3, 5});
    const float* const data = first.data();
    Array<float, 2> second(std::move(first));
    EXPECT_EQ(second.data(), data);
    EXPECT_EQ(second.size(), 15);
    EXPECT_EQ(first.size(), 0);
    EXPECT_TRUE(first.view().empty());
    first = std::move(second);
    EXPECT_EQ(first.data(), data);
    EXPECT_EQ(second.size(), 0);
    second.reshape({3, 5});
    EXPECT_NE(second.data(), nullptr);
}
// NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)

}  // namespace
}  // namespace aperture::core
