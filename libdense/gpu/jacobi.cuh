// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the kernels of Jacobi's method share: teams of threads that have a problem, their memory,
// rounds of disjoint pairs, rotations.

#include "aperture/dense/batch_spectral.hpp"
#include "libdense/gpu/spectral_steps.cuh"

namespace aperture::dense {

inline constexpr int most_jacobi_threads = 512;

/// The problems of a kernel: m rows of A, n columns, `lanes` threads for each.
struct JacobiShape {
    int m, n, lanes;

    JacobiShape(int rows, int columns) : m(rows), n(columns), lanes(lanes_for(rows, columns)) {}
    /// Some four rows of a pair for each: 4, 8, 16 or 32, or full warps.
    static constexpr int lanes_for(int rows, int columns) {
        const int wanted = players_of(columns) / 2 * ((rows + 3) / 4);
        if (wanted > core::warp_size) {
            const int warps = (wanted + core::warp_size - 1) / core::warp_size;
            return core::warp_size * warps < most_jacobi_threads ? core::warp_size * warps
                                                                 : most_jacobi_threads;
        }
        int lanes = 4;
        while (lanes < wanted) lanes *= 2;
        return lanes;
    }
    APERTURE_HD static constexpr int players_of(int columns) {
        return columns < 2 ? 2 : columns + columns % 2;
    }

    /// Columns of a tournament: an even number, of which the last may be a column of zeros.
    APERTURE_HD constexpr int players() const { return players_of(n); }
    APERTURE_HD constexpr int pairs() const { return players() / 2; }
    APERTURE_HD constexpr int rounds() const { return players() - 1; }
    APERTURE_HD constexpr int row_stride() const { return players() | 1; }
    /// Of A and, below it, V.
    APERTURE_HD constexpr int rows() const { return m + n; }
};

/// The unitary matrix [[c, conj(s)], [-s, c]] that makes a pair of columns orthogonal.
template <class T>
struct JacobiRotation {
    T s;
    RealOf<T> c;
    RealOf<T> step;  ///< pp decreases and qq increases by it; zero: the identity

    /// (x, y) := (c x - s y, conj(s) x + c y)
    __device__ __forceinline__ void turn(T& x, T& y) const {
        const T next = core::multiply_add(x * c, -s, y);
        y = core::multiply_add_conj(y * c, x, s);
        x = next;
    }
    __device__ __forceinline__ JacobiRotation conjugated() const {
        return {core::conj(s), c, step};
    }
    __device__ __forceinline__ bool is_identity() const { return step == RealOf<T>(0); }
    __device__ __forceinline__ static JacobiRotation identity() {
        return {T(RealOf<T>(0)), RealOf<T>(1), RealOf<T>(0)};
    }
};

/// The rotation, of the smaller angle, that makes [[pp, conj(qp)], [qp, qq]] diagonal, of
/// difference = qq - pp and norm = |qp|^2 > 0. (Golub & Van Loan 2013, alg. 8.5.1, without the
/// division by qp.)
template <class T>
__device__ __forceinline__ JacobiRotation<T> jacobi_rotation(RealOf<T> difference, T qp,
                                                             RealOf<T> norm) {
    using R = RealOf<T>;
    const R root = sqrt(difference * difference + R(4) * norm);
    const R factor = (difference < R(0) ? R(-2) : R(2)) / (magnitude(difference) + root);
    const R step = norm * factor;
    const R c = R(1) / sqrt(R(1) + step * factor);
    return {qp * (factor * c), c, step};
}

/// Sums over two columns.
template <class T>
struct PairSums {
    T qp;
    RealOf<T> pp, qq;
};

/// The memory of a team. V lies below A: a rotation turns rows of both.
template <class T>
struct JacobiMemory {
    T* a;                          ///< [rows()][row_stride()]
    PairSums<T>* sums;             ///< [lanes], or [m] if that is more
    JacobiRotation<T>* rotations;  ///< [pairs]
    RealOf<T>* values;             ///< [players]
    int* order;                    ///< [players]
    int* rotated;                  ///< [pairs]

    APERTURE_HD static constexpr int matrix_bytes(const JacobiShape& shape) {
        return (shape.rows() * shape.row_stride() * int(sizeof(T)) + 15) / 16 * 16;
    }
    /// Of everything else.
    APERTURE_HD static constexpr int other_bytes(const JacobiShape& shape) {
        const int most = shape.lanes < shape.m ? shape.m : shape.lanes;
        const int bytes = most * int(sizeof(PairSums<T>)) +
                          shape.pairs() * int(sizeof(JacobiRotation<T>)) +
                          shape.players() * int(sizeof(RealOf<T>)) +
                          (shape.players() + shape.pairs()) * int(sizeof(int));
        return (bytes + 15) / 16 * 16;
    }

    __device__ JacobiMemory(const JacobiShape& shape, unsigned char* others, T* matrix)
        : a(matrix), sums(reinterpret_cast<PairSums<T>*>(others)) {
        rotations = reinterpret_cast<JacobiRotation<T>*>(
            sums + (shape.lanes < shape.m ? shape.m : shape.lanes));
        values = reinterpret_cast<RealOf<T>*>(rotations + shape.pairs());
        order = reinterpret_cast<int*>(values + shape.players());
        rotated = order + shape.players();
    }
};

/// Some neighbouring threads of a warp, or all threads of the block, who have a problem.
class JacobiTeam {
  public:
    __device__ __forceinline__ explicit JacobiTeam(const JacobiShape& shape)
        : lanes_(shape.lanes), pairs_(shape.pairs()) {
        rank_ = core::thread_rank() % lanes_;
        number_ = core::thread_rank() / lanes_;
        row_step_ = lanes_ / pairs_;
        pair_ = rank_ % pairs_;
        first_row_ = rank_ / pairs_;
    }

    __device__ __forceinline__ int rank() const { return rank_; }
    __device__ __forceinline__ int lanes() const { return lanes_; }
    /// Of the team in the block.
    __device__ __forceinline__ int number() const { return number_; }
    __device__ __forceinline__ int pair() const { return pair_; }
    __device__ __forceinline__ int pairs() const { return pairs_; }
    __device__ __forceinline__ int row_step() const { return row_step_; }
    /// This thread's first row of its pair's; none if it is row_step or more.
    __device__ __forceinline__ int first_row() const { return first_row_; }

    __device__ __forceinline__ void sync() const {
        if (lanes_ > core::warp_size) {
            __syncthreads();
        } else {
            __syncwarp();
        }
    }
    /// Whether a team that waits with this one has the condition, the same in all of its threads.
    __device__ __forceinline__ bool any_beside(bool condition) const {
        return lanes_ > core::warp_size ? condition : __any_sync(core::full_warp, condition) != 0;
    }
    /// Calls visit(row) for this thread's rows of its pair.
    template <class Visit>
    __device__ __forceinline__ void for_each_row(int rows, Visit visit) const {
        APERTURE_NO_UNROLL
        for (int i = first_row_ < row_step_ ? first_row_ : rows; i < rows; i += row_step_) {
            visit(i);
        }
    }
    /// Calls visit(i, j) for this thread's entries of a matrix; neighbours are in a row or, in a
    /// batch whose rows are far apart, in a column.
    template <class U, class Visit>
    __device__ __forceinline__ void for_each_entry(int rows, int columns,
                                                   const KernelView<U, 3>& batch,
                                                   Visit visit) const {
        const bool by_columns = batch.stride[1] < batch.stride[2];
        const int length = by_columns ? rows : columns;
        APERTURE_NO_UNROLL
        for (int e = rank_; e < rows * columns; e += lanes_) {
            const int line = e / length;
            const int entry = e - line * length;
            visit(by_columns ? entry : line, by_columns ? line : entry);
        }
    }

  private:
    int lanes_, pairs_, rank_, number_, row_step_, pair_, first_row_;
};

/// Columns of a pair in a round: in all rounds each meets every other (circle method).
struct JacobiPair {
    int p, q;

    __device__ __forceinline__ JacobiPair(int round, int pair, int rounds) {
        const int up = round + pair;
        const int down = round - pair;
        p = pair == 0 ? rounds : up < rounds ? up : up - rounds;
        q = down < 0 ? down + rounds : down;
    }
};

/// The scale of a team's problem. `largest`: of the thread's own entries. All of the team must
/// call.
template <class T>
__device__ SpectralScale team_scale(const JacobiTeam& team, const JacobiMemory<T>& memory,
                                    RealOf<T> largest) {
    memory.sums[team.rank()].pp = largest;
    team.sync();
    APERTURE_NO_UNROLL
    for (int lane = 0; lane < team.lanes(); ++lane) {
        largest = core::Maximum()(largest, memory.sums[lane].pp);
    }
    return SpectralScale(largest);
}

/// Calls step(round), which returns whether this thread, one of the first `pairs`, has found a
/// rotation, in sweeps. Returns whether most_sweeps do not suffice.
template <class T, class Step>
__device__ __forceinline__ bool jacobi_sweeps(const JacobiTeam& team, const JacobiShape& shape,
                                              const JacobiMemory<T>& memory, Step step) {
    bool rotated = true;
    APERTURE_NO_UNROLL
    for (int s = 0; s < most_sweeps && team.any_beside(rotated); ++s) {
        bool mine = false;
        APERTURE_NO_UNROLL
        for (int round = 0; round < shape.rounds(); ++round) {
            const bool here = step(round);
            mine = mine || here;
        }
        if (team.rank() < team.pairs()) memory.rotated[team.rank()] = mine ? 1 : 0;
        team.sync();
        rotated = false;
        APERTURE_NO_UNROLL
        for (int pair = 0; pair < team.pairs(); ++pair) {
            rotated = rotated || memory.rotated[pair] != 0;
        }
        team.sync();
    }
    return rotated;
}

/// Finds the order of the first n values, with equal ones by their numbers.
template <class T>
__device__ __forceinline__ void sort_values(const JacobiTeam& team, int n, bool ascending,
                                            const JacobiMemory<T>& memory) {
    const int j = team.rank();
    team.sync();
    if (j < n) {
        const RealOf<T> own = memory.values[j];
        int before = 0;
        APERTURE_NO_UNROLL
        for (int i = 0; i < n; ++i) {
            const RealOf<T> other = memory.values[i];
            before += (ascending ? other < own : other > own) || (other == own && i < j);
        }
        memory.order[before] = j;
    }
    team.sync();
}

/// Where a block keeps matrices: in shared memory, or in its part of scratch memory.
template <class T>
struct JacobiPlace {
    JacobiShape shape;
    T* scratch;  ///< null: in shared memory

    /// Bytes of shared memory for each team.
    APERTURE_HD constexpr int shared_bytes() const {
        return JacobiMemory<T>::other_bytes(shape) +
               (scratch == nullptr ? JacobiMemory<T>::matrix_bytes(shape) : 0);
    }
    __device__ __forceinline__ JacobiMemory<T> memory(const JacobiTeam& team) const {
        unsigned char* const own = core::shared<unsigned char>() + team.number() * shared_bytes();
        if (scratch == nullptr) {
            return {shape, own + JacobiMemory<T>::matrix_bytes(shape), reinterpret_cast<T*>(own)};
        }
        const index_t teams = core::block_threads() / team.lanes();
        const index_t number = static_cast<index_t>(blockIdx.x) * teams + team.number();
        const index_t elements = JacobiMemory<T>::matrix_bytes(shape) / index_t{sizeof(T)};
        return {shape, own, scratch + number * elements};
    }
};

}  // namespace aperture::dense
