// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/method_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <utility>

#include "aperture/core/timing.hpp"
#include "aperture/corr/correlator.hpp"

namespace aperture::corr {
namespace {

using Choose = std::function<MethodChoice(const Problem&, bool same)>;

class MethodChoices : public testing::TestWithParam<Choose> {};
INSTANTIATE_TEST_SUITE_P(Devices, MethodChoices,
                         testing::Values(Choose([](const Problem& p, bool same) {
                                             return choose_method(p, 2, same);
                                         }),
                                         Choose([](const Problem& p, bool same) {
                                             return choose_gpu_method(p, 90, 132, same);
                                         })));

/// A method's correlation of an image with itself.
class Correlation {
  public:
    Correlation(core::Cpu& cpu, Problem problem, Method method)
        : planes_({problem.planes, problem.image.rows, problem.image.columns}),
          sums_({1, problem.lags.extent().rows, problem.lags.extent().columns}),
          correlator_(cpu, with(problem, method)) {
        std::mt19937 generator(5);
        std::uniform_real_distribution<float> value(-1, 1);
        for (float& v : planes_) v = value(generator);
    }
    void run() {
        const core::Stopwatch watch;
        correlator_.run(std::as_const(planes_).view(), std::as_const(planes_).view(), sums_.view());
        fastest_ms = std::min(fastest_ms, watch.ms());
    }
    double fastest_ms = std::numeric_limits<double>::infinity();

  private:
    static Problem with(Problem problem, Method method) {
        problem.method = method;
        return problem;
    }
    core::Array<float, 3> planes_;
    core::Array<double, 3> sums_;
    Correlator<core::Cpu> correlator_;
};

// One thread, in turn: other tests run beside. Other machines than those measured leave a margin.
TEST(MethodChoiceTimes, TheOtherMethodIsNotMuchFaster) {
    core::Cpu cpu(1);
    for (const Shape image : {Shape{64, 64}, {500, 500}, {300, 700}}) {
        for (const Shape lags : {Shape{1, 1}, {4, 5}, {20, 20}, {60, 60}}) {
            const Problem problem{4, image, {lags.rows, lags.columns}};
            Correlation direct(cpu, problem, Method::direct);
            Correlation fft(cpu, problem, Method::fft);
            for (int run = 0; run < 5; ++run) {
                direct.run();
                fft.run();
            }
            const bool chooses_direct =
                choose_method(problem, cpu.threads(), true).method == Method::direct;
            const auto [chosen, other] = chooses_direct
                                             ? std::pair(direct.fastest_ms, fft.fastest_ms)
                                             : std::pair(fft.fastest_ms, direct.fastest_ms);
            EXPECT_LT(chosen, 2.5 * other + 0.1)
                << image.rows << " x " << image.columns << ", " << lags.rows << " x "
                << lags.columns << " displacements: direct " << direct.fastest_ms << " ms, FFT "
                << fft.fastest_ms;
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
    const MethodChoice large = choose_gpu_method(problem, 90, 132);
    const MethodChoice small = choose_gpu_method(problem, 90, 24);
    EXPECT_GT(small.direct_ms, 5 * large.direct_ms);
    EXPECT_GT(small.fft_ms, large.fft_ms);
}

TEST(MethodChoicesOfGpus, AreThoseOfTheirClass) {
    const Problem problem{4, {500, 500}, {250, 250}};
    const MethodChoice h200 = choose_gpu_method(problem, 90, 24);
    const MethodChoice laptop = choose_gpu_method(problem, 89, 24);
    EXPECT_EQ(laptop.direct_ms, h200.direct_ms);
    EXPECT_GT(laptop.fft_ms, h200.fft_ms);
    EXPECT_GT(choose_gpu_method(problem, 80, 24).direct_ms, h200.direct_ms);
    EXPECT_EQ(choose_gpu_method(problem, 200, 24).fft_ms,
              choose_gpu_method(problem, 120, 24).fft_ms);
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
