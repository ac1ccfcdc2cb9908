// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "aperture/core/array.hpp"

namespace aperture::rpca {

using core::index_t;

/// A man before a ground of waves, with noise, in light that differs from frame to frame.
class StandingMan {
  public:
    static constexpr index_t rows = 48;
    static constexpr index_t columns = 64;

    static float ground(index_t row, index_t column) {
        return static_cast<float>(110 + 30 * ((row / 12 + column / 16) % 2));
    }
    static bool in_man(index_t row, index_t column) {
        return row >= 14 && row < 36 && column >= 20 && column < 30;
    }
    /// The man stands in the frames from `comes` to `goes` - 1.
    static core::Array<float, 4> frames(index_t count, index_t comes, index_t goes,
                                        float light = 1) {
        std::mt19937 generator(7);
        std::normal_distribution<float> noise(0, 2);
        core::Array<float, 4> frames({count, 1, rows, columns});
        for (index_t f = 0; f < count; ++f) {
            for (index_t row = 0; row < rows; ++row) {
                for (index_t column = 0; column < columns; ++column) {
                    const bool man = f >= comes && f < goes && in_man(row, column);
                    frames(f, 0, row, column) =
                        light * (man ? 60 : ground(row, column)) + noise(generator);
                }
            }
        }
        return frames;
    }
    static void expect_ground(core::View<const float, 3, core::Host> found, float light = 1) {
        for (index_t row = 0; row < rows; ++row) {
            for (index_t column = 0; column < columns; ++column) {
                ASSERT_NEAR(found(0, row, column), light * ground(row, column), 4)
                    << row << ", " << column;
            }
        }
    }
};

}  // namespace aperture::rpca
