// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/core/array.hpp"
#include "libdense/cpu/tile_products.hpp"

namespace aperture::dense::tall {

/// Products of the columns of a matrix in blocks: its Gram matrix, or the products of `left` other
/// columns in such blocks with it. Parts are summed by independent tasks and added in fp64, in a
/// fixed order. Sum: the type of sums within a block, T or double; products of fp32 numbers are
/// exact in double.
template <class T, class Sum = T>
class ProductSums {
  public:
    explicit ProductSums(const ColumnBlocks<T>& layout, index_t left = 0)
        : layout_(layout), left_(left), sums_({layout.parts(), elements(layout, left)}) {}

    /// Of the sums of such a matrix.
    static index_t bytes(const ColumnBlocks<T>& layout, index_t left = 0) {
        return layout.parts() * elements(layout, left) * static_cast<index_t>(sizeof(double));
    }

    void clear(index_t part) { std::fill_n(&sums_(part, 0), sums_.extent()[1], 0.0); }

    /// Adds the products of a block of left columns with those of the matrix, or of these with
    /// themselves. Prefetches `ahead` meanwhile.
    void add(index_t part, index_t block, const T* left, const T* columns,
             core::ReadAhead ahead = {}) {
        const index_t rows = layout_.used_rows(block);
        const index_t stride = layout_.stride;
        double* to = &sums_(part, 0);
        for_each_tile([&](index_t i, index_t j) {
            add_gram_tile<T, Sum>(left + i * stride, columns + j * stride, stride, rows, to, ahead);
            to += gram_tile * gram_tile;
        });
    }
    void add(index_t part, index_t block, const T* columns, core::ReadAhead ahead = {}) {
        add(part, block, columns, columns, ahead);
    }

    /// Writes both triangles of a Gram matrix.
    void gather(core::View<double, 2, core::Host> to) const {
        index_t at = 0;
        for_each_tile([&](index_t i, index_t j) {
            for (index_t k = 0; k < gram_tile * gram_tile; ++k, ++at) {
                const index_t a = i + k / gram_tile;
                const index_t b = j + k % gram_tile;
                if (a >= to.extent[0] || b >= to.extent[1]) continue;
                double sum = 0;
                for (index_t part = 0; part < layout_.parts(); ++part) sum += sums_(part, at);
                to(a, b) = sum;
                if (left_ == 0) to(b, a) = sum;
            }
        });
    }

  private:
    template <class Visit>
    void for_each_tile(const Visit& visit) const {
        const bool is_gram = left_ == 0;
        for (index_t i = 0; i < (is_gram ? layout_.columns : left_); i += gram_tile) {
            for (index_t j = is_gram ? i : 0; j < layout_.columns; j += gram_tile) visit(i, j);
        }
    }
    static index_t elements(const ColumnBlocks<T>& layout, index_t left) {
        const index_t across = core::ceil_div(layout.columns, gram_tile);
        const index_t tiles =
            left == 0 ? across * (across + 1) / 2 : core::ceil_div(left, gram_tile) * across;
        return tiles * gram_tile * gram_tile;
    }

    ColumnBlocks<T> layout_;
    index_t left_;                 ///< 0: the Gram matrix
    core::Array<double, 2> sums_;  ///< [part][tile]
};

}  // namespace aperture::dense::tall
