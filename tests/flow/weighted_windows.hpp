// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reference for weighted medians near motion boundaries, in double precision.

#include <gtest/gtest.h>

#include "tests/flow/fields.hpp"

namespace aperture::flow {

struct Sample {
    double value;
    double weight;
};

/// (1 - t / 16)^16, the library's exp(-t).
inline double bell(double t) { return std::pow(std::max(0.0, 1 - t / 16), 16); }

/// The samples in the window of a pixel, in ascending order.
inline std::vector<Sample> window_of(const PaddedPlanes& image, const PaddedPlanes& visibility,
                                     const PaddedPlanes& flow, index_t component, index_t y,
                                     index_t x) {
    const Shape shape = flow.shape();
    std::vector<Sample> samples;
    for (index_t dy = -6; dy <= 6; dy += 2) {
        for (index_t dx = -6; dx <= 6; dx += 2) {
            const index_t at_y = y + dy;
            const index_t at_x = x + dx;
            if (at_y < 0 || at_y >= shape.rows || at_x < 0 || at_x >= shape.columns) continue;
            const double step = image.row(0, at_y)[at_x] - image.row(0, y)[x];
            const double weight = std::exp(-static_cast<double>(dx * dx + dy * dy) / 50) *
                                  bell(step * step / 50) *
                                  static_cast<double>(visibility.row(0, at_y)[at_x]);
            samples.push_back({flow.row(component, at_y)[at_x], weight});
        }
    }
    std::sort(samples.begin(), samples.end(),
              [](const Sample& a, const Sample& b) { return a.value < b.value; });
    return samples;
}

inline void expect_weighted_median(const std::vector<Sample>& window, double found) {
    // The median does not distinguish values within one of 2^8 parts of the range.
    const double apart = (window.back().value - window.front().value) / 256;
    double all = 0;
    double below = 0;
    double up_to = 0;
    bool element = false;
    for (const Sample& sample : window) {
        all += sample.weight;
        if (sample.value < found) below += sample.weight;
        if (sample.value <= found + 1.01 * apart) up_to += sample.weight;
        element = element || sample.value == found;
    }
    ASSERT_TRUE(element);
    ASSERT_LE(below, 0.5001 * all);
    ASSERT_GE(up_to, 0.4999 * all);
}

}  // namespace aperture::flow
