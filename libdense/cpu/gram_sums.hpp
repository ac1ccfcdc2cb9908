// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "libdense/cpu/tile_products.hpp"

namespace aperture::dense::tall {

/// Accumulation type of a Gram matrix within a block.
enum class GramSum {
    of_type,  ///< in the type of the elements
    fp64,     ///< fp32 products are then exact
};

/// The Gram matrix of a matrix in blocks. A fixed number of parts is summed by independent tasks
/// and added in fp64, in a fixed order.
template <class T>
class GramSums {
  public:
    explicit GramSums(const ColumnBlocks<T>& layout)
        : layout_(layout), sums_({parts(), tiles_of(layout) * gram_tile * gram_tile}) {}

    /// Of the sums of such a matrix.
    static index_t bytes(const ColumnBlocks<T>& layout) {
        return parts_of(layout) * tiles_of(layout) * gram_tile * gram_tile *
               static_cast<index_t>(sizeof(double));
    }

    index_t parts() const { return parts_of(layout_); }
    index_t first_block(index_t part) const { return layout_.blocks() * part / parts(); }

    void clear(index_t part) { std::fill_n(&sums_(part, 0), sums_.extent()[1], 0.0); }

    /// Prefetches `ahead` meanwhile.
    void add(index_t part, index_t block, const T* columns, GramSum how,
             core::ReadAhead ahead = {}) {
        const index_t rows = layout_.used_rows(block);
        const index_t stride = layout_.stride;
        double* to = &sums_(part, 0);
        for (index_t i = 0; i < layout_.columns; i += gram_tile) {
            for (index_t j = i; j < layout_.columns; j += gram_tile) {
                const T* const a = columns + i * stride;
                const T* const b = columns + j * stride;
                if (how == GramSum::fp64) {
                    add_gram_tile<T, double>(a, b, stride, rows, to, ahead);
                } else {
                    add_gram_tile<T, T>(a, b, stride, rows, to, ahead);
                }
                to += gram_tile * gram_tile;
            }
        }
    }

    /// Writes both triangles.
    void gather(core::View<double, 2, core::Host> gram) const {
        const index_t n = layout_.columns;
        index_t at = 0;
        for (index_t i = 0; i < n; i += gram_tile) {
            for (index_t j = i; j < n; j += gram_tile) {
                for (index_t k = 0; k < gram_tile * gram_tile; ++k, ++at) {
                    const index_t a = i + k / gram_tile;
                    const index_t b = j + k % gram_tile;
                    if (a >= n || b >= n) continue;
                    double sum = 0;
                    for (index_t part = 0; part < parts(); ++part) sum += sums_(part, at);
                    gram(a, b) = sum;
                    gram(b, a) = sum;
                }
            }
        }
    }

  private:
    static index_t parts_of(const ColumnBlocks<T>& layout) {
        return std::min<index_t>(layout.blocks(), 32);
    }
    static index_t tiles_of(const ColumnBlocks<T>& layout) {
        const index_t across = ceil_div(layout.columns, gram_tile);
        return across * (across + 1) / 2;
    }

    ColumnBlocks<T> layout_;
    core::Array<double, 2> sums_;  ///< [part][tile of the upper triangle]
};

}  // namespace aperture::dense::tall
