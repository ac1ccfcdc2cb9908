// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Kernels that are compiled at run time and run on the SIMT host executor.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "aperture/core/error.hpp"
#include "libcompose/host_compiler.hpp"
#include "libcore/gpu/launch.cuh"

namespace aperture::compose {
namespace {

struct ReverseArguments {
    const float* from;
    float* to;
    int count;
};

const HostSource& kernels() {
    static const HostSource source{R"(
#include "libcore/gpu/block.cuh"

struct ReverseArguments {
    const float* from;
    float* to;
    int count;
};

/// Each block of 64 threads reverses its part.
__global__ void reverse(ReverseArguments a) {
    using namespace aperture::core;
    float* part = shared<float>();
    const int first = static_cast<int>(blockIdx.x * blockDim.x), i = thread_rank();
    if (first + i < a.count) part[i] = a.from[first + i];
    __syncthreads();
    const int used = min(64, a.count - first);
    if (i < used) a.to[first + i] = part[used - 1 - i];
}

template <class T>
__global__ void sum_of_warps(const T* from, T* to) {
    T sum = from[threadIdx.x];
    for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
    to[threadIdx.x] = sum;
}

__global__ void half_a_barrier() {
    if (threadIdx.x < 16) __syncthreads();
}
)",
                                   {"reverse", "sum_of_warps<double>", "half_a_barrier"},
                                   {core::kernel_texts(), core::simt::kernel_texts()}};
    return source;
}

TEST(SimtComposeHostKernels, RunOnTheSimtExecutor) {
    const HostCompiled compiled = compile_on_host(kernels());
    if (compiled.loaded == nullptr) GTEST_SKIP() << compiled.reason;
    core::Simt simt(core::LaneOrder::random, 3);
    std::vector<float> from(150), to(150, -1), expected;
    std::iota(from.begin(), from.end(), 0.0F);
    for (const int first : {0, 64, 128}) {
        for (int i = std::min(first + 64, 150); i-- > first;) {
            expected.push_back(static_cast<float>(i));
        }
    }
    core::launch(simt, compiled.loaded->function<void(ReverseArguments)>("reverse"),
                 {3, 64, 64 * sizeof(float)}, ReverseArguments{from.data(), to.data(), 150});
    EXPECT_EQ(to, expected);

    std::vector<double> x(32), sums(32);
    std::iota(x.begin(), x.end(), 1.0);
    core::launch(simt,
                 compiled.loaded->function<void(const double*, double*)>("sum_of_warps<double>"),
                 {1, 32}, x.data(), sums.data());
    EXPECT_THAT(sums, testing::Each(528.0));
}

TEST(SimtComposeHostKernels, ErrorsReachTheCaller) {
    const HostCompiled compiled = compile_on_host(kernels());
    if (compiled.loaded == nullptr) GTEST_SKIP() << compiled.reason;
    core::Simt simt;
    EXPECT_THAT(
        [&] {
            core::launch(simt, compiled.loaded->function<void()>("half_a_barrier"), {1, 32});
        },
        testing::ThrowsMessage<core::DeviceError>(testing::HasSubstr("kernel.cpp:29")));
}

}  // namespace
}  // namespace aperture::compose
