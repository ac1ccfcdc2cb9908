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

constexpr int sequences = 2;

/// Transforms by `plan` to registers and from there by `next` without a change of threads; then by
/// `plan` to the buffer. Sequences are interleaved (`Beside`), or one after the other.
template <bool Beside>
__global__ void transform_kernel(const gpu::BlockFftPlan plan, const gpu::BlockFftPlan next,
                                 const Complex<float>* twiddles, const Complex<float>* from,
                                 Complex<float>* once, Complex<float>* twice) {
    constexpr int step = Beside ? sequences : 1;
    using Fft = gpu::BlockFft<step>;
    const int rank = core::thread_rank();
    const int sequence = Beside ? rank % sequences : rank / plan.lanes;
    const int lane = Beside ? rank / sequences : rank % plan.lanes;
    const int first = Beside ? sequence : sequence * plan.length;
    auto* const buffer = core::shared<Complex<float>>() + first;
    Complex<float> kept[gpu::block_fft_samples];
    const auto load = [&](int, int sample) { return from[first + sample * step]; };
    const Fft forward{plan, lane, twiddles, buffer};
    forward.run(load, [&](int i, int, Complex<float> value) { kept[i] = value; });
    const Fft second{next, lane, twiddles, buffer};
    second.run(
        [&](int i, int) { return kept[i]; },
        [&](int, int sample, Complex<float> value) { twice[first + sample * step] = value; });
    forward.run_to_buffer(load);
    for (int i = lane; i < plan.length; i += plan.lanes) once[first + i * step] = buffer[i * step];
}

class BlockFfts : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Lengths, BlockFfts,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 15, 30, 49, 64, 90, 750),
                         testing::PrintToStringParamName());

template <bool Beside>
void expect_transforms(int n, core::LaneOrder order) {
    std::mt19937 random(static_cast<unsigned>(n));
    std::normal_distribution<float> normal;
    Numbers from;
    for (int i = 0; i < n * sequences; ++i) from.push_back({normal(random), normal(random)});
    const auto plan = gpu::block_fft_plan(n);
    ASSERT_TRUE(plan);
    core::Simt simt(order);
    const auto twiddles = gpu::roots_of_unity(simt, n, n - 1);
    Numbers once(from.size());
    Numbers twice(from.size());
    core::launch(simt, &transform_kernel<Beside>,
                 core::LaunchConfig(dim3(1), dim3(static_cast<unsigned>(sequences * plan->lanes)),
                                    from.size() * sizeof(Complex<float>)),
                 *plan, gpu::reversed(*plan), twiddles.data(), from.data(), once.data(),
                 twice.data());
    const auto at = [n](int sequence, int sample) {
        return static_cast<std::size_t>(Beside ? sample * sequences + sequence
                                               : sequence * n + sample);
    };
    double error = 0;
    double largest = 0;
    double error_twice = 0;
    for (int k = 0; k < n; ++k) {
        for (int sequence = 0; sequence < sequences; ++sequence) {
            std::complex<double> sum = 0;
            for (int p = 0; p < n; ++p) {
                const auto x = from[at(sequence, p)];
                sum += std::complex<double>(x.re, x.im) *
                       std::polar(1.0, -2 * std::numbers::pi * (index_t{k} * p % n) / n);
            }
            const auto is = once[at(sequence, k)];
            error = std::max(error, std::abs(sum - std::complex<double>(is.re, is.im)));
            largest = std::max(largest, std::abs(sum));
            const auto back = twice[at(sequence, k)];
            const auto was = from[at(sequence, (n - k) % n)];
            error_twice =
                std::max(error_twice, std::abs(std::complex<double>(back.re / double(n) - was.re,
                                                                    back.im / double(n) - was.im)));
        }
    }
    EXPECT_LE(error, 3e-7 * largest);
    EXPECT_LE(error_twice, 6e-7 * largest / std::sqrt(static_cast<double>(n)));
}

TEST_P(BlockFfts, AreAsDefinedAndTwiceTheMirrorImage) {
    for (const core::LaneOrder order : {core::LaneOrder::forward, core::LaneOrder::random}) {
        expect_transforms<true>(GetParam(), order);
        expect_transforms<false>(GetParam(), order);
    }
}

std::vector<int> radices(int length) {
    std::vector<int> all;
    const auto plan = gpu::block_fft_plan(length);
    for (int p = 0; p < plan->passes; ++p) all.push_back(plan->pass[p].radix);
    return all;
}

TEST(BlockFftPlans, TakeLengthsApart) {
    EXPECT_EQ(radices(750), (std::vector<int>{15, 5, 10}));
    EXPECT_EQ(radices(768), (std::vector<int>{6, 2, 8, 8}));
    EXPECT_EQ(gpu::block_fft_plan(750)->lanes, 75);
    EXPECT_FALSE(gpu::block_fft_plan(22));
}

}  // namespace
}  // namespace aperture::signal
