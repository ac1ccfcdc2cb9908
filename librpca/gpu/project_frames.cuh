// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elementwise kernels of alternating projections. Frames are [frame][value] with contiguous values;
// a thread processes all frames of one value.

#include "librpca/gpu/load_frames.cuh"
#include "librpca/medians.hpp"

namespace aperture::rpca::gpu {

inline constexpr int project_threads = 256;
/// For block_reduce of three sums.
inline constexpr int project_shared_bytes =
    project_threads / core::warp_size * static_cast<int>(sizeof(core::Sums<3>));

/// With int frames, which take fewer registers than the extents of a view.
template <class T>
struct Frames {
    T* data;  ///< nullptr if absent
    index_t pitch;
    int frames;
    index_t values;

    __device__ T& at(int frame, index_t value) const { return data[frame * pitch + value]; }
};

/// ||M||_F^2 and the first non-finite value. Clears the mask, if there is one. Grid, here and
/// below: blocks of project_threads values.
template <class T>
__global__ void __launch_bounds__(project_threads)
    measure_frames_kernel(Frames<const T> m, Frames<unsigned char> mask, LoadedPart* parts) {
    const index_t value = index_t{blockIdx.x} * project_threads + threadIdx.x;
    double square = 0;
    index_t not_finite = no_index;
    for (int f = 0; value < m.values && f < m.frames; ++f) {
        const auto x = static_cast<double>(m.at(f, value));
        square += x * x;
        // x - x is 0 only for finite x.
        if (!(x - x == 0)) not_finite = core::Minimum{}(not_finite, f * m.values + value);
        if (mask.data != nullptr) mask.at(f, value) = 0;
    }
    void* const shared = core::shared<double>();
    square = core::block_reduce(square, static_cast<double*>(shared));
    not_finite = core::block_reduce(not_finite, static_cast<index_t*>(shared), core::Minimum{});
    if (threadIdx.x == 0) parts[blockIdx.x] = {{0, 0, square, 0}, not_finite};
}

/// Writes each value's median to column `median` of the panel, by bisection, and zeroes the
/// other columns.
template <class T>
__global__ void __launch_bounds__(project_threads)
    find_medians_kernel(Frames<const T> m, T* panel, index_t pitch, int columns, int median) {
    const index_t value = index_t{blockIdx.x} * project_threads + threadIdx.x;
    if (value >= m.values) return;
    T below = m.at(0, value);
    T above = below;
    for (int f = 1; f < m.frames; ++f) {
        const T x = m.at(f, value);
        below = x < below ? x : below;
        above = x > above ? x : above;
    }
    for (int i = 0; i < median_halvings; ++i) {
        const T middle = below + (above - below) / 2;
        int count = 0;
        APERTURE_UNROLL_BY(8)
        for (int f = 0; f < m.frames; ++f) count += m.at(f, value) <= middle ? 1 : 0;
        (2 * count >= m.frames ? above : below) = middle;
    }
    for (int k = 0; k < columns; ++k) panel[k * pitch + value] = k == median ? above : T(0);
}

template <class T>
struct SampleArguments {
    Frames<const T> m;
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
    const auto frame = static_cast<int>(sample * a.step / a.m.values);
    const index_t value = sample * a.step % a.m.values;
    auto rest = static_cast<double>(a.m.at(frame, value));
    for (int k = 0; k < a.columns; ++k) {
        rest -= static_cast<double>(a.panel[k * a.pitch + value]) *
                static_cast<double>(a.coefficients[index_t{k} * a.m.frames + frame]);
    }
    a.sizes[sample] = static_cast<T>(rest < 0 ? -rest : rest);
}

template <class T>
struct RestArguments {
    Frames<const T> m;
    Frames<T> rest;  ///< L; becomes R
    T threshold;
    T mask_threshold;
    Frames<unsigned char> mask;  ///< of the previous pass; replaced
    Frames<T> low_rank;          ///< L and S; may alias M
    Frames<T> sparse;
    PassSums* parts;
};

/// R = M - L where that is at most the threshold, else 0; S = M - L - R.
template <class T>
__global__ void __launch_bounds__(project_threads) split_rest_kernel(RestArguments<T> a) {
    const index_t value = index_t{blockIdx.x} * project_threads + threadIdx.x;
    core::Sums<3> sums{};
    APERTURE_UNROLL_BY(4)
    for (int f = 0; f < (value < a.m.values ? a.m.frames : 0); ++f) {
        const T low_rank = a.rest.at(f, value);
        const T difference = a.m.at(f, value) - low_rank;
        const T size = difference < 0 ? -difference : difference;
        const T rest = size <= a.threshold ? difference : T(0);
        sums.value[0] += static_cast<double>(rest) * static_cast<double>(rest);
        sums.value[1] += size <= a.threshold ? 1 : 0;
        a.rest.at(f, value) = rest;
        if (a.mask.data != nullptr) {
            const auto beyond = static_cast<unsigned char>(size > a.mask_threshold);
            sums.value[2] += beyond != a.mask.at(f, value) ? 1 : 0;
            a.mask.at(f, value) = beyond;
        }
        if (a.low_rank.data != nullptr) a.low_rank.at(f, value) = low_rank;
        if (a.sparse.data != nullptr) a.sparse.at(f, value) = difference - rest;
    }
    sums = core::block_reduce(sums, core::shared<core::Sums<3>>());
    if (threadIdx.x == 0) a.parts[blockIdx.x] = {sums.value[0], sums.value[1], sums.value[2]};
}

}  // namespace aperture::rpca::gpu
