// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "aperture/core/array.hpp"
#include "aperture/core/lane_sums.hpp"
#include "libdense/cpu/column_blocks.hpp"

namespace aperture::dense::tall {

/// A matrix of few rows and columns that blocks are multiplied by, column tile after column tile:
/// [tile][row][column of the tile].
template <class T>
struct Factor {
    static constexpr index_t most_columns = core::simd_bytes == 64 ? 12 : 6;

    index_t rows = 0;
    index_t columns = 0;
    core::Array<T, 1> elements = {};

    index_t tiles() const { return ceil_div(columns, most_columns); }
    /// Tiles are of nearly equal width.
    index_t first_column(index_t tile) const {
        return columns * tile / std::max<index_t>(tiles(), 1);
    }

    /// Holds up to `most` x `most` elements without allocating.
    void reserve(index_t most) { elements.reshape({most * most}); }
    template <class Element>
    void set(index_t row_count, index_t column_count, const Element& element) {
        rows = row_count;
        columns = column_count;
        T* to = elements.data();
        for (index_t tile = 0; tile < tiles(); ++tile) {
            for (index_t i = 0; i < rows; ++i) {
                for (index_t j = first_column(tile); j < first_column(tile + 1); ++j) {
                    *to++ = static_cast<T>(element(i, j));
                }
            }
        }
    }
};

/// product_packs packs of `columns` columns of a product: `rows` of `in`, at a distance of
/// `stride`, times `factor`.
template <class T, int columns>
inline void multiply_tile(const T* __restrict__ in, index_t stride, index_t rows,
                          const T* __restrict__ factor, T* __restrict__ out) {
    constexpr int lanes = core::lanes<T>;
    core::Pack<T> sum[columns][product_packs] = {};
    for (index_t k = 0; k < rows; ++k) {
        core::Pack<T> value[product_packs];
#pragma GCC unroll 4
        for (int p = 0; p < product_packs; ++p) value[p] = core::load(in + k * stride + p * lanes);
#pragma GCC unroll 16
        for (int j = 0; j < columns; ++j) {
            const core::Pack<T> f = core::broadcast(factor[k * columns + j]);
#pragma GCC unroll 4
            for (int p = 0; p < product_packs; ++p) sum[j][p] += f * value[p];
        }
    }
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j) {
#pragma GCC unroll 4
        for (int p = 0; p < product_packs; ++p) {
            core::store(out + (j * product_packs + p) * lanes, sum[j][p]);
        }
    }
}

/// product_packs packs of in * factor: `out` is [column][product_packs * lanes].
template <class T>
inline void multiply(const T* in, index_t stride, const Factor<T>& factor, T* out) {
    const T* elements = factor.elements.data();
    for (index_t tile = 0; tile < factor.tiles(); ++tile) {
        const index_t first = factor.first_column(tile);
        const auto width = static_cast<int>(factor.first_column(tile + 1) - first);
        T* const to = out + first * product_packs * core::lanes<T>;
        const auto multiply_if = [&]<int columns>(std::integral_constant<int, columns>) {
            if (width == columns) multiply_tile<T, columns>(in, stride, factor.rows, elements, to);
        };
        [&]<int... i>(std::integer_sequence<int, i...>) {
            (multiply_if(std::integral_constant<int, i + 1>{}), ...);
        }
        (std::make_integer_sequence<int, static_cast<int>(Factor<T>::most_columns)>{});
        elements += width * factor.rows;
    }
}

/// Adds the products of gram_tile columns at `a` with as many at `b` over `rows` rows to `sums`:
/// summed in T over a block, in fp64 over blocks.
template <class T>
inline void add_gram_tile(const T* a, const T* b, index_t stride, index_t rows, double* sums) {
    constexpr int t = gram_tile;
    constexpr int lanes = core::lanes<T>;
    core::Pack<T> sum[t * t] = {};
    for (index_t v = 0; v < rows; v += lanes) {
        core::Pack<T> of_a[t];
#pragma GCC unroll 8
        for (int i = 0; i < t; ++i) of_a[i] = core::load(a + i * stride + v);
#pragma GCC unroll 8
        for (int j = 0; j < t; ++j) {
            const core::Pack<T> of_b = core::load(b + j * stride + v);
#pragma GCC unroll 8
            for (int i = 0; i < t; ++i) sum[i * t + j] += of_a[i] * of_b;
        }
    }
    constexpr int together = lanes < 8 ? lanes : 8;
    int done = 0;
#pragma GCC unroll 8
    for (; done + together <= t * t; done += together) {
        core::Pack<T> some[together];
#pragma GCC unroll 8
        for (int i = 0; i < together; ++i) some[i] = sum[done + i];
        const core::Pack<T> totals = core::sums_of_lanes<T, together>(some);
#pragma GCC unroll 8
        for (int i = 0; i < together; ++i) sums[done + i] += static_cast<double>(totals[i]);
    }
    for (; done < t * t; ++done) {
        core::Pack<T> one[1] = {sum[done]};
        sums[done] += static_cast<double>(core::sums_of_lanes<T, 1>(one)[0]);
    }
}

}  // namespace aperture::dense::tall
