// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/run_copy.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <numeric>
#include <vector>

namespace aperture::core {
namespace {

using Strides = Extents<3>;
constexpr Strides extent{4, 5, 6};

RunCopy copy_of(Strides from, Strides to) {
    return {View<const int, 3>(nullptr, extent, from), View<int, 3>(nullptr, extent, to)};
}

TEST(RunCopy, JoinsWhatLiesWithoutGaps) {
    const Strides dense{30, 6, 1};
    const RunCopy all = copy_of(dense, dense);
    EXPECT_EQ(all.dimensions, 0);
    EXPECT_EQ(all.run_bytes, 4 * 5 * 6 * 4);
    EXPECT_TRUE(all.is_rectangle());

    const RunCopy rows = copy_of({35, 7, 1}, dense);
    EXPECT_EQ(rows.dimensions, 1);
    EXPECT_EQ(rows.run_bytes, 6 * 4);
    EXPECT_EQ(rows.dimension[0].extent, 20);
    EXPECT_EQ(rows.dimension[0].from_stride, 28);
    EXPECT_EQ(rows.dimension[0].to_stride, 24);
    EXPECT_TRUE(rows.is_rectangle());

    const RunCopy two_gaps = copy_of({40, 7, 1}, dense);
    EXPECT_EQ(two_gaps.dimensions, 2);
    EXPECT_EQ(two_gaps.runs(), 20);
    EXPECT_FALSE(two_gaps.is_rectangle());

    // The first dimension is the contiguous one, and lies between gaps.
    const RunCopy interleaved = copy_of({1, 60, 10}, {1, 24, 4});
    EXPECT_EQ(interleaved.run_bytes, 4 * 4);
    EXPECT_EQ(interleaved.dimensions, 1);
    EXPECT_EQ(interleaved.dimension[0].extent, 30);

    const RunCopy far = copy_of({1, 6LL * INT_MAX, INT_MAX}, {1, 24, 4});
    EXPECT_EQ(far.dimensions, 1);
    EXPECT_FALSE(far.is_rectangle());
}

TEST(RunCopy, CopiesElementsOfAnyStridesAndNothingElse) {
    const std::vector<Strides> all{{30, 6, 1}, {40, 7, 1},  {1, 24, 4},  {1, 30, 6},
                                   {6, 24, 1}, {60, 12, 2}, {12, 60, 2}, {-30, 6, 1}};
    for (const Strides& from : all) {
        for (const Strides& to : all) {
            SCOPED_TRACE(extents_text(from) + " to " + extents_text(to));
            std::vector<int> source(400), target(400, -1), one_thread(400, -1), expected(400, -1);
            std::iota(source.begin(), source.end(), 0);
            const auto first = [](std::vector<int>& values, const Strides& strides) {
                return values.data() + (strides[0] < 0 ? 100 : 0);
            };
            const View<const int, 3> read(first(source, from), extent, from);
            for (index_t i = 0; i < 4; ++i) {
                for (index_t j = 0; j < 5; ++j) {
                    for (index_t k = 0; k < 6; ++k) {
                        View<int, 3>(first(expected, to), extent, to)(i, j, k) = read(i, j, k);
                    }
                }
            }
            Cpu cpu(2);
            copy_runs(cpu, RunCopy(read, View<int, 3>(first(target, to), extent, to)));
            copy_runs(RunCopy(read, View<int, 3>(first(one_thread, to), extent, to)));
            EXPECT_EQ(target, expected);
            EXPECT_EQ(one_thread, expected);
        }
    }
}

TEST(RunCopy, DividesLongRunsAmongThreads) {
    std::vector<int> source(700001), target(900000, -1);
    std::iota(source.begin(), source.end(), 0);
    Cpu cpu(3);
    copy_runs(cpu, RunCopy(View<const int, 1>(source.data(), {700001}),
                           View<int, 1>(target.data(), {700001})));
    source.resize(900000, -1);
    EXPECT_EQ(target, source);

    // Runs that are no multiple of what a thread takes at a time.
    std::vector<int> rows(900000, -1), expected(900000, -1);
    for (std::size_t row = 0; row < 3; ++row) {
        for (std::size_t i = 0; i < 200003; ++i) {
            expected[300000 * row + i] = source[200003 * row + i];
        }
    }
    copy_runs(cpu, RunCopy(View<const int, 2>(source.data(), {3, 200003}),
                           View<int, 2>(rows.data(), {3, 200003}, {300000, 1})));
    EXPECT_EQ(rows, expected);
}

TEST(RunCopy, StoresPastTheCachesAtAnyAddress) {
    constexpr index_t rows = 3, bytes = 5000, distance = 5100;
    std::vector<char> source(rows * distance + 64);
    std::iota(source.begin(), source.end(), '\0');
    for (const index_t first : {0, 1, 17, 63}) {
        std::vector<char> target(source.size(), -1), expected = target;
        const auto copy = [&](std::vector<char>& to, Stores stores) {
            Cpu cpu(2);
            copy_runs(cpu,
                      RunCopy(View<const char, 2>(source.data() + 5, {rows, bytes}),
                              View<char, 2>(to.data() + first, {rows, bytes}, {distance, 1})),
                      stores);
        };
        copy(target, Stores::past_caches);
        copy(expected, Stores::cached);
        EXPECT_EQ(target, expected) << first;
    }
}

TEST(RunCopy, RefusesOtherExtentsAndCopiesNothingOfNothing) {
    int value = 1;
    EXPECT_THROW(RunCopy(View<const int, 1>(&value, {1}), View<int, 1>(&value, {2})),
                 InvalidArgument);
    Cpu cpu(1);
    copy_runs(cpu, RunCopy(View<const int, 2>(nullptr, {0, 3}), View<int, 2>(nullptr, {0, 3})));
    copy_runs(RunCopy(View<const int, 2>(nullptr, {3, 0}), View<int, 2>(nullptr, {3, 0})));
}

}  // namespace
}  // namespace aperture::core
