// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A separable Gaussian filter of 32 images, zero beyond the border: rows, then columns. Source:
// Ino et al. 2013, section 5 ("GF").

#include "bench/sweeps/problems.hpp"
#include "libcore/gpu/launch.cuh"

namespace aperture::bench {

namespace detail {

inline constexpr int blur_rows = 8;
/// Outputs of a thread along the filter: enough blocks for one image, few loads for many.
inline constexpr int outputs_of_one = 4;
inline constexpr int outputs_of_all = 8;

/// Output `first` of the values, of which the first is that of the output minus the radius.
__device__ __forceinline__ float blurred(const float* values, int first, const BlurWeights& by) {
    float sum = 0;
    APERTURE_UNROLL
    for (int k = 0; k < BlurWeights::taps; ++k) {
        sum = __fmaf_rn(by.value[k], values[first + k], sum);
    }
    return sum;
}

}  // namespace detail

/// Filters rows of an image [length][length], a multiple of 4.
///
/// Block: 32 x 8 threads of 4 pixels each. Grid: columns on x, rows on y.
__global__ void __launch_bounds__(256)
    blur_rows(const float* from, float* to, index_t length, BlurWeights weights) {
    constexpr int outputs = detail::outputs_of_one;
    constexpr int count = outputs + 2 * BlurWeights::radius;
    const index_t x = (index_t{blockIdx.x} * core::warp_size + threadIdx.x) * outputs;
    const index_t y = index_t{blockIdx.y} * detail::blur_rows + threadIdx.y;
    if (x >= length || y >= length) return;
    float values[count];
    APERTURE_UNROLL
    for (int i = 0; i < count; i += 4) {
        const index_t at = x - BlurWeights::radius + i;
        const float4 four = 0 <= at && at < length
                                ? *reinterpret_cast<const float4*>(from + y * length + at)
                                : make_float4(0, 0, 0, 0);
        values[i] = four.x;
        values[i + 1] = four.y;
        values[i + 2] = four.z;
        values[i + 3] = four.w;
    }
    *reinterpret_cast<float4*>(to + y * length + x) =
        make_float4(detail::blurred(values, 0, weights), detail::blurred(values, 1, weights),
                    detail::blurred(values, 2, weights), detail::blurred(values, 3, weights));
}

/// Filters [outer][length][inner] along its second axis: columns of an image, or rows or columns
/// of interleaved ones.
///
/// Block: 32 x 8 threads of `outputs` values each. Grid: inner on x, length on y, outer on z.
template <int outputs>
__global__ void __launch_bounds__(256)
    blur_along(const float* from, float* to, index_t length, index_t inner, BlurWeights weights) {
    constexpr int count = outputs + 2 * BlurWeights::radius;
    const index_t at = index_t{blockIdx.x} * core::warp_size + threadIdx.x;
    const index_t first = (index_t{blockIdx.y} * detail::blur_rows + threadIdx.y) * outputs;
    if (at >= inner || first >= length) return;
    from += blockIdx.z * length * inner + at;
    to += blockIdx.z * length * inner + at;
    float values[count];
    APERTURE_UNROLL
    for (int i = 0; i < count; ++i) {
        const index_t y = first - BlurWeights::radius + i;
        values[i] = 0 <= y && y < length ? from[y * inner] : 0;
    }
    APERTURE_UNROLL
    for (int i = 0; i < outputs; ++i) {
        if (first + i < length) to[(first + i) * inner] = detail::blurred(values, i, weights);
    }
}

/// See Sweep.
template <class Executor>
class GaussianSweep {
  public:
    using Input = float;
    using Output = float;

    GaussianSweep(Executor& executor, const GaussianProblem& problem)
        : executor_(executor),
          side_(problem.side),
          weights_(problem.weights),
          rows_({tasks_at_once * side_ * side_}) {}

    index_t input_size() const { return side_ * side_; }
    index_t output_size() const { return side_ * side_; }
    void load() {}

    void run_one(index_t, const float* image, float* filtered) {
        const dim3 block(core::warp_size, detail::blur_rows);
        constexpr index_t columns = core::warp_size * detail::outputs_of_one;
        core::launch(executor_, &blur_rows,
                     core::LaunchConfig(dim3(core::blocks_for(side_, columns),
                                             core::blocks_for(side_, detail::blur_rows)),
                                        block),
                     image, rows_.data(), side_, weights_);
        blur<detail::outputs_of_one>(rows_.data(), filtered, 1, side_);
    }
    void run_all(const float* images, float* filtered) {
        constexpr int outputs = detail::outputs_of_all;
        blur<outputs>(images, rows_.data(), side_, tasks_at_once);
        blur<outputs>(rows_.data(), filtered, 1, side_ * tasks_at_once);
    }

  private:
    template <int outputs>
    void blur(const float* from, float* to, index_t outer, index_t inner) {
        core::launch(executor_, &blur_along<outputs>,
                     core::LaunchConfig(dim3(core::blocks_for(inner, core::warp_size),
                                             core::blocks_for(side_, detail::blur_rows * outputs),
                                             static_cast<unsigned>(outer)),
                                        dim3(core::warp_size, detail::blur_rows)),
                     from, to, side_, inner, weights_);
    }

    Executor& executor_;
    index_t side_;
    BlurWeights weights_;
    core::Array<float, 1, typename Executor::Space> rows_;
};

}  // namespace aperture::bench
