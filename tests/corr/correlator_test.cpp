// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/correlator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "aperture/core/error.hpp"
#include "tests/corr/correlation_cases.hpp"

namespace aperture::corr {
namespace {

using core::Array;

Array<double, 3> correlated(const Planes& a, const Planes& b, const Problem& problem,
                            int threads = 2) {
    core::Cpu cpu(threads);
    const Shape extent = problem.lags.extent();
    Array<double, 3> sums({problem.images * problem.surfaces(), extent.rows, extent.columns});
    std::fill(sums.begin(), sums.end(), std::nan(""));
    const FramedPlanes of_a(a);
    const FramedPlanes of_b(b);
    Correlator<core::Cpu>(cpu, problem)
        .run(of_a.view(), a.data() == b.data() ? of_a.view() : of_b.view(), sums);
    return sums;
}

class Correlations : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Cases, Correlations, testing::ValuesIn(cases()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(Correlations, AreTheOracles) {
    const Case& c = GetParam();
    std::vector<Problem> problems;
    for (const bool each_plane : {false, true}) {
        problems.push_back({3, c.image, c.lags, Method::fft, each_plane});
        problems.push_back({3, c.image, c.lags, Method::direct, each_plane});
        problems.push_back(problems.back());
        problems.back().precision = Precision::fp64;
    }
    for (const Content content : contents) {
        expect_the_oracles(content, c, problems,
                           [](const Planes& a, const Planes& b, const Problem& problem) {
                               return correlated(a, b, problem);
                           });
    }
}

class Methods : public testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(All, Methods, testing::Values(Method::direct, Method::fft),
                         [](const auto& instance) {
                             return instance.param == Method::direct ? "direct" : "fft";
                         });

TEST_P(Methods, CorrelateSeveralImagesAtOnce) {
    for (const bool each_plane : {false, true}) {
        expect_one_by_one({2, {20, 30}, {9, 7, true}, GetParam(), each_plane}, 3, 0,
                          [](const Planes& a, const Planes& b, const Problem& problem) {
                              return correlated(a, b, problem);
                          });
    }
}

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
    // The content of b at (y, x) is in a at (y + 5, x - 3).
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
        const double bound = 2 * largest_error(problem) * magnitude(a, a, p);
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
    refused({1, {20, 30}, {1, 1}, Method::fft, false, 0}, "0 images");
}

TEST(Problems, WithAPrecisionThatThereIsNotAreRefused) {
    using testing::HasSubstr;
    using testing::ThrowsMessage;
    core::Cpu cpu(1);
    const auto refused = [&](Method method, Precision precision, const char* words) {
        const Problem problem{1, {20, 30}, {5, 5}, method, false, 1, precision};
        EXPECT_THAT([&] { Correlator<core::Cpu>(cpu, problem); },
                    ThrowsMessage<core::InvalidArgument>(HasSubstr(words)));
    };
    refused(Method::direct, Precision::tf32x3, "requires a GPU");
    refused(Method::fft, Precision::fp64, "requires the direct method");
}

TEST(DirectFlops, OfTheReportsJobAreThose) {
    EXPECT_NEAR(direct_flops(4, {500, 500}, {250, 250}), 70.5e9, 0.05e9);
}

}  // namespace
}  // namespace aperture::corr
