// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/fft.hpp"

#include <gtest/gtest.h>

#include <numbers>
#include <random>
#include <thread>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/error.hpp"
#include "libsignal/cpu/any_length_fft.hpp"
#include "tests/same_bytes.hpp"

namespace aperture::signal {
namespace {

using core::Cpu;
using core::index_t;
using Samples = core::Array<std::complex<float>, 1>;

Samples random_samples(index_t count) {
    std::mt19937 generator(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    Samples samples({count});
    for (std::complex<float>& sample : samples) sample = {uniform(generator), uniform(generator)};
    return samples;
}

/// Error of one transform of the batch, relative to the defining sum, in the Euclidean norm.
double error_of(const FftBatch& batch, const Samples& before, const Samples& after,
                index_t transform) {
    double error = 0;
    double norm = 0;
    for (int k = 0; k < batch.length; ++k) {
        std::complex<double> sum = 0;
        for (int p = 0; p < batch.length; ++p) {
            const double turns = static_cast<double>(index_t(k) * p % batch.length) / batch.length;
            sum += std::complex<double>(before(transform * batch.distance + p * batch.stride)) *
                   std::polar(1.0, -2 * std::numbers::pi * turns);
        }
        const std::complex<double> value(after(transform * batch.distance + k * batch.stride));
        error += std::norm(value - sum);
        norm += std::norm(sum);
    }
    return std::sqrt(error / norm);
}

/// The error of a fast transform is proportional to its number of levels (Higham 2002, ch. 24).
template <class Transform>
void expect_the_sum(const FftBatch& batch, const Transform& transform) {
    const index_t samples = (batch.length - 1) * batch.stride + (batch.count - 1) * batch.distance;
    const Samples before = random_samples(samples + 1);
    Samples after = random_samples(samples + 1);
    transform.run(after.data());
    const double bound = 0x1p-24 * 4 * (std::log2(batch.length) + 1);
    for (index_t i = 0; i < batch.count; ++i)
        EXPECT_LT(error_of(batch, before, after, i), bound) << "transform " << i;
}

class FftLayouts : public testing::TestWithParam<FftBatch> {};

TEST_P(FftLayouts, OfTheBuildAgreeWithTheSum) {
    Cpu cpu;
    expect_the_sum(GetParam(), ForwardFft<Cpu>(cpu, GetParam()));
}

TEST_P(FftLayouts, OfOurOwnAgreeWithTheSum) {
    expect_the_sum(GetParam(), LaneFftBatch(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Fft, FftLayouts,
                         testing::Values(FftBatch{1, 3, 1, 1}, FftBatch{2, 1, 1, 2},
                                         FftBatch{7, 1, 1, 7}, FftBatch{8, 5, 1, 8},
                                         FftBatch{8, 16, 16, 1}, FftBatch{8, 37, 37, 1},
                                         FftBatch{11, 20, 20, 1}, FftBatch{15, 4, 2, 30},
                                         FftBatch{97, 3, 1, 100}, FftBatch{98, 16, 16, 1},
                                         FftBatch{256, 16, 16, 1}, FftBatch{1009, 8, 8, 1},
                                         FftBatch{1024, 2, 1, 1024}, FftBatch{1331, 17, 17, 1}));

TEST(LaneFftBatch, LeavesWhatIsBetweenItsSamples) {
    const FftBatch batch{15, 4, 2, 30};
    Samples samples = random_samples(120);
    const Samples before = random_samples(120);
    LaneFftBatch(batch).run(samples.data());
    for (index_t i = 1; i < 120; i += 2) EXPECT_EQ(samples(i), before(i)) << i;
}

TEST(Fft, EmptyBatchTouchesNothing) {
    Cpu cpu;
    LaneFftBatch({16, 0, 1, 16}).run(nullptr);
    EXPECT_NO_THROW(ForwardFft<Cpu>(cpu, {16, 0, 1, 16}).run(nullptr));
}

TEST(Fft, SeveralThreadsUseOnePlanAndPlanAtOnce) {
    const FftBatch batch{256, 16, 16, 1};
    Cpu cpu;
    const ForwardFft<Cpu> shared(cpu, batch);
    Samples expected = random_samples(256 * 16);
    shared.run(expected.data());
    std::vector<Samples> results;
    for (int i = 0; i < 4; ++i) results.push_back(random_samples(256 * 16));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            Cpu own(1);
            const ForwardFft<Cpu> plan(own, batch);
            (i % 2 == 0 ? shared : plan).run(results[static_cast<std::size_t>(i)].data());
        });
    for (std::thread& thread : threads) thread.join();
    for (const Samples& result : results) EXPECT_TRUE(tests::same_bytes(result, expected));
}

TEST(Fft, ImpossibleBatchesAreRefused) {
    Cpu cpu;
    for (const FftBatch& batch : {FftBatch{0, 1, 1, 1}, FftBatch{8, -1, 1, 8}, FftBatch{8, 1, 0, 8},
                                  FftBatch{8, 1, 1, -8}, FftBatch{8, index_t(1) << 40, 1, 8}}) {
        EXPECT_THROW(ForwardFft<Cpu>(cpu, batch), core::InvalidArgument);
        EXPECT_THROW(LaneFftBatch{batch}, core::InvalidArgument);
    }
}

}  // namespace
}  // namespace aperture::signal
