// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/lucas_kanade.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/flow/fields.hpp"

namespace aperture::flow {
namespace {

/// Random gradients of standard deviation `size`, in direction (1, slope) only or in any.
struct Gradients {
    float size;
    bool one_direction = false;
    float slope = 0;
};

PaddedPlanes random_terms(Shape shape, const Gradients& gradients, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0, gradients.size);
    PaddedPlanes terms(5, shape);
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            const float gx = normal(generator);
            const float any = normal(generator);
            const float gy = gradients.one_direction ? gradients.slope * gx : any;
            const float gt = normal(generator);
            const float values[5] = {gx * gx, gx * gy, gy * gy, -gx * gt, -gy * gt};
            for (index_t i = 0; i < 5; ++i) terms.row(i, y)[x] = values[i];
        }
    }
    return terms;
}

Flow solved(const PaddedPlanes& terms, int window, double regularisation) {
    const Shape shape = terms.shape();
    core::Cpu cpu(2);
    PaddedPlanes increment = padded(2, shape, [](index_t, index_t, index_t) { return nan; });
    Parameters parameters;
    parameters.window = window;
    parameters.regularisation = regularisation;
    WindowedLeastSquares(cpu, shape, parameters).solve(cpu, terms, increment);
    return flow_of(
        shape, [&](index_t y, index_t x) { return increment.row(0, y)[x]; },
        [&](index_t y, index_t x) { return increment.row(1, y)[x]; });
}

/// The solution at a pixel, and a bound on the rounding error of either component.
struct ExpectedFlow {
    double u = 0;
    double v = 0;
    double bound = 0;
    double eigenvalue = 0;  ///< the smaller one, per pixel of the window
};

ExpectedFlow expected_at(const PaddedPlanes& terms, index_t y, index_t x, int window,
                         double regularisation) {
    const Shape shape = terms.shape();
    const index_t reach = window / 2;
    std::array<double, 5> sum{};
    for (index_t dy = -reach; dy <= reach; ++dy) {
        for (index_t dx = -reach; dx <= reach; ++dx) {
            const index_t row = std::clamp<index_t>(y + dy, 0, shape.rows - 1);
            const index_t column = std::clamp<index_t>(x + dx, 0, shape.columns - 1);
            for (index_t i = 0; i < 5; ++i) {
                sum[static_cast<std::size_t>(i)] += terms.row(i, row)[column];
            }
        }
    }
    const auto [j11, j12, j22, b_u, b_v] = sum;
    const double pixels = window * window;
    const double radius = std::hypot((j11 - j22) / 2, j12);
    ExpectedFlow expected;
    expected.eigenvalue = ((j11 + j22) / 2 - radius) / pixels;
    if (expected.eigenvalue < 0.01) return expected;
    const double d11 = j11 + regularisation * pixels;
    const double d22 = j22 + regularisation * pixels;
    const double determinant = d11 * d22 - j12 * j12;
    expected.u = (d22 * b_u - j12 * b_v) / determinant;
    expected.v = (d11 * b_v - j12 * b_u) / determinant;
    // Sums of n terms have an error of up to n roundings of the sum of magnitudes. The condition
    // number multiplies the errors of matrix and right-hand side (Higham 2002, section 7.1), and
    // closed formulas of the inverse add a few condition numbers more.
    const double smaller = (d11 + d22) / 2 - std::hypot((d11 - d22) / 2, j12);
    const double condition = (d11 + d22) / smaller;
    const double magnitude = std::hypot(expected.u, expected.v) + (std::hypot(j11, j22)) / smaller;
    expected.bound = (pixels + 16) * unit_roundoff * condition * magnitude;
    return expected;
}

struct WindowCase {
    Shape shape;
    int window;
    double regularisation;
    float gradients = 10;
};
std::string name_of(const WindowCase& c) {
    return core::text(c.shape.rows, "x", c.shape.columns, "_window", c.window, "_regularised",
                      static_cast<int>(1000 * c.regularisation), "_gradients",
                      static_cast<int>(100 * c.gradients));
}
void PrintTo(const WindowCase& c, std::ostream* stream) { *stream << name_of(c); }

class Windows : public testing::TestWithParam<WindowCase> {};

INSTANTIATE_TEST_SUITE_P(All, Windows,
                         testing::Values(WindowCase{{17, 33}, 9, 0.1}, WindowCase{{17, 33}, 9, 0},
                                         WindowCase{{17, 33}, 3, 10}, WindowCase{{17, 33}, 5, 0},
                                         WindowCase{{40, 37}, 15, 0.1}, WindowCase{{7, 8}, 21, 0.1},
                                         WindowCase{{1, 19}, 9, 0.1}, WindowCase{{19, 1}, 9, 0},
                                         WindowCase{{1, 1}, 9, 0.1},
                                         WindowCase{{24, 16}, 9, 0.1, 0.3F},
                                         WindowCase{{24, 16}, 9, 0, 100},
                                         WindowCase{{31, 45}, 9, 0.1, 0.1F}),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(Windows, GiveTheOraclesIncrement) {
    const WindowCase& c = GetParam();
    const PaddedPlanes terms = random_terms(c.shape, {c.gradients}, 1);
    const Flow flow = solved(terms, c.window, c.regularisation);
    for (index_t y = 0; y < c.shape.rows; ++y) {
        for (index_t x = 0; x < c.shape.columns; ++x) {
            const ExpectedFlow e = expected_at(terms, y, x, c.window, c.regularisation);
            // Rounding decides on which side of the threshold such a value is.
            if (std::abs(e.eigenvalue / 0.01 - 1) < 1e-3) continue;
            ASSERT_TRUE(std::abs(flow(0, y, x) - e.u) <= e.bound &&
                        std::abs(flow(1, y, x) - e.v) <= e.bound)
                << "row " << y << ", column " << x << ": (" << flow(0, y, x) << ", "
                << flow(1, y, x) << "), expected (" << e.u << ", " << e.v << ") +- " << e.bound;
        }
    }
}

TEST(WindowThreshold, IsMetOnBothSidesByTheCaseAboutIt) {
    const PaddedPlanes terms = random_terms({31, 45}, {0.1F}, 1);
    int without = 0;
    for (index_t y = 0; y < 31; ++y) {
        for (index_t x = 0; x < 45; ++x) {
            without += expected_at(terms, y, x, 9, 0.1).eigenvalue < 0.01 ? 1 : 0;
        }
    }
    EXPECT_GT(without, 100);
    EXPECT_LT(without, 31 * 45 - 100);
}

struct Flat {
    const char* name;
    Gradients gradients;
};
void PrintTo(const Flat& flat, std::ostream* stream) { *stream << flat.name; }

class WindowsWithoutTexture : public testing::TestWithParam<Flat> {};

INSTANTIATE_TEST_SUITE_P(All, WindowsWithoutTexture,
                         testing::Values(Flat{"None", {0}}, Flat{"Weak", {0.05F}},
                                         Flat{"UprightStripes", {30, true, 0}},
                                         Flat{"ObliqueStripes", {10, true, 0.75F}}),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(WindowsWithoutTexture, AddNothing) {
    // The pixels of the wider window are more than an int counts.
    for (const int window : {9, 46'341}) {
        for (const double regularisation : {0.0, 0.1}) {
            const Flow flow =
                solved(random_terms({17, 33}, GetParam().gradients, 2), window, regularisation);
            for (const float component : flow) ASSERT_EQ(component, 0.0F) << window;
        }
    }
}

}  // namespace
}  // namespace aperture::flow
