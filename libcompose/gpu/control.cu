// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libcompose/gpu/control.cuh"
#include "libcore/gpu/cuda_check.hpp"

namespace aperture::compose::control {
namespace {

__global__ void test_kernel(cudaGraphConditionalHandle node, const bool* flag) {
    cudaGraphSetConditional(node, *flag ? 1 : 0);
}
__global__ void test_not_left_kernel(cudaGraphConditionalHandle node, const LoopState* loop) {
    cudaGraphSetConditional(node, loop->left == 0 ? 1 : 0);
}
__global__ void leave_kernel(LoopState* loop) { loop->left = 1; }

__global__ void begin_count_kernel(cudaGraphConditionalHandle node, LoopState* loop,
                                   long long* variable, long long count) {
    *loop = {0, 0};
    if (count > 0) *variable = 0;
    cudaGraphSetConditional(node, count > 0 ? 1 : 0);
}
__global__ void next_count_kernel(cudaGraphConditionalHandle node, LoopState* loop,
                                  long long* variable, long long count) {
    const bool goes_on = ++loop->times < count && loop->left == 0;
    if (goes_on) *variable = loop->times;
    cudaGraphSetConditional(node, goes_on ? 1 : 0);
}
__global__ void begin_while_kernel(cudaGraphConditionalHandle node, LoopState* loop,
                                   const bool* condition) {
    *loop = {0, 0};
    cudaGraphSetConditional(node, *condition ? 1 : 0);
}
__global__ void next_while_kernel(cudaGraphConditionalHandle node, LoopState* loop,
                                  const bool* condition, long long limit, int* unended) {
    bool goes_on = *condition && loop->left == 0;
    if (++loop->times == limit && goes_on) {
        *unended = 1;
        goes_on = false;
    }
    cudaGraphSetConditional(node, goes_on ? 1 : 0);
}
__global__ void set_kernel(long long* variable, long long value) { *variable = value; }
__global__ void set_of_values_kernel(OfValues<long long> variables, long long value) {
    *variables.of[threadIdx.x] = value;
}
__global__ void gather_kernel(OfValues<const bool> flags, bool* to) {
    to[threadIdx.x] = *flags.of[threadIdx.x];
}

__global__ void exchange_kernel(void** table, int a, int b) {
    void* const of_a = table[a];
    table[a] = table[b];
    table[b] = of_a;
}

template <class T>
__device__ void copy_as(const void* from, void* to, index_t count) {
    const index_t stride = index_t(gridDim.x) * blockDim.x;
    for (index_t i = index_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
        static_cast<T*>(to)[i] = static_cast<const T*>(from)[i];
    }
}
__global__ void copy_kernel(const void* const* from, void* const* to, index_t bytes) {
    if (*from == *to) return;
    const auto aligned = [&](std::size_t size) {
        return (reinterpret_cast<std::size_t>(*from) | reinterpret_cast<std::size_t>(*to) |
                static_cast<std::size_t>(bytes)) %
                   size ==
               0;
    };
    if (aligned(sizeof(float4))) {
        copy_as<float4>(*from, *to, bytes / index_t(sizeof(float4)));
    } else if (aligned(sizeof(float))) {
        copy_as<float>(*from, *to, bytes / index_t(sizeof(float)));
    } else {
        copy_as<char>(*from, *to, bytes);
    }
}

template <class... Parameters, class... Arguments>
void submit(cudaStream_t stream, void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
            Arguments... arguments) {
    kernel<<<blocks, threads, 0, stream>>>(arguments...);
    APERTURE_CUDA_TRY(cudaGetLastError());
}

}  // namespace

void test(cudaStream_t stream, cudaGraphConditionalHandle node, const bool* flag) {
    submit(stream, test_kernel, 1, 1, node, flag);
}
void test_not_left(cudaStream_t stream, cudaGraphConditionalHandle node, const LoopState* loop) {
    submit(stream, test_not_left_kernel, 1, 1, node, loop);
}
void leave(cudaStream_t stream, LoopState* loop) { submit(stream, leave_kernel, 1, 1, loop); }
void begin_count(cudaStream_t stream, cudaGraphConditionalHandle node, LoopState* loop,
                 long long* variable, long long count) {
    submit(stream, begin_count_kernel, 1, 1, node, loop, variable, count);
}
void next_count(cudaStream_t stream, cudaGraphConditionalHandle node, LoopState* loop,
                long long* variable, long long count) {
    submit(stream, next_count_kernel, 1, 1, node, loop, variable, count);
}
void begin_while(cudaStream_t stream, cudaGraphConditionalHandle node, LoopState* loop,
                 const bool* condition) {
    submit(stream, begin_while_kernel, 1, 1, node, loop, condition);
}
void next_while(cudaStream_t stream, cudaGraphConditionalHandle node, LoopState* loop,
                const bool* condition, long long limit, int* unended) {
    submit(stream, next_while_kernel, 1, 1, node, loop, condition, limit, unended);
}
void set(cudaStream_t stream, long long* variable, long long value) {
    submit(stream, set_kernel, 1, 1, variable, value);
}
void set(cudaStream_t stream, const OfValues<long long>& variables, int count, long long value) {
    submit(stream, set_of_values_kernel, 1, static_cast<unsigned>(count), variables, value);
}
void gather(cudaStream_t stream, const OfValues<const bool>& flags, int count, bool* to) {
    submit(stream, gather_kernel, 1, static_cast<unsigned>(count), flags, to);
}
void exchange(cudaStream_t stream, void** table, int a, int b) {
    submit(stream, exchange_kernel, 1, 1, table, a, b);
}
void copy(cudaStream_t stream, const void* const* from, void* const* to, index_t bytes) {
    constexpr index_t threads = 256, most_blocks = 1024;
    const index_t blocks = std::clamp<index_t>(bytes / 16 / threads, 1, most_blocks);
    submit(stream, copy_kernel, static_cast<unsigned>(blocks), threads, from, to, bytes);
}

}  // namespace aperture::compose::control
