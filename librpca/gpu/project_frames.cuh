// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elementwise kernels of alternating projections. Frames are [frame][value] with contiguous values;
// a thread processes all frames of one value.

#include "librpca/gpu/load_frames.cuh"

namespace aperture::rpca::gpu {

inline constexpr int project_threads = 256;
/// For block_reduce of three sums.
inline constexpr int project_shared_bytes =
    project_threads / core::warp_size * static_cast<int>(sizeof(core::Sums<3>));

/// ||M||_F^2 and the first non-finite value. Clears the mask, if there is one. Grid, here and
/// below: blocks of project_threads values.
template <class T>
__global__ void __launch_bounds__(project_threads)
    measure_frames_kernel(KernelView<const T, 2> m, KernelView<unsigned char, 2> mask,
                          LoadedPart* parts) {
    const auto [frames, values] = counts_of(m);
    const index_t value = index_t{blockIdx.x} * project_threads + threadIdx.x;
    double square = 0;
    index_t not_finite = no_index;
    for (int f = 0; value < values && f < frames; ++f) {
        const auto x = static_cast<double>(element(m, f, value));
        square += x * x;
        // x - x is 0 only for finite x.
        if (!(x - x == 0)) not_finite = core::Minimum{}(not_finite, f * values + value);
        if (mask.data != nullptr) element(mask, f, value) = 0;
    }
    void* const shared = core::shared<double>();
    square = core::block_reduce(square, static_cast<double*>(shared));
    not_finite = core::block_reduce(not_finite, static_cast<index_t*>(shared), core::Minimum{});
    if (threadIdx.x == 0) parts[blockIdx.x] = {{0, 0, square, 0}, not_finite};
}

/// Writes each value's median to column `median` of the panel, by bisection to 1/4096 of the
/// value's range, and zeroes the other columns.
template <class T>
__global__ void __launch_bounds__(project_threads)
    find_medians_kernel(KernelView<const T, 2> m, T* panel, index_t pitch, int columns,
                        int median) {
    constexpr int halvings = 12;
    const auto [frames, values] = counts_of(m);
    const index_t value = index_t{blockIdx.x} * project_threads + threadIdx.x;
    if (value >= values) return;
    T below = element(m, 0, value);
    T above = below;
    for (int f = 1; f < frames; ++f) {
        const T x = element(m, f, value);
        below = x < below ? x : below;
        above = x > above ? x : above;
    }
    for (int i = 0; i < halvings; ++i) {
        const T middle = below + (above - below) / 2;
        int count = 0;
        APERTURE_UNROLL_BY(8)
        for (int f = 0; f < frames; ++f) count += element(m, f, value) <= middle ? 1 : 0;
        (2 * count >= frames ? above : below) = middle;
    }
    for (int k = 0; k < columns; ++k) panel[k * pitch + value] = k == median ? above : T(0);
}

template <class T>
struct SampleArguments {
    KernelView<const T, 2> m;
    const T* panel;
    index_t pitch;
    int columns;
    const T* coefficients;  ///< [column][frame]
    index_t step;
    index_t count;
    T* sizes;
};

/// |M - panel coefficients| of every step-th element. Grid: blocks of project_threads samples.
template <class T>
__global__ void __launch_bounds__(project_threads) sample_rest_kernel(SampleArguments<T> a) {
    const index_t sample = index_t{blockIdx.x} * project_threads + threadIdx.x;
    if (sample >= a.count) return;
    const auto [frames, values] = counts_of(a.m);
    const auto frame = static_cast<int>(sample * a.step / values);
    const index_t value = sample * a.step % values;
    auto rest = static_cast<double>(element(a.m, frame, value));
    for (int k = 0; k < a.columns; ++k) {
        rest -= static_cast<double>(a.panel[k * a.pitch + value]) *
                static_cast<double>(a.coefficients[index_t{k} * frames + frame]);
    }
    a.sizes[sample] = static_cast<T>(rest < 0 ? -rest : rest);
}

template <class T>
struct RestArguments {
    KernelView<const T, 2> m;
    KernelView<T, 2> rest;  ///< L; becomes R
    T threshold;
    T mask_threshold;
    KernelView<unsigned char, 2> mask;  ///< of the previous pass; replaced
    KernelView<T, 2> low_rank;          ///< L and S; may alias M
    KernelView<T, 2> sparse;
    PassSums* parts;
};

/// R = M - L where that is at most the threshold, else 0; S = M - L - R.
template <class T>
__global__ void __launch_bounds__(project_threads) take_rest_kernel(RestArguments<T> a) {
    const index_t value = index_t{blockIdx.x} * project_threads + threadIdx.x;
    const auto [frames, values] = counts_of(a.m);
    core::Sums<3> sums{};
    APERTURE_UNROLL_BY(4)
    for (int f = 0; f < (value < values ? frames : 0); ++f) {
        const T low_rank = element(a.rest, f, value);
        const T difference = element(a.m, f, value) - low_rank;
        const T size = difference < 0 ? -difference : difference;
        const T rest = size <= a.threshold ? difference : T(0);
        sums.value[0] += static_cast<double>(rest) * static_cast<double>(rest);
        sums.value[1] += size <= a.threshold ? 1 : 0;
        element(a.rest, f, value) = rest;
        if (a.mask.data != nullptr) {
            const auto beyond = static_cast<unsigned char>(size > a.mask_threshold);
            sums.value[2] += beyond != element(a.mask, f, value) ? 1 : 0;
            element(a.mask, f, value) = beyond;
        }
        if (a.low_rank.data != nullptr) element(a.low_rank, f, value) = low_rank;
        if (a.sparse.data != nullptr) element(a.sparse, f, value) = difference - rest;
    }
    sums = core::block_reduce(sums, core::shared<core::Sums<3>>());
    if (threadIdx.x == 0) a.parts[blockIdx.x] = {sums.value[0], sums.value[1], sums.value[2]};
}

}  // namespace aperture::rpca::gpu
