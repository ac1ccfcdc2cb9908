// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/summed_area.hpp"

#include <gtest/gtest.h>

#include <random>

namespace aperture::signal {
namespace {

using core::index_t;

TEST(SummedAreas, AreSumsOverRectangles) {
    std::mt19937 generator(1);
    std::uniform_int_distribution<int> level(0, 255);
    SummedAreas areas;
    core::Cpu cpu(2);
    // Sizes shrink and grow: a plane must not influence the next one.
    const std::pair<index_t, index_t> sizes[] = {{40, 131}, {1, 1}, {7, 64}, {33, 65}};
    for (const auto& [rows, columns] : sizes) {
        core::Array<float, 2> plane({rows, columns});
        for (float& value : plane) value = static_cast<float>(level(generator));
        std::uniform_int_distribution<index_t> row(0, rows);
        std::uniform_int_distribution<index_t> column(0, columns);
        for (const bool squares : {false, true}) {
            squares ? areas.compute_squares(cpu, plane) : areas.compute(cpu, plane, 100);
            for (int trial = 0; trial < 50; ++trial) {
                const auto [top, bottom] = std::minmax({row(generator), row(generator)});
                const auto [left, right] = std::minmax({column(generator), column(generator)});
                double expected = 0;
                for (index_t y = top; y < bottom; ++y) {
                    for (index_t x = left; x < right; ++x) {
                        const auto value = static_cast<double>(plane(y, x));
                        expected += squares ? value * value : value - 100;
                    }
                }
                // Sums of integers are exact.
                ASSERT_EQ(areas.sum(top, bottom, left, right), expected);
            }
        }
    }
}

}  // namespace
}  // namespace aperture::signal
