// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Householder's factorisation with columns in registers:
//
//     columns[slot][row] of lane g is entry (row, slot * lanes + g).
//
// A few steps share code, after each of which their rows rotate in their registers. Step k
// publishes column k, as it is, in shared memory. Its products with all columns at once, itself
// among them, give the reflector, which is scaled at the end.
//
// Block, grid and shared memory as in in_rows.cuh. Bytes and flops per problem as in
// qr_in_block.cuh.
// Source: Anderson 2014, ch. 4 (one problem in the registers of a thread or a group of threads).

#include "libdense/gpu/block_matrix.cuh"
#include "libdense/gpu/warp_tile.cuh"

namespace aperture::dense {

/// Scales a problem's columns so that their squares neither overflow nor vanish; returns the
/// factor.
template <int lanes, int slots, int rows, class T>
__device__ __forceinline__ RealOf<T> scale_columns(T (&columns)[slots][rows]) {
    using R = RealOf<T>;
    R largest = R(0);
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        APERTURE_UNROLL
        for (int row = 0; row < rows; ++row) {
            largest = core::Maximum()(largest, magnitude(columns[slot][row]));
        }
    }
    const R scale = safe_scale(core::warp_reduce<lanes>(largest, core::Maximum()));
    if (scale != R(1)) {
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            APERTURE_UNROLL
            for (int row = 0; row < rows; ++row) columns[slot][row] = columns[slot][row] * scale;
        }
    }
    return scale;
}

/// Steps that share code. H100, microseconds of 256 MiB unrolled (complex fp32 of order 32: panels
/// of four steps, after which all registers moved) and with 2 and 4 of them: order 32 fp32 296 280
/// 293, fp64 354 341 353, complex fp32 617 425 424; with 4 of order 24 fp32 289 269, fp64 387 400,
/// of order 16 214 220, 212 206, 257 235.
APERTURE_HD constexpr int qr_group(int order, int lanes) { return order <= 8 || lanes < 4 ? 1 : 4; }
/// Registers for the rows of a column.
APERTURE_HD constexpr int qr_width(int rows) { return (rows + 3) / 4 * 4; }

/// Bytes of shared memory for the matrices and, behind them, a column of each that all lanes load.
template <class T>
APERTURE_HD constexpr int qr_shared_bytes(int rows, int order, int lanes) {
    return rows_shared_bytes<T>(rows, order, lanes) +
           (lanes == 1 ? 0 : rows_shared_bytes<T>(1, qr_width(rows), lanes));
}

/// The same with right-hand sides, which become the solutions, behind the published column.
template <class T>
APERTURE_HD constexpr int sides_shared_entries(int rows, int order, int sides, int lanes) {
    const int there = rows_shared_entries<T>(sides, rows, lanes);
    const int back = rows_shared_entries<T>(sides, order, lanes);
    return there > back ? there : back;
}
template <class T>
APERTURE_HD constexpr int least_squares_shared_bytes(int rows, int order, int sides, int lanes) {
    return qr_shared_bytes<T>(rows, order, lanes) +
           sides_shared_entries<T>(rows, order, sides, lanes) * static_cast<int>(sizeof(T));
}

/// One step, of the column that lane `owner` has in slot `slot_of_k`: it becomes beta and the
/// reflector's entries, not yet times `factor`; later columns are multiplied by H^H. Row `s` is
/// that of the diagonal. Of the `count` ones from there on the last `done` are finished.
/// `published` has room for a column.
template <int lanes, int rows, int slots, int width, class T>
__device__ __forceinline__ Reflector<T> reflect_columns(T (&columns)[slots][width], int lane,
                                                        int slot_of_k, int owner, int s, int count,
                                                        int done, T* published) {
    using R = RealOf<T>;
    constexpr int chunk = chunk_entries<T>;
    // Calls visit(row) for the first row of chunks that have entries below the diagonal.
    const auto for_each_chunk = [&](auto visit) {
        APERTURE_UNROLL
        for (int row = 0; row < width; row += chunk) {
            if (row + chunk > s + 1 && row < rows) visit(row);
        }
    };
    if (lanes > 1) {
        __syncwarp();
        if (lane == owner) {
            for_each_chunk([&](int row) {
                Chunk<T> piece;
                APERTURE_UNROLL
                for (int e = 0; e < chunk; ++e) {
                    const bool finished = row + e < s + count && row + e + done >= s + count;
                    piece.entry[e] = finished ? T(R(0)) : columns[slot_of_k][row + e];
                }
                store_chunk(published + row, piece);
            });
        }
        __syncwarp();
    }
    // Calls visit(row, entry of column k) below the diagonal.
    const auto for_each_below = [&](auto visit) {
        for_each_chunk([&](int row) {
            Chunk<T> piece;
            if (lanes > 1) piece = chunk_at<T>(published + row);
            APERTURE_UNROLL
            for (int e = 0; e < chunk; ++e) {
                if (row + e > s)
                    visit(row + e, lanes > 1 ? piece.entry[e] : columns[slot_of_k][row + e]);
            }
        });
    };
    T sum[slots] = {};
    for_each_below([&](int row, T entry) {
        APERTURE_UNROLL
        for (int slot = slot_of_k; slot < slots; ++slot) {
            sum[slot] = core::multiply_add_conj(sum[slot], columns[slot][row], entry);
        }
    });
    const R below = core::broadcast<lanes>(core::real_part(sum[slot_of_k]), owner);
    const Reflector<T> reflector =
        make_reflector(core::broadcast<lanes>(columns[slot_of_k][s], owner), below);
    T of_column[slots] = {};
    APERTURE_UNROLL
    for (int slot = slot_of_k; slot < slots; ++slot) {
        // Finished columns keep their reflectors.
        const bool active = slot > slot_of_k || lane > owner;
        const T product = columns[slot][s] + sum[slot] * core::conj(reflector.factor);
        const T scaled = active ? -(product * core::conj(reflector.tau)) : T(R(0));
        columns[slot][s] += scaled;
        of_column[slot] = scaled * reflector.factor;
    }
    if (lane == owner) columns[slot_of_k][s] = T(reflector.beta);
    for_each_below([&](int row, T entry) {
        APERTURE_UNROLL
        for (int slot = slot_of_k; slot < slots; ++slot) {
            columns[slot][row] = core::multiply_add(columns[slot][row], of_column[slot], entry);
        }
    });
    return reflector;
}

/// The steps of the first `order` columns; visit(slot, lane, reflector) has that of each.
template <int lanes, int rows, int order, int slots, int width, class T, class Visit>
__device__ __forceinline__ void reflect_all_columns(T (&columns)[slots][width], int lane,
                                                    T* published, const Visit& visit) {
    constexpr int group = qr_group(order, lanes);
    APERTURE_UNROLL
    for (int begin = 0; begin < order; begin += group) {
        const int slot_of_k = begin / lanes;
        const int count = order - begin < group ? order - begin : group;
        APERTURE_NO_UNROLL
        for (int s = 0; s < count; ++s) {
            const int owner = (begin + s) % lanes;
            visit(slot_of_k, owner,
                  reflect_columns<lanes, rows>(columns, lane, slot_of_k, owner, begin, count, s,
                                               published));
            APERTURE_UNROLL
            for (int slot = slot_of_k; slot < slots; ++slot) {
                rotate_entries(columns[slot], begin, count);
            }
        }
    }
}

/// Blocks that are asked for. H100, percent of the bound without and with: fp64 of order 16 86 89,
/// 20 61 63, 32 53 60; fp32 of order 32 62 57, 48 30 37, 56 31 38, 64 37 42; complex fp32 of order
/// 32 43 48; complex fp64 of order 16 70 66.
template <class T>
constexpr int qr_blocks(int entries) {
    const int words = entries * static_cast<int>(sizeof(T)) / 4;
    if (sizeof(RealOf<T>) == 4) return words >= 96 ? resident_blocks(words + 40) : 1;
    return core::is_complex<T> ? 1 : resident_blocks(words + 72);
}

/// A = Q R, of rows x order.
template <class T, int rows, int order, int lanes>
__global__ void __launch_bounds__(rows_threads,
                                  (qr_blocks<T>((order + lanes - 1) / lanes * qr_width(rows))))
    qr_in_columns(QrArguments<T> p) {
    using R = RealOf<T>;
    constexpr int slots = (order + lanes - 1) / lanes;
    constexpr int width = qr_width(rows);
    using Matrix = StagedMatrices<T, rows, order, lanes>;
    const RowsPosition<lanes> at(p.a.extent[0]);
    const WarpArea<T> shared = warp_area(core::shared<T>(), rows, order, lanes);
    const WarpTile<T, 1, width, lanes> published(
        at,
        warp_area(core::shared<T>() + rows_shared_entries<T>(rows, order, lanes), 1, width, lanes));
    const Matrix a(at, shared, p.a);
    a.load(p.a);
    wait_for_matrices(a.by_blocks(p.a));
    T columns[slots][width];
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        const int column = slot * lanes + at.lane;
        APERTURE_UNROLL
        for (int row = 0; row < width; ++row) {
            columns[slot][row] = row < rows && column < order ? a.row(row)[column] : T(R(0));
        }
    }
    __syncwarp();
    const Matrix qr(at, shared, p.qr);
    const R back = R(1) / scale_columns<lanes>(columns);
    T tau[slots] = {};
    T factor[slots] = {};
    reflect_all_columns<lanes, rows, order>(
        columns, at.lane, published.row(0),
        [&](int slot, int owner, const Reflector<T>& reflector) {
            if (at.lane != owner) return;
            tau[slot] = reflector.tau;
            factor[slot] = reflector.factor;
        });
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        const int column = slot * lanes + at.lane;
        APERTURE_UNROLL
        for (int row = 0; row < rows; ++row) {
            const T value = columns[slot][row];
            if (column >= order) continue;
            qr.row(row)[column] = row <= column ? value * back : value * factor[slot];
        }
    }
    qr.store(p.qr);
    __syncwarp();
    const auto batch = as_rows(p.tau);
    static_assert(rows_shared_bytes<T>(1, order, lanes) <=
                  rows_shared_bytes<T>(rows, order, lanes));
    const StagedMatrices<T, 1, order, lanes> taus(at, shared, batch);
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        const int column = slot * lanes + at.lane;
        if (column < order) taus.row(0)[column] = tau[slot];
    }
    taus.store(batch);
}

/// R X = Q^H B in place, of right-hand sides in the columns behind those of R, whose rows below R
/// are of no use. Returns the first column, counted from 1, whose diagonal is zero or not finite,
/// or 0.
template <int lanes, int order, int slots, int width, class T>
__device__ __forceinline__ int substitute_behind(T (&columns)[slots][width], int lane) {
    using R = RealOf<T>;
    int info = 0;
    APERTURE_UNROLL
    for (int k = order - 1; k >= 0; --k) {
        const R pivot = core::real_part(core::broadcast<lanes>(columns[k / lanes][k], k % lanes));
        const bool good = usable(pivot);
        if (!good) info = k + 1;
        const PivotReciprocal<R> reciprocal = reciprocal_of_pivot(good ? pivot : R(1));
        T solution[slots] = {};
        APERTURE_UNROLL
        for (int slot = order / lanes; slot < slots; ++slot) {
            const bool behind = slot * lanes >= order || slot * lanes + lane >= order;
            const T solved = columns[slot][k] * reciprocal.up * reciprocal.of_scaled;
            columns[slot][k] = behind ? solved : columns[slot][k];
            solution[slot] = behind ? -solved : T(R(0));
        }
        APERTURE_UNROLL
        for (int row = 0; row < k; ++row) {
            const T entry = core::broadcast<lanes>(columns[k / lanes][row], k % lanes);
            APERTURE_UNROLL
            for (int slot = order / lanes; slot < slots; ++slot) {
                columns[slot][row] = core::multiply_add(columns[slot][row], entry, solution[slot]);
            }
        }
    }
    return info;
}

/// The least squares of |A x - b|, A of rows x order, for up to `sides` right-hand sides.
template <class T, int rows, int order, int sides, int lanes>
__global__ void __launch_bounds__(rows_threads, (qr_blocks<T>((order + sides + lanes - 1) / lanes *
                                                              qr_width(rows))))
    least_squares_in_columns(QrArguments<T> p) {
    using R = RealOf<T>;
    constexpr int slots = (order + sides + lanes - 1) / lanes;
    constexpr int width = qr_width(rows);
    constexpr int warps = rows_threads / core::warp_size;
    const RowsPosition<lanes> at(p.a.extent[0]);
    T* const shared = core::shared<T>();
    T* const behind = shared + rows_shared_entries<T>(rows, order, lanes);
    const WarpTile<T, 1, width, lanes> published(at, warp_area(behind, 1, width, lanes));
    const WarpArea<T> of_sides(
        shared + qr_shared_bytes<T>(rows, order, lanes) / static_cast<int>(sizeof(T)),
        sides_shared_entries<T>(rows, order, sides, lanes) / warps);
    const StagedMatrices<T, rows, order, lanes> a(at, warp_area(shared, rows, order, lanes), p.a);
    const StagedMatrices<T, sides, rows, lanes> b(at, of_sides, p.b);
    a.load(p.a);
    b.load(p.b);
    wait_for_matrices(a.by_blocks(p.a) || b.by_blocks(p.b));
    T columns[slots][width];
    // Fills the columns from `first` to `last` - 1.
    const auto fill = [&](int first, int last, const auto& entry) {
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int column = slot * lanes + at.lane;
            if (slot * lanes >= last || slot * lanes + lanes <= first) continue;
            APERTURE_UNROLL
            for (int row = 0; row < rows; ++row) {
                if (column >= first && column < last) columns[slot][row] = entry(row, column);
            }
        }
    };
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        APERTURE_UNROLL
        for (int row = 0; row < width; ++row) columns[slot][row] = T(R(0));
    }
    fill(0, order, [&](int row, int column) { return a.row(row)[column]; });
    const R scale = scale_columns<lanes>(columns);
    fill(order, order + sides, [&](int row, int column) { return b.row(column - order)[row]; });
    reflect_all_columns<lanes, rows, order>(columns, at.lane, published.row(0),
                                            [](int, int, const Reflector<T>&) {});
    const int info = substitute_behind<lanes, order>(columns, at.lane);
    __syncwarp();
    const StagedMatrices<T, sides, order, lanes> x(at, of_sides, p.x);
    APERTURE_UNROLL
    for (int slot = order / lanes; slot < slots; ++slot) {
        const int side = slot * lanes + at.lane - order;
        APERTURE_UNROLL
        for (int row = 0; row < order; ++row) {
            if (side < 0 || side >= sides) continue;
            x.row(side)[row] = info == 0 ? columns[slot][row] * scale : T(R(0));
        }
    }
    x.store(p.x);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

}  // namespace aperture::dense
