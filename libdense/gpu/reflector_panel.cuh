// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A few columns of a matrix in the registers of one warp, and the reflectors that turn them to R:
// the panels of blocked QR factorisations. Source: Golub & Van Loan 2013, sections 5.1 and 5.2.

#include "libdense/gpu/block_matrix.cuh"
#include "libdense/gpu/reflector.cuh"

namespace aperture::dense {

/// Entries of the memory in which a column of a ReflectorPanel passes from its lanes to the others:
/// `groups` runs of whole chunks and one more, against bank conflicts.
template <class T>
APERTURE_HD constexpr int reflector_column_entries(int slots) {
    const int groups = core::warp_size / panel_width<T>;
    return groups * (slots * panel_width<T> + chunk_entries<T>);
}

/// Columns [first, first + width) from row `first` on of a matrix of `rows` rows, at most 32 slots
/// of them. A lane has every `groups`-th row of one column: sums over rows take few shuffles.
/// Entries beyond the matrix are zero.
template <class T, int slots>
struct ReflectorPanel {
    static constexpr int most = panel_width<T>;
    static constexpr int groups = core::warp_size / most;
    static constexpr int height = slots * most;
    /// Rows in which R lies.
    static constexpr int top = (most + groups - 1) / groups;

    T entry[height];
    int first;
    int width;
    int left;  ///< rows from `first` on
    int rows;  ///< those in this lane's column

    __device__ __forceinline__ ReflectorPanel(int first_column, int columns, int all_rows)
        : first(first_column),
          width(columns - first_column < most ? columns - first_column : most),
          left(all_rows - first_column),
          rows(column() < width ? left : 0) {}

    __device__ __forceinline__ static int column() { return core::lane_rank() % most; }
    __device__ __forceinline__ static int group() { return core::lane_rank() / most; }
    __device__ __forceinline__ static int offset(int t) { return t * groups + group(); }

    template <class Matrix>
    __device__ __forceinline__ void load(const Matrix& a) {
        const T* its = &a(first + group(), first + column());
        APERTURE_UNROLL
        for (int t = 0; t < height; ++t, its += groups * a.stride) {
            entry[t] = offset(t) < rows ? *its : T(RealOf<T>(0));
        }
    }
    /// Stores the reflectors as they are applied, with ones and zeros above, and what belongs
    /// there, of R, as [most][most].
    template <class Matrix>
    __device__ __forceinline__ void store(const Matrix& a, T* triangle) const {
        APERTURE_UNROLL
        for (int t = 0; t < height; ++t) {
            T value = entry[t];
            if (t < top && offset(t) <= column()) {
                triangle[offset(t) * most + column()] = value;
                value = T(RealOf<T>(offset(t) == column() ? 1 : 0));
            }
            if (offset(t) < rows) a(first + offset(t), first + column()) = value;
        }
    }

    /// A = Q R. Stores the factors `tau` [rows of R], and of reflectors the products `gram`[step,
    /// c], c < step, v_c^H v_step. `memory` of reflector_column_entries in shared memory.
    __device__ __forceinline__ void factor(T* tau, T* gram, T* memory) {
        T* const its = memory + group() * (height + chunk_entries<T>);
        // Reflectors are scaled when all are known.
        T scale = T(RealOf<T>(1));
        APERTURE_UNROLL
        for (int lead = 0; lead < top; ++lead) {
            // Steps whose diagonal is in the same register share code.
            APERTURE_NO_UNROLL
            for (int lead_group = 0; lead_group < groups; ++lead_group) {
                const int step = lead * groups + lead_group;
                if (step >= width) break;
                reflect(step, lead, lead_group, scale, tau, gram, its);
            }
        }
        APERTURE_UNROLL
        for (int t = 0; t < height; ++t) {
            entry[t] = t >= top || offset(t) > column() ? entry[t] * scale : entry[t];
        }
    }

  private:
    /// Step `step`, whose diagonal is entry `lead` of group `lead_group`. `its` is this group's
    /// memory for a column.
    __device__ __forceinline__ void reflect(int step, int lead, int lead_group, T& scale, T* tau,
                                            T* gram, T* its) {
        using R = RealOf<T>;
        constexpr int chunk = chunk_entries<T>;
        const int own = column();
        const int from = lead / chunk * chunk;
        // Calls visit(base) for the first row of the chunks below `from`. They end where 8 rows of
        // a lane are behind the last one: fewer would keep loads from each other.
        const auto for_each_chunk = [&](auto visit) {
            APERTURE_UNROLL
            for (int base = from; base < height; base += chunk) {
                if (base % 8 == 0 && base > 0 && base * groups >= left) break;
                visit(base);
            }
        };
        // Calls visit(t, entry) for the column's entries below the diagonal in rows of this
        // lane.
        const auto for_each_below = [&](auto visit) {
            for_each_chunk([&](int base) {
                T below[chunk];
                load_chunks(below, its + base);
                APERTURE_UNROLL
                for (int e = 0; e < chunk; ++e) {
                    const int t = base + e;
                    if (t < lead) continue;
                    visit(t, t > lead || group() > lead_group ? below[e] : T(R(0)));
                }
            });
        };
        __syncwarp();
        for_each_chunk([&](int base) {
            T part[chunk];
            APERTURE_UNROLL
            for (int e = 0; e < chunk; ++e) part[e] = entry[base + e];
            if (own == step) store_chunks(its + base, part);
        });
        __syncwarp();
        // The column's part below the diagonal times all columns.
        T sums[2] = {T(R(0)), T(R(0))};
        for_each_below(
            [&](int t, T v) { sums[t % 2] = core::multiply_add_conj(sums[t % 2], entry[t], v); });
        T product = sums[0] + sums[1];
        APERTURE_UNROLL
        for (int distance = most; distance < core::warp_size; distance *= 2) {
            product = product + core::exchange_xor(product, distance);
        }
        const R below = core::broadcast(core::real_part(product), step);
        const T on_diagonal = core::broadcast(entry[lead], lead_group * most + own);
        const Reflector<T> reflector = make_reflector(core::broadcast(on_diagonal, step), below);
        if (own == step) scale = reflector.factor;
        const T share = own > step ? core::conj(reflector.tau) *
                                         (on_diagonal + product * core::conj(reflector.factor))
                                   : T(R(0));
        if (core::lane_rank() < step) {
            gram[step * most + own] =
                core::conj(on_diagonal * scale) + core::conj(product * scale) * reflector.factor;
        }
        if (core::lane_rank() == 0) tau[first + step] = reflector.tau;
        const T part = share * reflector.factor;
        for_each_below([&](int t, T v) { entry[t] = core::multiply_add(entry[t], -part, v); });
        const T diagonal = own == step ? T(reflector.beta) : entry[lead] - share;
        entry[lead] = group() == lead_group ? diagonal : entry[lead];
    }
};

}  // namespace aperture::dense
