// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/weighted_median.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/flow/fields.hpp"

namespace aperture::flow {
namespace {

struct Sample {
    double value;
    double weight;
};

/// (1 - t / 16)^16, the library's exp(-t).
double bell(double t) { return std::pow(std::max(0.0, 1 - t / 16), 16); }

/// The samples in the window of a pixel, in ascending order.
std::vector<Sample> window_of(const PaddedPlanes& image, const PaddedPlanes& visibility,
                              const PaddedPlanes& flow, index_t component, index_t y, index_t x) {
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

void expect_weighted_median(const std::vector<Sample>& window, double found) {
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

class MedianWindows : public testing::TestWithParam<Shape> {};

INSTANTIATE_TEST_SUITE_P(Sizes, MedianWindows,
                         testing::Values(Shape{1, 1}, Shape{1, 40}, Shape{40, 1}, Shape{3, 3},
                                         Shape{12, 15}, Shape{13, 16}, Shape{14, 17},
                                         Shape{23, 61}));

TEST_P(MedianWindows, HaveTheirWeightedMedian) {
    const Shape shape = GetParam();
    std::mt19937 generator(5);
    std::uniform_real_distribution<double> uniform(0, 1);
    const auto next = [&](index_t, index_t, index_t) { return uniform(generator); };
    core::Cpu cpu(2);
    const PaddedPlanes image = padded_image(cpu, random_levels(shape, 1, 30));
    const PaddedPlanes visibility = padded(1, shape, next);
    const PaddedPlanes boundary = padded(1, shape, [](index_t, index_t, index_t) { return 1; });
    const PaddedPlanes from = padded(2, shape, next);
    PaddedPlanes to(2, shape);
    filter_near_boundaries(cpu, image, visibility, boundary, from, to.view());
    for (index_t i : {0, 1}) {
        for (index_t y = 0; y < shape.rows; ++y) {
            for (index_t x = 0; x < shape.columns; ++x) {
                ASSERT_NO_FATAL_FAILURE(expect_weighted_median(
                    window_of(image, visibility, from, i, y, x), to.row(i, y)[x]))
                    << y << ' ' << x;
            }
        }
    }
}

TEST(WeightedMedians, TouchOnlyWhatIsNearABoundary) {
    const Shape shape{11, 40};
    core::Cpu cpu(1);
    const PaddedPlanes image = padded_image(cpu, random_levels(shape, 1));
    const auto one = [](index_t, index_t, index_t) { return 1; };
    const PaddedPlanes boundary =
        padded(1, shape, [](index_t, index_t y, index_t x) { return y == 4 && x == 20 ? 1 : 0; });
    PaddedPlanes to = padded(2, shape, [](index_t, index_t, index_t) { return 7; });
    filter_near_boundaries(cpu, image, padded(1, shape, one), boundary, padded(2, shape, one),
                           to.view());
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            const bool near = std::abs(y - 4) <= 2 && std::abs(x - 20) <= 2;
            ASSERT_EQ(to.row(0, y)[x], near ? 1.0F : 7.0F) << y << ' ' << x;
        }
    }
}

/// A dark and a bright half that move apart. The flow's step is three pixels off the edge.
TEST(WeightedMedians, MoveTheStepOfAFlowToTheEdgeOfTheImage) {
    const Shape shape{24, 48};
    const auto halves = [&](index_t edge, float left, float right) {
        return image_of(shape, [=](index_t, index_t x) { return x < edge ? left : right; });
    };
    core::Cpu cpu(2);
    const PaddedPlanes image = padded_image(cpu, halves(24, 50, 150));
    PaddedPlanes from = padded_flow(flow_of(
        shape, [](index_t, index_t x) { return x < 27 ? -1 : 2; },
        [](index_t, index_t) { return 0; }));
    PaddedPlanes to(2, shape);
    to.copy(from);
    WeightedMedian filter(shape);
    for (int i = 0; i < 3; ++i) {
        filter.run(cpu, image, image, from, to.view());
        from = padded_flow(flow_of(
            shape, [&](index_t y, index_t x) { return to.row(0, y)[x]; },
            [&](index_t y, index_t x) { return to.row(1, y)[x]; }));
    }
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            ASSERT_EQ(to.row(0, y)[x], x < 24 ? -1.0F : 2.0F) << y << ' ' << x;
            ASSERT_EQ(to.row(1, y)[x], 0.0F);
        }
    }
}

/// Converging flow, different grey levels, and targets outside the image reduce visibility.
TEST(Visibility, IsLessWhereAnythingSpeaksAgainstIt) {
    const Shape shape{3, 20};
    core::Cpu cpu(1);
    const PaddedPlanes image0 =
        padded_image(cpu, image_of(shape, [](index_t, index_t) { return 100; }));
    const PaddedPlanes image1 =
        padded_image(cpu, image_of(shape, [](index_t, index_t x) { return x == 10 ? 120 : 100; }));
    PaddedPlanes visibility(1, shape);
    const PaddedPlanes flow = padded_flow(flow_of(
        shape, [](index_t, index_t x) { return x < 5    ? 0
                                               : x < 15 ? -0.3 * double(x - 5)
                                                        : -3; },
        [](index_t, index_t) { return 0; }));
    find_visibility(cpu, image0, image1, flow, visibility);
    const float* at = visibility.row(0, 1);
    EXPECT_EQ(at[2], 1.0F);
    EXPECT_NEAR(at[8], bell(0.5), 1e-6);
    EXPECT_NEAR(at[10], bell(1.0), 1e-6);
    EXPECT_EQ(at[17], 1.0F);
    EXPECT_EQ(at[-1], 0.0F);
    EXPECT_EQ(at[20], 0.0F);
    find_visibility(cpu, image0, image0, padded_flow(constant_flow(shape, 2, 0)), visibility);
    EXPECT_EQ(at[17], 1.0F);
    EXPECT_EQ(at[18], 1e-3F);
}

TEST(MotionBoundaries, AreWhereTheFlowHasAStepToTheRightOrDown) {
    const Shape shape{5, 7};
    core::Cpu cpu(1);
    const PaddedPlanes flow = padded_flow(flow_of(
        shape, [](index_t, index_t x) { return x < 3 ? 0 : 0.3; },
        [](index_t y, index_t) { return y < 2 ? 0 : -0.2; }));
    PaddedPlanes boundary(1, shape);
    find_motion_boundaries(cpu, flow, boundary);
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            ASSERT_EQ(boundary.row(0, y)[x], x == 2 ? 1.0F : 0.0F) << y << ' ' << x;
        }
    }
    const PaddedPlanes turned = padded_flow(flow_of(
        shape, [](index_t, index_t) { return 0; },
        [](index_t y, index_t) { return y < 2 ? 0 : -0.3; }));
    find_motion_boundaries(cpu, turned, boundary);
    for (index_t y = 0; y < shape.rows; ++y) {
        ASSERT_EQ(boundary.row(0, y)[3], y == 1 ? 1.0F : 0.0F) << y;
    }
}

}  // namespace
}  // namespace aperture::flow
