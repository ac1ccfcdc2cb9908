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
    T* const shared = warp_area(core::shared<T>(), rows, order, lanes);
    const WarpTile<T, 1, width, lanes> published(
        at,
        warp_area(core::shared<T>() + rows_shared_entries<T>(rows, order, lanes), 1, width, lanes));
    const Matrix a(at, shared, p.a);
    a.load(p.a);
    wait_for_matrices();
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
    constexpr int group = qr_group(order, lanes);
    APERTURE_UNROLL
    for (int begin = 0; begin < order; begin += group) {
        const int slot_of_k = begin / lanes;
        const int count = order - begin < group ? order - begin : group;
        APERTURE_NO_UNROLL
        for (int s = 0; s < count; ++s) {
            const int owner = (begin + s) % lanes;
            const Reflector<T> reflector = reflect_columns<lanes, rows>(
                columns, at.lane, slot_of_k, owner, begin, count, s, published.row(0));
            if (at.lane == owner) {
                tau[slot_of_k] = reflector.tau;
                factor[slot_of_k] = reflector.factor;
            }
            APERTURE_UNROLL
            for (int slot = slot_of_k; slot < slots; ++slot) {
                rotate_entries(columns[slot], begin, count);
            }
        }
    }
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

}  // namespace aperture::dense
