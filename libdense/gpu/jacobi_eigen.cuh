// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/jacobi.cuh"

namespace aperture::dense {

/// Operands of `eigen_by_jacobi`.
template <class T>
struct EigenArguments {
    KernelView<const T, 3> a;
    KernelView<RealOf<T>, 2> values;
    KernelView<T, 3> vectors;  ///< may be empty
    KernelView<int, 1> info;
};

namespace detail {

/// Entries of a Hermitian matrix of which the lower triangle is stored.
template <class T>
struct LowerTriangle {
    T* data;
    int row_stride;

    __device__ __forceinline__ T& at(int i, int j) const { return data[i * row_stride + j]; }
    __device__ __forceinline__ T load(int i, int j) const {
        return i < j ? core::conj(at(j, i)) : at(i, j);
    }
    __device__ __forceinline__ void store(int i, int j, T value) const {
        if (i < j) {
            at(j, i) = core::conj(value);
        } else {
            at(i, j) = value;
        }
    }
};

/// Finds the rotation of a pair and makes its own 2 x 2 block diagonal.
template <class T>
__device__ __forceinline__ JacobiRotation<T> rotate_own_block(const LowerTriangle<T>& a,
                                                              JacobiPair at) {
    using R = RealOf<T>;
    const T qp = a.load(at.q, at.p);
    const R norm = core::norm(qp);
    if (!(norm > roundoff<R> * roundoff<R>)) {
        return JacobiRotation<T>::identity();
    }
    const R pp = core::real_part(a.at(at.p, at.p));
    const R qq = core::real_part(a.at(at.q, at.q));
    const JacobiRotation<T> rotation = jacobi_rotation(qq - pp, qp, norm);
    a.at(at.p, at.p) = T(pp - rotation.step);
    a.at(at.q, at.q) = T(qq + rotation.step);
    a.store(at.q, at.p, T(R(0)));
    return rotation;
}

/// The 2 x 2 block of rows of one pair and columns of another: from the left and from the right.
template <class T>
__device__ __forceinline__ void rotate_block(const LowerTriangle<T>& a, JacobiPair rows,
                                             JacobiPair columns, const JacobiRotation<T>& left,
                                             const JacobiRotation<T>& right) {
    T pp = a.load(rows.p, columns.p);
    T pq = a.load(rows.p, columns.q);
    T qp = a.load(rows.q, columns.p);
    T qq = a.load(rows.q, columns.q);
    right.turn(pp, pq);
    right.turn(qp, qq);
    const JacobiRotation<T> of_rows = left.conjugated();
    of_rows.turn(pp, qp);
    of_rows.turn(pq, qq);
    a.store(rows.p, columns.p, pp);
    a.store(rows.p, columns.q, pq);
    a.store(rows.q, columns.p, qp);
    a.store(rows.q, columns.q, qq);
}

/// A round of A and of so many rows of V. Returns whether this thread has found a rotation.
template <class T>
__device__ __forceinline__ bool rotate_round(const JacobiTeam& team, const JacobiShape& shape,
                                             int round, int rows_of_v,
                                             const JacobiMemory<T>& memory,
                                             const LowerTriangle<T>& a, T* v) {
    bool rotated = false;
    if (team.rank() < team.pairs()) {
        const JacobiRotation<T> own =
            rotate_own_block(a, JacobiPair(round, team.rank(), shape.rounds()));
        memory.rotations[team.rank()] = own;
        rotated = !own.is_identity();
    }
    team.sync();
    const JacobiPair columns(round, team.pair(), shape.rounds());
    const JacobiRotation<T> right = memory.rotations[team.pair()];
    // With the pairs that follow, up to half the way around: every two pairs once.
    team.for_each_row(team.pairs() / 2, [&](int d) {
        const int distance = d + 1;
        if (2 * distance == team.pairs() && team.pair() >= distance) return;
        const int other = team.pair() + distance;
        const int pair = other < team.pairs() ? other : other - team.pairs();
        const JacobiRotation<T> left = memory.rotations[pair];
        if (left.is_identity() && right.is_identity()) return;
        rotate_block(a, JacobiPair(round, pair, shape.rounds()), columns, left, right);
    });
    if (!right.is_identity()) {
        team.for_each_row(rows_of_v, [&](int i) {
            T* const row = v + i * shape.row_stride();
            right.turn(row[columns.p], row[columns.q]);
        });
    }
    team.sync();
    return rotated;
}

}  // namespace detail

/// Eigenvalues and eigenvectors of Hermitian matrices by two-sided Jacobi rotations (Golub & Van
/// Loan 2013, alg. 8.5.3), of the disjoint pairs of a round at once.
///
/// Team: a problem. Thread: of one pair and some others, 2 x 2 blocks of the lower triangle; of one
/// pair, some rows of V. Two barriers a round. Grid: any number of blocks on x. Shared, for each
/// team: JacobiPlace::shared_bytes. Bytes per problem: sizeof(T) n^2 twice. Flops per sweep (times
/// 4 if complex): 6 n^3.
template <class T>
__global__ void __launch_bounds__(most_jacobi_threads, 1)
    eigen_by_jacobi(EigenArguments<T> p, JacobiPlace<T> place) {
    using R = RealOf<T>;
    const JacobiShape shape = place.shape;
    const int n = shape.n;
    const int players = shape.players();
    const int row = shape.row_stride();
    const JacobiTeam team(shape);
    const JacobiMemory<T> memory = place.memory(team);
    const detail::LowerTriangle<T> a{memory.a, row};
    T* const v = memory.a + players * row;
    const index_t teams = core::block_threads() / team.lanes();
    APERTURE_NO_UNROLL
    for (index_t first = blockIdx.x * teams; first < p.a.extent[0]; first += gridDim.x * teams) {
        const index_t problem = first + team.number();
        const bool exists = problem < p.a.extent[0];
        R largest = R(0);
        team.for_each_entry(players, players, p.a, [&](int i, int j) {
            T entry = T(R(0));
            if (exists && i < n && j <= i) entry = p.a(problem, i, j);
            if (i == j) entry = T(core::real_part(entry));
            a.at(i, j) = entry;
            largest = core::Maximum()(largest, size_or_infinity(entry));
        });
        // Until the barrier in here, others may store V and values of the previous problem.
        const JacobiScale scale(team, memory, largest);
        team.for_each_entry(players, players, p.a,
                            [&](int i, int j) { a.at(i, j) = scale.scaled(a.at(i, j)); });
        const bool wants_vectors = !p.vectors.empty();
        team.for_each_entry(wants_vectors ? n : 0, players, p.a,
                            [&](int i, int j) { v[i * row + j] = T(R(i == j ? 1 : 0)); });
        team.sync();
        const bool unfinished = jacobi_sweeps(team, shape, memory, [&](int round) {
            return detail::rotate_round(team, shape, round, wants_vectors ? n : 0, memory, a, v);
        });
        const bool failed = scale.failed || unfinished;
        if (team.rank() < n) {
            memory.values[team.rank()] = core::real_part(a.at(team.rank(), team.rank()));
        }
        sort_values(team, n, true, memory);
        if (!exists) continue;
        if (team.rank() == 0) p.info(problem) = failed ? 1 : 0;
        if (team.rank() < n) {
            const R value = memory.values[memory.order[team.rank()]];
            p.values(problem, team.rank()) = failed ? R(0) : ldexp(value, scale.exponent);
        }
        team.for_each_entry(wants_vectors ? n : 0, n, p.vectors, [&](int i, int j) {
            p.vectors(problem, i, j) = failed ? T(R(0)) : v[i * row + memory.order[j]];
        });
    }
}

}  // namespace aperture::dense
