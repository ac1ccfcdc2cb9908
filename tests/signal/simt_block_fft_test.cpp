// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "libcore/gpu/launch.cuh"
#include "libsignal/gpu/block_fft.cuh"

namespace aperture::signal {
namespace {

using core::Complex;
using core::index_t;
using Numbers = std::vector<Complex<float>>;

constexpr int columns = 2;
constexpr int held = 16;

/// [sample][column], there by `plan` and on from there by `next` without a change of threads.
__global__ void transform_kernel(const gpu::BlockFftPlan plan, const gpu::BlockFftPlan next,
                                 const Complex<float>* twiddles, const Complex<float>* from,
                                 Complex<float>* once, Complex<float>* twice) {
    using Fft = gpu::BlockFft<columns, held>;
    auto* const buffer = core::shared<Complex<float>>();
    Complex<float> kept[held];
    Fft::run(
        plan, twiddles, buffer,
        [&](int, int sample, int column) { return from[sample * columns + column]; },
        [&](int i, int sample, int column, Complex<float> value) {
            once[sample * columns + column] = value;
            kept[i] = value;
        });
    Fft::run(
        next, twiddles, buffer, [&](int i, int, int) { return kept[i]; },
        [&](int, int sample, int column, Complex<float> value) {
            twice[sample * columns + column] = value;
        });
}

class BlockFfts : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Lengths, BlockFfts,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 15, 30, 49, 64, 90, 750),
                         testing::PrintToStringParamName());

TEST_P(BlockFfts, AreAsDefinedAndTwiceTheMirrorImage) {
    const int n = GetParam();
    std::mt19937 random(static_cast<unsigned>(n));
    std::normal_distribution<float> normal;
    Numbers from;
    for (int i = 0; i < n * columns; ++i) from.push_back({normal(random), normal(random)});
    const auto plan = gpu::block_fft_plan(n);
    ASSERT_TRUE(plan);
    const auto twiddles = gpu::roots_of_unity(n, n - 1);
    for (const core::LaneOrder order : {core::LaneOrder::forward, core::LaneOrder::random}) {
        core::Simt simt(order);
        Numbers once(from.size());
        Numbers twice(from.size());
        core::launch(
            simt, &transform_kernel,
            core::LaunchConfig(
                dim3(1), dim3(static_cast<unsigned>(gpu::block_fft_threads<columns, held>(*plan))),
                from.size() * sizeof(Complex<float>)),
            *plan, reversed(*plan), twiddles.data(), from.data(), once.data(), twice.data());
        const double scale = std::sqrt(static_cast<double>(n));
        double error = 0;
        double largest = 0;
        double error_twice = 0;
        for (int k = 0; k < n; ++k) {
            for (int column = 0; column < columns; ++column) {
                std::complex<double> sum = 0;
                for (int p = 0; p < n; ++p) {
                    const auto x = from[static_cast<std::size_t>(p * columns + column)];
                    sum += std::complex<double>(x.re, x.im) *
                           std::polar(1.0, -2 * std::numbers::pi * (index_t{k} * p % n) / n);
                }
                const auto is = once[static_cast<std::size_t>(k * columns + column)];
                error = std::max(error, std::abs(sum - std::complex<double>(is.re, is.im)));
                largest = std::max(largest, std::abs(sum));
                const auto back = twice[static_cast<std::size_t>(k * columns + column)];
                const auto was = from[static_cast<std::size_t>((n - k) % n * columns + column)];
                error_twice = std::max(
                    error_twice, std::abs(std::complex<double>(back.re / double(n) - was.re,
                                                               back.im / double(n) - was.im)));
            }
        }
        EXPECT_LE(error, 3e-7 * largest);
        EXPECT_LE(error_twice, 6e-7 * largest / scale);
    }
}

TEST(BlockFftPlans, TakeLengthsApart) {
    const auto plan = gpu::block_fft_plan(750);
    ASSERT_TRUE(plan);
    EXPECT_EQ(std::vector<int>(plan->radix, plan->radix + plan->passes),
              (std::vector<int>{15, 10, 5}));
    EXPECT_EQ((gpu::block_fft_threads<4, 16>(*plan)), 320);
    EXPECT_FALSE(gpu::block_fft_plan(22));
}

}  // namespace
}  // namespace aperture::signal
