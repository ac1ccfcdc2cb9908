// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/corr_tiles.cuh"
#include "tests/corr/correlation_cases.hpp"

namespace aperture::bench {
namespace {

using corr::Content;
using corr::Planes;
using corr::Problem;

TEST(SimtCorrTiles, ThatTheLibraryDoesNotUseAreTheOracles) {
    const corr::Case cases[] = {
        {{9, 17}, {5, 17}}, {{20, 33}, {9, 20, true}}, {{3, 150}, {1, 131}}, {{64, 100}, {2, 3}}};
    for_slower_kernels([&]<class Walk>(const char* name, corr::Precision precision, auto kernel) {
        SCOPED_TRACE(name);
        const auto correlate = [=](const Planes& a, const Planes& b, const Problem& problem) {
            core::Simt simt(core::LaneOrder::random);
            const corr::Shape extent = problem.lags.extent();
            core::Array<double, 3> sums({1, extent.rows, extent.columns});
            std::fill(sums.begin(), sums.end(), std::nan(""));
            KernelCorrelator<core::Simt, Walk>(simt, problem, kernel)
                .run(a.view(), b.view(), sums.view());
            return sums;
        };
        for (const corr::Case& c : cases) {
            const Problem problem{4, c.image, c.lags, corr::Method::direct, false, 1, precision};
            expect_the_oracles(Content::bright, c, {problem}, correlate);
        }
    });
}

}  // namespace
}  // namespace aperture::bench
