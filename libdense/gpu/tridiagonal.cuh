// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/dense/batch_spectral.hpp"
#include "libdense/gpu/reflector.cuh"
#include "libdense/gpu/spectral_steps.cuh"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense {

/// Operands of `tridiagonalise`.
template <class T>
struct TridiagonalArguments {
    KernelView<const T, 3> a;  ///< the lower triangles
    KernelView<T, 3> q;        ///< may be empty
    EigenScratch<RealOf<T>> to;
};

/// The threads that have a problem of up to `order`: `parts` of them have a column.
template <class T, int order>
struct TridiagonalTeam {
    static constexpr int words = order * static_cast<int>(sizeof(T)) / 4;
    /// So that a thread has 64 registers of A, or fewer; of the largest matrices 128, for two small
    /// blocks on a multiprocessor wait less than a large one.
    static constexpr int parts = words > 128 ? words / 128 : words > 64 ? words / 64 : 1;
    static constexpr int rows = order / parts;
    static constexpr int threads = order * parts;
    static constexpr int block_threads = threads < core::warp_size ? core::warp_size : threads;
    static constexpr int teams = block_threads / threads;
    /// Blocks of a multiprocessor, each quarter of which has 512 registers for a lane's warps.
    static constexpr int blocks =
        512 / tuning::tridiagonal_registers<T>(words) * 4 * core::warp_size / block_threads;
    /// Of the warp or part of a warp that adds up a vector.
    static constexpr int lanes = order < core::warp_size ? order : core::warp_size;
    /// In vectors the entries of a part are neighbours, in other banks than those of other parts.
    static constexpr int part_stride = parts == 1 ? rows : rows + chunk_entries<T>;
    static constexpr int length = parts * part_stride;

    int n, thread, column, part;
    T* tau;         ///< [order]
    T* x;           ///< [length], the column to reflect; from here on first A
    T* p;           ///< [length]
    T* reflectors;  ///< [n - 1][length]

    APERTURE_HD static constexpr int shared_elements(int n) {
        return order + (n < 1 ? 2 : n + 1) * length;
    }
    __device__ __forceinline__ explicit TridiagonalTeam(int its_order)
        : n(its_order),
          thread(teams == 1 ? core::thread_rank() : core::thread_rank() % threads),
          column(thread / parts),
          part(thread % parts),
          tau(core::shared<T>() +
              (teams == 1 ? 0 : core::thread_rank() / threads * shared_elements(n))),
          x(tau + order),
          p(x + length),
          reflectors(p + length) {}

    __device__ __forceinline__ void sync() const {
        if constexpr (threads > core::warp_size) {
            __syncthreads();
        } else {
            __syncwarp();
        }
    }
    __device__ __forceinline__ static int position(int i) {
        return i % parts * part_stride + i / parts;
    }
    /// This thread's entry q of a column is in this row.
    __device__ __forceinline__ int row(int q) const { return q * parts + part; }
    /// The sum of term(i, position of i) for i >= first; every warp adds up all.
    template <class Term>
    __device__ __forceinline__ auto sum(int first, Term term) const {
        decltype(term(0, 0)) own = {};
        APERTURE_UNROLL
        for (int s = 0; s < order / lanes; ++s) {
            const int i = s * lanes + thread % lanes;
            if (i >= first) own = own + term(i, position(i));
        }
        return core::warp_reduce<lanes>(own);
    }
    /// Calls use(q, entry of `vector`) for this thread's rows from `first` on.
    template <int first, class Use>
    __device__ __forceinline__ void for_each_row(const T* vector, Use use) const {
        constexpr int chunk = chunk_entries<T>;
        APERTURE_UNROLL
        for (int base = first / chunk * chunk; base < rows; base += chunk) {
            T its[chunk];
            load_chunks(its, vector + part * part_stride + base);
            APERTURE_UNROLL
            for (int c = 0; c < chunk; ++c) use(base + c, its[c]);
        }
    }
    template <int first, class Use>
    __device__ __forceinline__ void for_each_row(const T* vector, const T* other, Use use) const {
        constexpr int chunk = chunk_entries<T>;
        APERTURE_UNROLL
        for (int base = first / chunk * chunk; base < rows; base += chunk) {
            T its[chunk], its_other[chunk];
            load_chunks(its, vector + part * part_stride + base);
            load_chunks(its_other, other + part * part_stride + base);
            APERTURE_UNROLL
            for (int c = 0; c < chunk; ++c) use(base + c, its[c], its_other[c]);
        }
    }
    /// The largest of all threads' values. `tau` must not be in use.
    template <class R>
    __device__ __forceinline__ R maximum(R value) const {
        constexpr int of_warp = threads < core::warp_size ? threads : core::warp_size;
        value = core::warp_reduce<of_warp>(value, core::Maximum());
        if constexpr (threads > of_warp) {
            R* const of_warps = reinterpret_cast<R*>(tau);
            if (thread % of_warp == 0) of_warps[thread / of_warp] = value;
            __syncthreads();
            APERTURE_UNROLL
            for (int w = 0; w < threads / of_warp; ++w) {
                value = core::Maximum()(value, of_warps[w]);
            }
            __syncthreads();
        }
        return value;
    }
};

namespace detail {

/// Loads a matrix and scales it to one; zeros where it has entries that are not finite.
template <class T, int order>
__device__ __forceinline__ SpectralScale load_hermitian(const TridiagonalTeam<T, order>& team,
                                                        const KernelView<const T, 3>& batch,
                                                        index_t problem, bool exists,
                                                        T (&a)[TridiagonalTeam<T, order>::rows]) {
    using R = RealOf<T>;
    using Team = TridiagonalTeam<T, order>;
    const int n = team.n;
    const int stride = n | 1;
    const bool by_columns = batch.stride[1] < batch.stride[2];
    R largest = R(0);
    const int entry = team.thread % order;
    APERTURE_UNROLL_BY(8)
    for (int line = team.thread / order; line < n; line += Team::parts) {
        const int i = by_columns ? entry : line;
        const int j = by_columns ? line : entry;
        if (exists && j <= i && i < n) {
            T value = batch(problem, i, j);
            if (i == j) value = T(core::real_part(value));
            team.x[i * stride + j] = value;
            largest = core::Maximum()(largest, size_or_infinity(value));
        }
    }
    const SpectralScale scale(team.maximum(largest));
    team.sync();
    APERTURE_UNROLL
    for (int q = 0; q < Team::rows; ++q) {
        const int i = team.row(q);
        const int j = team.column;
        a[q] = T(R(0));
        if (exists && i < n && j < n) {
            const T value = i < j ? core::conj(team.x[j * stride + i]) : team.x[i * stride + j];
            a[q] = scale.scaled(value);
        }
    }
    team.sync();
    return scale;
}

/// The reflector for entries so small that they do not change an eigenvalue makes them zero.
template <class T>
__device__ __forceinline__ Reflector<T> tridiagonal_reflector(T alpha, RealOf<T> below) {
    using R = RealOf<T>;
    constexpr R least = roundoff<R> * roundoff<R> * roundoff<R> * roundoff<R>;
    if (!(core::norm(alpha) + below > least)) return {R(0), T(R(0)), T(R(1))};
    return make_reflector(alpha, below);
}

/// Steps [begin, end) of the tridiagonalisation, which change a thread's rows from `first` on.
/// Stores T if `diagonal` is not null.
template <int first, class T, int order>
__device__ __forceinline__ void reflect_both_sides(const TridiagonalTeam<T, order>& team,
                                                   T (&a)[TridiagonalTeam<T, order>::rows],
                                                   int begin, int end, RealOf<T>* diagonal) {
    using R = RealOf<T>;
    using Team = TridiagonalTeam<T, order>;
    // Rows begin + 1 to end.
    constexpr int last =
        first + Team::rows / 4 < Team::rows ? first + Team::rows / 4 : Team::rows - 1;
    const int column = team.column;
    APERTURE_NO_UNROLL
    for (int k = begin; k < end; ++k) {
        team.sync();
        const R below = team.sum(k + 2, [&](int, int at) { return core::norm(team.x[at]); });
        const Reflector<T> h = tridiagonal_reflector(team.x[Team::position(k + 1)], below);
        T own = T(R(column == k + 1 ? 1 : 0));
        if (column > k + 1) own = team.x[Team::position(column)] * h.factor;
        T* const v = team.reflectors + k * Team::length;
        if (team.part == 0) v[Team::position(column)] = own;
        if (team.thread == 0) {
            team.tau[k] = h.tau;
            if (diagonal != nullptr) diagonal[team.n + k] = h.beta;
        }
        team.sync();
        T product = T(R(0));
        team.template for_each_row<first>(
            v, [&](int q, T entry) { product = core::multiply_add_conj(product, entry, a[q]); });
        product = core::warp_reduce<Team::parts>(product) * h.tau;
        if (team.part == 0) team.p[Team::position(column)] = product;
        team.sync();
        const T both = team.sum(k + 1, [&](int, int at) { return team.p[at] * core::conj(v[at]); });
        const R twice = core::real_part(both * core::conj(h.tau));
        const T left = core::conj(own * twice - product);
        const T right = -core::conj(own);
        T next = T(R(0));
        team.template for_each_row<first>(v, team.p, [&](int q, T its_v, T its_p) {
            a[q] = core::multiply_add(core::multiply_add(a[q], its_v, left), its_p, right);
            if (q <= last && team.row(q) == k + 1) next = a[q];
        });
        if ((k + 1) % Team::parts == team.part) {
            team.x[Team::position(column)] = core::conj(next);
            if (column == k + 1 && diagonal != nullptr) diagonal[k + 1] = core::real_part(next);
        }
    }
}

/// Q := H_begin ... H_(end - 1) Q.
template <int first, class T, int order>
__device__ __forceinline__ void reflect_columns(const TridiagonalTeam<T, order>& team,
                                                T (&q)[TridiagonalTeam<T, order>::rows], int begin,
                                                int end) {
    using Team = TridiagonalTeam<T, order>;
    APERTURE_NO_UNROLL
    for (int k = end - 1; k >= begin; --k) {
        const T* const v = team.reflectors + k * Team::length;
        T product = T(RealOf<T>(0));
        team.template for_each_row<first>(
            v, [&](int i, T entry) { product = core::multiply_add_conj(product, q[i], entry); });
        product = -(core::warp_reduce<Team::parts>(product) * team.tau[k]);
        // The compiler shall load the reflector again: registers do not suffice to keep it.
        __syncwarp();
        team.template for_each_row<first>(
            v, [&](int i, T entry) { q[i] = core::multiply_add(q[i], product, entry); });
    }
}

}  // namespace detail

/// Reduces Hermitian matrices, scaled by a power of two, to real tridiagonal ones T = Q^H A Q, by
/// Householder reflectors from both sides (Golub & Van Loan 2013, alg. 8.3.1).
///
/// Team: a problem; block: a team, or a warp of teams. Thread: a column, or every parts-th entry of
/// one, in registers. Three barriers a step. Grid: ceil(problems / teams) on x. Shared, for each
/// team: shared_elements(n) of T, the reflectors. Bytes per problem: sizeof(T) n^2 twice. Flops
/// (times 4 if complex): 10/3 n^3 with those above the diagonal and of Q.
template <class T, int order>
__global__ void __launch_bounds__(TridiagonalTeam<T, order>::block_threads,
                                  TridiagonalTeam<T, order>::blocks)
    tridiagonalise(TridiagonalArguments<T> p) {
    using R = RealOf<T>;
    using Team = TridiagonalTeam<T, order>;
    constexpr int quarter = Team::rows / 4;
    const Team team(static_cast<int>(p.a.extent[1]));
    const int n = team.n;
    const index_t problem = static_cast<index_t>(blockIdx.x) * Team::teams +
                            (Team::teams == 1 ? 0 : core::thread_rank() / Team::threads);
    const bool exists = problem < p.a.extent[0];
    T a[Team::rows];
    const SpectralScale scale = detail::load_hermitian(team, p.a, problem, exists, a);
    R* const diagonal = exists ? p.to.tridiagonal + problem * 2 * n : nullptr;
    if (exists && team.thread == 0) {
        p.to.exponents[problem] = scale.failed ? EigenScratch<R>::failed : scale.exponent;
    }
    if (team.part == 0) {
        team.x[Team::position(team.column)] = core::conj(a[0]);
        if (team.thread == 0 && exists && n > 0) diagonal[0] = core::real_part(a[0]);
    }
    // Steps of the first quarter of rows, and so on.
    const auto quarter_end = [n](int quarters) {
        const int row = quarters * (order / 4);
        return row < n - 1 ? row : n - 1;
    };
    detail::reflect_both_sides<0>(team, a, 0, quarter_end(1), diagonal);
    detail::reflect_both_sides<quarter>(team, a, quarter_end(1), quarter_end(2), diagonal);
    detail::reflect_both_sides<2 * quarter>(team, a, quarter_end(2), quarter_end(3), diagonal);
    detail::reflect_both_sides<3 * quarter>(team, a, quarter_end(3), n - 1, diagonal);
    if (p.q.empty()) return;
    APERTURE_UNROLL
    for (int q = 0; q < Team::rows; ++q) a[q] = T(R(team.row(q) == team.column ? 1 : 0));
    detail::reflect_columns<3 * quarter>(team, a, quarter_end(3), n - 1);
    detail::reflect_columns<2 * quarter>(team, a, quarter_end(2), quarter_end(3));
    detail::reflect_columns<quarter>(team, a, quarter_end(1), quarter_end(2));
    detail::reflect_columns<0>(team, a, 0, quarter_end(1));
    if (!exists || team.column >= n) return;
    T* to = &p.q(problem, team.part, team.column);
    APERTURE_UNROLL
    for (int q = 0; q < Team::rows; ++q) {
        if (team.row(q) < n) *to = a[q];
        to += Team::parts * p.q.stride[1];
    }
}

}  // namespace aperture::dense
