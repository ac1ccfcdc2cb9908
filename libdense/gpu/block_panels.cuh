// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Blocked factorisations of a matrix that a block shares: one warp factors a panel in registers
// (warp_panel.cuh), then all warps apply it to the columns behind. Three barriers a panel. All
// threads of the block must call, after a barrier, and wait before they use the factors.

#include "libdense/gpu/warp_panel.cuh"
#include "libdense/gpu/warp_vector.cuh"

namespace aperture::dense {

/// c(i, j) -= sum over k < panel_width of left(i)[k] right(j)[k], for rows [first_row, rows) and j
/// = column(0), ... column(columns - 1): load_left(i, row) and load_right(j, row) fill the factors.
/// A thread has 4 rows and 2 columns, 16 apart; the halves of a warp share 8 rows. With `lower`,
/// parts that lie above the diagonal of the product are left out.
template <bool lower, class T, class Column, class LoadLeft, class LoadRight>
__device__ __forceinline__ void subtract_panel_product(int first_row, int rows, int columns,
                                                       Column column, const PanelMatrix<T>& c,
                                                       LoadLeft load_left, LoadRight load_right) {
    constexpr int most = panel_width<T>;
    constexpr int height = 4;
    constexpr int width = 2;
    constexpr int lanes = 16;
    const int half = core::lane_rank() / lanes;
    const int warps = core::block_threads() / core::warp_size;
    APERTURE_NO_UNROLL
    for (int left = 0; left < columns; left += width * lanes) {
        const int j = left + core::lane_rank() % lanes;
        if (j >= columns) continue;
        const bool has_second = j + lanes < columns;
        const int at_column[width] = {column(j), column(has_second ? j + lanes : j)};
        APERTURE_NO_UNROLL
        for (int top = core::warp_rank() * 2 * height; top < rows - first_row;
             top += warps * 2 * height) {
            if (lower && top + 2 * height <= left) continue;
            const int row = first_row + top + half * height;
            if (row >= rows) continue;
            T sum[height][width];
            T of_left[height][most];
            T of_right[width][most];
            APERTURE_UNROLL
            for (int b = 0; b < width; ++b) load_right(at_column[b], of_right[b]);
            APERTURE_UNROLL
            for (int a = 0; a < height; ++a) {
                const int i = row + a < rows ? row + a : row;
                load_left(i, of_left[a]);
                APERTURE_UNROLL
                for (int b = 0; b < width; ++b) sum[a][b] = c(i, at_column[b]);
            }
            APERTURE_UNROLL
            for (int k = 0; k < most; ++k) {
                APERTURE_UNROLL
                for (int a = 0; a < height; ++a) {
                    APERTURE_UNROLL
                    for (int b = 0; b < width; ++b) {
                        sum[a][b] = core::multiply_add(sum[a][b], -of_left[a][k], of_right[b][k]);
                    }
                }
            }
            APERTURE_UNROLL
            for (int a = 0; a < height; ++a) {
                if (row + a >= rows) continue;
                c(row + a, at_column[0]) = sum[a][0];
                if (has_second) c(row + a, at_column[1]) = sum[a][1];
            }
        }
    }
}

/// The entries of a column in the rows of a panel, after the panel's exchanges of rows in the whole
/// column.
template <class T>
struct PanelColumn {
    static constexpr int most = panel_width<T>;
    T entry[most];

    __device__ __forceinline__ PanelColumn(const PanelMatrix<T>& a, int first, int width, int j,
                                           const int* rows) {
        APERTURE_UNROLL
        for (int s = 0; s < most; ++s) {
            entry[s] = s < width ? a(first + s, j) : T(RealOf<T>(0));
        }
        if (rows == nullptr) return;
        APERTURE_UNROLL
        for (int s = 0; s < most; ++s) {
            if (s >= width) continue;
            const int row = rows[first + s];
            if (row >= first + most) {
                const T lower = a(row, j);
                a(row, j) = entry[s];
                entry[s] = lower;
                continue;
            }
            APERTURE_UNROLL
            for (int t = s + 1; t < most; ++t) {
                if (row != first + t) continue;
                const T lower = entry[t];
                entry[t] = entry[s];
                entry[s] = lower;
            }
        }
    }
};

/// P A = L U in place; `rows` [n + 1] in shared memory gets the exchanged rows, and info.
template <int slots, class T>
__device__ __forceinline__ void factor_lu_in_block(bool exchange, int n, PanelMatrix<T> a,
                                                   int* rows) {
    constexpr int most = panel_width<T>;
    int info = 0;
    APERTURE_NO_UNROLL
    for (int first = 0; first < n; first += most) {
        WarpPanel<T, slots> panel(first, n, n);
        if (core::warp_rank() == 0) {
            panel.template load<false>(a);
            factor_lu_panel(panel, exchange, rows, info);
            panel.template store<false>(a);
        }
        __syncthreads();
        const int behind = first + panel.width;
        for (int j = core::thread_rank(); j < n; j += core::block_threads()) {
            if (j >= first && j < behind) continue;
            if (j < first && !exchange) continue;
            PanelColumn<T> column(a, first, panel.width, j, exchange ? rows : nullptr);
            APERTURE_UNROLL
            for (int s = 0; s < most; ++s) {
                if (s >= panel.width) break;
                if (j >= behind) {
                    APERTURE_UNROLL
                    for (int t = 0; t < s; ++t) {
                        column.entry[s] = core::multiply_add(
                            column.entry[s], -a(first + s, first + t), column.entry[t]);
                    }
                }
                a(first + s, j) = column.entry[s];
            }
        }
        if (behind >= n) break;
        __syncthreads();
        subtract_panel_product<false>(
            behind, n, n - behind, [&](int j) { return behind + j; }, a,
            [&](int i, T(&row)[most]) { a.load_row(row, i, first); },
            [&](int j, T(&row)[most]) {
                APERTURE_UNROLL
                for (int k = 0; k < most; ++k) row[k] = a(first + k, j);
            });
        __syncthreads();
    }
    if (core::thread_rank() == 0) rows[n] = info;
}

/// Gauss-Jordan elimination in place. Column k keeps the factors that clear it, but on the diagonal
/// the pivot. With `invert` rows are exchanged, the matrix becomes (P A)^-1, and `order` [n] is
/// that of the rows of P A. `rows` [n + 1] gets the exchanged rows, and info; `pivot_rows` is of
/// [panel_width][n]. All are in shared memory.
template <int slots, bool invert, class T>
__device__ __forceinline__ void eliminate_in_block(PanelMatrix<T> a, const JordanPanel<T>& applied,
                                                   int* rows, int* order, T* pivot_rows) {
    constexpr int most = panel_width<T>;
    const int n = applied.n;
    const T zero = T(RealOf<T>(0));
    int info = 0;
    if (invert) {
        for (int i = core::thread_rank(); i < n; i += core::block_threads()) order[i] = i;
    }
    APERTURE_NO_UNROLL
    for (int first = 0; first < n; first += most) {
        WarpPanel<T, slots> panel(first, n, n);
        const int width = panel.width;
        if (core::warp_rank() == 0) {
            panel.template load<true>(a);
            eliminate_panel<invert>(panel, applied, rows, info);
            panel.template store<true>(a);
        }
        __syncthreads();
        const int behind = first + width;
        for (int j = core::thread_rank(); j < n; j += core::block_threads()) {
            if (j < behind && (j >= first || !invert)) continue;
            PanelColumn<T> column(a, first, width, j, invert ? rows : nullptr);
            APERTURE_UNROLL
            for (int k = 0; k < most; ++k) {
                if (k >= width) {
                    pivot_rows[k * n + j] = zero;
                    continue;
                }
                const T solved = applied.reciprocals[k].times(column.entry[k]);
                pivot_rows[k * n + j] = solved;
                APERTURE_UNROLL
                for (int t = 0; t < most; ++t) {
                    if (t >= width) continue;
                    column.entry[t] =
                        t == k ? solved
                               : core::multiply_add(column.entry[t], -applied.factor(first + t, k),
                                                    solved);
                }
            }
            APERTURE_UNROLL
            for (int t = 0; t < most; ++t) {
                if (t < width) a(first + t, j) = column.entry[t];
            }
        }
        if (invert && core::thread_rank() == core::block_threads() - 1) {
            for (int s = 0; s < width; ++s) {
                const int upper = order[first + s];
                order[first + s] = order[rows[first + s]];
                order[rows[first + s]] = upper;
            }
        }
        __syncthreads();
        const int before = invert ? first : 0;
        subtract_panel_product<false>(
            0, n, before + n - behind, [&](int j) { return j < before ? j : j - before + behind; },
            a,
            [&](int i, T(&row)[most]) {
                const bool own = i >= first && i < behind;
                APERTURE_UNROLL
                for (int k = 0; k < most; ++k) {
                    row[k] = own || k >= width ? zero : applied.factor(i, k);
                }
            },
            [&](int j, T(&row)[most]) {
                APERTURE_UNROLL
                for (int k = 0; k < most; ++k) row[k] = pivot_rows[k * n + j];
            });
        __syncthreads();
    }
    if (core::thread_rank() == 0) rows[n] = info;
}

/// A x = b in place by the factors of eliminate_in_block without `invert`.
template <class T, int slots>
__device__ __forceinline__ void solve_eliminated_in_warp(int n, const PanelMatrix<T>& a,
                                                         WarpVector<T, slots>& x) {
    const DiagonalReciprocals<T, slots> diagonal(n, a);
    APERTURE_UNROLL_BY(4)
    for (int k = 0; k < n; ++k) {
        const T solved = x.solve(k, [&](int s, T entry) { return diagonal.entry[s].times(entry); });
        x.for_each(0, n, [&](int i, T& entry) {
            if (i != k) entry = core::multiply_add(entry, -a(i, k), solved);
        });
    }
}

/// A = G G^H in place, of the lower triangle; what is above the diagonal is lost. `pivots` in
/// shared memory.
template <int slots, class T>
__device__ __forceinline__ void factor_cholesky_in_block(int n, PanelMatrix<T> a,
                                                         Pivots<RealOf<T>>* pivots) {
    constexpr int most = panel_width<T>;
    Pivots<RealOf<T>> its;
    APERTURE_NO_UNROLL
    for (int first = 0; first < n; first += most) {
        if (core::warp_rank() == 0) {
            WarpPanel<T, slots> panel(first, n, n);
            panel.template load<false>(a);
            factor_cholesky_panel(panel, its);
            panel.template store<false>(a);
        }
        __syncthreads();
        const int behind = first + most;
        if (behind >= n) break;
        subtract_panel_product<true>(
            behind, n, n - behind, [&](int j) { return behind + j; }, a,
            [&](int i, T(&row)[most]) { a.load_row(row, i, first); },
            [&](int j, T(&row)[most]) {
                a.load_row(row, j, first);
                APERTURE_UNROLL
                for (int k = 0; k < most; ++k) row[k] = core::conj(row[k]);
            });
        __syncthreads();
    }
    if (core::thread_rank() == 0) *pivots = its;
}

/// A = Q R in place, reflectors below R; `tau` [n] and `gram` [panel_width][panel_width] in shared
/// memory.
template <int slots, class T>
__device__ __forceinline__ void factor_qr_in_block(int m, int n, PanelMatrix<T> a, T* tau,
                                                   T* gram) {
    constexpr int most = panel_width<T>;
    // Quarters of a warp read without bank conflicts.
    constexpr int rows_at_once = sizeof(T) == 4 ? 2 : 4;
    constexpr int columns_at_once = 2;
    constexpr int lanes = 8;
    const int part = core::lane_rank() / lanes;
    const int warps = core::block_threads() / core::warp_size;
    APERTURE_NO_UNROLL
    for (int first = 0; first < n; first += most) {
        WarpPanel<T, slots> panel(first, n, m);
        const int behind = first + panel.width;
        // Reflectors as they are applied: with ones, and zeros above. R follows afterwards.
        if (core::warp_rank() == 0) {
            panel.template load<false>(a);
            factor_qr_panel(panel, tau, gram);
            panel.template store<false>(a);
            if (behind < n && core::lane_rank() < most) {
                APERTURE_UNROLL
                for (int c = 0; c < most; ++c) {
                    if (core::lane_rank() <= c) {
                        a(first + core::lane_rank(), first + c) =
                            T(RealOf<T>(core::lane_rank() == c ? 1 : 0));
                    }
                }
            }
        }
        if (behind >= n) break;
        __syncthreads();
        // A quarter of a warp has a share of the rows; a thread two columns.
        APERTURE_NO_UNROLL
        for (int base = behind + core::warp_rank() * lanes * columns_at_once; base < n;
             base += warps * lanes * columns_at_once) {
            const int column = base + core::lane_rank() % lanes;
            const auto load_entries = [&](int row, T(&entry)[columns_at_once]) {
                APERTURE_UNROLL
                for (int b = 0; b < columns_at_once; ++b) {
                    const int j = column + b * lanes;
                    entry[b] = j < n ? a(row, j) : T(RealOf<T>(0));
                }
            };
            const auto for_each_row = [&](auto visit) {
                APERTURE_UNROLL_BY(8 / rows_at_once)
                for (int row = first + part * rows_at_once; row < m; row += 4 * rows_at_once) {
                    APERTURE_UNROLL
                    for (int u = 0; u < rows_at_once; ++u) {
                        if (row + u < m) visit(row + u);
                    }
                }
            };
            T y[most][columns_at_once];
            APERTURE_UNROLL
            for (int k = 0; k < most; ++k) {
                APERTURE_UNROLL
                for (int b = 0; b < columns_at_once; ++b) y[k][b] = T(RealOf<T>(0));
            }
            for_each_row([&](int row) {
                T entry[columns_at_once];
                load_entries(row, entry);
                T v[most];
                a.load_row(v, row, first);
                APERTURE_UNROLL
                for (int k = 0; k < most; ++k) {
                    APERTURE_UNROLL
                    for (int b = 0; b < columns_at_once; ++b) {
                        y[k][b] = core::multiply_add_conj(y[k][b], entry[b], v[k]);
                    }
                }
            });
            APERTURE_UNROLL
            for (int k = 0; k < most; ++k) {
                APERTURE_UNROLL
                for (int b = 0; b < columns_at_once; ++b) {
                    T sum = y[k][b];
                    sum = sum + core::exchange_xor(sum, lanes);
                    sum = sum + core::exchange_xor(sum, 2 * lanes);
                    APERTURE_UNROLL
                    for (int c = 0; c < k; ++c) {
                        sum = core::multiply_add(sum, -core::conj(gram[c * most + k]), y[c][b]);
                    }
                    y[k][b] = sum * core::conj(tau[first + k]);
                }
            }
            for_each_row([&](int row) {
                T entry[columns_at_once];
                load_entries(row, entry);
                T v[most];
                a.load_row(v, row, first);
                APERTURE_UNROLL
                for (int k = 0; k < most; ++k) {
                    APERTURE_UNROLL
                    for (int b = 0; b < columns_at_once; ++b) {
                        entry[b] = core::multiply_add(entry[b], -y[k][b], v[k]);
                    }
                }
                APERTURE_UNROLL
                for (int b = 0; b < columns_at_once; ++b) {
                    const int j = column + b * lanes;
                    if (j < n) a(row, j) = entry[b];
                }
            });
        }
        __syncthreads();
        if (core::warp_rank() == 0 && core::lane_rank() < most) {
            APERTURE_UNROLL
            for (int c = 0; c < most; ++c) {
                if (core::lane_rank() <= c) {
                    a(first + core::lane_rank(), first + c) = panel.entry[0][c];
                }
            }
        }
    }
}

}  // namespace aperture::dense
