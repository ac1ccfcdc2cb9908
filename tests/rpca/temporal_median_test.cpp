// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/temporal_median.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "aperture/core/error.hpp"

namespace aperture::rpca {
namespace {

TEST(TemporalMedian, IsThatOfEachValueAlone) {
    std::mt19937 generator(2);
    std::uniform_int_distribution<int> grey(0, 255);
    core::Cpu cpu(2);
    for (const index_t frames : {1, 2, 3, 8, 101}) {
        for (const index_t values : {1, 63, 64, 65, 300}) {
            core::Array<float, 2> m({frames, values});
            for (float& value : m) value = static_cast<float>(grey(generator));
            core::Array<float, 1> background({values});
            temporal_median(cpu, std::as_const(m).view(), background);
            for (index_t v = 0; v < values; ++v) {
                std::vector<float> sorted;
                for (index_t f = 0; f < frames; ++f) sorted.push_back(m(f, v));
                std::sort(sorted.begin(), sorted.end());
                const auto middle = static_cast<std::size_t>(frames / 2);
                const float expected =
                    frames % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
                EXPECT_EQ(background(v), expected) << frames << " frames, value " << v;
            }
        }
    }
}

TEST(TemporalMedian, RefusesNoFramesAndOtherExtents) {
    core::Cpu cpu(1);
    core::Array<float, 2> none({0, 4}), two({2, 4});
    core::Array<float, 1> background({4}), other({5});
    EXPECT_THROW(temporal_median(cpu, std::as_const(none).view(), background),
                 core::InvalidArgument);
    EXPECT_THROW(temporal_median(cpu, std::as_const(two).view(), other), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::rpca
