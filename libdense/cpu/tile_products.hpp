// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstring>
#include <utility>

#include "aperture/core/array.hpp"
#include "libcore/cpu/lane_sums.hpp"
#include "libcore/cpu/read_ahead.hpp"
#include "libdense/cpu/column_blocks.hpp"

namespace aperture::dense::tall {

/// A small matrix that blocks are multiplied by, stored in column tiles: [tile][row][column of the
/// tile].
template <class T>
struct Factor {
    static constexpr index_t most_columns = core::simd_bytes == 64 ? 12 : 6;

    index_t rows = 0;
    index_t columns = 0;
    core::Array<T, 1> elements = {};

    index_t tiles() const { return core::ceil_div(columns, most_columns); }
    /// Tiles are of nearly equal width.
    index_t first_column(index_t tile) const {
        return columns * tile / std::max<index_t>(tiles(), 1);
    }

    /// Calls work(std::integral_constant<int, width of the tile>).
    template <class Work>
    void with_width(index_t tile, const Work& work) const {
        const auto width = static_cast<int>(first_column(tile + 1) - first_column(tile));
        const auto work_if = [&]<int columns>(std::integral_constant<int, columns> known) {
            if (width == columns) work(known);
        };
        [&]<int... i>(std::integer_sequence<int, i...>) {
            (work_if(std::integral_constant<int, i + 1>{}), ...);
        }
        (std::make_integer_sequence<int, static_cast<int>(most_columns)>{});
    }

    /// Allocates: `set` with as many elements allocates nothing afterwards.
    void reserve(index_t row_count, index_t column_count) {
        elements.reshape({row_count * column_count});
    }
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

/// product_packs packs of `columns` columns of a product: `rows` columns of `in`, `stride` apart,
/// times `factor`.
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
        T* const to = out + factor.first_column(tile) * product_packs * core::lanes<T>;
        factor.with_width(tile, [&]<int columns>(std::integral_constant<int, columns>) {
            multiply_tile<T, columns>(in, stride, factor.rows, elements, to);
            elements += columns * factor.rows;
        });
    }
}

/// Loads as many elements of type T as a pack of Sum has lanes, converted to Sum.
template <class T, class Sum>
[[gnu::always_inline]] inline core::Pack<Sum> load_as(const T* from) {
    if constexpr (std::same_as<T, Sum>) {
        return core::load(from);
    } else {
        typename core::PackLike<T, Sum>::type part;
        std::memcpy(&part, from, sizeof(part));
        return __builtin_convertvector(part, core::Pack<Sum>);
    }
}

/// Adds the products of gram_tile columns at `a` with as many at `b` over `rows` rows to `sums`:
/// accumulated in Sum within a block, in fp64 across blocks. Prefetches `ahead` meanwhile.
template <class T, class Sum>
inline void add_gram_tile(const T* a, const T* b, index_t stride, index_t rows, double* sums,
                          core::ReadAhead& ahead) {
    constexpr int t = gram_tile;
    constexpr int lanes = core::lanes<Sum>;
    core::Pack<Sum> sum[t * t] = {};
    for (index_t r = 0; r < rows; r += lanes) {
        core::Pack<Sum> of_a[t];
#pragma GCC unroll 8
        for (int i = 0; i < t; ++i) of_a[i] = load_as<T, Sum>(a + i * stride + r);
        ahead.prefetch_line();
#pragma GCC unroll 8
        for (int j = 0; j < t; ++j) {
            const core::Pack<Sum> of_b = load_as<T, Sum>(b + j * stride + r);
#pragma GCC unroll 8
            for (int i = 0; i < t; ++i) sum[i * t + j] += of_a[i] * of_b;
        }
    }
    constexpr int together = lanes < 8 ? lanes : 8;
    int done = 0;
#pragma GCC unroll 8
    for (; done + together <= t * t; done += together) {
        core::Pack<Sum> some[together];
#pragma GCC unroll 8
        for (int i = 0; i < together; ++i) some[i] = sum[done + i];
        const core::Pack<Sum> totals = core::sums_of_lanes<Sum, together>(some);
#pragma GCC unroll 8
        for (int i = 0; i < together; ++i) sums[done + i] += static_cast<double>(totals[i]);
    }
    for (; done < t * t; ++done) {
        core::Pack<Sum> one[1] = {sum[done]};
        sums[done] += static_cast<double>(core::sums_of_lanes<Sum, 1>(one)[0]);
    }
}

}  // namespace aperture::dense::tall
