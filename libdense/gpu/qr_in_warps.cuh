// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Householder's factorisation of a matrix in the registers of a block: warp w has columns w,
// w + warps, ..., of which a lane has every 32nd row, so that products with a reflector are sums in
// a warp. The warp of the next column makes its reflector as soon as it has applied this one, and
// publishes it in the other half of shared memory: a step has one barrier.
//
// Block: one problem. Grid: problems on x. Shared: qr_in_warps_bytes and the matrix
// [m][panel_row_stride] of T, on its way. Bytes and flops per problem as in qr_in_block.cuh.
// Source: Anderson 2014, ch. 4.5 (one problem in the registers of a block).

#include "libdense/gpu/block_workspace.cuh"
#include "libdense/gpu/factor_arguments.cuh"
#include "libdense/gpu/reflector.cuh"

namespace aperture::dense {

/// Halves the values that a lane adds until it has one: value i is in lanes from i warp_size /
/// padded on.
template <int half, int padded, class T>
__device__ __forceinline__ void halve_sums(T (&part)[padded]) {
    if constexpr (half > 0) {
        constexpr int distance = half * (core::warp_size / padded);
        const bool upper = (core::lane_rank() & distance) != 0;
        APERTURE_UNROLL
        for (int i = 0; i < half; ++i) {
            const T kept = upper ? part[i + half] : part[i];
            const T given = upper ? part[i] : part[i + half];
            part[i] = kept + core::exchange_xor(given, distance);
        }
        halve_sums<half / 2>(part);
    }
}
/// The sums over a warp's lanes of `count` values, in all lanes: with some 2 count instead of 5
/// count exchanges.
template <int count, class T>
__device__ __forceinline__ void warp_sums(T (&value)[count]) {
    constexpr int padded = count <= 1 ? 1 : count <= 2 ? 2 : count <= 4 ? 4 : count <= 8 ? 8 : 16;
    static_assert(count <= padded);
    constexpr int lanes = core::warp_size / padded;
    T part[padded];
    APERTURE_UNROLL
    for (int i = 0; i < padded; ++i) part[i] = i < count ? value[i] : T(RealOf<T>(0));
    halve_sums<padded / 2>(part);
    const T sum = core::warp_reduce<lanes>(part[0]);
    APERTURE_UNROLL
    for (int i = 0; i < count; ++i) value[i] = core::broadcast(sum, i * lanes);
}

/// Bytes of shared memory before the matrix: two reflectors, their tau, and a number of each warp.
template <class T>
APERTURE_HD constexpr int qr_in_warps_bytes(int heights) {
    const int bytes = 2 * (core::warp_size * heights + 1) * static_cast<int>(sizeof(T)) +
                      core::warp_size * static_cast<int>(sizeof(double));
    return (bytes + 15) / 16 * 16;
}

/// A lane's part of the matrix.
template <class T, int heights, int slots, int warps>
struct WarpColumns {
    using R = RealOf<T>;
    static constexpr int height = core::warp_size * heights;
    T entry[slots][heights];
    T* published;  ///< [2][height]
    T* tau;        ///< [2]

    __device__ __forceinline__ static int row_of(int t) {
        return t * core::warp_size + core::lane_rank();
    }

    /// Makes the reflector of step k, of the column in `slot`.
    template <int slot>
    __device__ __forceinline__ void publish(int k) {
        R below = R(0);
        T on_diagonal = T(R(0));
        APERTURE_UNROLL
        for (int t = 0; t < heights; ++t) {
            if (row_of(t) > k) below += core::norm(entry[slot][t]);
            if (row_of(t) == k) on_diagonal = entry[slot][t];
        }
        below = core::warp_reduce(below);
        const Reflector<T> reflector =
            make_reflector(core::broadcast(on_diagonal, k % core::warp_size), below);
        APERTURE_UNROLL
        for (int t = 0; t < heights; ++t) {
            T& its = entry[slot][t];
            const int row = row_of(t);
            const T scaled = its * reflector.factor;
            published[k % 2 * height + row] = row > k ? scaled : T(R(row == k ? 1 : 0));
            its = row > k ? scaled : row == k ? T(reflector.beta) : its;
        }
        if (core::lane_rank() == 0) tau[k % 2] = reflector.tau;
    }
    /// Multiplies the columns in slots [from, slots) by (I - tau v v^H)^H.
    template <int from>
    __device__ __forceinline__ void apply(const T (&v)[heights], T its_tau) {
        if constexpr (from < slots) {
            T sum[slots - from] = {};
            APERTURE_UNROLL
            for (int slot = from; slot < slots; ++slot) {
                APERTURE_UNROLL
                for (int t = 0; t < heights; ++t) {
                    T& its = sum[slot - from];
                    its = core::multiply_add_conj(its, entry[slot][t], v[t]);
                }
            }
            warp_sums(sum);
            APERTURE_UNROLL
            for (int slot = from; slot < slots; ++slot) {
                const T share = -(sum[slot - from] * core::conj(its_tau));
                APERTURE_UNROLL
                for (int t = 0; t < heights; ++t) {
                    entry[slot][t] = core::multiply_add(entry[slot][t], share, v[t]);
                }
            }
        }
    }
    /// The steps of the columns in `slot` and behind, of n; the first has been published.
    template <int slot>
    __device__ __forceinline__ void factor(int n, const KernelView<T, 2>& taus, index_t problem) {
        constexpr int next_slot = slot + 1 < slots ? slot + 1 : slot;
        const int warp = core::warp_rank();
        APERTURE_NO_UNROLL
        for (int owner = 0; owner < warps; ++owner) {
            const int k = slot * warps + owner;
            if (k >= n) break;
            __syncthreads();
            T v[heights];
            APERTURE_UNROLL
            for (int t = 0; t < heights; ++t) v[t] = published[k % 2 * height + row_of(t)];
            const T its_tau = tau[k % 2];
            if (core::thread_rank() == 0) taus(problem, k) = its_tau;
            if (warp > owner) {
                apply<slot>(v, its_tau);
            } else {
                apply<slot + 1>(v, its_tau);
            }
            if (k + 1 == n) break;
            if (warp == owner + 1) publish<slot>(k + 1);
            if (slot < next_slot && owner + 1 == warps && warp == 0) publish<next_slot>(k + 1);
        }
        if constexpr (slot < next_slot) factor<next_slot>(n, taus, problem);
    }
};

/// QR factors of up to 32 heights rows and slots warps columns.
template <class T, int heights, int slots, int warps>
__global__ void __launch_bounds__(warps* core::warp_size, 1) qr_in_warps(QrArguments<T> p) {
    using R = RealOf<T>;
    using Columns = WarpColumns<T, heights, slots, warps>;
    const auto m = static_cast<int>(p.a.extent[1]);
    const auto n = static_cast<int>(p.a.extent[2]);
    const index_t problem = blockIdx.x;
    Columns columns;
    columns.published = core::shared<T>();
    columns.tau = columns.published + 2 * Columns::height;
    R* const sums = reinterpret_cast<R*>(columns.tau + 2);
    T* const memory =
        reinterpret_cast<T*>(core::shared<unsigned char>() + qr_in_warps_bytes<T>(heights));
    const auto tile = block_matrix<MatrixPlace::shared>(WholeRows<T>{panel_row_stride<T>(n)},
                                                        memory, BlockScratch<T>{});
    R largest = R(0);
    load_matrix(m, n, false, matrix_of(p.a, problem), tile,
                [&](T entry) { largest = core::Maximum()(largest, magnitude(entry)); });
    const R scale = safe_scale(core::block_reduce(largest, sums, core::Maximum()));
    __syncthreads();
    // Calls visit(row, column, whether the matrix has them, entry).
    const auto for_each_entry = [&](auto visit) {
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int column = slot * warps + core::warp_rank();
            APERTURE_UNROLL
            for (int t = 0; t < heights; ++t) {
                const int row = Columns::row_of(t);
                visit(row, column, row < m && column < n, columns.entry[slot][t]);
            }
        }
    };
    for_each_entry([&](int row, int column, bool exists, T& entry) {
        entry = exists ? tile(row, column) * scale : T(R(0));
    });
    if (core::warp_rank() == 0) columns.template publish<0>(0);
    columns.template factor<0>(n, p.tau, problem);
    const R back = R(1) / scale;
    for_each_entry([&](int row, int column, bool exists, T& entry) {
        if (exists) tile(row, column) = row <= column ? entry * back : entry;
    });
    __syncthreads();
    store_matrix(m, n, tile, matrix_of(p.qr, problem), [](int, int, T entry) { return entry; });
}

}  // namespace aperture::dense
