// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "libstap/gpu/doppler.cuh"
#include "tests/stap/random_input.hpp"

namespace aperture::stap {
namespace {

class SimtTaper : public testing::TestWithParam<core::Extents<4>> {};

TEST_P(SimtTaper, WeightsThePulsesAndPadsThemWithZeros) {
    const auto [channels, pulses, bins, cells] = GetParam();
    const auto wide = random_normal<3>({channels + 1, pulses + 2, cells + 3}, 3);
    const auto strided =
        wide.view().slice(0, 1, channels + 1).slice(1, 2, pulses + 2).slice(2, 3, cells + 3);
    core::Array<float, 1> taper({pulses});
    for (index_t p = 0; p < pulses; ++p) taper(p) = 0.5f + static_cast<float>(p);
    for (const core::LaneOrder order : {core::LaneOrder::forward, core::LaneOrder::reverse}) {
        core::Simt simt(order);
        core::Array<cfloat, 3> cube({channels, bins, cells});
        std::fill(cube.begin(), cube.end(), cfloat(NAN));
        const auto& weights = taper;
        gpu::taper_and_pad(simt, strided, weights.view(), cube.view());
        for (index_t c = 0; c < channels; ++c) {
            for (index_t k = 0; k < bins; ++k) {
                for (index_t r = 0; r < cells; ++r) {
                    const cfloat wanted = k < pulses ? strided(c, k, r) * taper(k) : cfloat(0);
                    ASSERT_EQ(cube(c, k, r), wanted) << c << ", " << k << ", " << r;
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(ChannelsPulsesBinsCells, SimtTaper,
                         testing::Values(core::Extents<4>{1, 1, 1, 1},
                                         core::Extents<4>{2, 5, 5, 127},
                                         core::Extents<4>{3, 4, 8, 128},
                                         core::Extents<4>{2, 7, 13, 129},
                                         core::Extents<4>{1, 3, 4, 521}));

}  // namespace
}  // namespace aperture::stap
