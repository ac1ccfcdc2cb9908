// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Chooses the threads of products with vectors and launches products_with_vectors.cuh and
// long_vectors.cuh.

#include <algorithm>
#include <bit>
#include <numeric>

#include "aperture/dense/batch_mapping.hpp"
#include "libdense/gpu/long_vectors.cuh"
#include "libdense/gpu/products_launch.cuh"
#include "libdense/gpu/products_of_runs.cuh"
#include "libdense/gpu/products_with_vectors.cuh"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense::detail {

/// The largest power of two up to `n`, which is 1 or more, as its logarithm.
inline int log2_below(index_t n) { return std::bit_width(static_cast<unsigned long long>(n)) - 1; }

/// A product of matrices whose rows are contiguous chunks.
template <class Executor, class E>
void multiply_rows(Executor& executor, const VectorProduct<E>& product) {
    const index_t fours = core::ceil_div(product.a.extent[1], index_t(4));
    const index_t chunks = product.a.extent[2] / chunk_entries<E>;
    const bool two = chunks >= tuning::least_chunks_for_two;
    const int lane_bits = log2_below(std::min<index_t>(chunks, 8));
    // The fewest blocks that have whole problems.
    const index_t of_block = vector_threads >> lane_bits;
    const index_t problems = of_block / std::gcd(fours, of_block);
    const index_t blocks = problems * fours / of_block;
    const RowProductArguments<E> p{product, lane_bits, static_cast<unsigned>(blocks),
                                   static_cast<int>(problems),
                                   FastDivider(static_cast<int>(fours))};
    const index_t periods = core::ceil_div(product.a.extent[0], problems);
    core::launch(
        executor, two ? products_of_four_rows<E, 2> : products_of_four_rows<E, 1>,
        core::LaunchConfig{dim3(core::blocks_for(periods * blocks, 1)), dim3(vector_threads)}, p);
}

/// Problems of a block that copies runs of vectors, so many and so long in each problem: whole
/// chunks, if possible whole lines of memory. 0 if they are too large.
inline int problems_of_run(index_t vectors, index_t vector_bytes) {
    const auto bytes = [&](index_t problems) { return problems * vectors * vector_bytes; };
    const auto problems_of = [&](index_t unit) { return unit / std::gcd(unit, vector_bytes); };
    index_t unit = problems_of(128);
    if (bytes(unit) > tuning::most_vector_line_bytes) unit = problems_of(16);
    const index_t at_once = core::ceil_div(tuning::vector_run_bytes, bytes(unit)) * unit;
    const bool fits =
        bytes(at_once) <= tuning::most_vector_run_bytes && at_once * vectors >= core::warp_size;
    return fits ? static_cast<int>(at_once) : 0;
}

/// Whether vectors are a run of entries that begins on a chunk.
template <class E>
bool is_run(const KernelView<const E, 2>& x) {
    return x.extent[0] > 1 && x.extent[1] > 0 && x.stride[0] == x.extent[1] &&
           (x.stride[1] == 1 || x.extent[1] == 1) &&
           reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

/// Problems of a block of products_of_runs, or 0 if others multiply faster.
template <class E>
int problems_of_run(const KernelView<const E, 3>& a, const KernelView<const E, 2>& x) {
    const index_t rows = a.extent[1], depth = a.extent[2];
    const bool in_rows = a.stride[1] == depth || rows == 1;
    const KernelView<const E, 2> matrices(a.data, {a.extent[0], rows * depth}, {a.stride[0], 1});
    const bool gapless =
        (in_rows && (a.stride[2] == 1 || depth == 1)) || (a.stride[1] == 1 && a.stride[2] == rows);
    if (!gapless || !is_run(matrices) || !is_run(x)) return 0;
    // Neighbouring threads have the first entries of neighbouring rows.
    constexpr index_t banks = 128 / sizeof(E);
    if (in_rows && std::gcd(depth, banks) >= index_t(sizeof(E))) return 0;
    return problems_of_run(rows + 1, depth * index_t(sizeof(E)));
}

/// A product of so many problems a block.
template <class Executor, class E>
void multiply_runs(Executor& executor, const VectorProduct<E>& product, int problems) {
    const auto rows = static_cast<int>(product.a.extent[1]);
    const auto depth = static_cast<int>(product.a.extent[2]);
    const bool in_rows = rows == 1 || product.a.stride[1] == depth;
    RunProductArguments<E> p{
        product, FastDivider(rows), depth, in_rows ? depth : 1, in_rows ? 1 : rows, problems, 0};
    // Threads that share a row of columns may load from one bank.
    const int busy = in_rows ? vector_threads : vector_threads / 2;
    while (problems * rows << p.lane_bits < busy && 2 << p.lane_bits <= depth) ++p.lane_bits;
    const auto entries = static_cast<std::size_t>(problems * (rows + 1) * depth);
    core::launch(executor, products_of_runs<E>,
                 core::LaunchConfig{dim3(core::blocks_for(product.a.extent[0], problems)),
                                    dim3(vector_threads), sizeof(E) * entries},
                 p);
}

/// y = alpha A x + beta y, or with conj(A).
template <class Executor, class E>
void multiply_vectors(Executor& executor, bool conjugate, E alpha, const KernelView<const E, 3>& a,
                      const KernelView<const E, 2>& x, E beta, const KernelView<E, 2>& y) {
    if (y.empty()) return;
    constexpr int chunk = chunk_entries<E>;
    const index_t problems = a.extent[0];
    const index_t rows = a.extent[1];
    const index_t depth = a.extent[2];
    const VectorProduct<E> product{a, x, y, alpha, beta, conjugate};
    VectorProductArguments<E> p{product, 0, 0, false, 0, 0, {}, 0, 0};
    const bool interleaved = problems > 1 && a.stride[0] == 1;
    const bool by_rows = !interleaved && rows > 1 && a.stride[1] == 1 && a.stride[2] != 1;
    const bool row_chunks = by_rows && is_in_chunks(a, 1);
    const bool depth_chunks = !interleaved && !by_rows && is_in_chunks(a, 2) && is_in_chunks(x, 1);
    const int of_run = problems_of_run(a, x);
    if (of_run > 0) return multiply_runs(executor, product, of_run);
    // Shorter rows fill no sectors, and fewer are faster one by one.
    if (depth_chunks && rows > 2 && depth > 2 * chunk) {
        return multiply_rows(executor, product);
    }
    p.units = static_cast<int>(row_chunks ? rows / chunk : rows);
    const index_t pieces = std::max<index_t>(depth_chunks ? depth / chunk : depth, 1);
    // Eight pieces fill lines or sectors. A warp has a long sum, and one of few, so that they are
    // on many multiprocessors.
    const index_t most = pieces < 128 && rows > 1 ? 8 : core::warp_size;
    if (by_rows) p.lane_shift = log2_below(std::min<index_t>(p.units, 8));
    if (!interleaved) {
        p.lane_bits =
            log2_below(std::min(pieces, by_rows ? core::warp_size >> p.lane_shift : most));
    }
    // Threads beyond a block's whole problems have nothing to do.
    const int units_at_once = vector_pieces_at_once * vector_threads >> p.lane_bits;
    p.by_problems = interleaved;
    p.units_per_block = std::min(p.units, interleaved ? core::warp_size : units_at_once);
    p.problems_per_block = units_at_once / p.units_per_block;
    if (interleaved) p.problems_per_block &= -core::warp_size;
    p.fastest = FastDivider(interleaved ? p.problems_per_block : p.units_per_block);
    p.row_blocks = static_cast<unsigned>(core::ceil_div(p.units, p.units_per_block));
    const index_t blocks = core::ceil_div(problems, index_t(p.problems_per_block)) * p.row_blocks;
    core::launch(executor,
                 row_chunks     ? products_with_vectors<E, chunk, 1>
                 : depth_chunks ? products_with_vectors<E, 1, chunk>
                                : products_with_vectors<E, 1, 1>,
                 core::LaunchConfig{dim3(core::blocks_for(blocks, 1)), dim3(vector_threads)}, p);
}

/// Whether vectors are divided into parts. Neighbouring threads have neighbouring problems where
/// these are interleaved.
template <class E>
bool is_long(const KernelView<const E, 2>& a) {
    return a.extent[1] > long_vector_part && (a.extent[0] == 1 || a.stride[0] != 1);
}

/// Whether all blocks have parts of one vector after the other; otherwise a block walks the parts
/// of a vector.
template <class E>
bool by_grid(const KernelView<const E, 2>& a) {
    const Mapping mapping = ForcedMapping::current();
    if (mapping == Mapping::walk || mapping == Mapping::grid) return mapping == Mapping::grid;
    return core::ceil_div(a.extent[1], index_t(long_vector_part)) > a.extent[0];
}
/// Entries of scratch memory for that.
template <class E>
index_t entries_of_parts(const KernelView<const E, 2>& a) {
    return by_grid(a) ? a.extent[0] * core::ceil_div(a.extent[1], index_t(long_vector_part)) : 0;
}

/// result = a^H c of long vectors. `scratch` holds entries_of_parts.
template <class Executor, class E>
void multiply_long_vectors(Executor& executor, const KernelView<const E, 2>& a,
                           const KernelView<const E, 2>& c, const KernelView<E, 1>& result,
                           E* scratch) {
    const index_t problems = a.extent[0];
    const index_t parts = core::ceil_div(a.extent[1], index_t(long_vector_part));
    LongDotArguments<E> p{a, c, result, {}};
    if (by_grid(a)) p.parts = KernelView<E, 2>(scratch, {problems, parts});
    core::launch(executor,
                 is_in_chunks(a, 1) && is_in_chunks(c, 1) ? dots_by_parts<E, chunk_entries<E>>
                                                          : dots_by_parts<E, 1>,
                 core::LaunchConfig{dim3(core::blocks_for(p.parts.empty() ? problems : parts, 1)),
                                    dim3(long_vector_threads),
                                    sizeof(E) * long_vector_threads / core::warp_size},
                 p);
    if (p.parts.empty()) return;
    core::launch(executor, add_parts<E>,
                 core::LaunchConfig{dim3(core::blocks_for(problems, 1)), dim3(core::warp_size)}, p);
}

}  // namespace aperture::dense::detail
