// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libcorr/gpu/correlator.cuh"
#include "tests/corr/correlation_cases.hpp"
#include "tests/corr/defined_transforms.hpp"

namespace aperture::corr {
namespace {

using core::Array;

Array<double, 3> correlated(core::Simt& simt, const Planes& a, const Planes& b,
                            const Problem& problem) {
    const Shape extent = problem.lags.extent();
    Array<double, 3> sums(
        {problem.images * (problem.each_plane ? problem.planes : 1), extent.rows, extent.columns});
    std::fill(sums.begin(), sums.end(), std::nan(""));
    gpu::DeviceCorrelator<core::Simt, DefinedTransforms>(simt, problem)
        .run(a.view(), b.view(), sums.view());
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
                                         Case{{4, 100}, {2, 81, true}}),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(SimtCorrelations, AreTheOracles) {
    const Case& c = GetParam();
    expect_the_oracles(Content::bright, c,
                       device_ways({1, c.image, c.lags, Method::fft, false}, Tiles::some),
                       in_order(core::LaneOrder::forward));
}

TEST(SimtPlanes, InAnyOrderOfThreadsAreTheOracles) {
    const Case c{{9, 21}, {5, 8, true}};
    const auto expect = [&](Content content, bool each_plane, core::LaneOrder order) {
        expect_the_oracles(content, c,
                           device_ways({5, c.image, c.lags, Method::fft, each_plane}, Tiles::some),
                           in_order(order));
    };
    expect(Content::stripes, false, core::LaneOrder::random);
    expect(Content::bright, true, core::LaneOrder::reverse);
}

TEST(SimtCorrelators, TakeSeveralImagesAtOnce) {
    core::Simt simt;
    const Shape shape{20, 30};
    const Planes a = planes_of(Content::bright, 6, shape, 7);
    const Planes b = planes_of(Content::bright, 6, shape, 8);
    for (const Method method : {Method::direct, Method::fft}) {
        for (const bool each_plane : {false, true}) {
            const Problem one{2, shape, {9, 7, true}, method, each_plane};
            Problem all = one;
            all.images = 3;
            const Array<double, 3> sums = correlated(simt, a, b, all);
            for (index_t i = 0; i < 3; ++i) {
                const auto part = [&](const Planes& planes) {
                    Planes image({2, shape.rows, shape.columns});
                    std::copy_n(planes.data() + i * image.size(), image.size(), image.data());
                    return image;
                };
                const Array<double, 3> of_one = correlated(simt, part(a), part(b), one);
                EXPECT_TRUE(
                    std::equal(of_one.begin(), of_one.end(), sums.data() + i * of_one.size()));
            }
        }
    }
}

TEST(SimtCorrelators, RefuseTilesThatThereAreNot) {
    core::Simt simt;
    Problem problem{1, {20, 30}, {5, 5}, Method::direct};
    problem.direct.tile = Shape{8, 8};
    using Correlator = gpu::DeviceCorrelator<core::Simt, DefinedTransforms>;
    EXPECT_THAT([&] { Correlator(simt, problem); },
                testing::ThrowsMessage<core::InvalidArgument>(testing::HasSubstr(
                    "a tile of 8x8 displacements, expected one of 32x64, 16x128, 64x32")));
}

TEST(TilePartitions, CoverEveryRowOfEveryTileOnce) {
    for (const Case& c : cases()) {
        for (const index_t count : {1, 7, 500}) {
            const Shape tile{16, 64};
            const auto all = gpu::partition_tiles(c.image, c.lags, tile, count, 8, 2);
            for (const gpu::TileParts& parts : all.tiles) {
                const auto* part = &all.parts[static_cast<std::size_t>(parts.first)];
                const index_t lag = part->lag_y;
                EXPECT_EQ(part->lag_x % 4, 0);
                EXPECT_EQ(part->begin, std::max<index_t>(lag, 0) - 1);
                for (int i = 0; i < parts.count; ++i) {
                    EXPECT_GT(part[i].end, part[i].begin);
                    EXPECT_LE(part[i].end, part[i].begin + 8);
                    if (i > 0) {
                        EXPECT_EQ(part[i].begin, part[i - 1].end);
                        EXPECT_EQ(part[i].lag_x, part->lag_x);
                        EXPECT_EQ(part[i].lag_y, part->lag_y);
                    }
                }
                EXPECT_EQ(part[parts.count - 1].end,
                          std::min(c.image.rows, c.image.rows + lag + tile.rows - 1));
            }
        }
    }
}

}  // namespace
}  // namespace aperture::corr
