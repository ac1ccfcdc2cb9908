// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Eigenvalues of a symmetric matrix by two-sided Jacobi rotations (Golub & Van Loan, section 8.5)
// in one block, as accurately as f (spectral_function.cuh) requires.
//
// An element is not rotated if it is small relative to the roots of both diagonal elements or to 1;
// the part that f discards is hardly diagonalised. f takes the remaining off-diagonal elements in
// to first order, by divided differences (Daleckii & Krein 1965).
//
// The first sweep visits all pairs in a fixed order, n / 2 disjoint ones a step. Later steps rotate
// disjoint pairs from the few elements that still need it.

#include "librpca/gpu/rotate_vectors.cuh"
#include "librpca/gpu/spectral_function.cuh"

namespace aperture::rpca::gpu {

/// A pair of indices in a round-robin tournament: in `rounds` rounds each meets every other (circle
/// method, the last index fixed).
struct RoundPair {
    int p;
    int q;
};
APERTURE_HD RoundPair round_pair(int round, int pair, int rounds) {
    if (pair == 0) return {rounds, round};
    const int p = round + pair;
    const int q = round - pair;
    return {p < rounds ? p : p - rounds, q >= 0 ? q : q + rounds};
}

/// [[c, s], [-s, c]]
template <class T>
struct alignas(2 * sizeof(T)) Rotation {
    T c;
    T s;
};

struct JacobiArguments {
    const double* matrix;  ///< [row][column], of order `order`, scaled
    double* function;      ///< f of it in the rotated basis, [row][column]
    int order;
    float square_tolerance;  ///< for an element relative to the roots of the diagonal elements
    int most_steps;
    LoggedRotation* rotations;  ///< step after step, at most jacobi_pairs each
    int* steps;                 ///< begin of each step, then the end of the last
    int* step_count;
    double* largest;  ///< the largest eigenvalue, scaled
    RunState* state;
};

/// Odd, so that a column has no bank conflicts.
APERTURE_HD int jacobi_row(int order) { return even_order(order) + 1; }
/// Number of 2 x 2 tiles above the diagonal: pairs of distinct pairs.
APERTURE_HD int jacobi_tiles(int order) {
    return jacobi_pairs(order) * (jacobi_pairs(order) - 1) / 2;
}
inline constexpr int most_jacobi_threads = 1024;

/// Shared memory of jacobi_kernel.
template <class T>
struct JacobiMemory {
    double* diagonal;
    Rotation<T>* rotations;  ///< of a step: by pair in the first sweep, then unordered
    int* pairs;              ///< p | q << 16 of each rotation
    unsigned* keys;          ///< per index: the largest key of the pairs that contain it
    int* partners;           ///< per index: partner | rotation << 16 in this step, or -1
    int* count;              ///< rotations logged so far
    int* active;             ///< pairs still to be rotated
    T* matrix;               ///< upper triangle, without the diagonal
    int row;

    __device__ JacobiMemory(unsigned char* shared, int order)
        : diagonal(reinterpret_cast<double*>(shared)),
          rotations(reinterpret_cast<Rotation<T>*>(diagonal + even_order(order))),
          pairs(reinterpret_cast<int*>(rotations + jacobi_pairs(order))),
          keys(reinterpret_cast<unsigned*>(pairs + jacobi_pairs(order))),
          partners(reinterpret_cast<int*>(keys + even_order(order))),
          count(partners + even_order(order)),
          active(count + 1),
          matrix(reinterpret_cast<T*>(shared + header_bytes(order))),
          row(jacobi_row(order)) {}
    APERTURE_HD static int header_bytes(int order) {
        const int words = jacobi_pairs(order) + 2 * even_order(order) + 2;
        const int bytes = even_order(order) * 8 +
                          jacobi_pairs(order) * static_cast<int>(sizeof(Rotation<T>)) + words * 4;
        return (bytes + 15) / 16 * 16;
    }
    static index_t bytes(int order) {
        return header_bytes(order) +
               index_t{even_order(order)} * jacobi_row(order) * index_t{sizeof(T)};
    }
    __device__ T& operator()(int i, int j) const {
        return i < j ? matrix[i * row + j] : matrix[j * row + i];
    }
};

namespace detail {

/// Elements between discarded eigenvalues matter only if together they could raise an eigenvalue
/// above 1 (Gershgorin).
__device__ __forceinline__ bool needs_rotation(float pp, float qq, float pq, float square_tolerance,
                                               int order) {
    const float larger = pp < qq ? qq : pp;
    float bound = square_tolerance * (pp > 1 ? pp : 1) * (qq > 1 ? qq : 1);
    if (larger < 1) {
        const float room = (1 - larger) / static_cast<float>(order);
        bound = core::Maximum{}(bound, room * room);
    }
    return pq * pq > bound;
}

/// The tangent, to seven digits, of the rotation that annihilates the element pq.
__device__ __forceinline__ float tangent_of(float difference, float pq) {
    const float cotangent = difference / (2 * pq);
    const float size = cotangent < 0 ? -cotangent : cotangent;
    // The square of a larger one would overflow.
    const float tangent = 1 / (size < 1e18F ? size + sqrtf(1 + size * size) : 2 * size);
    return cotangent < 0 ? -tangent : tangent;
}

/// A rotation in the precision of T.
template <class T>
__device__ __forceinline__ Rotation<T> rotation_of(float tangent) {
    const T t = static_cast<T>(tangent);
    const T square = 1 + t * t;
    T c = static_cast<T>(rsqrtf(static_cast<float>(square)));
    if constexpr (sizeof(T) > sizeof(float)) {
        APERTURE_UNROLL
        for (int i = 0; i < 2; ++i) c *= T(1.5) - T(0.5) * square * c * c;
    }
    return {c, t * c};
}

/// A pair and its own 2 x 2 block.
struct OwnPair {
    RoundPair players;
    double pp;
    double qq;
    double pq;
};

/// Tangent of the pair's rotation, 0 if it needs none.
template <class T>
__device__ __forceinline__ float find_rotation(const JacobiMemory<T>& memory, RoundPair players,
                                               const JacobiArguments& a, OwnPair& own) {
    own = {players, memory.diagonal[players.p], memory.diagonal[players.q],
           static_cast<double>(memory(players.p, players.q))};
    const float pq = static_cast<float>(own.pq);
    if (!needs_rotation(static_cast<float>(own.pp), static_cast<float>(own.qq), pq,
                        a.square_tolerance, a.order)) {
        return 0;
    }
    return tangent_of(static_cast<float>(own.qq - own.pp), pq);
}

template <class T>
__device__ __forceinline__ void rotate_pair(const JacobiMemory<T>& memory, const OwnPair& own,
                                            Rotation<double> rotation) {
    const auto [c, s] = rotation;
    memory.diagonal[own.players.p] = c * c * own.pp - 2 * c * s * own.pq + s * s * own.qq;
    memory.diagonal[own.players.q] = s * s * own.pp + 2 * c * s * own.pq + c * c * own.qq;
    memory(own.players.p, own.players.q) =
        static_cast<T>(c * s * (own.pp - own.qq) + (c * c - s * s) * own.pq);
}

/// Rotates the rows of pair k and the columns of pair l in their 2 x 2 tile.
template <class T>
__device__ __forceinline__ void rotate_tile(const JacobiMemory<T>& memory, RoundPair k, RoundPair l,
                                            Rotation<T> of_k, Rotation<T> of_l) {
    T& pp = memory(k.p, l.p);
    T& pq = memory(k.p, l.q);
    T& qp = memory(k.q, l.p);
    T& qq = memory(k.q, l.q);
    const T pp1 = of_k.c * pp - of_k.s * qp;
    const T pq1 = of_k.c * pq - of_k.s * qq;
    const T qp1 = of_k.s * pp + of_k.c * qp;
    const T qq1 = of_k.s * pq + of_k.c * qq;
    pp = of_l.c * pp1 - of_l.s * pq1;
    pq = of_l.s * pp1 + of_l.c * pq1;
    qp = of_l.c * qp1 - of_l.s * qq1;
    qq = of_l.s * qp1 + of_l.c * qq1;
}

/// A thread's share of all pairs k < l of `players`, the same in every step.
template <int Count>
struct OwnPairs {
    int pair[Count];  ///< k | l << 16; -1: none

    __device__ explicit OwnPairs(int players) {
        APERTURE_UNROLL
        for (int i = 0; i < Count; ++i) {
            // Rows k and players - 2 - k together hold `players` pairs.
            const int number = core::thread_rank() + i * core::block_threads();
            const int row = number / players;
            const int column = number % players;
            const int in_first = players - 1 - row;
            const int k = column < in_first ? row : players - 2 - row;
            const int l = k + 1 + (column < in_first ? column : column - in_first);
            // With an odd number the middle row stands alone.
            pair[i] = number < players * (players - 1) / 2 ? k | l << 16 : -1;
        }
    }
    __device__ int k(int i) const { return pair[i] & 0xffff; }
    __device__ int l(int i) const { return pair[i] >> 16; }
};

template <class T>
__device__ void write_function(const JacobiArguments& a, const JacobiMemory<T>& memory) {
    const double* const diagonal = memory.diagonal;
    for (int at = core::thread_rank(); at < a.order * a.order; at += core::block_threads()) {
        const int i = at / a.order;
        const int j = at % a.order;
        a.function[at] = i == j ? kept_share(diagonal[i])
                                : divided_difference(diagonal[i], diagonal[j]) *
                                      static_cast<double>(memory(i, j));
    }
    if (core::warp_rank() == 0) {
        write_extent(
            a.order, [&](int i) { return diagonal[i]; }, a.largest, a.state);
    }
}

/// The phases of jacobi_kernel; each is called by all threads.
template <class T>
struct JacobiBlock {
    const JacobiArguments& a;
    JacobiMemory<T> memory;
    int order;
    int pairs;
    int steps = 0;

    __device__ explicit JacobiBlock(const JacobiArguments& arguments)
        : a(arguments),
          memory(core::shared<unsigned char>(), a.order),
          order(even_order(a.order)),
          pairs(order / 2) {}

    __device__ void load() {
        for (int at = core::thread_rank(); at < order * order; at += core::block_threads()) {
            const int i = at / order;
            const int j = at % order;
            const double value = j < a.order && i < a.order ? a.matrix[i * a.order + j] : 0;
            if (i < j) memory(i, j) = static_cast<T>(value);
            if (i == j) memory.diagonal[i] = value;
        }
        if (core::thread_rank() == 0) {
            *memory.count = 0;
            a.steps[0] = 0;
        }
        __syncthreads();
    }

    /// Logs this thread's rotation and rotates the pair's own 2 x 2 block.
    __device__ void rotate_own(const OwnPair& own, float tangent) {
        const Rotation<double> exact = rotation_of<double>(tangent);
        rotate_pair(memory, own, exact);
        a.rotations[atomicAdd(memory.count, 1)] = {exact.c, exact.s, own.players.p, own.players.q};
    }

    /// Called between the barrier after a step's rotations and the next ones.
    __device__ void end_step(int first) {
        if (*memory.count == first) return;
        ++steps;
        if (core::thread_rank() == 0) a.steps[steps] = *memory.count;
    }

    /// Visits all pairs, n / 2 disjoint ones a step.
    template <int Tiles>
    __device__ void sweep() {
        const OwnPairs<Tiles> tiles(pairs);
        const int rounds = order - 1;
        const int thread = core::thread_rank();
        for (int round = 0; round < rounds; ++round) {
            const int first = *memory.count;
            OwnPair own{};
            float tangent = 0;
            if (thread < pairs) {
                tangent = find_rotation(memory, round_pair(round, thread, rounds), a, own);
                memory.rotations[thread] = rotation_of<T>(tangent);
            }
            __syncthreads();
            if (tangent != 0) rotate_own(own, tangent);
            APERTURE_UNROLL
            for (int i = 0; i < Tiles; ++i) {
                if (tiles.pair[i] < 0) continue;
                const Rotation<T> of_k = memory.rotations[tiles.k(i)];
                const Rotation<T> of_l = memory.rotations[tiles.l(i)];
                if (of_k.s == 0 && of_l.s == 0) continue;
                rotate_tile(memory, round_pair(round, tiles.k(i), rounds),
                            round_pair(round, tiles.l(i), rounds), of_k, of_l);
            }
            __syncthreads();
            end_step(first);
        }
    }

    /// Bit mask of the thread's pairs that still need a rotation; adds their number to
    /// memory.active.
    template <int Count>
    __device__ unsigned find_active(const OwnPairs<Count>& own) {
        // All threads have read the previous number.
        __syncthreads();
        if (core::thread_rank() == 0) *memory.active = 0;
        __syncthreads();
        unsigned active = 0;
        APERTURE_UNROLL
        for (int i = 0; i < Count; ++i) {
            if (own.pair[i] < 0) continue;
            OwnPair pair;
            if (find_rotation(memory, {own.k(i), own.l(i)}, a, pair) != 0) active |= 1u << i;
        }
        if (active != 0) atomicAdd(memory.active, __popc(active));
        __syncthreads();
        return active;
    }

    /// Rotates disjoint pairs among the active ones of all threads, at least one.
    template <int Count>
    __device__ void step(const OwnPairs<Count>& own, unsigned& active) {
        for (int i = core::thread_rank(); i < order; i += core::block_threads()) {
            memory.keys[i] = 0;
            memory.partners[i] = -1;
        }
        const int first = *memory.count;
        __syncthreads();
        for (unsigned left = active; left != 0; left &= left - 1) {
            const int pair = pair_of(own, __ffs(static_cast<int>(left)) - 1);
            atomicMax(&memory.keys[pair & 0xffff], key(pair));
            atomicMax(&memory.keys[pair >> 16], key(pair));
        }
        __syncthreads();
        for (unsigned left = active; left != 0; left &= left - 1) {
            const int i = __ffs(static_cast<int>(left)) - 1;
            const int pair = pair_of(own, i);
            if (memory.keys[pair & 0xffff] == key(pair) && memory.keys[pair >> 16] == key(pair)) {
                active &= ~(1u << i);
                rotate_chosen(pair, first);
            }
        }
        __syncthreads();
        rotate_others(*memory.count - first);
        __syncthreads();
        end_step(first);
    }

    __device__ void finish() {
        if (core::thread_rank() == 0) *a.step_count = steps;
        write_function(a, memory);
    }

  private:
    template <int Count>
    __device__ static int pair_of(const OwnPairs<Count>& own, int which) {
        int pair = 0;
        APERTURE_UNROLL
        for (int i = 0; i < Count; ++i) pair = i == which ? own.pair[i] : pair;
        return pair;
    }
    /// A hash, one to one, so that neighbouring pairs get unrelated priorities.
    __device__ static unsigned key(int pair) { return static_cast<unsigned>(pair) * 2654435769u; }

    __device__ void rotate_chosen(int pair, int first) {
        OwnPair own{};
        const RoundPair players{pair & 0xffff, pair >> 16};
        const float tangent = find_rotation(memory, players, a, own);
        atomicAdd(memory.active, -1);
        if (tangent == 0) return;
        const Rotation<double> exact = rotation_of<double>(tangent);
        rotate_pair(memory, own, exact);
        const int at = atomicAdd(memory.count, 1);
        a.rotations[at] = {exact.c, exact.s, players.p, players.q};
        memory.rotations[at - first] = rotation_of<T>(tangent);
        memory.pairs[at - first] = pair;
        memory.partners[players.p] = players.q | (at - first) << 16;
        memory.partners[players.q] = players.p | (at - first) << 16;
    }

    /// Rotates the elements between the `count` pairs and all other indices.
    __device__ void rotate_others(int count) {
        for (int task = core::thread_rank(); task < count * order; task += core::block_threads()) {
            const int k = task / order;
            const int player = task % order;
            const RoundPair pair{memory.pairs[k] & 0xffff, memory.pairs[k] >> 16};
            if (player == pair.p || player == pair.q) continue;
            const Rotation<T> rotation = memory.rotations[k];
            const int partner = memory.partners[player];
            if (partner < 0) {
                T& p = memory(pair.p, player);
                T& q = memory(pair.q, player);
                const T p0 = p;
                p = rotation.c * p0 - rotation.s * q;
                q = rotation.s * p0 + rotation.c * q;
            } else if (player < (partner & 0xffff) && k < partner >> 16) {
                rotate_tile(memory, pair, {player, partner & 0xffff}, rotation,
                            memory.rotations[partner >> 16]);
            }
        }
    }
};

}  // namespace detail

/// One block. In a step of the first sweep, one thread per pair computes the rotation; then each
/// thread rotates `Tiles` 2 x 2 tiles above the diagonal. T: type of the off-diagonal elements,
/// which must be accurate only where f needs them. Shared memory: JacobiMemory; a step of the sweep
/// reads and writes each element once.
template <class T, int Tiles>
__global__ void __launch_bounds__(most_jacobi_threads) jacobi_kernel(JacobiArguments a) {
    if (a.state->done != 0) return;
    detail::JacobiBlock<T> block(a);
    block.load();
    block.template sweep<Tiles>();
    // Four elements a tile, and one a pair.
    const detail::OwnPairs<4 * Tiles + 1> own(block.order);
    for (;;) {
        unsigned active = block.find_active(own);
        if (*block.memory.active == 0) break;
        while (*block.memory.active > 0 && block.steps < a.most_steps) block.step(own, active);
        if (block.steps >= a.most_steps) break;
    }
    block.finish();
}

}  // namespace aperture::rpca::gpu
