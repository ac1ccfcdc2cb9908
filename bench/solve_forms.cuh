// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small systems with several right-hand sides by Gauss-Jordan elimination, the entries of [A | B]
// distributed cyclically over 8 x 8 threads: with loops at run time, and with loops unrolled, so
// that the entries are in registers. Source: Anderson 2014, section 6.3 and figure 6.5.

#include "bench/solve_forms.hpp"
#include "libcore/gpu/warp.cuh"

namespace aperture::bench {

using core::index_t;

/// Systems of `order_` with `sides_` right-hand sides, padded to multiples of 8.
template <int order_, int sides_>
struct SolveShape {
    static constexpr int order = order_;
    static constexpr int sides = sides_;
    static constexpr int side = 8;
    static constexpr int threads = side * side;
    static constexpr int high = (order + side - 1) / side;
    static constexpr int wide = high + (sides + side - 1) / side;
    static constexpr int rows = high * side;
    static constexpr int columns = wide * side;
    static constexpr int entries = rows * columns;
    template <class T>
    static constexpr int shared_bytes = (rows + columns) * static_cast<int>(sizeof(T));
};

/// Solves A X = B in place, without pivoting. a: [problem][order][order]; x:
/// [problem][sides][order]; work, for SolveForm::global: [problem][Shape::entries].
///
/// Block: 8 x 8 threads, one problem. Grid: problems on x. Shared: Shape::shared_bytes<T>.
template <class T, class Shape, SolveForm form>
__global__ void __launch_bounds__(Shape::threads) solve_in_form(const T* a, T* x, T* work) {
    constexpr int n = Shape::order;
    constexpr bool unrolled = form == SolveForm::unrolled;
    [[maybe_unused]] constexpr int rows_at_once = unrolled ? Shape::high : 1;
    [[maybe_unused]] constexpr int columns_at_once = unrolled ? Shape::wide : 1;
    const int row = core::thread_rank() / Shape::side;
    const int column = core::thread_rank() % Shape::side;
    T* const l = core::shared<T>();
    T* const u = l + Shape::rows;
    a += index_t{blockIdx.x} * n * n;
    x += index_t{blockIdx.x} * Shape::sides * n;
    if (form == SolveForm::global) work += index_t{blockIdx.x} * Shape::entries;

    T own[Shape::high * Shape::wide];
    const auto entry = [&](int i, int j) -> T& {
        return form == SolveForm::global
                   ? work[(i * Shape::side + row) * Shape::columns + j * Shape::side + column]
                   : own[i * Shape::wide + j];
    };
    const auto for_each = [&](auto visit) {
        APERTURE_UNROLL_BY(rows_at_once)
        for (int i = 0; i < Shape::high; ++i) {
            APERTURE_UNROLL_BY(columns_at_once)
            for (int j = 0; j < Shape::wide; ++j) {
                visit(i, j, i * Shape::side + row, j * Shape::side + column);
            }
        }
    };
    for_each([&](int i, int j, int at_row, int at_column) {
        const int r = at_column - Shape::rows;
        const bool in_a = at_row < n && at_column < n;
        const bool in_x = at_row < n && r >= 0 && r < Shape::sides;
        entry(i, j) = in_a ? a[at_row * n + at_column] : in_x ? x[r * n + at_row] : T{};
    });
    APERTURE_UNROLL_BY(rows_at_once)
    for (int place = 0; place < Shape::high; ++place) {
        APERTURE_NO_UNROLL
        for (int k = place * Shape::side; k < (place + 1) * Shape::side && k < n; ++k) {
            if (row == k % Shape::side) {
                APERTURE_UNROLL_BY(columns_at_once)
                for (int j = 0; j < Shape::wide; ++j) u[j * Shape::side + column] = entry(place, j);
            }
            if (column == k % Shape::side) {
                APERTURE_UNROLL_BY(rows_at_once)
                for (int i = 0; i < Shape::high; ++i) l[i * Shape::side + row] = entry(i, place);
            }
            __syncthreads();
            const T pivot = u[k];
            const T reciprocal = core::conj(pivot) * (1 / core::norm(pivot));
            for_each([&](int i, int j, int at_row, int at_column) {
                const T solved = u[at_column] * reciprocal;
                entry(i, j) =
                    at_row == k ? solved : core::multiply_add(entry(i, j), -l[at_row], solved);
            });
            __syncthreads();
        }
    }
    for_each([&](int i, int j, int at_row, int at_column) {
        const int r = at_column - Shape::rows;
        if (at_row < n && r >= 0 && r < Shape::sides) x[r * n + at_row] = entry(i, j);
    });
}

}  // namespace aperture::bench
