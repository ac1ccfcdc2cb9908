// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What factors of small matrices are for: triangular solutions and products with Q. Factors stay in
// shared memory as they are loaded, of which a lane loads a chunk of each of its rows at once;
// vectors are in registers. A few columns share code where orders are large.
//
// Block, grid and bytes of shared memory for each matrix as in in_rows.cuh. Bytes per problem: all
// operands once, and the vectors twice. Flops per problem and vector (times 4 if complex): 2 n^2 of
// a substitution, 4 m n - 2 n^2 of a product with Q.
// Source: Golub & Van Loan 2013, alg. 3.1.1, 3.1.2 and 5.1.6; Ha et al. 2013, section III-E.4
// (contiguous groups without barriers).

#include "libdense/gpu/warp_tile.cuh"

namespace aperture::dense {

/// Whether all steps of factors of so many columns are unrolled; else eight columns share code.
APERTURE_HD constexpr bool unrolls_columns(int order) { return order <= 16; }
inline constexpr int sharing_columns = 8;

/// Calls visit<begin, end>(first) for groups of `count` columns from `first` on, which are in
/// [begin, end).
template <int order, int count, bool backwards, int turn = 0, class Visit>
__device__ __forceinline__ void for_each_group(const Visit& visit) {
    if constexpr (turn < order) {
        constexpr int span = unrolls_columns(order) ? count : sharing_columns;
        constexpr int begin = backwards ? (order - 1 - turn) / span * span : turn;
        if constexpr (span == count) {
            visit.template operator()<begin, begin + span>(begin);
        } else {
            APERTURE_NO_UNROLL
            for (int done = 0; done < span; done += count) {
                const int first = begin + (backwards ? span - count - done : done);
                if (first < order) visit.template operator()<begin, begin + span>(first);
            }
        }
        for_each_group<order, count, backwards, turn + span>(visit);
    }
}

/// Entries of row i from column j, a multiple of `count`, on, also of what is behind the row.
template <int count, class T, int rows, int columns, int lanes>
__device__ __forceinline__ void load_entries_of_row(
    T (&to)[count], const StagedMatrices<T, rows, columns, lanes>& from, int i, int j) {
    constexpr int at_once = StagedMatrices<T, rows, columns, lanes>::width;
    constexpr int width = at_once < count ? at_once : count;
    APERTURE_UNROLL
    for (int e = 0; e < count; e += width) {
        const auto piece = *reinterpret_cast<const Piece<T, width>*>(from.row(i) + j + e);
        APERTURE_UNROLL
        for (int its = 0; its < width; ++its) to[e + its] = piece.entry[its];
    }
}

/// Vectors of a problem: entry slot * row_lanes + row_lane of each.
template <class T, int rows, int sides, int row_lanes>
struct LaneVectors {
    static constexpr int slots = (rows + row_lanes - 1) / row_lanes;
    T entry[slots][sides];
    int row_lane;

    __device__ __forceinline__ int row(int slot) const { return slot * row_lanes + row_lane; }
    __device__ __forceinline__ static constexpr bool exists(int row) {
        return rows % row_lanes == 0 || row < rows;
    }
    /// The row of a slot, or the last one.
    __device__ __forceinline__ int existing(int slot) const {
        const int its = row(slot);
        return exists(its) ? its : rows - 1;
    }
};

/// Columns whose entries a lane has in registers at once.
template <class T>
APERTURE_HD constexpr int factor_columns(int slots) {
    constexpr int chunk = chunk_entries<T>;
    return slots <= 16 || chunk == 1 ? chunk : chunk / 2;
}

/// Multiplies vectors by H_0^H, H_1^H, ... one after the other, or by H_n-1, ..., H_0.
template <bool adjoint, class T, int rows, int order, int lanes, int sides, int row_lanes>
__device__ __forceinline__ void reflect_vectors(LaneVectors<T, rows, sides, row_lanes>& x,
                                                const StagedMatrices<T, rows, order, lanes>& qr,
                                                const StagedMatrices<T, 1, order, lanes>& tau) {
    using R = RealOf<T>;
    using Vectors = LaneVectors<T, rows, sides, row_lanes>;
    constexpr int slots = Vectors::slots;
    constexpr int count = factor_columns<T>(slots);
    for_each_group<order, count, !adjoint>([&]<int begin, int end>(int first) {
        T v[slots][count];
        APERTURE_UNROLL
        for (int slot = begin / row_lanes; slot < slots; ++slot) {
            load_entries_of_row(v[slot], qr, x.existing(slot), first);
        }
        T factors[count];
        load_entries_of_row(factors, tau, 0, first);
        APERTURE_UNROLL
        for (int turn = 0; turn < count; ++turn) {
            const int e = adjoint ? turn : count - 1 - turn;
            const int k = first + e;
            if (k >= order) continue;
            const T factor = adjoint ? core::conj(factors[e]) : factors[e];
            APERTURE_UNROLL
            for (int slot = begin / row_lanes; slot < slots; ++slot) {
                const int row = x.row(slot);
                if (slot * row_lanes < end) {
                    v[slot][e] = row > k ? v[slot][e] : T(R(row == k ? 1 : 0));
                }
                if (!x.exists(row)) v[slot][e] = T(R(0));
            }
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) {
                T sum = T(R(0));
                APERTURE_UNROLL
                for (int slot = begin / row_lanes; slot < slots; ++slot) {
                    sum = core::multiply_add_conj(sum, x.entry[slot][r], v[slot][e]);
                }
                const T scaled = -(core::warp_reduce<row_lanes>(sum) * factor);
                APERTURE_UNROLL
                for (int slot = begin / row_lanes; slot < slots; ++slot) {
                    T& entry = x.entry[slot][r];
                    entry = core::multiply_add(entry, scaled, v[slot][e]);
                }
            }
        }
    });
}

/// Bytes of shared memory of the kernels for QR factors and `sides` vectors.
template <class T>
APERTURE_HD constexpr int apply_q_shared_bytes(int rows, int order, int sides, int lanes) {
    return rows_shared_bytes<T>(rows, order, lanes) + rows_shared_bytes<T>(1, order, lanes) +
           rows_shared_bytes<T>(sides, rows, lanes);
}

/// c := Q^H c or Q c, `sides` vectors at a time.
template <class T, int rows, int order, int sides, int lanes, bool adjoint>
__global__ void __launch_bounds__(rows_threads) apply_q_in_lanes(ApplyQArguments<T> p) {
    using Vectors = StagedMatrices<T, sides, rows, lanes>;
    const RowsPosition<lanes> at(p.qr.extent[0]);
    T* const taus = core::shared<T>() + rows_shared_entries<T>(rows, order, lanes);
    const WarpArea<T> vectors =
        warp_area(taus + rows_shared_entries<T>(1, order, lanes), sides, rows, lanes);
    const StagedMatrices<T, rows, order, lanes> qr(
        at, warp_area(core::shared<T>(), rows, order, lanes), p.qr);
    const auto tau_rows = as_rows(p.tau);
    const StagedMatrices<T, 1, order, lanes> tau(at, warp_area(taus, 1, order, lanes), tau_rows);
    qr.load(p.qr);
    tau.load(tau_rows);
    const auto all_sides = static_cast<int>(p.c.extent[1]);
    APERTURE_NO_UNROLL
    for (int begin = 0; begin < all_sides; begin += sides) {
        const KernelView<T, 3> some = sides_from(p.c, begin);
        const Vectors its(at, vectors, some);
        if (begin > 0) __syncwarp();
        its.load(some);
        wait_for_matrices(qr.by_blocks(p.qr) || tau.by_blocks(tau_rows) || its.by_blocks(some));
        LaneVectors<T, rows, sides, lanes> x;
        x.row_lane = at.lane;
        APERTURE_UNROLL
        for (int slot = 0; slot < x.slots; ++slot) {
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) x.entry[slot][r] = its.row(r)[x.existing(slot)];
        }
        reflect_vectors<adjoint>(x, qr, tau);
        // Lanes without a row have loaded the last one.
        __syncwarp();
        APERTURE_UNROLL
        for (int slot = 0; slot < x.slots; ++slot) {
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) {
                if (x.exists(x.row(slot))) its.row(r)[x.row(slot)] = x.entry[slot][r];
            }
        }
        its.store(some);
    }
}

/// Q's first columns: lane g has the columns g, lanes + g, ...
template <class T, int rows, int order, int lanes>
__global__ void __launch_bounds__(rows_threads) form_q_in_lanes(ApplyQArguments<T> p) {
    using R = RealOf<T>;
    using Matrix = StagedMatrices<T, rows, order, lanes>;
    constexpr int sides = (order + lanes - 1) / lanes;
    const RowsPosition<lanes> at(p.qr.extent[0]);
    const WarpArea<T> shared = warp_area(core::shared<T>(), rows, order, lanes);
    T* const taus = core::shared<T>() + rows_shared_entries<T>(rows, order, lanes);
    const Matrix qr(at, shared, p.qr);
    const auto tau_rows = as_rows(p.tau);
    const StagedMatrices<T, 1, order, lanes> tau(at, warp_area(taus, 1, order, lanes), tau_rows);
    qr.load(p.qr);
    tau.load(tau_rows);
    wait_for_matrices(qr.by_blocks(p.qr) || tau.by_blocks(tau_rows));
    LaneVectors<T, rows, sides, 1> x;
    x.row_lane = 0;
    APERTURE_UNROLL
    for (int row = 0; row < rows; ++row) {
        APERTURE_UNROLL
        for (int s = 0; s < sides; ++s) {
            x.entry[row][s] = T(R(row == s * lanes + at.lane ? 1 : 0));
        }
    }
    reflect_vectors<false>(x, qr, tau);
    __syncwarp();
    const Matrix q(at, shared, p.c);
    APERTURE_UNROLL
    for (int row = 0; row < rows; ++row) {
        APERTURE_UNROLL
        for (int s = 0; s < sides; ++s) {
            const int column = s * lanes + at.lane;
            if (order % lanes == 0 || column < order) q.row(row)[column] = x.entry[row][s];
        }
    }
    q.store(p.c);
}

/// The rows that the exchanges of LU factors bring to this lane's.
template <int order, int lanes, int slots>
__device__ __forceinline__ void find_sources(int (&source)[slots],
                                             const StagedMatrices<int, 1, order, lanes>& pivots) {
    constexpr int count = chunk_entries<int>;
    for_each_group<order, count, true>([&]<int, int>(int first) {
        int rows[count];
        load_entries_of_row(rows, pivots, 0, first);
        APERTURE_UNROLL
        for (int e = count - 1; e >= 0; --e) {
            const int k = first + e;
            if (k >= order) continue;
            // A wrong row must not lead out of the matrix.
            const int row = rows[e] < 0 ? 0 : rows[e] < order ? rows[e] : order - 1;
            APERTURE_UNROLL
            for (int slot = 0; slot < slots; ++slot) {
                source[slot] = source[slot] == k ? row : source[slot] == row ? k : source[slot];
            }
        }
    });
}

/// Cholesky's factors have real ones.
template <bool cholesky, class T>
__device__ __forceinline__ auto diagonal_entry(T entry) {
    if constexpr (cholesky) {
        return core::real_part(entry);
    } else {
        return entry;
    }
}

template <class T>
APERTURE_HD constexpr int substitute_shared_bytes(int order, int sides, int lanes) {
    return rows_shared_bytes<T>(order, order, lanes) + rows_shared_bytes<T>(sides, order, lanes) +
           rows_shared_bytes<int>(1, order, lanes);
}

/// Solves with LU or Cholesky factors, `sides` right-hand sides at a time.
template <class T, int order, int sides, int lanes, bool cholesky>
__global__ void __launch_bounds__(rows_threads) substitute_in_lanes(SubstituteArguments<T> p) {
    using Vectors = LaneVectors<T, order, sides, lanes>;
    using Sides = StagedMatrices<T, sides, order, lanes>;
    constexpr int slots = Vectors::slots;
    constexpr int count = factor_columns<T>(slots);
    static_assert(unrolls_columns(order) || lanes % sharing_columns == 0,
                  "entries that share code are in one slot");
    const RowsPosition<lanes> at(p.factor.extent[0]);
    T* const behind = core::shared<T>() + rows_shared_entries<T>(order, order, lanes);
    const WarpArea<T> vectors = warp_area(behind, sides, order, lanes);
    const StagedMatrices<T, order, order, lanes> factor(
        at, warp_area(core::shared<T>(), order, order, lanes), p.factor);
    factor.template load<cholesky>(p.factor);
    const bool exchanged = !cholesky && !p.pivots.empty();
    const auto pivot_rows = as_rows(p.pivots);
    const StagedMatrices<int, 1, order, lanes> pivots(
        at,
        warp_area(reinterpret_cast<int*>(behind + rows_shared_entries<T>(sides, order, lanes)), 1,
                  order, lanes),
        pivot_rows);
    if (exchanged) pivots.load(pivot_rows);
    Vectors x;
    x.row_lane = at.lane;
    int source[slots] = {};
    PivotReciprocal<decltype(diagonal_entry<cholesky>(T()))> reciprocal[slots] = {};
    // Subtracts from the entries that a step does not finish.
    const auto subtract = [&](int slot, T entry, const T(&solved)[sides], bool wanted) {
        APERTURE_UNROLL
        for (int r = 0; r < sides; ++r) {
            const T next = core::multiply_add(x.entry[slot][r], -entry, solved[r]);
            x.entry[slot][r] = wanted ? next : x.entry[slot][r];
        }
    };
    // Entry k of the solutions, in all lanes.
    const auto solve = [&](T(&solved)[sides], int slot, int k, bool divides) {
        APERTURE_UNROLL
        for (int r = 0; r < sides; ++r) {
            T& entry = x.entry[slot][r];
            T its = entry;
            if (divides) its = its * reciprocal[slot].up * reciprocal[slot].of_scaled;
            solved[r] = core::broadcast<lanes>(its, k % lanes);
            if (divides) entry = at.lane == k % lanes ? solved[r] : entry;
        }
    };
    const auto all_sides = static_cast<int>(p.x.extent[1]);
    APERTURE_NO_UNROLL
    for (int first_side = 0; first_side < all_sides; first_side += sides) {
        const KernelView<T, 3> some = sides_from(p.x, first_side);
        const Sides its(at, vectors, some);
        if (first_side > 0) __syncwarp();
        its.load(some);
        wait_for_matrices(factor.by_blocks(p.factor) || its.by_blocks(some) ||
                          (exchanged && pivots.by_blocks(pivot_rows)));
        if (first_side == 0) {
            APERTURE_UNROLL
            for (int slot = 0; slot < slots; ++slot) {
                source[slot] = x.existing(slot);
                reciprocal[slot] = reciprocal_of_pivot(
                    diagonal_entry<cholesky>(factor.row(source[slot])[source[slot]]));
            }
            if (exchanged) find_sources(source, pivots);
        }
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) x.entry[slot][r] = its.row(r)[source[slot]];
        }
        for_each_group<order, count, false>([&]<int begin, int>(int first) {
            T rows[slots][count];
            APERTURE_UNROLL
            for (int slot = begin / lanes; slot < slots; ++slot) {
                load_entries_of_row(rows[slot], factor, x.existing(slot), first);
            }
            APERTURE_UNROLL
            for (int e = 0; e < count; ++e) {
                const int k = first + e;
                if (k >= order) continue;
                const int slot_of_k = unrolls_columns(order) ? (begin + e) / lanes : begin / lanes;
                T solved[sides];
                solve(solved, slot_of_k, k, cholesky);
                APERTURE_UNROLL
                for (int slot = slot_of_k; slot < slots; ++slot) {
                    subtract(slot, rows[slot][e], solved, slot > slot_of_k || at.lane > k % lanes);
                }
            }
        });
        for_each_group<order, count, true>([&]<int begin, int end>(int first) {
            T rows[slots][count];
            APERTURE_UNROLL
            for (int slot = 0; slot < slots; ++slot) {
                if (slot * lanes >= end) continue;
                if constexpr (!cholesky) {
                    load_entries_of_row(rows[slot], factor, x.existing(slot), first);
                } else if constexpr (lanes > 1) {
                    APERTURE_UNROLL
                    for (int e = 0; e < count; ++e) {
                        const int row = first + e < order ? first + e : order - 1;
                        rows[slot][e] = core::conj(factor.row(row)[x.existing(slot)]);
                    }
                }
            }
            APERTURE_UNROLL
            for (int e = count - 1; e >= 0; --e) {
                const int k = first + e;
                if (k >= order) continue;
                const int slot_of_k = unrolls_columns(order) ? (begin + e) / lanes : begin / lanes;
                T solved[sides];
                solve(solved, slot_of_k, k, true);
                if constexpr (cholesky && lanes == 1) {
                    factor.for_each_in_row(k, k, [&](int slot, T entry) {
                        subtract(slot, core::conj(entry), solved, true);
                    });
                } else {
                    APERTURE_UNROLL
                    for (int slot = 0; slot <= slot_of_k; ++slot) {
                        subtract(slot, rows[slot][e], solved,
                                 slot < slot_of_k || at.lane < k % lanes);
                    }
                }
            }
        });
        // Other lanes have loaded these entries.
        __syncwarp();
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) {
                if (x.exists(x.row(slot))) its.row(r)[x.row(slot)] = x.entry[slot][r];
            }
        }
        its.store(some);
    }
}

}  // namespace aperture::dense
