// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels that only call the warp and block primitives, with their oracles, for every executor. A
// named namespace: the nvcc versions and the SIMT versions are linked into one program.

#include <gtest/gtest.h>

#include <complex>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "libcore/gpu/block.cuh"
#include "libcore/gpu/grid.cuh"
#include "libcore/gpu/launch.cuh"
#include "libcore/gpu/tensor_core.cuh"
#include "libcore/gpu/tensor_core_fp64.cuh"

namespace aperture::primitives {

template <class T, class Executor>
using Buffer = core::Array<T, 1, typename Executor::Space>;

/// A copy of `values` in the executor's memory.
template <class Executor, class T>
Buffer<T, Executor> bring(Executor& executor, const std::vector<T>& values) {
    const auto size = static_cast<core::index_t>(values.size());
    Buffer<T, Executor> there({size});
    core::copy(executor, core::View<const T, 1>(values.data(), {size}), there.view());
    executor.synchronize();
    return there;
}

template <class Executor, class T>
std::vector<T> fetch(Executor& executor, const Buffer<T, Executor>& there) {
    std::vector<T> values(static_cast<std::size_t>(there.size()));
    core::copy(executor, there.view(), core::View<T, 1>(values.data(), {there.size()}));
    executor.synchronize();
    return values;
}

template <class T>
T sample(int i) {
    const auto wave = [](int k) {
        return static_cast<core::RealOf<T>>((k * 7919 + 13) % 1009 - 504) / 64;
    };
    if constexpr (core::is_complex<T>) {
        return {wave(i), wave(i + 5000)};
    } else {
        return static_cast<T>(wave(i));
    }
}

template <class T>
std::vector<T> samples(int count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = sample<T>(i);
    return values;
}

template <int Width, class T>
__global__ void broadcast_and_reduce(const T* in, T* broadcast, T* reduced) {
    const int i = core::thread_rank();
    broadcast[i] = core::broadcast<Width>(in[i], 3 % Width);
    reduced[i] = core::warp_reduce<Width>(in[i]);
}

template <int Width, class T, class Executor>
void expect_sub_warps(Executor& executor) {
    const std::vector<T> in = samples<T>(64);
    const Buffer<T, Executor> input = bring(executor, in);
    Buffer<T, Executor> broadcast({64}), reduced({64});
    core::launch(executor, broadcast_and_reduce<Width, T>, {1, 64}, input.data(), broadcast.data(),
                 reduced.data());
    const std::vector<T> broadcast_to = fetch<Executor, T>(executor, broadcast);
    const std::vector<T> reduced_to = fetch<Executor, T>(executor, reduced);
    for (std::size_t i = 0; i < 64; ++i) {
        const std::size_t first = i - i % Width;
        // The samples are multiples of 1/64, so sums are exact.
        T sum{};
        for (std::size_t k = 0; k < Width; ++k) sum = sum + in[first + k];
        ASSERT_EQ(broadcast_to[i], in[first + 3 % Width]) << "width " << Width;
        ASSERT_EQ(reduced_to[i], sum) << "width " << Width;
    }
}

template <class T, class Executor>
void expect_all_sub_warps(Executor& executor) {
    expect_sub_warps<1, T>(executor);
    expect_sub_warps<2, T>(executor);
    expect_sub_warps<4, T>(executor);
    expect_sub_warps<8, T>(executor);
    expect_sub_warps<16, T>(executor);
    expect_sub_warps<32, T>(executor);
}

template <class T>
__global__ void reduce_blocks(const T* in, T* out, int rounds) {
    T* partial = core::shared<T>();
    T value = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int round = 0; round < rounds; ++round) value = core::block_reduce(value, partial);
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

template <class T, class Executor>
void expect_block_reductions(Executor& executor) {
    for (const unsigned threads : {32u, 64u, 96u, 256u, 1024u}) {
        const std::vector<T> in = samples<T>(2 * static_cast<int>(threads));
        const Buffer<T, Executor> input = bring(executor, in);
        Buffer<T, Executor> output({input.size()});
        core::launch(executor, reduce_blocks<T>, {2, threads, threads / 32 * sizeof(T)},
                     input.data(), output.data(), 1);
        const std::vector<T> out = fetch<Executor, T>(executor, output);
        for (std::size_t i = 0; i < in.size(); ++i) {
            T sum{};
            for (std::size_t k = 0; k < threads; ++k) sum = sum + in[i / threads * threads + k];
            ASSERT_EQ(out[i], sum) << threads << " threads";
        }
    }
}

/// c = a b with a 16 x 8 and b 8 x 8, row by row. Reads the TF32 part of each number.
inline __global__ void multiply_small(const float* a, const float* b, float* c) {
    const int group = core::lane_rank() / 4;
    const int place = core::lane_rank() % 4;
    float left[4], right[2];
    for (int i = 0; i < 4; ++i) left[i] = a[(group + i % 2 * 8) * 8 + place + i / 2 * 4];
    for (int i = 0; i < 2; ++i) right[i] = b[(place + 4 * i) * 8 + group];
    float sums[4] = {};
    core::detail::multiply_add_tf32(sums, left, right);
    for (int i = 0; i < 4; ++i) c[(group + i / 2 * 8) * 8 + 2 * place + i % 2] = sums[i];
}

/// TF32 represents the factors exactly, so the product has the accuracy of fp32.
template <class Executor>
void expect_small_product(Executor& executor) {
    std::vector<float> a(16 * 8), b(8 * 8);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 37 % 101) / 16 - 3;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 29 % 97) - 48;
    const Buffer<float, Executor> left = bring(executor, a), right = bring(executor, b);
    Buffer<float, Executor> product({16 * 8});
    core::launch(executor, multiply_small, {1, 32}, left.data(), right.data(), product.data());
    const std::vector<float> c = fetch<Executor, float>(executor, product);
    for (std::size_t i = 0; i < 16; ++i) {
        for (std::size_t j = 0; j < 8; ++j) {
            double sum = 0, size = 0;
            for (std::size_t k = 0; k < 8; ++k) {
                const double term = double(a[8 * i + k]) * double(b[8 * k + j]);
                sum += term;
                size += std::fabs(term);
            }
            ASSERT_NEAR(c[8 * i + j], sum, 0x1p-22 * size) << i << ", " << j;
        }
    }
}

/// c += a b with a 16 x 8 and b 8 x 8, row by row.
inline __global__ void multiply_small_fp64(const double* a, const double* b, double* c) {
    const int group = core::lane_rank() / 4;
    const int place = core::lane_rank() % 4;
    core::Fp64Slice upper, lower, right;
    double sums[4];
    for (int i = 0; i < 2; ++i) {
        upper.v[i] = a[group * 8 + place + 4 * i];
        lower.v[i] = a[(group + 8) * 8 + place + 4 * i];
        right.v[i] = b[(place + 4 * i) * 8 + group];
    }
    const auto at = [&](int i) { return (group + i / 2 * 8) * 8 + 2 * place + i % 2; };
    for (int i = 0; i < 4; ++i) sums[i] = c[at(i)];
    core::multiply_add(sums, upper, lower, right);
    for (int i = 0; i < 4; ++i) c[at(i)] = sums[i];
}

/// The numbers have few bits, so sums are exact.
template <class Executor>
void expect_small_fp64_product(Executor& executor) {
    std::vector<double> a(16 * 8), b(8 * 8), c(16 * 8);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = 0x1p24 + static_cast<double>(i * 37 % 101);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i * 29 % 97) - 48;
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<double>(i) * 0x1p-10;
    const Buffer<double, Executor> left = bring(executor, a), right = bring(executor, b);
    Buffer<double, Executor> product = bring(executor, c);
    core::launch(executor, multiply_small_fp64, {1, 32}, left.data(), right.data(), product.data());
    const std::vector<double> found = fetch<Executor, double>(executor, product);
    for (std::size_t i = 0; i < 16; ++i) {
        for (std::size_t j = 0; j < 8; ++j) {
            double sum = c[8 * i + j];
            for (std::size_t k = 0; k < 8; ++k) sum += a[8 * i + k] * b[8 * k + j];
            ASSERT_EQ(found[8 * i + j], sum) << i << ", " << j;
        }
    }
}

/// *sum += sum over k of x[k] y[k], k = 0, ..., 7.
inline __global__ void add_eight_products(const float* x, const float* y, float* sum) {
    const int group = core::lane_rank() / 4;
    const int place = core::lane_rank() % 4;
    float left[4] = {}, right[2] = {}, sums[4] = {};
    for (int i = 0; i < 2 && group == 0; ++i) {
        left[2 * i] = x[place + 4 * i];
        right[i] = y[place + 4 * i];
    }
    if (core::lane_rank() == 0) sums[0] = *sum;
    core::detail::multiply_add_tf32(sums, left, right);
    if (core::lane_rank() == 0) *sum = sums[0];
}

/// At which bit the tensor cores truncate sums. Devices other than sm_90 may differ.
template <class Executor>
void expect_cut_sums(Executor& executor) {
    struct Case {
        float sum;
        int products;
        float x, y;
        float wanted;
    };
    // The last case has one product of 2.25, which counts as one of size 1, and seven small ones.
    const Case cases[] = {{1, 1, 1, 0x1.8p-24f, 1},
                          {-1, 1, -1, 0x1.8p-24f, -1},
                          {1, 8, 0x1p-10f, 0x1p-15f, 1 + 0x1p-22f},
                          {1, 8, 0x1p-10f, 0x1p-16f, 1},
                          {0x1p-25f, 7, 0x1p-10f, 0x1p-15f, 2.25f + 0x1p-22f}};
    for (const Case& c : cases) {
        std::vector<float> x(8), y(8);
        for (int k = 0; k < c.products; ++k) {
            x[static_cast<std::size_t>(k)] = c.x;
            y[static_cast<std::size_t>(k)] = c.y;
        }
        if (c.products == 7) x[7] = y[7] = 1.5f;
        const auto left = bring(executor, x);
        const auto right = bring(executor, y);
        auto sum = bring(executor, std::vector<float>{c.sum});
        core::launch(executor, add_eight_products, {1, 32}, left.data(), right.data(), sum.data());
        EXPECT_EQ((fetch<Executor, float>(executor, sum)[0]), c.wanted)
            << c.sum << " + " << c.products << " * " << c.x << " * " << c.y;
    }
}

/// c = conj(a) b with a 8 x 4 and b 4 x 8, row by row.
inline __global__ void multiply_complex(const core::Complex<float>* a,
                                        const core::Complex<float>* b, core::Complex<float>* c) {
    const int group = core::lane_rank() / 4;
    const int place = core::lane_rank() % 4;
    const core::LeftFactor left(a[group * 4 + place]);
    const core::RightFactor right(b[place * 8 + group]);
    core::ConjugateProduct product;
    for (int part = 0; part < core::ConjugateProduct::parts; ++part) product.add(part, left, right);
    for (int i = 0; i < 2; ++i) c[group * 8 + 2 * place + i] = product.entry(i);
}

/// The product has the accuracy of fp32: a few roundings of 2^-23 relative to the sum of |a b|. A
/// single TF32 product would have an error of 2^-11.
template <class Executor>
void expect_conjugate_product(Executor& executor) {
    std::vector<core::Complex<float>> a(8 * 4), b(4 * 8);
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto t = static_cast<float>(i);
        a[i] = {std::sin(1.7f * t + 1), std::cos(0.9f * t)};
        b[i] = {40 * std::cos(2.3f * t), 30 * std::sin(3.1f * t + 2)};
    }
    const auto left = bring(executor, a);
    const auto right = bring(executor, b);
    Buffer<core::Complex<float>, Executor> product({8 * 8});
    core::launch(executor, multiply_complex, {1, 32}, left.data(), right.data(), product.data());
    const auto c = fetch<Executor, core::Complex<float>>(executor, product);
    for (std::size_t i = 0; i < 8; ++i) {
        for (std::size_t j = 0; j < 8; ++j) {
            std::complex<double> sum = 0;
            double size = 0;
            for (std::size_t k = 0; k < 4; ++k) {
                const std::complex<double> x(a[4 * i + k].re, a[4 * i + k].im);
                const std::complex<double> y(b[8 * k + j].re, b[8 * k + j].im);
                sum += std::conj(x) * y;
                size += std::abs(x) * std::abs(y);
            }
            const core::Complex<float> found = c[8 * i + j];
            ASSERT_LE(std::abs(sum - std::complex<double>(found.re, found.im)), 0x1p-21 * size)
                << i << ", " << j;
        }
    }
}

/// to[i] = from[i] + 1. The next kernel may start at once; a delay loop keeps this one running.
inline __global__ void add_one(const int* from, int* to, int count) {
    core::let_next_kernel_start();
    core::wait_for_previous_kernel();
    const int i = static_cast<int>(blockIdx.x) * core::block_threads() + core::thread_rank();
    int value = i < count ? from[i] : 0;
    for (int turn = 0; turn < 1000; ++turn) value = value % 7919 + 1;
    if (i < count) to[i] = from[i] + (value > 0 ? 1 : 0);
}

/// A kernel that starts early sees all writes of the kernel before it.
template <class Executor>
void expect_early_starts(Executor& executor) {
    constexpr int count = 5000, steps = 20;
    Buffer<int, Executor> a = bring(executor, std::vector<int>(count, 3));
    Buffer<int, Executor> b = bring(executor, std::vector<int>(count, 0));
    core::LaunchConfig config{(count + 127) / 128, 128};
    config.start_early = true;
    for (int step = 0; step < steps; ++step) {
        core::launch(executor, add_one, config, step % 2 == 0 ? a.data() : b.data(),
                     step % 2 == 0 ? b.data() : a.data(), count);
    }
    EXPECT_EQ((fetch<Executor, int>(executor, a)), std::vector<int>(count, 3 + steps));
}

struct TileCase {
    int rows, columns, tile_stride, valid_rows, valid_columns, offset, threads;
};

template <class T>
__global__ void bring_tile(core::GlobalTile<T> from, int rows, int columns, int tile_stride,
                           T* out) {
    T* tile = core::shared<T>();
    core::load_tile(tile, tile_stride, from, rows, columns, core::thread_rank(),
                    core::block_threads());
    core::commit_copies();
    core::wait_for_copies();
    __syncthreads();
    for (int i = core::thread_rank(); i < rows * columns; i += core::block_threads()) {
        out[i] = tile[i / columns * tile_stride + i % columns];
    }
}

template <class T, class Executor>
void expect_tiles(Executor& executor) {
    constexpr int row_stride = 72;
    const TileCase cases[] = {
        {8, 16, 16, 8, 16, 0, 32}, {8, 16, 20, 8, 16, 0, 64},    {8, 16, 17, 8, 16, 0, 32},
        {8, 16, 16, 7, 13, 0, 32}, {8, 16, 16, 8, 16, 1, 32},    {5, 7, 7, 5, 7, 0, 96},
        {5, 7, 9, 3, 2, 3, 32},    {1, 1, 1, 1, 1, 0, 32},       {4, 8, 8, 0, 8, 0, 32},
        {4, 8, 8, 4, -3, 0, 32},   {32, 64, 64, 31, 63, 4, 256}, {3, 12, 12, 3, 12, 4, 7},
    };
    for (const TileCase& c : cases) {
        SCOPED_TRACE(testing::Message()
                     << c.rows << "x" << c.columns << " valid " << c.valid_rows << "x"
                     << c.valid_columns << " stride " << c.tile_stride << " offset " << c.offset);
        // Exactly as large as the valid part, so that the sanitizer detects every read beyond it.
        const bool empty = c.valid_rows <= 0 || c.valid_columns <= 0;
        const int offset = empty ? 0 : c.offset;
        const std::vector<T> global =
            samples<T>(empty ? 1 : offset + (c.valid_rows - 1) * row_stride + c.valid_columns);
        const Buffer<T, Executor> input = bring(executor, global);
        Buffer<T, Executor> output({c.rows * c.columns});
        const std::size_t shared =
            static_cast<std::size_t>((c.rows - 1) * c.tile_stride + c.columns) * sizeof(T);
        core::launch(
            executor, bring_tile<T>, {1, static_cast<unsigned>(c.threads), shared},
            core::GlobalTile<T>{input.data() + offset, row_stride, c.valid_rows, c.valid_columns},
            c.rows, c.columns, c.tile_stride, output.data());
        const std::vector<T> out = fetch<Executor, T>(executor, output);
        for (int i = 0; i < c.rows * c.columns; ++i) {
            const int row = i / c.columns, column = i % c.columns;
            const bool valid = row < c.valid_rows && column < c.valid_columns;
            const auto place = static_cast<std::size_t>(offset + row * row_stride + column);
            ASSERT_EQ(out[static_cast<std::size_t>(i)], valid ? global[place] : T{})
                << row << ", " << column;
        }
    }
}

// A pipeline of two stages: the copy of stage k+1 runs while stage k is summed. The wait before
// stage k is read leaves `Left` groups of copies unfinished: 1 is correct, 2 waits for nothing.
template <int Left>
__global__ void add_stages(const float* in, float* out, int stages) {
    float* buffers = core::shared<float>();
    const int i = core::thread_rank(), threads = core::block_threads();
    core::copy_async<4>(buffers + i, in + i);
    core::commit_copies();
    float sum = 0;
    for (int stage = 0; stage < stages; ++stage) {
        const int next = stage + 1;
        if (next < stages) {
            core::copy_async<4>(buffers + next % 2 * threads + i, in + next * threads + i);
        }
        core::commit_copies();
        core::wait_for_copies<Left>();
        __syncthreads();
        sum += buffers[stage % 2 * threads + (i + 1) % threads];
        __syncthreads();
    }
    core::wait_for_copies();
    out[i] = sum;
}

template <int Left, class Executor>
std::vector<float> added_stages(Executor& executor) {
    const Buffer<float, Executor> in = bring(executor, samples<float>(64 * 5));
    Buffer<float, Executor> out({64});
    core::launch(executor, add_stages<Left>, {1, 64, 2 * 64 * sizeof(float)}, in.data(), out.data(),
                 5);
    return fetch<Executor, float>(executor, out);
}

template <class Executor>
void expect_stages(Executor& executor) {
    const std::vector<float> out = added_stages<1>(executor);
    for (int i = 0; i < 64; ++i) {
        float sum = 0;
        for (int stage = 0; stage < 5; ++stage) sum += sample<float>(64 * stage + (i + 1) % 64);
        ASSERT_EQ(out[static_cast<std::size_t>(i)], sum);
    }
}

// Each thread replaces its value with its right neighbour's, `rounds` times.
template <class T>
__global__ void rotate_over_grid(int rounds, T* values) {
    const unsigned total = gridDim.x * blockDim.x;
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < rounds; ++round) {
        const T read = values[(own + 1) % total];
        core::grid_sync();
        values[own] = read;
        core::grid_sync();
    }
}

template <class T>
__global__ void rotate_by_barrier(int rounds, T* values, unsigned long long* arrivals) {
    const unsigned total = gridDim.x * blockDim.x;
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    core::GridBarrier grid(arrivals);
    for (int round = 0; round < rounds; ++round) {
        const T read = values[(own + 1) % total];
        grid.sync();
        values[own] = read;
        grid.sync();
    }
}

template <class Executor>
void expect_grid_synchronisation(Executor& executor) {
    constexpr int blocks = 7, threads = 40, rounds = 5, total = blocks * threads;
    const std::vector<int> in = samples<int>(total);
    Buffer<int, Executor> values = bring(executor, in);
    Buffer<unsigned long long, Executor> arrivals = bring(executor, std::vector{0ULL});
    core::launch_cooperative(executor, rotate_over_grid<int>, {blocks, threads}, rounds,
                             values.data());
    // Launches one after the other have one count.
    for (int launch = 0; launch < 2; ++launch) {
        core::launch_cooperative(executor, rotate_by_barrier<int>, {blocks, threads}, rounds,
                                 values.data(), arrivals.data());
    }
    const std::vector<int> out = fetch<Executor, int>(executor, values);
    for (std::size_t i = 0; i < total; ++i) ASSERT_EQ(out[i], in[(i + 3 * rounds) % total]);
}

}  // namespace aperture::primitives
