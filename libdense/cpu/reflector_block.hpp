// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "libdense/cpu/block_copy.hpp"
#include "libdense/cpu/reflector_panel.hpp"

/// QR of a triangle on top of a block of rows, [R; B], panel by panel. A block is column-major with
/// its padded rows as the stride, followed by zero columns that fill the last panel.
namespace aperture::dense::tall {

/// Contents of a block.
enum class BlockKind {
    own_top,   ///< no triangle above it: its own first rows become one
    stacked,   ///< any rows
    triangle,  ///< another triangle
};

struct BlockShape {
    BlockKind kind = BlockKind::stacked;
    index_t rows = 0;  ///< a multiple of a pack's lanes
    index_t columns = 0;

    /// The nonzero rows of the panel at column k.
    template <class T>
    Rows rows_of_panel(index_t k) const {
        constexpr int w = panel_columns<T>;
        constexpr int lanes = core::lanes<T>;
        if (kind == BlockKind::own_top) {
            return {std::min(std::min(k + w, columns) / lanes * lanes, rows), rows};
        }
        if (kind == BlockKind::triangle) return {0, std::min(core::round_up(k + w, lanes), rows)};
        return {0, rows};
    }
};

/// Distance between columns of a triangle of order n: a pack from any of its rows stays in bounds.
template <class T>
index_t triangle_stride(index_t n) {
    return core::round_up(n, panel_columns<T>) + core::lanes<T>;
}
template <class T>
index_t panels_of(index_t columns) {
    return core::round_up(columns, panel_columns<T>) / panel_columns<T>;
}

/// The first rows of a block without a triangle, reduced to one within a panel's columns.
template <class T>
class OwnTop {
    static constexpr int w = panel_columns<T>;
    static constexpr int lanes = core::lanes<T>;

  public:
    /// Computes the orthogonal factor of rows and columns [k, k + count) of a block for
    /// `factors`.
    static void find(const T* block, index_t stride, index_t k, index_t count,
                     PanelFactors<T>& factors) {
        std::array<T, w * w> a{};
        for (int row = 0; row < count; ++row) {
            for (int column = 0; column < count; ++column) {
                a[row * w + column] = block[(k + column) * stride + k + row];
            }
        }
        auto& q = factors.top;
        q.fill(0);
        for (int i = 0; i < w; ++i) q[i * w + i] = 1;
        for (int j = 0; j + 1 < count; ++j) turn_column(a, q, j, static_cast<int>(count));
    }

    OwnTop(const PanelFactors<T>& factors, index_t k, index_t count, bool transposed)
        : k_(k), count_(count) {
        for (int i = 0; i < w; ++i) {
            for (int j = 0; j < lanes; ++j) {
                turn_[i][j] = j >= w ? T(0) : factors.top[transposed ? i * w + j : j * w + i];
            }
        }
    }
    /// Moves the rows out of a column of the block, transformed, and leaves zeros.
    void lift(T* column, T* top) const {
        turn(column + k_, top);
        std::fill_n(column + k_, count_, T(0));
    }
    /// Moves them back, transformed.
    void lower(T* column, const T* top) const { turn(top, column + k_); }

  private:
    void turn(const T* from, T* to) const {
        core::Pack<T> sum{};
        for (int i = 0; i < count_; ++i) sum += turn_[i] * core::broadcast(from[i]);
        for (int i = 0; i < count_; ++i) to[i] = sum[i];
    }

    /// Applies a reflector of rows [j, count) that clears column j of `a`; accumulates `q`,
    /// transposed.
    static void turn_column(std::array<T, w * w>& a, std::array<T, w * w>& q, int j, int count) {
        T largest = 0;
        for (int i = j; i < count; ++i) largest = std::max(largest, std::abs(a[i * w + j]));
        if (!(largest > 0)) return;
        std::array<T, w> v{};
        T square = 0;
        for (int i = j; i < count; ++i) {
            v[i] = a[i * w + j] / largest;
            square += v[i] * v[i];
        }
        const T length = std::sqrt(square);
        const T beta = v[j] >= 0 ? -length : length;
        const T tau = (beta - v[j]) / beta;
        const T scale = 1 / (v[j] - beta);
        for (int i = j + 1; i < count; ++i) v[i] *= scale;
        v[j] = 1;
        for (int column = 0; column < count; ++column) {
            T with_a = 0;
            T with_q = 0;
            for (int i = j; i < count; ++i) {
                with_a += v[i] * a[i * w + column];
                with_q += v[i] * q[column * w + i];
            }
            for (int i = j; i < count; ++i) {
                a[i * w + column] -= tau * with_a * v[i];
                q[column * w + i] -= tau * with_q * v[i];
            }
        }
    }

    index_t k_;
    index_t count_;
    core::Pack<T> turn_[w];
};

/// Columns of a block whose panels are applied together, and the columns that they are applied to
/// at once: both stay in the second-level cache.
inline constexpr index_t panels_together = 64;
inline constexpr index_t applied_together = 48;

/// Applies Q^T, or Q, of the panels in columns [begin, end) of a block to columns [first, last) of
/// [top; c]. See apply_block.
template <class T, bool transposed>
void apply_panels(const BlockShape& shape, const T* v, const PanelFactors<T>* factors,
                  index_t begin, index_t end, T* c, T* top, index_t first, index_t last,
                  core::ReadAhead& ahead) {
    constexpr int w = panel_columns<T>;
    const index_t stride = triangle_stride<T>(shape.columns);
    const index_t panels = panels_of<T>(end - begin);
    const bool own_top = shape.kind == BlockKind::own_top;
    for (index_t from = first; from < last; from += applied_together) {
        const index_t to = std::min(from + applied_together, last);
        for (index_t p = 0; p < panels; ++p) {
            const index_t k = begin + (transposed ? p : panels - 1 - p) * w;
            const PanelFactors<T>& panel = factors[k / w];
            const index_t count = std::min<index_t>(w, end - k);
            if (transposed && own_top) {
                const OwnTop<T> own(panel, k, count, true);
                for (index_t j = from; j < to; ++j) {
                    own.lift(c + j * shape.rows, top + j * stride + k);
                }
            }
            PanelApplication<T, transposed>(v + k * shape.rows, shape.rows,
                                            shape.template rows_of_panel<T>(k), panel)
                .run(c + from * shape.rows, shape.rows, top + from * stride + k, stride, to - from,
                     ahead);
            if (!transposed && own_top) {
                const OwnTop<T> own(panel, k, count, false);
                for (index_t j = from; j < to; ++j) {
                    own.lower(c + j * shape.rows, top + j * stride + k);
                }
            }
        }
    }
}

/// QR of [R; B], or of B alone if it has its own top: R (`r`, with triangle_stride) becomes the
/// triangle and V replaces B. `factors` has one entry per panel. Prefetches `ahead` meanwhile.
template <class T>
void factor_block(const BlockShape& shape, T* b, T* r, PanelFactors<T>* factors,
                  core::ReadAhead ahead = {}) {
    constexpr int w = panel_columns<T>;
    const index_t n = shape.columns;
    const index_t r_stride = triangle_stride<T>(n);
    for (index_t begin = 0; begin < n; begin += panels_together) {
        const index_t end = std::min(begin + panels_together, n);
        for (index_t k = begin; k < end; k += w) {
            PanelFactors<T>& panel = factors[k / w];
            const index_t next = std::min(k + w, end);
            if (shape.kind == BlockKind::own_top) {
                OwnTop<T>::find(b, shape.rows, k, next - k, panel);
                const OwnTop<T> own(panel, k, next - k, true);
                for (index_t j = k; j < next; ++j)
                    own.lift(b + j * shape.rows, r + j * r_stride + k);
            }
            PanelFactorisation<T>(b + k * shape.rows, shape.rows,
                                  shape.template rows_of_panel<T>(k), r + k * r_stride + k,
                                  r_stride, panel)
                .run();
            apply_panels<T, true>(shape, b, factors, k, next, b, r, next, end, ahead);
        }
        apply_panels<T, true>(shape, b, factors, begin, end, b, r, end, n, ahead);
    }
}

/// Applies a block's Q^T, or Q, to `columns` columns of [top; c]: `c` is laid out like the block,
/// `top` like the triangle. If the block has its own top, Q^T moves those rows from c to `top` and
/// leaves zeros, and Q moves them back. Prefetches `ahead` meanwhile.
template <class T, bool transposed>
void apply_block(const BlockShape& shape, const T* v, const PanelFactors<T>* factors, T* c, T* top,
                 index_t columns, core::ReadAhead ahead = {}) {
    const index_t n = shape.columns;
    const index_t groups = core::ceil_div(n, panels_together);
    for (index_t g = 0; g < groups; ++g) {
        const index_t begin = (transposed ? g : groups - 1 - g) * panels_together;
        apply_panels<T, transposed>(shape, v, factors, begin, std::min(begin + panels_together, n),
                                    c, top, 0, columns, ahead);
    }
}

}  // namespace aperture::dense::tall
