// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "libdense/gpu/batch_tile.cuh"
#include "libdense/gpu/block_matrix.cuh"
#include "libdense/gpu/products_of_runs.cuh"

namespace aperture::dense {

/// Where a thread is in its group of `lanes` neighbouring threads, which share a vector.
struct GroupPosition {
    index_t problem;
    int lane;
};
__device__ __forceinline__ GroupPosition group_position(int lanes) {
    const int groups = core::block_threads() / lanes;
    return {static_cast<index_t>(blockIdx.x) * groups + core::thread_rank() / lanes,
            core::thread_rank() % lanes};
}

/// The sum, or another combination, of a group's values, in all of its lanes. All lanes of the warp
/// must call.
template <class V, class Combine = core::Sum>
__device__ __forceinline__ V group_reduce(int lanes, V value, Combine combine = {}) {
    APERTURE_NO_UNROLL
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        value = combine(value, core::exchange_xor(value, distance));
    }
    return value;
}

/// The norm of a group's vector of n entries, whose squares have the sum `sum`. Where that
/// overflowed or vanished, entry(i) is called twice more for each: for the largest and, scaled by a
/// power of two, for its square. All lanes of the warp must call.
template <class R, class Entry>
__device__ __forceinline__ R norm_of_group(int lanes, int lane, index_t n, R sum,
                                           const Entry& entry) {
    constexpr R least =
        smallest_normal<R> * (sizeof(R) == sizeof(float) ? R(1ull << 24) : R(1ull << 53));
    const bool safe = n == 0 || (sum >= least && sum <= largest_finite<R>);
    if (!__any_sync(core::full_warp, !safe)) return sqrt(sum);
    R largest = R(0);
    R infinite = R(0);
    for (index_t i = lane; i < n && !safe; i += lanes) {
        const auto value = entry(i);
        const auto add_part = [&](R part) {
            const R size = magnitude(part);
            largest = core::Maximum()(largest, size);
            // Infinities and NaN give themselves.
            if (!(size <= largest_finite<R>)) infinite += size;
        };
        add_part(core::real_part(value));
        if constexpr (core::is_complex<std::decay_t<decltype(value)>>) add_part(value.im);
    }
    largest = group_reduce(lanes, largest, core::Maximum());
    infinite = group_reduce(lanes, infinite);
    const bool finite = infinite == R(0);
    const int exponent = !safe && finite && largest > R(0) ? ilogb(largest) : 0;
    R scaled_sum = R(0);
    for (index_t i = lane; i < n && !safe && finite; i += lanes) {
        // In two steps: the factor alone might overflow.
        auto value = entry(i) * ldexp(R(1), -exponent / 2);
        value = value * ldexp(R(1), -exponent - -exponent / 2);
        scaled_sum = core::add_norm(scaled_sum, value);
    }
    scaled_sum = group_reduce(lanes, scaled_sum);
    if (safe) return sqrt(sum);
    return finite ? ldexp(sqrt(scaled_sum), exponent) : infinite;
}

/// Operands of `norm_in_groups`.
template <class T>
struct NormArguments {
    KernelView<const T, 2> a;
    KernelView<RealOf<T>, 1> result;
    KernelView<const T, 1> squares;  ///< a^H a of long vectors, or empty
    int lanes;
};

/// result = ||a||_2. Thread: every `lanes`-th entry of a vector. Block: 256 threads, 256 / lanes
/// vectors. Grid: vectors on x.
template <class T, int width>
__global__ void __launch_bounds__(vector_threads) norm_in_groups(NormArguments<T> p) {
    using R = RealOf<T>;
    const GroupPosition at = group_position(p.lanes);
    const index_t n = at.problem < p.a.extent[0] ? p.a.extent[1] : 0;
    R sum = R(0);
    if (p.squares.empty()) {
        const T* from = p.a.data + at.problem * p.a.stride[0] + at.lane * width * p.a.stride[1];
        const index_t step = static_cast<index_t>(p.lanes) * width;
        APERTURE_UNROLL_BY(4)
        for (index_t i = at.lane * width; i < n; i += step) {
            T entries[width];
            load_chunks(entries, from);
            from += step * p.a.stride[1];
            APERTURE_UNROLL
            for (int j = 0; j < width; ++j) sum = core::add_norm(sum, entries[j]);
        }
        sum = group_reduce(p.lanes, sum);
    } else if (at.problem < p.a.extent[0]) {
        sum = core::real_part(p.squares(at.problem));
    }
    const R result =
        norm_of_group(p.lanes, at.lane, n, sum, [&](index_t i) { return p.a(at.problem, i); });
    if (at.lane == 0 && at.problem < p.a.extent[0]) p.result(at.problem) = result;
}

/// Operands of `norms_of_runs`: vectors without gaps, the first of which begins on 16 bytes.
template <class T>
struct RunNormArguments {
    const T* a;
    KernelView<RealOf<T>, 1> result;
    int n;
    int problems;  ///< of a block, a whole number of chunks
    int lanes;     ///< threads that share a vector
};

/// result = ||a||_2. Thread: every `lanes`-th piece of `width` entries of a vector. Block: 256
/// threads, whole vectors. Grid: vectors on x. Shared: the block's vectors.
template <class T, int width>
__global__ void __launch_bounds__(vector_threads) norms_of_runs(RunNormArguments<T> p) {
    T* const vectors = core::shared<T>();
    const index_t first = static_cast<index_t>(blockIdx.x) * p.problems;
    const int problems = static_cast<int>(min(p.result.extent[0] - first, index_t(p.problems)));
    start_run(vectors, p.a + first * p.n, problems * p.n);
    core::commit_copies();
    core::wait_for_copies();
    __syncthreads();
    const int lane = core::thread_rank() & (p.lanes - 1);
    APERTURE_NO_UNROLL
    for (int begin = 0; begin < problems; begin += vector_threads / p.lanes) {
        const int problem = begin + core::thread_rank() / p.lanes;
        const bool exists = problem < problems;
        const T* const its = vectors + (exists ? problem * p.n : 0);
        RealOf<T> sum = RealOf<T>(0);
        APERTURE_UNROLL_BY(4)
        for (int i = lane * width; i < p.n; i += p.lanes * width) {
            T entries[width];
            load_chunks(entries, its + i);
            APERTURE_UNROLL
            for (int j = 0; j < width; ++j) sum = core::add_norm(sum, entries[j]);
        }
        sum = group_reduce(p.lanes, sum);
        const RealOf<T> norm =
            norm_of_group(p.lanes, lane, p.n, sum, [&](index_t i) { return its[i]; });
        if (lane == 0 && exists) p.result(first + problem) = norm;
    }
}

/// Operands of `axpy_by_pieces`; dimension 1 is the contiguous one.
template <class T>
struct AxpyArguments {
    T alpha;
    KernelView<const T, 2> x;
    KernelView<T, 2> y;
};

/// y = alpha x + y. Thread: four pieces of `width` entries, a block's threads apart, of every
/// gridDim.x-th block of 1024. Grid: any number of blocks on x. Bytes per entry: 3 sizeof(T).
template <class T, int width>
__global__ void __launch_bounds__(vector_threads) axpy_by_pieces(AxpyArguments<T> p) {
    constexpr int at_once = 4;
    const index_t of_row = p.x.extent[1] / width;
    const index_t pieces = p.x.extent[0] * of_row;
    const index_t of_block = at_once * vector_threads;
    for (index_t first = static_cast<index_t>(blockIdx.x) * of_block + core::thread_rank();
         first < pieces; first += static_cast<index_t>(gridDim.x) * of_block) {
        T x[at_once][width] = {}, y[at_once][width] = {};
        T* to[at_once] = {};
        APERTURE_UNROLL
        for (int u = 0; u < at_once; ++u) {
            const index_t i = first + u * vector_threads;
            if (i >= pieces) continue;
            const index_t row = p.x.extent[0] == 1 ? 0 : i / of_row;
            const index_t column = (i - row * of_row) * width;
            to[u] = &p.y(row, column);
            load_chunks(x[u], &p.x(row, column));
            load_chunks(y[u], to[u]);
        }
        APERTURE_UNROLL
        for (int u = 0; u < at_once; ++u) {
            APERTURE_UNROLL
            for (int j = 0; j < width; ++j) {
                y[u][j] = core::multiply_add(y[u][j], p.alpha, x[u][j]);
            }
            if (to[u] != nullptr) store_chunks(to[u], y[u]);
        }
    }
}

}  // namespace aperture::dense
