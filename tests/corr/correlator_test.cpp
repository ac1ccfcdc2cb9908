// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/correlator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "aperture/core/error.hpp"
#include "tests/corr/oracle.hpp"

namespace aperture::corr {
namespace {

using core::Array;

/// What values a plane has.
enum class Content { contrast, bright, constant, impulse, stripes };

/// Every plane by itself.
Planes planes_of(Content content, index_t planes, Shape shape, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    Planes result({planes, shape.rows, shape.columns});
    for (index_t p = 0; p < planes; ++p) {
        const float level = normal(generator);
        for (index_t y = 0; y < shape.rows; ++y) {
            for (index_t x = 0; x < shape.columns; ++x) {
                float& value = result(p, y, x);
                switch (content) {
                    case Content::contrast:
                        value = normal(generator);
                        break;
                    case Content::bright:
                        value = 100 + normal(generator);
                        break;
                    case Content::constant:
                        value = level;
                        break;
                    case Content::impulse:
                        value = y == shape.rows / 2 && x == shape.columns / 3 ? level : 0.0F;
                        break;
                    case Content::stripes:
                        value = (x / 3) % 2 == 0 ? level : 0.3F;
                        break;
                }
            }
        }
    }
    return result;
}

double largest_error(Method method) { return method == Method::direct ? 2e-7 : 5e-7; }

/// Sums for each plane within the promised error, at every displacement.
void expect_sums(const Planes& a, const Planes& b, const Problem& problem,
                 const Array<double, 3>& found) {
    const Shape extent = problem.lags.extent();
    Surface all({extent.rows, extent.columns});
    std::fill(all.begin(), all.end(), 0.0);
    double all_magnitude = 0;
    const auto compare = [&](const Surface& expected, double size, index_t surface) {
        for (index_t i = 0; i < extent.rows; ++i) {
            for (index_t j = 0; j < extent.columns; ++j) {
                const double error = std::abs(found(surface, i, j) - expected(i, j));
                ASSERT_TRUE(error <= largest_error(problem.method) * size)
                    << "surface " << surface << " at " << i << ", " << j << ": "
                    << found(surface, i, j) << " instead of " << expected(i, j) << ", off by "
                    << error / size << " of the largest possible";
            }
        }
    };
    for (index_t p = 0; p < problem.planes; ++p) {
        const Surface expected = sums_of_products(a, b, p, problem.lags);
        if (problem.each_plane) compare(expected, magnitude(a, b, p), p);
        for (index_t i = 0; i < all.size(); ++i) all.data()[i] += expected.data()[i];
        all_magnitude += magnitude(a, b, p);
    }
    if (!problem.each_plane) compare(all, all_magnitude, 0);
}

Array<double, 3> correlated(const Planes& a, const Planes& b, const Problem& problem,
                            int threads = 2) {
    core::Cpu cpu(threads);
    const Shape extent = problem.lags.extent();
    Array<double, 3> sums({problem.each_plane ? problem.planes : 1, extent.rows, extent.columns});
    std::fill(sums.begin(), sums.end(), std::nan(""));
    Correlator<core::Cpu>(cpu, problem).run(a, b, sums);
    return sums;
}

struct Case {
    Shape image;
    Lags lags;
    Method method;
};
std::string name_of(const Case& c) {
    const auto word = [](index_t n) { return std::to_string(n); };
    return word(c.image.rows) + "x" + word(c.image.columns) + "_" + word(c.lags.rows) + "x" +
           word(c.lags.columns) + (c.lags.both_signs ? "_signed" : "") +
           (c.method == Method::direct ? "_direct" : "_fft");
}
void PrintTo(const Case& c, std::ostream* stream) { *stream << name_of(c); }

std::vector<Case> cases() {
    std::vector<Case> list;
    const std::pair<Shape, Shape> sizes[] = {
        {{1, 1}, {1, 1}},     {{1, 40}, {1, 40}},   {{40, 1}, {40, 1}},   {{3, 3}, {2, 2}},
        {{7, 15}, {7, 15}},   {{8, 16}, {8, 16}},   {{9, 17}, {5, 17}},   {{31, 47}, {16, 24}},
        {{32, 48}, {32, 48}}, {{33, 49}, {17, 49}}, {{61, 67}, {31, 34}}, {{40, 150}, {9, 130}}};
    for (const auto& [image, lags] : sizes) {
        for (const bool both : {false, true}) {
            for (const Method method : {Method::direct, Method::fft}) {
                list.push_back({image, {lags.rows, lags.columns, both}, method});
            }
        }
    }
    return list;
}

class Correlations : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Cases, Correlations, testing::ValuesIn(cases()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(Correlations, AreTheOracles) {
    const Case& c = GetParam();
    for (const Content content : {Content::contrast, Content::bright, Content::constant,
                                  Content::impulse, Content::stripes}) {
        SCOPED_TRACE(static_cast<int>(content));
        const Planes a = planes_of(content, 3, c.image, 1);
        const Planes b = planes_of(content, 3, c.image, 2);
        for (const bool each_plane : {false, true}) {
            const Problem problem{3, c.image, c.lags, c.method, each_plane};
            expect_sums(a, b, problem, correlated(a, b, problem));
            expect_sums(a, a, problem, correlated(a, a, problem));
        }
    }
}

class Methods : public testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(All, Methods, testing::Values(Method::direct, Method::fft),
                         [](const auto& instance) {
                             return instance.param == Method::direct ? "direct" : "fft";
                         });

TEST_P(Methods, FindAShiftExactly) {
    const Shape shape{64, 80};
    const Planes large = planes_of(Content::contrast, 1, {shape.rows + 9, shape.columns + 9}, 3);
    const auto part = [&](index_t y0, index_t x0) {
        Planes planes({1, shape.rows, shape.columns});
        for (index_t y = 0; y < shape.rows; ++y) {
            for (index_t x = 0; x < shape.columns; ++x) planes(0, y, x) = large(0, y + y0, x + x0);
        }
        return planes;
    };
    // What is at (y, x) in b is at (y + 5, x - 3) in a.
    const Problem problem{1, shape, {12, 12, true}, GetParam(), false};
    const auto sums = correlated(part(0, 9), part(5, 6), problem);
    const auto* peak = std::max_element(sums.begin(), sums.end());
    const index_t at = peak - sums.begin();
    EXPECT_EQ(problem.lags.first_row() + at / 23, 5);
    EXPECT_EQ(problem.lags.first_column() + at % 23, -3);
}

TEST_P(Methods, OfOneImageAreSymmetric) {
    const Shape shape{33, 41};
    const Planes a = planes_of(Content::bright, 2, shape, 4);
    const Problem problem{2, shape, {20, 30, true}, GetParam(), true};
    const auto sums = correlated(a, a, problem);
    const auto [surfaces, rows, columns] = sums.extent();
    for (index_t p = 0; p < surfaces; ++p) {
        const double bound = 2 * largest_error(GetParam()) * magnitude(a, a, p);
        for (index_t i = 0; i < rows; ++i) {
            for (index_t j = 0; j < columns; ++j) {
                ASSERT_NEAR(sums(p, i, j), sums(p, rows - 1 - i, columns - 1 - j), bound);
            }
        }
    }
}

TEST_P(Methods, GiveTheSameBitsOnAnyNumberOfThreadsAndAgain) {
    const Shape shape{75, 90};
    const Planes a = planes_of(Content::bright, 2, shape, 5);
    const Planes b = planes_of(Content::bright, 2, shape, 6);
    const Problem problem{2, shape, {40, 50, true}, GetParam(), false};
    core::Cpu cpu(3);
    Correlator<core::Cpu> correlator(cpu, problem);
    const auto reference = correlated(a, b, problem, 1);
    for (int run = 0; run < 2; ++run) {
        Array<double, 3> sums(reference.extent());
        correlator.run(b, a, sums);
        correlator.run(a, b, sums);
        EXPECT_TRUE(std::equal(sums.begin(), sums.end(), reference.begin()));
    }
}

TEST(Problems, ThatLeaveNoOverlapAreRefused) {
    using testing::HasSubstr;
    using testing::ThrowsMessage;
    core::Cpu cpu(1);
    const auto refused = [&](const Problem& problem, const char* words) {
        EXPECT_THAT([&] { Correlator<core::Cpu>(cpu, problem); },
                    ThrowsMessage<core::InvalidArgument>(HasSubstr(words)));
    };
    refused({1, {20, 30}, {21, 5}}, "offsets are 21 x 5, expected 1 x 1 to 20 x 30");
    refused({1, {20, 30}, {5, 31}}, "offsets are 5 x 31");
    refused({1, {20, 30}, {0, 5}}, "offsets are 0 x 5");
    refused({1, {0, 30}, {1, 1}}, "0 x 30 pixels");
    refused({0, {20, 30}, {1, 1}}, "0 planes");
}

TEST(DirectFlops, OfTheReportsJobAreThose) {
    EXPECT_NEAR(direct_flops(4, {500, 500}, {250, 250}), 70.5e9, 0.05e9);
}

}  // namespace
}  // namespace aperture::corr
