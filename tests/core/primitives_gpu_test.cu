// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "aperture/core/error.hpp"
#include "libcore/gpu/specialise.hpp"
#include "tests/core/primitives_cases.cuh"

namespace aperture::primitives {

template <class T, int Count>
__global__ void scale(T* values, T factor) {
    const int i = core::thread_rank();
    if (i < Count) values[i] *= factor;
}

// The first thread reads what the last thread wrote at the end of the shared memory.
__global__ void reach_far(int words, int* out) {
    int* values = core::shared<int>();
    if (threadIdx.x == blockDim.x - 1) values[words - 1] = 42;
    __syncthreads();
    if (threadIdx.x == 0) *out = values[words - 1];
}

namespace {

/// The same cases as on the SIMT executor; skipped if no GPU is usable.
class OnGpu : public testing::Test {
  protected:
    void SetUp() override {
        const core::GpuStatus status = core::gpu_status();
        if (!status.usable) GTEST_SKIP() << status.reason;
        gpu_.emplace();
    }
    std::optional<core::Gpu> gpu_;
};

TEST_F(OnGpu, SubWarps) {
    expect_all_sub_warps<float>(*gpu_);
    expect_all_sub_warps<double>(*gpu_);
    expect_all_sub_warps<core::Complex<float>>(*gpu_);
    expect_all_sub_warps<core::Complex<double>>(*gpu_);
}

TEST_F(OnGpu, BlockReductions) {
    expect_block_reductions<float>(*gpu_);
    expect_block_reductions<core::Complex<double>>(*gpu_);
}

TEST_F(OnGpu, Tiles) {
    expect_tiles<float>(*gpu_);
    expect_tiles<double>(*gpu_);
    expect_tiles<core::Complex<float>>(*gpu_);
    expect_tiles<core::Complex<double>>(*gpu_);
}

TEST_F(OnGpu, TensorCoreProducts) {
    expect_small_product(*gpu_);
    expect_conjugate_product(*gpu_);
    expect_small_fp64_product(*gpu_);
    if (gpu_->compute_capability() == 90) expect_cut_sums(*gpu_);
}

TEST_F(OnGpu, EarlyStarts) { expect_early_starts(*gpu_); }

TEST_F(OnGpu, AsynchronousStages) { expect_stages(*gpu_); }

TEST_F(OnGpu, GridSynchronisation) { expect_grid_synchronisation(*gpu_); }

TEST_F(OnGpu, LargeDynamicSharedMemory) {
    const int bytes = gpu_->shared_memory_per_block();
    ASSERT_GT(bytes, 48 * 1024);
    Buffer<int, core::Gpu> out({1});
    core::launch(*gpu_, reach_far, {1, 64, static_cast<std::size_t>(bytes)}, bytes / 4, out.data());
    EXPECT_EQ((fetch<core::Gpu, int>(*gpu_, out)), std::vector<int>{42});
}

TEST_F(OnGpu, RefusedLaunchesNameKernelAndLine) {
    Buffer<int, core::Gpu> out({1});
    const auto refusal = [&](core::LaunchConfig config) -> std::string {
        try {
            core::launch(*gpu_, reach_far, config, 1, out.data());
        } catch (const core::DeviceError& error) {
            return error.what();
        }
        return "";
    };
    for (const core::LaunchConfig& wrong :
         std::initializer_list<core::LaunchConfig>{{1, 1025}, {0, 32}, {1, 32, 1 << 20}}) {
        const std::string words = refusal(wrong);
        EXPECT_NE(words.find("reach_far"), std::string::npos) << words;
        EXPECT_NE(words.find("primitives_gpu_test.cu"), std::string::npos) << words;
    }
    EXPECT_EQ(refusal({1, 32, 4}), "") << "a refused launch leaves no error behind";
    gpu_->synchronize();
}

constexpr core::KernelText scale_text[] = {{"test/scale.cuh", R"(
#include "libcore/gpu/kernel.cuh"
namespace aperture::primitives {
template <class T, int Count>
__global__ void scale(T* values, T factor) {
    const int i = core::thread_rank();
    if (i < Count) values[i] *= factor;
}
}
)"}};

TEST_F(OnGpu, SpecialisedKernelsRun) {
    const core::KernelSource source{scale_text[0].name, {scale_text, core::kernel_texts()}};
    const auto kernel = core::specialise<decltype(scale<float, 5>)>(
        *gpu_, source, "aperture::primitives::scale<float, 5>");
    if (!kernel) GTEST_SKIP() << "no run-time compiler";
    const std::vector<float> in = samples<float>(8);
    Buffer<float, core::Gpu> values = bring(*gpu_, in);
    core::launch(*gpu_, kernel, {1, 32}, values.data(), 3);
    const std::vector<float> out = fetch<core::Gpu, float>(*gpu_, values);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(out[i], i < 5 ? 3 * in[i] : in[i]);
    EXPECT_EQ(core::specialise<decltype(scale<float, 5>)>(*gpu_, source,
                                                          "aperture::primitives::scale<float, 5>")
                  .kernel,
              kernel.kernel);
}

TEST_F(OnGpu, SpecialisesSeveralKernelsInSeveralThreads) {
    const core::KernelSource source{scale_text[0].name, {scale_text, core::kernel_texts()}};
    const auto kernels_of = [&](core::Gpu& gpu, const std::string& type) {
        return core::specialise<decltype(scale<float, 5>)>(
            gpu, source,
            {"aperture::primitives::scale<" + type + ", 2>",
             "aperture::primitives::scale<" + type + ", 4>"});
    };
    if (kernels_of(*gpu_, "float").empty()) GTEST_SKIP() << "no run-time compiler";
    // One pair for the first two threads, another one for the others.
    std::vector<const void*> of_threads[4];
    {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&, thread] {
                core::Gpu gpu;
                for (const auto kernel : kernels_of(gpu, thread < 2 ? "int" : "double")) {
                    of_threads[thread].push_back(kernel.kernel);
                }
            });
        }
    }
    EXPECT_EQ(of_threads[0].size(), 2u);
    EXPECT_EQ(of_threads[0], of_threads[1]);
    EXPECT_EQ(of_threads[2], of_threads[3]);
    EXPECT_NE(of_threads[0], of_threads[2]);

    const std::vector<float> in = samples<float>(8);
    for (int k = 0; k < 2; ++k) {
        Buffer<float, core::Gpu> values = bring(*gpu_, in);
        core::launch(*gpu_, kernels_of(*gpu_, "float")[std::size_t(k)], {1, 32}, values.data(), 3);
        const std::vector<float> out = fetch<core::Gpu, float>(*gpu_, values);
        const std::size_t count = k == 0 ? 2 : 4;
        for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(out[i], i < count ? 3 * in[i] : in[i]);
    }
}

}  // namespace
}  // namespace aperture::primitives
