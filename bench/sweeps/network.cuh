// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A neural network that recognises digits in 32 images: two convolutions with 5 x 5 weights and
// strides of 2, two layers with all connections. Source: Ino et al. 2013, section 5 and Table II
// ("NN"). An image [map][row][column], or 32 of them [map][row][column][image].

#include <utility>

#include "bench/sweeps/problems.hpp"
#include "libcore/gpu/block.cuh"
#include "libcore/gpu/launch.cuh"

namespace aperture::bench {

namespace detail {

inline constexpr int neuron_threads = 128;

__device__ __forceinline__ float activation(float x) {
    return static_cast<float>(activation_scale) * tanhf(static_cast<float>(activation_slope) * x);
}

/// The weighted 5 x 5 values around an output, `stride` apart, and the bias.
template <int row>
__device__ __forceinline__ float convolved(const float* values, int stride, const float* weights) {
    float sum = weights[0];
    APERTURE_UNROLL
    for (int y = 0; y < 5; ++y) {
        APERTURE_UNROLL
        for (int x = 0; x < 5; ++x) {
            sum = __fmaf_rn(weights[1 + y * 5 + x], values[(y * row + x) * stride], sum);
        }
    }
    return sum;
}

}  // namespace detail

/// A layer of one image. Block: a thread for each input map and output, Layer::sums. Grid: output
/// maps on x. Shared: a float for each thread.
template <class Layer>
__global__ void __launch_bounds__(Layer::sums)
    convolve_one(const float* inputs, const float* weights, float* outputs) {
    constexpr int positions = Layer::rows * Layer::rows;
    float* const sums = core::shared<float>();
    const int thread = core::thread_rank();
    const int map = thread / positions;
    const int position = thread % positions;
    const float* const first = inputs + map * Layer::input_rows * Layer::input_rows +
                               2 * (position / Layer::rows) * Layer::input_rows +
                               2 * (position % Layer::rows);
    const float* const its =
        weights + (static_cast<int>(blockIdx.x) * Layer::input_maps + map) * Layer::map_weights;
    sums[thread] = detail::convolved<Layer::input_rows>(first, 1, its);
    __syncthreads();
    if (thread >= positions) return;
    float sum = 0;
    APERTURE_UNROLL
    for (int i = 0; i < Layer::input_maps; ++i) sum += sums[i * positions + thread];
    outputs[static_cast<int>(blockIdx.x) * positions + thread] = detail::activation(sum);
}

/// A layer of 32 images. Block: a warp for each output of a row, a lane each image. Grid: output
/// maps on x, rows on y. Shared: the weights of the output map.
template <class Layer>
__global__ void __launch_bounds__(Layer::rows* core::warp_size)
    convolve_all(const float* inputs, const float* weights, float* outputs) {
    float* const shared = core::shared<float>();
    constexpr int count = Layer::input_maps * Layer::map_weights;
    const int map = static_cast<int>(blockIdx.x);
    for (int i = core::thread_rank(); i < count; i += core::block_threads()) {
        shared[i] = weights[map * count + i];
    }
    __syncthreads();
    const int row = static_cast<int>(blockIdx.y);
    const int column = core::warp_rank();
    const float* first =
        inputs + (2 * row * Layer::input_rows + 2 * column) * tasks_at_once + core::lane_rank();
    float sum = 0;
    for (int i = 0; i < Layer::input_maps; ++i) {
        sum += detail::convolved<Layer::input_rows>(first, tasks_at_once,
                                                    shared + i * Layer::map_weights);
        first += Layer::input_rows * Layer::input_rows * tasks_at_once;
    }
    const int neuron = (map * Layer::rows + row) * Layer::rows + column;
    outputs[neuron * tasks_at_once + core::lane_rank()] = detail::activation(sum);
}

/// A layer of one image. Block: 128 threads, a neuron. Grid: neurons on x. Shared: a float for each
/// warp.
template <class Layer>
__global__ void __launch_bounds__(detail::neuron_threads)
    connect_one(const float* inputs, const float* weights, float* outputs) {
    weights += static_cast<int>(blockIdx.x) * (1 + Layer::inputs);
    float sum = 0;
    APERTURE_UNROLL
    for (int i = core::thread_rank(); i < Layer::inputs; i += detail::neuron_threads) {
        sum = __fmaf_rn(weights[1 + i], inputs[i], sum);
    }
    sum = core::block_reduce(sum, core::shared<float>()) + weights[0];
    if (threadIdx.x == 0) outputs[blockIdx.x] = detail::activation(sum);
}

/// A layer of 32 images. Block: Layer::warps, each a part of the inputs, a lane each image. Grid:
/// neurons on x. Shared: the weights of the neuron, a sum for each thread.
template <class Layer>
__global__ void __launch_bounds__(Layer::warps* core::warp_size)
    connect_all(const float* inputs, const float* weights, float* outputs) {
    constexpr int count = 1 + Layer::inputs;
    constexpr int part = Layer::inputs / Layer::warps;
    static_assert(part * Layer::warps == Layer::inputs);
    float* const shared = core::shared<float>();
    float* const sums = shared + count;
    for (int i = core::thread_rank(); i < count; i += core::block_threads()) {
        shared[i] = weights[static_cast<int>(blockIdx.x) * count + i];
    }
    __syncthreads();
    const int lane = core::lane_rank();
    float sum = 0;
    APERTURE_UNROLL
    for (int i = 0; i < part; ++i) {
        const int input = core::warp_rank() * part + i;
        sum = __fmaf_rn(shared[1 + input], inputs[input * tasks_at_once + lane], sum);
    }
    sums[core::thread_rank()] = sum;
    __syncthreads();
    if (core::warp_rank() != 0) return;
    sum = shared[0];
    for (int warp = 0; warp < Layer::warps; ++warp) sum += sums[warp * core::warp_size + lane];
    outputs[static_cast<int>(blockIdx.x) * tasks_at_once + lane] = detail::activation(sum);
}

/// See Sweep.
template <class Executor>
class NetworkSweep {
  public:
    using Input = float;
    using Output = float;

    NetworkSweep(Executor& executor, const NetworkProblem& problem)
        : executor_(executor),
          problem_(problem),
          weights_(problem.weights.extent()),
          second_({FirstLayer::outputs * tasks_at_once}),
          third_({SecondLayer::outputs * tasks_at_once}),
          fourth_({ThirdLayer::outputs * tasks_at_once}) {}

    index_t input_size() const { return FirstLayer::inputs; }
    index_t output_size() const { return FourthLayer::outputs; }
    void load() {
        core::copy<float, 1, core::Strided>(executor_, problem_.weights.view(), weights_.view());
    }

    void run_one(index_t, const float* image, float* digits) {
        run(image, digits, [&](auto its, const float* weights, const float* from, float* to) {
            using Layer = decltype(its);
            if constexpr (Layer::convolution) {
                core::launch(
                    executor_, &convolve_one<Layer>,
                    core::LaunchConfig(Layer::maps, Layer::sums, sizeof(float) * Layer::sums), from,
                    weights, to);
            } else {
                constexpr int warps = detail::neuron_threads / core::warp_size;
                core::launch(executor_, &connect_one<Layer>,
                             core::LaunchConfig(Layer::outputs, detail::neuron_threads,
                                                sizeof(float) * warps),
                             from, weights, to);
            }
        });
    }
    void run_all(const float* images, float* digits) {
        run(images, digits, [&](auto its, const float* weights, const float* from, float* to) {
            using Layer = decltype(its);
            if constexpr (Layer::convolution) {
                core::launch(executor_, &convolve_all<Layer>,
                             core::LaunchConfig(
                                 dim3(Layer::maps, Layer::rows), Layer::rows * core::warp_size,
                                 sizeof(float) * Layer::input_maps * Layer::map_weights),
                             from, weights, to);
            } else {
                constexpr int threads = Layer::warps * core::warp_size;
                core::launch(executor_, &connect_all<Layer>,
                             core::LaunchConfig(Layer::outputs, threads,
                                                sizeof(float) * (1 + Layer::inputs + threads)),
                             from, weights, to);
            }
        });
    }

  private:
    /// Calls launch(layer, weights, from, to) for each layer.
    template <class Launch>
    void run(const float* images, float* digits, Launch launch) {
        const float* weights = std::as_const(weights_).data();
        launch(FirstLayer(), weights, images, second_.data());
        weights += FirstLayer::weights;
        launch(SecondLayer(), weights, second_.data(), third_.data());
        weights += SecondLayer::weights;
        launch(ThirdLayer(), weights, third_.data(), fourth_.data());
        weights += ThirdLayer::weights;
        launch(FourthLayer(), weights, fourth_.data(), digits);
    }

    Executor& executor_;
    const NetworkProblem& problem_;
    core::Array<float, 1, typename Executor::Space> weights_, second_, third_, fourth_;
};

}  // namespace aperture::bench
