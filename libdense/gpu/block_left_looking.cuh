// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// LU and Cholesky factorisations of a matrix that a block shares. They look left: all threads bring
// the rows of a panel up to date, whose entries a thread has in registers, and one warp factors it
// (warp_panel.cuh). Meanwhile the other warps subtract from the next panel what the panels before
// this one have of it. All threads of the block must call, after a barrier, and wait before they
// use the factors.

#include "libdense/gpu/block_workspace.cuh"
#include "libdense/gpu/row_exchanges.cuh"

namespace aperture::dense {

/// Numbers at[s] = first + s threads of rows or columns, as far as they exist.
template <int count>
struct OwnNumbers {
    static constexpr int slots = count;
    int at[count];  ///< of the one before the first, which nobody stores, where there is none
    bool exists[count];
};

/// Calls visit(numbers) until each number in [first, last), first > 0, is a thread's, of those from
/// warp `first_warp` on.
template <class Visit>
__device__ __forceinline__ void share_numbers(int first, int last, int first_warp, Visit visit) {
    const int others = first_warp * core::warp_size;
    const int threads = core::block_threads() - others;
    const int before = first - 1;
    const auto visit_some = [&](int own, auto numbers) {
        APERTURE_UNROLL
        for (int s = 0; s < numbers.slots; ++s) {
            const int i = own + s * threads;
            numbers.exists[s] = i < last;
            numbers.at[s] = i < last ? i : before;
        }
        visit(numbers);
    };
    int own = first + core::thread_rank() - others;
    APERTURE_NO_UNROLL
    for (; last - first > threads; first += 2 * threads, own += 2 * threads) {
        visit_some(own, OwnNumbers<2>{});
    }
    if (own - core::lane_rank() < last) visit_some(own, OwnNumbers<1>{});
}

/// entry[s][c] -= sum over k in [from, to), whole panels, of own[s] common[c]: load_own(k, of_own)
/// and load_common(k, of_common) load the factors of a chunk of k.
template <int slots, class T, class LoadOwn, class LoadCommon>
__device__ __forceinline__ void subtract_products(T (&entry)[slots][panel_width<T>], int from,
                                                  int to, LoadOwn load_own,
                                                  LoadCommon load_common) {
    constexpr int at_once = chunk_entries<T>;
    // As much is loaded at once as registers suffice for.
    constexpr int together = sizeof(T) == 4 ? 8 : slots == 1 ? 4 : 2;
    APERTURE_NO_UNROLL
    for (int base = from; base < to; base += together) {
        APERTURE_UNROLL
        for (int k = base; k < base + together; k += at_once) {
            T own[slots][at_once];
            T common[at_once][panel_width<T>];
            load_own(k, own);
            load_common(k, common);
            APERTURE_UNROLL
            for (int e = 0; e < at_once; ++e) {
                APERTURE_UNROLL
                for (int c = 0; c < panel_width<T>; ++c) {
                    APERTURE_UNROLL
                    for (int s = 0; s < slots; ++s) {
                        entry[s][c] = core::multiply_add(entry[s][c], -own[s][e], common[e][c]);
                    }
                }
            }
        }
    }
}

/// a(i, column + c) -= sum over k in [from, to) of a(i, k) common[k][c], of rows i in [first_row,
/// n) and the panel at `column`, by warps from `first_warp` on.
template <class T, class Matrix, class LoadCommon>
__device__ __forceinline__ void update_panel(int first_row, int n, int column, int from, int to,
                                             int first_warp, const Matrix& a,
                                             LoadCommon load_common) {
    constexpr int at_once = chunk_entries<T>;
    if (from >= to) return;
    share_numbers(first_row, n, first_warp, [&](auto rows) {
        constexpr int slots = decltype(rows)::slots;
        T entry[slots][panel_width<T>] = {};
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            if (rows.exists[s]) a.load_row(entry[s], rows.at[s], column);
        }
        subtract_products(
            entry, from, to,
            [&](int k, T(&own)[slots][at_once]) {
                APERTURE_UNROLL
                for (int s = 0; s < slots; ++s) a.load_row(own[s], rows.at[s], k);
            },
            load_common);
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            if (rows.exists[s]) a.store_row(entry[s], rows.at[s], column);
        }
    });
}

/// P A = L U in place, with the exchanged rows and info.
template <int slots, class T, class Matrix>
__device__ __forceinline__ void factor_lu_looking_left(bool exchange, int n, Matrix a,
                                                       const RowExchanges<T>& exchanges) {
    constexpr int most = panel_width<T>;
    constexpr int at_once = chunk_entries<T>;
    const bool ahead = core::block_threads() > core::warp_size;
    const auto update = [&](int first_row, int column, int from, int to, int first_warp) {
        update_panel<T>(first_row, n, column, from, to, first_warp, a,
                        [&](int k, T(&common)[at_once][most]) {
                            APERTURE_UNROLL
                            for (int e = 0; e < at_once; ++e) a.load_row(common[e], k + e, column);
                        });
    };
    int info = 0;
    int done = 0;
    exchanges.clear(n);
    APERTURE_NO_UNROLL
    for (int first = 0; first < n; first += most) {
        const int behind = first + most;
        update(first, first, done, first, 0);
        if (ahead) done = first;
        __syncthreads();
        if (core::warp_rank() > 0) {
            // Also rows that will be exchanged: what is subtracted goes with them.
            if (behind < n) update(first, behind, 0, first, 1);
        } else {
            factor_lu_panel_of<slots>(exchange, first, n, a, exchanges, info);
        }
        __syncthreads();
        if (exchange && first > 0) {
            const int width = n - first < most ? n - first : most;
            for (int j = core::thread_rank(); j < first; j += core::block_threads()) {
                T entry[most];
                exchanges.exchange(a, first, width, j, entry);
                APERTURE_UNROLL
                for (int s = 0; s < most; ++s) {
                    if (s < width) a(first + s, j) = entry[s];
                }
            }
            __syncthreads();
        }
        if (behind >= n) break;
        // The panel's rows of U.
        share_numbers(behind, n, 0, [&](auto columns) {
            constexpr int its_slots = decltype(columns)::slots;
            T entry[its_slots][most];
            APERTURE_UNROLL
            for (int s = 0; s < its_slots; ++s) {
                if (exchange && columns.exists[s]) {
                    exchanges.exchange(a, first, most, columns.at[s], entry[s]);
                } else {
                    APERTURE_UNROLL
                    for (int c = 0; c < most; ++c) entry[s][c] = a(first + c, columns.at[s]);
                }
            }
            subtract_products(
                entry, 0, first,
                [&](int k, T(&own)[its_slots][at_once]) {
                    APERTURE_UNROLL
                    for (int s = 0; s < its_slots; ++s) {
                        const bool wanted = !ahead || columns.at[s] >= behind + most;
                        APERTURE_UNROLL
                        for (int e = 0; e < at_once; ++e) {
                            own[s][e] = wanted ? a(k + e, columns.at[s]) : T(RealOf<T>(0));
                        }
                    }
                },
                [&](int k, T(&common)[at_once][most]) {
                    APERTURE_UNROLL
                    for (int c = 0; c < most; ++c) {
                        T row[at_once];
                        a.load_row(row, first + c, k);
                        APERTURE_UNROLL
                        for (int e = 0; e < at_once; ++e) common[e][c] = row[e];
                    }
                });
            APERTURE_UNROLL
            for (int c = 0; c < most; ++c) {
                T row[most];
                a.load_row(row, first + c, first);
                APERTURE_UNROLL
                for (int s = 0; s < its_slots; ++s) {
                    APERTURE_UNROLL
                    for (int t = 0; t < c; ++t) {
                        entry[s][c] = core::multiply_add(entry[s][c], -row[t], entry[s][t]);
                    }
                    if (columns.exists[s]) a(first + c, columns.at[s]) = entry[s][c];
                }
            }
        });
        __syncthreads();
    }
    if (core::thread_rank() == 0) exchanges.rows[n] = info;
}

/// A = G G^H in place, of the lower triangle; what is above the diagonal is lost. `pivots` in
/// shared memory.
template <int slots, class T, class Matrix>
__device__ __forceinline__ void factor_cholesky_in_block(int n, Matrix a,
                                                         Pivots<RealOf<T>>* pivots) {
    constexpr int most = panel_width<T>;
    constexpr int at_once = chunk_entries<T>;
    const bool ahead = core::block_threads() > core::warp_size;
    const auto update = [&](int column, int from, int to, int first_warp) {
        update_panel<T>(column, n, column, from, to, first_warp, a,
                        [&](int k, T(&common)[at_once][most]) {
                            APERTURE_UNROLL
                            for (int c = 0; c < most; ++c) {
                                T row[at_once];
                                a.load_row(row, column + c < n ? column + c : n - 1, k);
                                APERTURE_UNROLL
                                for (int e = 0; e < at_once; ++e) common[e][c] = core::conj(row[e]);
                            }
                        });
    };
    Pivots<RealOf<T>> its;
    int done = 0;
    APERTURE_NO_UNROLL
    for (int first = 0; first < n; first += most) {
        update(first, done, first, 0);
        if (ahead) done = first;
        __syncthreads();
        if (core::warp_rank() > 0) {
            if (first + most < n) update(first + most, 0, first, 1);
        } else {
            visit_panel<T, slots>(first, n, [&](auto panel) {
                panel.template load<false>(a);
                factor_cholesky_panel(panel, its);
                panel.template store<false>(a);
            });
        }
        __syncthreads();
    }
    if (core::warp_rank() == 0) {
        its = pivots_of_warp(its);
        if (core::lane_rank() == 0) *pivots = its;
    }
}

}  // namespace aperture::dense
