// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "libcorr/gpu/correlator.cuh"
#include "tests/corr/correlation_cases.hpp"
#include "tests/corr/defined_transforms.hpp"

namespace aperture::corr {
namespace {

using core::Array;

Array<double, 3> correlated(core::Simt& simt, const Planes& a, const Planes& b,
                            const Problem& problem) {
    const Shape extent = problem.lags.extent();
    Array<double, 3> sums({problem.images * problem.surfaces(), extent.rows, extent.columns});
    std::fill(sums.begin(), sums.end(), std::nan(""));
    const FramedPlanes of_a(a);
    const FramedPlanes of_b(b);
    Correlator<core::Simt>(simt, problem)
        .run(of_a.view(), a.data() == b.data() ? of_a.view() : of_b.view(), sums.view());
    return sums;
}

Correlate in_order(core::LaneOrder order) {
    return [order](const Planes& a, const Planes& b, const Problem& problem) {
        core::Simt simt(order);
        return correlated(simt, a, b, problem);
    };
}

class SimtCorrelations : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Cases, SimtCorrelations,
                         testing::Values(Case{{1, 1}, {1, 1}}, Case{{1, 40}, {1, 40, true}},
                                         Case{{40, 1}, {40, 1, true}}, Case{{9, 17}, {5, 17}},
                                         Case{{33, 49}, {17, 20, true}}, Case{{6, 150}, {3, 131}},
                                         Case{{4, 100}, {2, 81, true}},
                                         // Rows in the longest pieces of the kernels.
                                         Case{{64, 100}, {2, 3}}),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(SimtCorrelations, AreTheOracles) {
    const Case& c = GetParam();
    expect_the_oracles(Content::bright, c, device_ways({1, c.image, c.lags, Method::fft, false}),
                       in_order(core::LaneOrder::forward));
}

TEST(SimtPlanes, InAnyOrderOfThreadsAreTheOracles) {
    const Case c{{9, 21}, {5, 8, true}};
    const auto expect = [&](Content content, bool each_plane, core::LaneOrder order) {
        expect_the_oracles(content, c, device_ways({5, c.image, c.lags, Method::fft, each_plane}),
                           in_order(order));
    };
    expect(Content::stripes, false, core::LaneOrder::random);
    expect(Content::bright, true, core::LaneOrder::reverse);
}

TEST(LargeSimt, PlanesWithOnePixelThatIsNotZeroAreTheOracles) {
    // So many chains that a rounding with each addition would be visible.
    const Case c{{61, 67}, {31, 34, true}};
    expect_the_oracles(Content::impulse, c, device_ways({5, c.image, c.lags, Method::fft, true}),
                       in_order(core::LaneOrder::forward));
}

TEST(SimtPlanes, WithNanHaveNanSums) {
    core::Simt simt;
    Planes planes = planes_of(Content::contrast, 1, {9, 12}, 1);
    planes(0, 4, 5) = std::nanf("");
    for (const Problem& problem : device_ways({1, {9, 12}, {2, 3}, Method::fft, false})) {
        SCOPED_TRACE(static_cast<int>(problem.precision));
        EXPECT_TRUE(std::isnan(correlated(simt, planes, planes, problem)(0, 0, 0)));
    }
}

TEST(SimtTransforms, OfRowsOfEveryRadixAreTheOracles) {
    // 6, 14, 30, 128, 98 and 750 samples.
    for (const Case& c :
         {Case{{5, 6}, {2, 1}}, Case{{1, 7}, {1, 7, true}}, Case{{6, 20}, {3, 11}},
          Case{{9, 100}, {3, 29, true}}, Case{{3, 60}, {3, 39}}, Case{{3, 500}, {2, 251, true}}}) {
        SCOPED_TRACE(name_of(c));
        expect_the_oracles(Content::bright, c, {{2, c.image, c.lags}},
                           in_order(core::LaneOrder::random));
    }
}

TEST(SimtCorrelators, CorrelateSeveralImagesAtOnce) {
    for (const Method method : {Method::direct, Method::fft}) {
        for (const bool each_plane : {false, true}) {
            expect_one_by_one({2, {20, 30}, {9, 7, true}, method, each_plane}, 3, 0,
                              in_order(core::LaneOrder::forward));
        }
    }
}

TEST(TilePartitions, CoverEveryPixelOfEveryTileOnce) {
    using Walk = gpu::TensorWalk<gpu::TensorTile<2>>;
    using Tile = Walk::Tile;
    constexpr int piece = 2 * Walk::step;
    for (const Case& c : cases()) {
        for (const index_t warps : {1, 7, 500}) {
            const auto all = gpu::partition_tiles<Walk>(c.image, c.lags, warps, piece);
            EXPECT_LE(all.warps(), warps);
            EXPECT_EQ(all.first_parts.front(), 0);
            EXPECT_EQ(all.first_parts.back(), std::ssize(all.parts));
            EXPECT_TRUE(std::is_sorted(all.first_parts.begin(), all.first_parts.end()));
            for (const gpu::TileParts& parts : all.tiles) {
                const auto& first = all.parts[static_cast<std::size_t>(parts.first)];
                EXPECT_EQ(first.lag_x % 4, 0);
                const int begin = std::max(first.lag_y, 0) - 1;
                const index_t end =
                    std::min(c.image.rows, c.image.rows + first.lag_y + Tile::rows - 1);
                std::map<std::pair<int, int>, int> times;
                for (int i = 0; i < parts.count; ++i) {
                    const auto& part = all.parts[static_cast<std::size_t>(parts.first + i)];
                    EXPECT_EQ(part.lag_x, first.lag_x);
                    EXPECT_EQ(part.lag_y, first.lag_y);
                    EXPECT_EQ(part.left % Walk::step, 0);
                    for (int r = part.begin; r < part.end; ++r) {
                        for (int x = part.left; x < part.right; ++x) ++times[{r, x}];
                    }
                }
                const index_t left = std::max(0, -(first.lag_x + Tile::columns - 1));
                const index_t right = std::min(c.image.columns, c.image.columns - first.lag_x);
                for (int r = begin; r < end; ++r) {
                    for (index_t x = left; x < right; ++x) {
                        EXPECT_EQ((times[{r, static_cast<int>(x)}]), 1);
                    }
                }
            }
        }
    }
}

TEST(TilePartitions, GiveWarpsEqualWork) {
    using Walk = gpu::DirectWalk<gpu::DirectTile<4, 4, 16>, float>;
    const int columns = 500;
    const auto all = gpu::partition_tiles<Walk>({500, columns}, {250, 250}, 264, 96);
    EXPECT_EQ(all.warps(), 264);
    std::vector<index_t> works;
    for (int warp = 0; warp < all.warps(); ++warp) {
        const auto i = static_cast<std::size_t>(warp);
        index_t work = 0;
        for (int p = all.first_parts[i]; p < all.first_parts[i + 1]; ++p) {
            const auto& part = all.parts[static_cast<std::size_t>(p)];
            const index_t saved = part.begin == part.lag_y ? Walk::saved_rows : 0;
            work += Walk::work_of_start +
                    (part.end - part.begin - saved) *
                        Walk::work_of_row(part.right - part.left, columns - part.lag_x - part.left);
        }
        works.push_back(work);
    }
    const auto [min, max] = std::minmax_element(works.begin(), works.end());
    EXPECT_LT(static_cast<double>(*max), 1.03 * static_cast<double>(*min));
}

}  // namespace
}  // namespace aperture::corr
