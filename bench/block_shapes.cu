// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/array.hpp"
#include "aperture/core/timing.hpp"
#include "bench/block_shapes.hpp"
#include "bench/program.hpp"

namespace aperture::bench {
namespace {

using core::index_t;

constexpr int vectors = 20'000;
constexpr int entries = 768;
constexpr int matrices = 256;
constexpr int order = 128;
constexpr int threads_of_copy = 128;

__global__ void axpy_kernel(const double* x, double* y) {
    const index_t first = index_t{blockIdx.x} * entries;
    for (int i = static_cast<int>(threadIdx.x); i < entries; i += static_cast<int>(blockDim.x)) {
        y[first + i] += 2 * x[first + i];
    }
}

template <class T>
__global__ void copy_kernel(const T* from, T* to) {
    const index_t first = index_t{blockIdx.x} * order * order;
    for (int i = static_cast<int>(threadIdx.y); i < order; i += static_cast<int>(blockDim.y)) {
        for (int j = static_cast<int>(threadIdx.x); j < order; j += static_cast<int>(blockDim.x)) {
            to[first + i * order + j] = from[first + i * order + j];
        }
    }
}

}  // namespace

double axpy_bytes() { return 3.0 * sizeof(double) * vectors * entries; }

double axpy_seconds(core::Gpu& gpu, int threads) {
    const core::Array<double, 2, core::Device> x({vectors, entries});
    core::Array<double, 2, core::Device> y({vectors, entries});
    cudaMemsetAsync(y.data(), 0, static_cast<std::size_t>(y.size()) * sizeof(double), gpu.stream());
    core::Timeline timeline;
    return seconds_on(gpu, timeline, calls_in_a_row, [&](std::size_t) {
        axpy_kernel<<<vectors, static_cast<unsigned>(threads), 0, gpu.stream()>>>(x.data(),
                                                                                  y.data());
    });
}

template <class T>
double copy_bytes() {
    return 2.0 * sizeof(T) * matrices * order * order;
}

template <class T>
double copy_seconds(core::Gpu& gpu, int in_a_row) {
    const core::Array<T, 3, core::Device> from({matrices, order, order});
    core::Array<T, 3, core::Device> to(from.extent());
    const dim3 shape(static_cast<unsigned>(in_a_row),
                     static_cast<unsigned>(threads_of_copy / in_a_row));
    core::Timeline timeline;
    return seconds_on(gpu, timeline, calls_in_a_row, [&](std::size_t) {
        copy_kernel<<<matrices, shape, 0, gpu.stream()>>>(from.data(), to.data());
    });
}

template double copy_bytes<float>();
template double copy_bytes<double>();
template double copy_seconds<float>(core::Gpu&, int);
template double copy_seconds<double>(core::Gpu&, int);

}  // namespace aperture::bench
