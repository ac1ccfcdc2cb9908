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

/// What the sums of two images must be.
struct Expected {
    std::vector<Surface> planes;
    std::vector<double> magnitudes;
    Surface all;
    double all_magnitude = 0;

    Expected(const Planes& a, const Planes& b, const Lags& lags)
        : all({lags.extent().rows, lags.extent().columns}) {
        std::fill(all.begin(), all.end(), 0.0);
        for (index_t p = 0; p < a.extent()[0]; ++p) {
            planes.push_back(sums_of_products(a, b, p, lags));
            magnitudes.push_back(magnitude(a, b, p));
            for (index_t i = 0; i < all.size(); ++i) all.data()[i] += planes.back().data()[i];
            all_magnitude += magnitudes.back();
        }
    }
};

/// Within the promised error at every displacement.
void expect_sums(const Expected& expected, const Problem& problem, const Array<double, 3>& found) {
    const auto compare = [&](const Surface& surface, double size, index_t s) {
        for (index_t i = 0; i < surface.extent()[0]; ++i) {
            for (index_t j = 0; j < surface.extent()[1]; ++j) {
                const double error = std::abs(found(s, i, j) - surface(i, j));
                ASSERT_TRUE(error <= largest_error(problem.method) * size)
                    << "surface " << s << " at " << i << ", " << j << ": " << found(s, i, j)
                    << " instead of " << surface(i, j) << ", off by " << error / size
                    << " of the largest possible";
            }
        }
    };
    if (!problem.each_plane) return compare(expected.all, expected.all_magnitude, 0);
    for (index_t p = 0; p < problem.planes; ++p) {
        const auto plane = static_cast<std::size_t>(p);
        compare(expected.planes[plane], expected.magnitudes[plane], p);
    }
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
};
std::string name_of(const Case& c) {
    const auto word = [](index_t n) { return std::to_string(n); };
    return word(c.image.rows) + "x" + word(c.image.columns) + "_" + word(c.lags.rows) + "x" +
           word(c.lags.columns) + (c.lags.both_signs ? "_signed" : "");
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
            list.push_back({image, {lags.rows, lags.columns, both}});
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
        const Expected cross(a, b, c.lags);
        const Expected itself(a, a, c.lags);
        for (const Method method : {Method::direct, Method::fft}) {
            for (const bool each_plane : {false, true}) {
                const Problem problem{3, c.image, c.lags, method, each_plane};
                expect_sums(cross, problem, correlated(a, b, problem));
                expect_sums(itself, problem, correlated(a, a, problem));
            }
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
