// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
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
                [&](index_t image, const Planes& planes) {
                    pairs.load(image, FramedPlanes(planes).view());
                },
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
        const auto expect = [&](core::LaneOrder order, index_t max_bytes) {
            core::Simt in_order(order);
            PairOperations<core::Simt> pairs(in_order, problem, max_bytes);
            pairs.reserve(3);
            expect_oracles(
                problem, [&](index_t i, const Planes& planes) { pairs.keep(i, planes.view()); },
                [&](index_t a, index_t b, auto sums) { pairs.correlate(a, b, sums); });
        };
        expect(core::LaneOrder::random, bytes_of_two_planes);
        expect(core::LaneOrder::reverse, 1);
    }
}

}  // namespace
}  // namespace aperture::corr
