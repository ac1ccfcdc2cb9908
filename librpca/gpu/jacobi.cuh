// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Eigenvalues of a symmetric matrix by two-sided Jacobi rotations (Golub & Van Loan, section 8.5)
// in one block, as far as f (spectral_function.cuh) needs them.
//
// A rotation is left out where the element is small beside the roots of both diagonal elements, or
// beside 1, and what f leaves out is hardly diagonalised at all. What is left beside the diagonal
// goes into f to first order by divided differences (Daleckii & Krein 1965).
//
// The first sweep meets all pairs in a fixed order, n / 2 disjoint ones a step. Then few elements
// are left to rotate, which do so in steps of disjoint pairs as they are.

#include "librpca/gpu/rotate_vectors.cuh"
#include "librpca/gpu/spectral_function.cuh"

namespace aperture::rpca::gpu {

/// Two players of a round: in `rounds` of them each meets each other (a circle of all but the
/// last).
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
    double* function;      ///< f of it in the basis that it is rotated to, [row][column]
    int order;
    float square_tolerance;  ///< of an element beside the roots of diagonal elements
    int most_steps;
    LoggedRotation* rotations;  ///< step after step: jacobi_pairs for each of most_steps at most
    int* steps;                 ///< where each begins, and behind the last where it ends
    int* step_count;
    double* largest;  ///< eigenvalue, scaled
    RunState* state;
};

/// Odd, so that a column's elements are in different banks.
APERTURE_HD int jacobi_row(int order) { return even_order(order) + 1; }
/// Pairs of different pairs.
APERTURE_HD int jacobi_tiles(int order) {
    return jacobi_pairs(order) * (jacobi_pairs(order) - 1) / 2;
}
inline constexpr int most_jacobi_threads = 1024;

/// Shared memory of jacobi_kernel.
template <class T>
struct JacobiMemory {
    double* diagonal;
    Rotation<T>* rotations;  ///< of a step: by pair, or in any order
    int* pairs;              ///< p and q of each of them
    unsigned* keys;          ///< for each player, the first of the pairs that want it
    int* partners;           ///< of each player in this step, and where its rotation is; or -1
    int* count;              ///< rotations logged so far
    int* active;             ///< pairs yet to be rotated
    T* matrix;               ///< above the diagonal
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

/// Elements between what f leaves out matter only where together they could bring an eigenvalue
/// beyond 1 (Gershgorin).
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

/// The tangent, to seven digits, of the rotation that makes the element pq zero.
__device__ __forceinline__ float tangent_of(float difference, float pq) {
    const float cotangent = difference / (2 * pq);
    const float size = cotangent < 0 ? -cotangent : cotangent;
    // The square of what is larger would overflow.
    const float tangent = 1 / (size < 1e18F ? size + sqrtf(1 + size * size) : 2 * size);
    return cotangent < 0 ? -tangent : tangent;
}

/// A rotation to the digits of T.
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

/// A pair and the elements in which it meets itself.
struct OwnPair {
    RoundPair players;
    double pp;
    double qq;
    double pq;
};

/// 0 where there is none.
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

/// Rotates rows of pair k and columns of pair l.
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

/// What a thread has of all pairs k < l of `players`, in the same places every time.
template <int Count>
struct OwnPairs {
    int pair[Count];  ///< k | l << 16; -1: none

    __device__ explicit OwnPairs(int players) {
        APERTURE_UNROLL
        for (int i = 0; i < Count; ++i) {
            // Rows k and players - 2 - k together have as many pairs as there are players.
            const int number = core::thread_rank() + i * core::block_threads();
            const int row = number / players;
            const int column = number % players;
            const int in_first = players - 1 - row;
            const int k = column < in_first ? row : players - 2 - row;
            const int l = k + 1 + (column < in_first ? column : column - in_first);
            // The middle row of an odd number stands alone.
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

/// What the threads of jacobi_kernel do in turn; all threads call each.
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

    /// Logs what this thread rotates and rotates the elements in which the pair meets itself.
    __device__ void rotate_own(const OwnPair& own, float tangent) {
        const Rotation<double> exact = rotation_of<double>(tangent);
        rotate_pair(memory, own, exact);
        a.rotations[atomicAdd(memory.count, 1)] = {exact.c, exact.s, own.players.p, own.players.q};
    }

    /// After a barrier behind a step's rotations and before the next ones.
    __device__ void end_step(int first) {
        if (*memory.count == first) return;
        ++steps;
        if (core::thread_rank() == 0) a.steps[steps] = *memory.count;
    }

    /// All pairs, n / 2 of them a step.
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

    /// Those of the thread's pairs that need a rotation now, as bits; their number to all.
    template <int Count>
    __device__ unsigned find_active(const OwnPairs<Count>& own) {
        // All have seen that none was left.
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

    /// Rotates disjoint ones of the active pairs, of all threads; at least one of them.
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
                take(pair, first);
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
    /// One for each pair, in no order that elements near one another share.
    __device__ static unsigned key(int pair) { return static_cast<unsigned>(pair) * 2654435769u; }

    __device__ void take(int pair, int first) {
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

    /// Elements in which one of `count` pairs meets another player.
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

/// One block. A step of the first sweep: as many threads as there are pairs find rotations, then a
/// thread rotates `Tiles` 2 x 2 tiles above the diagonal. T: of the elements beside the diagonal,
/// of which only what f needs has to be right. Shared memory: JacobiMemory; a step of the sweep
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
