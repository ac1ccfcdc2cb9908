// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <utility>

#include "aperture/stap/parameters.hpp"
#include "libcore/cpu/simd.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/// y = w^H S for one Doppler bin with range cells in lanes, directly from the rows of the cube.
/// With cells as (re, im) pairs, w^H S is sum w_re (re, im) plus the pair-swapped sum w_im (re, im)
/// with one sign changed: two multiply-adds per pack and no shuffle in the loop.
namespace aperture::stap::cpu {

/// Complex range cells in a pack.
inline constexpr int cells_per_pack = core::lanes<float> / 2;

/// Steering vectors and packs of range cells per register tile.
inline constexpr int weighting_vectors = core::simd_bytes == 64 ? 4 : 3;
inline constexpr int weighting_packs = core::simd_bytes == 64 ? 3 : 2;

/// Non-temporal store, for results that are not read again soon. `to` is aligned to a pack.
inline void store_streaming(float* to, core::Pack<float> value) {
#if defined(__AVX512F__)
    _mm512_stream_ps(to, value);
#elif defined(__AVX__)
    _mm256_stream_ps(to, value);
#elif defined(__SSE2__)
    _mm_stream_ps(to, value);
#else
    core::store(to, value);
#endif
}
/// Makes streaming stores visible to other threads, like any other store.
inline void fence_streaming() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

namespace detail {
template <int... i>
[[gnu::always_inline]] inline core::Pack<float> minus_j_times(core::Pack<float> x,
                                                              std::integer_sequence<int, i...>) {
    using Bits __attribute__((vector_size(core::simd_bytes))) = unsigned;
    constexpr Bits sign = {(i % 2 == 1 ? 0x80000000u : 0u)...};
    return core::Pack<float>(Bits(__builtin_shufflevector(x, x, (i ^ 1)...)) ^ sign);
}
}  // namespace detail

/// -j x for complex numbers as (re, im) pairs.
[[gnu::always_inline]] inline core::Pack<float> minus_j_times(core::Pack<float> x) {
    return detail::minus_j_times(x, std::make_integer_sequence<int, core::lanes<float>>{});
}

/// Operands of a tile: rows[i] + at are the cells of snapshot element i; weights[i][vector] are
/// pairs (re, im), `weight_stride` floats from i to i + 1; y[vector] is at out + vector *
/// out_stride.
struct WeightingTile {
    const float* const* rows;
    index_t at;
    int order;
    const float* weights;
    index_t weight_stride;
    float* out;
    index_t out_stride;
};

template <int vectors, int packs>
[[gnu::always_inline]] inline void weighted_sums(const WeightingTile& tile,
                                                 core::Pack<float> (&y)[vectors][packs]) {
    constexpr int lanes = core::lanes<float>;
    core::Pack<float> by_im[vectors][packs] = {};
#pragma GCC unroll 8
    for (int d = 0; d < vectors; ++d) {
#pragma GCC unroll 8
        for (int p = 0; p < packs; ++p) y[d][p] = core::Pack<float>{};
    }
    const float* w = tile.weights;
    for (int i = 0; i < tile.order; ++i) {
        core::Pack<float> s[packs];
#pragma GCC unroll 8
        for (int p = 0; p < packs; ++p) s[p] = core::load(tile.rows[i] + tile.at + p * lanes);
#pragma GCC unroll 8
        for (int d = 0; d < vectors; ++d) {
            const auto re = core::broadcast(w[2 * d]);
            const auto im = core::broadcast(w[2 * d + 1]);
#pragma GCC unroll 8
            for (int p = 0; p < packs; ++p) {
                y[d][p] += re * s[p];
                by_im[d][p] += im * s[p];
            }
        }
        w += tile.weight_stride;
    }
#pragma GCC unroll 8
    for (int d = 0; d < vectors; ++d) {
#pragma GCC unroll 8
        for (int p = 0; p < packs; ++p) y[d][p] += minus_j_times(by_im[d][p]);
    }
}

/// Destination of a tile's y: stored, streamed past the caches, or squared and added to `out`,
/// where all vectors share one row.
enum class Yield { stored, streamed, squared };

template <Yield yield, int vectors, int packs>
[[gnu::noinline]] void weight_tile(const WeightingTile& tile) {
    core::Pack<float> y[vectors][packs];
    weighted_sums(tile, y);
#pragma GCC unroll 8
    for (int p = 0; p < packs; ++p) {
        float* to = tile.out + p * core::lanes<float>;
        if constexpr (yield == Yield::squared) {
            core::Pack<float> sum = core::load(to);
#pragma GCC unroll 8
            for (int d = 0; d < vectors; ++d) sum += y[d][p] * y[d][p];
            core::store(to, sum);
        } else {
#pragma GCC unroll 8
            for (int d = 0; d < vectors; ++d) {
                float* row = to + d * tile.out_stride;
                if constexpr (yield == Yield::streamed) {
                    store_streaming(row, y[d][p]);
                } else {
                    core::store(row, y[d][p]);
                }
            }
        }
    }
}

using WeightTile = void (*)(const WeightingTile&);

/// Every shape of tile: [vectors - 1][packs - 1].
template <Yield yield>
inline constexpr auto weight_tiles = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<WeightTile, sizeof...(i)>{
        weight_tile<yield, i / weighting_packs + 1, i % weighting_packs + 1>...};
}
(std::make_integer_sequence<int, weighting_vectors * weighting_packs>{});

template <Yield yield>
inline void weight(int vectors, int packs, const WeightingTile& tile) {
    weight_tiles<yield>[(vectors - 1) * weighting_packs + packs - 1](tile);
}

}  // namespace aperture::stap::cpu
