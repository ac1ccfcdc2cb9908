// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Householder's factorisation with columns in registers:
//
//     columns[slot][row] of lane g is entry (row, slot * lanes + g).
//
// Panels of columns are unrolled; then their rows are finished, and registers move by as many rows.
// Step k publishes column k, as it is, in shared memory. Its products with all columns at
// once, itself among them, give the reflector, which is scaled at the end.
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

/// Columns of a panel that is unrolled, and registers for the rows of a column. H100, order 32,
/// percent of the bound with 4 and 16 or 32 columns: fp32 48 57, fp64 44 52, complex fp32 29 18.
template <class T>
APERTURE_HD constexpr int qr_panel(int lanes) {
    return core::is_complex<T> && lanes > 8 ? 4 : lanes;
}
APERTURE_HD constexpr int qr_width(int rows) { return (rows + 3) / 4 * 4; }

/// Rows of shared memory for a column that all lanes of a problem load.
template <class T>
APERTURE_HD constexpr int published_rows(int rows, int order, int lanes) {
    const int row_stride = rows_stride<T>(order, lanes);
    return lanes == 1 ? 0 : (qr_width(rows) + row_stride - 1) / row_stride;
}

/// One step, of the column that lane `owner` has in slot `slot_of_k`: it becomes beta and the
/// reflector's entries, not yet times `factor`; later columns are multiplied by H^H. Registers
/// begin `s` rows above the diagonal and have `left` rows. `published` has room for a column.
template <int lanes, int slots, int width, class T>
__device__ __forceinline__ Reflector<T> reflect_columns(T (&columns)[slots][width], int lane,
                                                        int slot_of_k, int owner, int s, int left,
                                                        T* published) {
    using R = RealOf<T>;
    constexpr int chunk = chunk_entries<T>;
    // Calls visit(row) for the first row of chunks that have entries below the diagonal.
    const auto for_each_chunk = [&](auto visit) {
        APERTURE_UNROLL
        for (int row = 0; row < width; row += chunk) {
            if (row + chunk > s + 1 && row < left) visit(row);
        }
    };
    if (lanes > 1) {
        __syncwarp();
        if (lane == owner) {
            for_each_chunk([&](int row) {
                Chunk<T> piece;
                APERTURE_UNROLL
                for (int e = 0; e < chunk; ++e) piece.entry[e] = columns[slot_of_k][row + e];
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

/// A = Q R, of rows x order.
template <class T, int rows, int order, int lanes>
__global__ void __launch_bounds__(rows_threads) qr_in_columns(QrArguments<T> p) {
    using R = RealOf<T>;
    constexpr int slots = (order + lanes - 1) / lanes;
    constexpr int width = qr_width(rows);
    constexpr int panel = qr_panel<T>(lanes);
    const WarpTile<T, rows + published_rows<T>(rows, order, lanes), order, lanes> tile(
        p.a.extent[0]);
    const auto& at = tile.at;
    tile.template load<rows, order>(p.a);
    tile.wait();
    T columns[slots][width];
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        const int column = slot * lanes + at.lane;
        APERTURE_UNROLL
        for (int row = 0; row < width; ++row) {
            columns[slot][row] = row < rows && column < order ? tile.row(row)[column] : T(R(0));
        }
    }
    const R back = R(1) / scale_columns<lanes>(columns);
    T tau[slots] = {};
    T factor[slots] = {};
    // Stores the first `count` rows that are left, of which the first is row `first`.
    const auto store = [&](int first, int count) {
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int column = slot * lanes + at.lane;
            APERTURE_UNROLL
            for (int r = 0; r < count; ++r) {
                const T value = columns[slot][r];
                if (column < order && first + r < rows) {
                    tile.row(first + r)[column] =
                        first + r <= column ? value * back : value * factor[slot];
                }
            }
        }
    };
    APERTURE_UNROLL
    for (int slot_of_k = 0; slot_of_k < slots; ++slot_of_k) {
        APERTURE_NO_UNROLL
        for (int owner = 0; owner < lanes && slot_of_k * lanes + owner < order; owner += panel) {
            const int first = slot_of_k * lanes + owner;
            APERTURE_UNROLL
            for (int s = 0; s < panel; ++s) {
                if (first + s >= order) continue;
                const Reflector<T> reflector = reflect_columns<lanes>(
                    columns, at.lane, slot_of_k, owner + s, s, rows - first, tile.row(rows));
                if (at.lane == owner + s) {
                    tau[slot_of_k] = reflector.tau;
                    factor[slot_of_k] = reflector.factor;
                }
            }
            store(first, panel);
            APERTURE_UNROLL
            for (int slot = 0; slot < slots; ++slot) {
                APERTURE_UNROLL
                for (int row = 0; row < width; ++row) {
                    columns[slot][row] = row + panel < width ? columns[slot][row + panel] : T(R(0));
                }
            }
        }
    }
    constexpr int stored = (order + panel - 1) / panel * panel;
    if (rows > stored) store(stored, rows - stored);
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        const int column = slot * lanes + at.lane;
        if (column < order && at.exists()) p.tau(at.problem(), column) = tau[slot];
    }
    tile.template store<rows, order>(p.qr);
}

}  // namespace aperture::dense
