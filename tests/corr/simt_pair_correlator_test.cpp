// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libcorr/gpu/pair_correlator.cuh"
#include "tests/corr/correlation_cases.hpp"
#include "tests/corr/defined_transforms.hpp"

namespace aperture::corr {
namespace {

using Sums = core::Array<double, 3>;
using Pairs = PairCorrelator<core::Simt>;

/// Compares all pairs of three images; load(image, planes), then run(a, b, sums).
template <class Load, class Run>
void expect_oracles(const Problem& problem, const Load& load, const Run& run) {
    const Shape extent = problem.lags.extent();
    expect_every_pair(problem, load, [&](index_t a, index_t b) {
        Sums sums({problem.surfaces(), extent.rows, extent.columns});
        std::fill(sums.begin(), sums.end(), std::nan(""));
        run(a, b, sums.view());
        return sums;
    });
}

TEST(SimtPairs, AreTheOracles) {
    for (const bool each_plane : {false, true}) {
        for (const Case& c :
             {Case{{1, 1}, {1, 1}}, Case{{9, 17}, {5, 17}}, Case{{13, 20}, {7, 10, true}}}) {
            SCOPED_TRACE(name_of(c));
            const Problem problem{2, c.image, c.lags, Method::direct, each_plane};
            core::Simt simt;
            Pairs pairs(simt, problem, 3);
            expect_oracles(
                problem,
                [&](index_t image, const Planes& planes) { pairs.load(image, planes.view()); },
                [&](index_t a, index_t b, auto sums) { pairs.run(a, b, sums); });
        }
    }
}

TEST(SimtPairs, OfPlanesInGroupsAreTheOracles) {
    const Shape image{8, 11};
    const Lags lags{4, 6, true};
    const index_t bytes_of_two_planes = 2 * 2 * 12 * 9 * index_t{sizeof(core::Complex<float>)};
    for (const bool each_plane : {false, true}) {
        const Problem problem{6, image, lags, Method::fft, each_plane};
        core::Simt simt;
        EXPECT_EQ(
            (gpu::FftCorrelation<core::Simt>(simt, problem, bytes_of_two_planes).planes_at_once()),
            2);
        const auto expect = [&](core::LaneOrder order, index_t most_bytes) {
            core::Simt in_order(order);
            PairOperations<core::Simt> pairs(in_order, problem, most_bytes);
            pairs.reserve(3);
            expect_oracles(
                problem, [&](index_t i, const Planes& planes) { pairs.keep(i, planes.view()); },
                [&](index_t a, index_t b, auto sums) { pairs.correlate(a, b, sums); });
        };
        expect(core::LaneOrder::random, bytes_of_two_planes);
        expect(core::LaneOrder::reverse, 1);
    }
}

/// The rows and planes of an input may have gaps.
TEST(SimtPairs, KeepPlanesOfAnyStride) {
    const Problem problem{2, {6, 7}, {3, 4, true}};
    const Planes large = planes_of(Content::bright, 4, {9, 13}, 1);
    core::Array<float, 3> small({2, 6, 7});
    PlanesView<core::Host> part = large.view();
    part.extent = small.extent();
    part.stride[0] *= 2;
    for (index_t p = 0; p < 2; ++p) {
        for (index_t y = 0; y < 6; ++y) {
            for (index_t x = 0; x < 7; ++x) small(p, y, x) = large(2 * p, y, x);
        }
    }
    core::Simt simt;
    Pairs pairs(simt, problem, 2);
    pairs.load(0, part);
    pairs.load(1, std::as_const(small).view());
    Sums of_part({1, 5, 7});
    Sums of_small({1, 5, 7});
    pairs.run(0, 0, of_part.view());
    pairs.run(1, 1, of_small.view());
    EXPECT_TRUE(std::equal(of_part.begin(), of_part.end(), of_small.begin()));
}

TEST(SimtPairs, ThatCannotBeAreRefused) {
    const Problem problem{1, {8, 9}, {4, 4}};
    core::Simt simt;
    EXPECT_THROW(Pairs(simt, {1, {8, 9}, {9, 4}}, 2), core::InvalidArgument);
    EXPECT_THROW(Pairs(simt, {0, {8, 9}, {4, 4}}, 2), core::InvalidArgument);
    EXPECT_THROW(Pairs(simt, problem, 0), core::InvalidArgument);
    EXPECT_THAT([&] { Pairs(simt, problem, index_t{100} << 30); },
                testing::ThrowsMessage<core::InvalidArgument>(
                    testing::AllOf(testing::StartsWith("pairs of 107374182400 images need "),
                                   testing::HasSubstr(" GiB of memory, but "))));
    Pairs pairs(simt, problem, 2);
    const Planes image = planes_of(Content::bright, 1, {8, 9}, 1);
    const Planes narrow({1, 8, 8});
    Sums sums({1, 4, 4});
    Sums small({1, 4, 3});
    pairs.load(0, image.view());
    EXPECT_THROW(pairs.load(2, image.view()), core::InvalidArgument);
    EXPECT_THROW(pairs.load(-1, image.view()), core::InvalidArgument);
    EXPECT_THROW(pairs.load(1, narrow.view()), core::InvalidArgument);
    EXPECT_THROW(pairs.run(0, 1, sums.view()), core::InvalidArgument);
    EXPECT_THROW(pairs.run(0, 2, sums.view()), core::InvalidArgument);
    EXPECT_THROW(pairs.run(0, 0, small.view()), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::corr
