// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libsignal/cpu/lane_fft.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "aperture/core/error.hpp"

namespace aperture::signal {
namespace {

constexpr int lanes = core::lanes<float>;

class LaneFftLengths : public testing::TestWithParam<core::index_t> {};

INSTANTIATE_TEST_SUITE_P(All, LaneFftLengths,
                         testing::Values(1, 2, 3, 4, 5, 6, 8, 9, 15, 16, 25, 30, 64, 81, 125, 128,
                                         243, 360, 750, 1000, 1024),
                         testing::PrintToStringParamName());

/// Compares every lane with the defining sum. The last third of the input is zero.
TEST_P(LaneFftLengths, AgreesWithTheSum) {
    const core::index_t n = GetParam();
    const core::index_t count = (2 * n + 2) / 3;
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<ComplexPack> input(static_cast<std::size_t>(n));
    for (ComplexPack& pack : input) {
        for (int lane = 0; lane < lanes; ++lane) {
            pack.re[lane] = uniform(generator);
            pack.im[lane] = uniform(generator);
        }
    }
    const LaneFft fft(n);
    std::vector<ComplexPack> scratch(static_cast<std::size_t>(fft.scratch_packs()));
    std::vector<ComplexPack> output(input.size());
    std::vector<int> stores(input.size());
    fft.run(
        scratch.data(), count, [&](core::index_t i) { return input[static_cast<std::size_t>(i)]; },
        [&](core::index_t k, const ComplexPack& value) {
            output[static_cast<std::size_t>(k)] = value;
            ++stores[static_cast<std::size_t>(k)];
        });
    for (const int of_one : stores) ASSERT_EQ(of_one, 1);
    for (const int lane : {0, lanes / 2, lanes - 1}) {
        double error = 0;
        double norm = 0;
        for (core::index_t k = 0; k < n; ++k) {
            std::complex<double> sum = 0;
            for (core::index_t i = 0; i < count; ++i) {
                const ComplexPack& x = input[static_cast<std::size_t>(i)];
                const double turns = static_cast<double>(i * k % n) / static_cast<double>(n);
                sum += std::complex<double>(x.re[lane], x.im[lane]) *
                       std::polar(1.0, -2 * std::numbers::pi * turns);
            }
            const ComplexPack& x = output[static_cast<std::size_t>(k)];
            error += std::norm(std::complex<double>(x.re[lane], x.im[lane]) - sum);
            norm += std::norm(sum);
        }
        // The error of a fast transform grows with its levels (Higham 2002, ch. 24).
        const double levels = std::log2(static_cast<double>(n)) + 1;
        EXPECT_LE(std::sqrt(error / norm), 0x1p-24 * 4 * levels) << "lane " << lane;
    }
}

TEST(LaneFft, TakesNoLengthWithOtherPrimeFactors) {
    EXPECT_THROW(LaneFft(7), core::InvalidArgument);
    EXPECT_THROW(LaneFft(0), core::InvalidArgument);
    EXPECT_EQ(good_lane_fft_length(1), 1);
    EXPECT_EQ(good_lane_fft_length(7), 8);
    EXPECT_EQ(good_lane_fft_length(749), 750);
    EXPECT_EQ(good_lane_fft_length(751), 768);
}

}  // namespace
}  // namespace aperture::signal
