// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/method_choice.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace aperture::corr {
namespace {

using Choose = std::function<MethodChoice(const Problem&, bool same)>;

class MethodChoices : public testing::TestWithParam<Choose> {};
INSTANTIATE_TEST_SUITE_P(Devices, MethodChoices,
                         testing::Values(Choose([](const Problem& p, bool same) {
                                             return choose_method(p, 2, same);
                                         }),
                                         Choose([](const Problem& p, bool same) {
                                             return choose_gpu_method(p, 132, same);
                                         })));

TEST_P(MethodChoices, AreOfTheShorterTime) {
    for (const index_t size : {1, 64, 500, 4000}) {
        for (const index_t lags : {index_t{1}, (size + 1) / 2, size}) {
            const Problem problem{4, {size, size}, {lags, lags}};
            const MethodChoice choice = GetParam()(problem, true);
            EXPECT_GT(choice.direct_ms, 0);
            EXPECT_GT(choice.fft_ms, 0);
            EXPECT_EQ(choice.method == Method::direct, choice.direct_ms < choice.fft_ms);
        }
    }
}

TEST_P(MethodChoices, AreTransformsForManyDisplacements) {
    const Problem problem{4, {500, 500}, {250, 250}};
    const MethodChoice choice = GetParam()(problem, true);
    EXPECT_EQ(choice.method, Method::fft);
    EXPECT_GT(choice.direct_ms, 10 * choice.fft_ms);
}

TEST(MethodChoicesOfGpus, TakeLongerOnSmallerOnes) {
    const Problem problem{4, {500, 500}, {250, 250}};
    const MethodChoice large = choose_gpu_method(problem, 132);
    const MethodChoice small = choose_gpu_method(problem, 24);
    EXPECT_GT(small.direct_ms, 5 * large.direct_ms);
    EXPECT_GT(small.fft_ms, large.fft_ms);
}

TEST_P(MethodChoices, GrowWithWhatThereIsToDo) {
    const Problem problem{4, {500, 500}, {250, 250}};
    const MethodChoice choice = GetParam()(problem, true);
    const MethodChoice of_two = GetParam()(problem, false);
    EXPECT_GT(of_two.fft_ms, choice.fft_ms);
    const MethodChoice larger = GetParam()({4, {1000, 1000}, {250, 250}}, true);
    EXPECT_GT(larger.fft_ms, choice.fft_ms);
    EXPECT_GT(larger.direct_ms, 2 * choice.direct_ms);
    const MethodChoice further = GetParam()({4, {500, 500}, {500, 500}}, true);
    EXPECT_GT(further.fft_ms, choice.fft_ms);
    EXPECT_GT(further.direct_ms, choice.direct_ms);
}

}  // namespace
}  // namespace aperture::corr
