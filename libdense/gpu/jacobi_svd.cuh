// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/jacobi.cuh"

namespace aperture::dense {

/// Operands of `gram_of_columns` and `svd_by_jacobi`.
template <class T>
struct SvdArguments {
    KernelView<const T, 3> a;
    KernelView<T, 3> u;
    KernelView<RealOf<T>, 2> values;
    KernelView<T, 3> v;
    KernelView<int, 1> info;
    KernelView<T, 3> basis;  ///< A^H A or its eigenvectors, in u or v; may be empty
};

namespace detail {

/// Loads A scaled to one, and zeros beside it.
template <class T>
__device__ __forceinline__ SpectralScale load_scaled(const JacobiTeam& team,
                                                     const JacobiShape& shape,
                                                     const JacobiMemory<T>& memory,
                                                     const KernelView<const T, 3>& batch,
                                                     index_t problem, bool exists) {
    using R = RealOf<T>;
    const int row = shape.row_stride();
    T* const a = memory.a;
    R largest = R(0);
    team.for_each_entry(shape.m, shape.players(), batch, [&](int i, int j) {
        const T entry = exists && j < shape.n ? batch(problem, i, j) : T(R(0));
        a[i * row + j] = entry;
        largest = core::Maximum()(largest, size_or_infinity(entry));
    });
    const SpectralScale scale = team_scale(team, memory, largest);
    team.for_each_entry(shape.m, shape.players(), batch,
                        [&](int i, int j) { a[i * row + j] = scale.scaled(a[i * row + j]); });
    team.sync();
    return scale;
}

/// A := A V, some rows at a time.
template <class T>
__device__ __forceinline__ void change_basis(const JacobiTeam& team, const JacobiShape& shape, T* a,
                                             const T* v) {
    const int row = shape.row_stride();
    const int rows = team.lanes() / shape.players();
    const int j = team.rank() % shape.players();
    APERTURE_NO_UNROLL
    for (int first = 0; first < shape.m; first += rows) {
        const int i = first + team.rank() / shape.players();
        const bool own = team.rank() < rows * shape.players() && i < shape.m;
        T sum = T(RealOf<T>(0));
        APERTURE_NO_UNROLL
        for (int k = 0; k < (own ? shape.n : 0); ++k) {
            sum = core::multiply_add(sum, a[i * row + k], v[k * row + j]);
        }
        team.sync();
        if (own) a[i * row + j] = sum;
    }
    team.sync();
}

/// Below this, relative to the largest entry, a column is as good as zero.
template <class R>
inline constexpr R least_length = roundoff<R>* roundoff<R>;

/// The rotation that makes two columns of m rows orthogonal.
template <class T>
__device__ __forceinline__ JacobiRotation<T> orthogonal_rotation(int m, PairSums<T> sums) {
    using R = RealOf<T>;
    constexpr R least = least_length<R> * least_length<R>;
    if (!(sums.pp > least && sums.qq > least)) {
        return JacobiRotation<T>::identity();
    }
    const R of_p = sqrt(sums.pp);
    const R of_q = sqrt(sums.qq);
    const R by_p = R(1) / of_p;
    const R by_q = R(1) / of_q;
    // Of columns of geometric mean length one, so that no square vanishes.
    const T qp = sums.qp * by_p * by_q;
    const R norm = core::norm(qp);
    if (!(norm > R(4) * static_cast<R>(m) * roundoff<R> * roundoff<R>)) {
        return JacobiRotation<T>::identity();
    }
    return jacobi_rotation(of_q * by_p - of_p * by_q, qp, norm);
}

/// A round of A and V. Returns whether this thread has found a rotation.
template <class T>
__device__ __forceinline__ bool rotate_round(const JacobiTeam& team, const JacobiShape& shape,
                                             int round, const JacobiMemory<T>& memory) {
    using R = RealOf<T>;
    const int row = shape.row_stride();
    const int m = shape.m;
    T* const a = memory.a;
    const JacobiPair at(round, team.pair(), shape.rounds());
    PairSums<T> sums{T(R(0)), R(0), R(0)};
    team.for_each_row(m, [&](int i) {
        const T x = a[i * row + at.p];
        const T y = a[i * row + at.q];
        sums.pp = core::add_norm(sums.pp, x);
        sums.qq = core::add_norm(sums.qq, y);
        sums.qp = core::multiply_add_conj(sums.qp, x, y);
    });
    memory.sums[team.rank()] = sums;
    team.sync();
    bool rotated = false;
    if (team.rank() < team.pairs()) {
        APERTURE_NO_UNROLL
        for (int s = 1; s < team.row_step(); ++s) {
            const PairSums<T> other = memory.sums[s * team.pairs() + team.rank()];
            sums.pp += other.pp;
            sums.qq += other.qq;
            sums.qp += other.qp;
        }
        const JacobiRotation<T> own = orthogonal_rotation(m, sums);
        memory.rotations[team.rank()] = own;
        rotated = !own.is_identity();
    }
    team.sync();
    const JacobiRotation<T> rotation = memory.rotations[team.pair()];
    if (!rotation.is_identity()) {
        team.for_each_row(m + shape.n,
                          [&](int i) { rotation.turn(a[i * row + at.p], a[i * row + at.q]); });
    }
    team.sync();
    return rotated;
}

/// Replaces columns of U that are as good as zero, the last ones in its order, by ones that
/// complete the others to an orthonormal basis: the unit vector that the others reach least, twice
/// made orthogonal to them.
template <class T>
__device__ __forceinline__ void complete_columns(const JacobiTeam& team, int m, int n, int row,
                                                 const JacobiMemory<T>& memory) {
    using R = RealOf<T>;
    APERTURE_NO_UNROLL
    for (int k = 0; k < n; ++k) {
        const int column = memory.order[k];
        const bool missing = !(memory.values[column] > least_length<R>);
        if (!team.any_beside(missing)) continue;
        T* const u = memory.a;
        const auto for_each_own = [&](int count, const auto& visit) {
            APERTURE_NO_UNROLL
            for (int i = team.rank(); i < (missing ? count : 0); i += team.lanes()) visit(i);
            team.sync();
        };
        for_each_own(m, [&](int i) {
            R reached = R(0);
            for (int j = 0; j < k; ++j) {
                reached = core::add_norm(reached, u[i * row + memory.order[j]]);
            }
            memory.sums[i].pp = reached;
        });
        int least = 0;
        for (int i = 1; i < m; ++i) {
            if (memory.sums[i].pp < memory.sums[least].pp) least = i;
        }
        for_each_own(m, [&](int i) { u[i * row + column] = T(R(i == least ? 1 : 0)); });
        APERTURE_NO_UNROLL
        for (int pass = 0; pass < 2; ++pass) {
            for_each_own(k, [&](int j) {
                T sum = T(R(0));
                for (int i = 0; i < m; ++i) {
                    sum = core::multiply_add_conj(sum, u[i * row + column],
                                                  u[i * row + memory.order[j]]);
                }
                memory.sums[j].qp = sum;
            });
            for_each_own(m, [&](int i) {
                T entry = u[i * row + column];
                for (int j = 0; j < k; ++j) {
                    entry =
                        core::multiply_add(entry, -memory.sums[j].qp, u[i * row + memory.order[j]]);
                }
                u[i * row + column] = entry;
            });
        }
        R length = R(0);
        for (int i = 0; i < m; ++i) length = core::add_norm(length, u[i * row + column]);
        team.sync();
        for_each_own(m, [&](int i) { u[i * row + column] *= R(1) / sqrt(length); });
    }
}

}  // namespace detail

/// A^H A of matrices scaled to one, its lower triangle, in `basis`.
///
/// Team: a problem. Thread: some entries. Grid and shared memory as for svd_by_jacobi.
template <class T>
__global__ void __launch_bounds__(most_jacobi_threads, 1)
    gram_of_columns(SvdArguments<T> p, JacobiPlace<T> place) {
    const JacobiShape shape = place.shape;
    const int row = shape.row_stride();
    const JacobiTeam team(shape);
    const JacobiMemory<T> memory = place.memory(team);
    const T* const a = memory.a;
    const index_t teams = core::block_threads() / team.lanes();
    APERTURE_NO_UNROLL
    for (index_t first = blockIdx.x * teams; first < p.a.extent[0]; first += gridDim.x * teams) {
        const index_t problem = first + team.number();
        const bool exists = problem < p.a.extent[0];
        team.sync();
        detail::load_scaled(team, shape, memory, p.a, problem, exists);
        team.for_each_entry(shape.n, shape.n, p.basis, [&](int i, int j) {
            if (!exists || j > i) return;
            T sum = T(RealOf<T>(0));
            APERTURE_UNROLL_BY(4)
            for (int r = 0; r < shape.m; ++r) {
                sum = core::multiply_add_conj(sum, a[r * row + j], a[r * row + i]);
            }
            p.basis(problem, i, j) = sum;
        });
    }
}

/// Singular values and vectors by one-sided Jacobi rotations (Hestenes 1958) of the disjoint pairs
/// of a round at once, of A V with the eigenvectors of A^H A in `basis`, whose columns are nearly
/// orthogonal, or of A.
///
/// Team: a problem. Thread: some rows of A and V of one pair of columns. Three barriers a round.
/// Grid: any number of blocks on x. Shared, for each team: JacobiPlace::shared_bytes. Bytes per
/// problem: sizeof(T) (2 m n + n^2). Flops per sweep (times 4 if complex): 6 m n^2 + 3 n^3.
template <class T>
__global__ void __launch_bounds__(most_jacobi_threads, 1)
    svd_by_jacobi(SvdArguments<T> p, JacobiPlace<T> place) {
    using R = RealOf<T>;
    const JacobiShape shape = place.shape;
    const int m = shape.m;
    const int n = shape.n;
    const int row = shape.row_stride();
    const JacobiTeam team(shape);
    const JacobiMemory<T> memory = place.memory(team);
    T* const a = memory.a;
    T* const v = a + m * row;
    const index_t teams = core::block_threads() / team.lanes();
    APERTURE_NO_UNROLL
    for (index_t first = blockIdx.x * teams; first < p.a.extent[0]; first += gridDim.x * teams) {
        const index_t problem = first + team.number();
        const bool exists = problem < p.a.extent[0];
        team.sync();
        const SpectralScale scale = detail::load_scaled(team, shape, memory, p.a, problem, exists);
        const bool has_basis = !p.basis.empty() && exists && p.info(problem) == 0;
        team.for_each_entry(n, shape.players(), p.v, [&](int i, int j) {
            v[i * row + j] =
                has_basis ? j < n ? p.basis(problem, i, j) : T(R(0)) : T(R(i == j ? 1 : 0));
        });
        team.sync();
        if (!p.basis.empty()) detail::change_basis(team, shape, a, v);
        const bool unfinished = jacobi_sweeps(team, shape, memory, [&](int round) {
            return detail::rotate_round(team, shape, round, memory);
        });
        const bool failed = scale.failed || unfinished;
        if (team.rank() < n) {
            R sum = R(0);
            for (int i = 0; i < m; ++i) sum = core::add_norm(sum, a[i * row + team.rank()]);
            memory.values[team.rank()] = sqrt(sum);
        }
        sort_values(team, n, false, memory);
        team.for_each_entry(m, n, p.a, [&](int i, int j) {
            const R length = memory.values[j];
            a[i * row + j] *= length > detail::least_length<R> ? R(1) / length : R(0);
        });
        team.sync();
        detail::complete_columns(team, m, n, row, memory);
        if (!exists) continue;
        if (team.rank() == 0) p.info(problem) = failed ? 1 : 0;
        if (team.rank() < n) {
            const R value = memory.values[memory.order[team.rank()]];
            p.values(problem, team.rank()) = failed ? R(0) : ldexp(value, scale.exponent);
        }
        team.for_each_entry(m, n, p.u, [&](int i, int j) {
            p.u(problem, i, j) = failed ? T(R(0)) : a[i * row + memory.order[j]];
        });
        team.for_each_entry(n, n, p.v, [&](int i, int j) {
            p.v(problem, i, j) = failed ? T(R(0)) : v[i * row + memory.order[j]];
        });
    }
}

}  // namespace aperture::dense
