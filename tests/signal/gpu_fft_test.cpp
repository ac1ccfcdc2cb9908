// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "aperture/core/array.hpp"
#include "aperture/signal/fft.hpp"

namespace aperture::signal {
namespace {

using core::index_t;

/// Compares cuFFT with the transforms of CPUs, which fft_test.cpp compares with the defining sum.
class GpuFft : public testing::TestWithParam<FftBatch> {};

TEST_P(GpuFft, AgreesWithTheCpu) {
    const core::GpuStatus status = core::gpu_status();
    if (!status.usable) GTEST_SKIP() << status.reason;
    const FftBatch batch = GetParam();
    const index_t samples =
        (batch.length - 1) * batch.stride + (batch.count - 1) * batch.distance + 1;
    core::Array<std::complex<float>, 1> expected({samples});
    for (index_t i = 0; i < samples; ++i)
        expected(i) = std::polar(1.0f, static_cast<float>(i * i % 1013));
    core::Array<std::complex<float>, 1> result({samples});
    core::Array<std::complex<float>, 1, core::Device> on_device({samples});

    core::Gpu gpu;
    core::copy<std::complex<float>, 1, core::Strided>(gpu, expected, on_device);
    ForwardFft<core::Gpu>(gpu, batch).run(on_device.data());
    core::copy<std::complex<float>, 1, core::Strided>(gpu, on_device, result);
    gpu.synchronize();
    core::Cpu cpu;
    ForwardFft<core::Cpu>(cpu, batch).run(expected.data());

    double error = 0;
    double norm = 0;
    for (index_t i = 0; i < samples; ++i) {
        error += std::norm(std::complex<double>(result(i)) - std::complex<double>(expected(i)));
        norm += std::norm(std::complex<double>(expected(i)));
    }
    EXPECT_LT(std::sqrt(error / norm), 0x1p-24 * 8 * (std::log2(batch.length) + 1));
}

INSTANTIATE_TEST_SUITE_P(Fft, GpuFft,
                         testing::Values(FftBatch{1, 3, 1, 1}, FftBatch{8, 5, 1, 8},
                                         FftBatch{15, 4, 1, 20}, FftBatch{97, 3, 3, 1},
                                         FftBatch{256, 1000, 1000, 1}));

TEST(GpuFftBatches, EmptyAndImpossible) {
    const core::GpuStatus status = core::gpu_status();
    if (!status.usable) GTEST_SKIP() << status.reason;
    core::Gpu gpu;
    EXPECT_NO_THROW(ForwardFft<core::Gpu>(gpu, {16, 0, 1, 16}).run(nullptr));
    for (const FftBatch& batch : {FftBatch{0, 1, 1, 1}, FftBatch{8, -1, 1, 8}, FftBatch{8, 1, 0, 8},
                                  FftBatch{8, 1, 1, -8}, FftBatch{8, index_t(1) << 40, 1, 8}})
        EXPECT_THROW(ForwardFft<core::Gpu>(gpu, batch), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::signal
