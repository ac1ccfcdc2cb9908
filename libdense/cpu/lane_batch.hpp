// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "aperture/core/executor.hpp"
#include "libcore/cpu/simd.hpp"
#include "libcore/rounding.hpp"
#include "libdense/cpu/lane_kernels.hpp"
#include "libdense/cpu/lane_runs.hpp"

/// Conversion between batches in memory and problems in lanes. A complex row is a run of reals re,
/// im, re, im, ...; transposing a square of `lanes` runs yields lane elements in their layout.
namespace aperture::dense::lanes {

/// Converts re, im, re, im, ... in two packs to all re, all im, and back.
template <class R, int... lane>
[[gnu::always_inline]] inline void split_parts(core::Pack<R>& a, core::Pack<R>& b,
                                               std::integer_sequence<int, lane...>) {
    const core::Pack<R> re = __builtin_shufflevector(a, b, (2 * lane)...);
    b = __builtin_shufflevector(a, b, (2 * lane + 1)...);
    a = re;
}
template <class R, int... lane>
[[gnu::always_inline]] inline void join_parts(core::Pack<R>& a, core::Pack<R>& b,
                                              std::integer_sequence<int, lane...>) {
    constexpr int count = core::lanes<R>;
    const core::Pack<R> first =
        __builtin_shufflevector(a, b, (lane / 2 + (lane % 2 == 0 ? 0 : count))...);
    b = __builtin_shufflevector(a, b, (count / 2 + lane / 2 + (lane % 2 == 0 ? 0 : count))...);
    a = first;
}

/// Loads one element of `problems` neighbours in an interleaved batch; spare lanes repeat the last.
template <Scalar T>
inline Element<T> gather_element(const T* from, int problems) {
    constexpr int count = width<T>;
    alignas(core::simd_bytes) T tail[count];
    if (problems < count) {
        for (int l = 0; l < count; ++l) tail[l] = from[std::min(l, problems - 1)];
        from = tail;
    }
    const auto* reals = reinterpret_cast<const Real<T>*>(from);
    if constexpr (is_complex<T>) {
        Element<T> value{core::load(reals), core::load(reals + count)};
        split_parts<Real<T>>(value.re, value.im, std::make_integer_sequence<int, count>{});
        return value;
    } else {
        return {core::load(reals)};
    }
}

template <Scalar T>
inline void scatter_element(Element<T> value, int problems, T* to) {
    constexpr int count = width<T>;
    alignas(core::simd_bytes) T tail[count];
    auto* reals = reinterpret_cast<Real<T>*>(problems < count ? tail : to);
    if constexpr (is_complex<T>) {
        join_parts<Real<T>>(value.re, value.im, std::make_integer_sequence<int, count>{});
        core::store(reals + count, value.im);
    }
    core::store(reals, value.re);
    if (problems < count) std::copy_n(tail, problems, to);
}

/// The part of each row to copy: all of it, or up to and including the diagonal (possibly more).
enum class Part { all, lower };

/// Columns of `row` in the part; at least a whole square if the row is that long.
template <Scalar T>
inline core::index_t columns_of(Part part, core::index_t row, core::index_t columns) {
    constexpr core::index_t square = std::max(1, width<T> / (is_complex<T> ? 2 : 1));
    return part == Part::all ? columns : std::min(columns, (row / square + 1) * square);
}

/// Loads problems [first, first + problems), at most `width`, into lanes; spare lanes repeat the
/// last problem. `to` has the shape of one matrix of `batch` and unit column stride.
template <Scalar T, class Layout>
void load_lanes(MatrixBatch<const T, core::Host, Layout> batch, core::index_t first, int problems,
                Part part, const Matrix<T>& to) {
    const auto [all, rows, columns] = batch.extent;
    const auto [problem_stride, row_stride, column_stride] = batch.stride;
    const T* data = batch.data + first * problem_stride;
    if constexpr (std::same_as<Layout, core::Interleaved>) {
        for (core::index_t i = 0; i < rows; ++i) {
            const core::index_t wanted = part == Part::all ? columns : i + 1;
            for (core::index_t j = 0; j < wanted; ++j) {
                to.store(i, j, gather_element(data + i * row_stride + j * column_stride, problems));
            }
        }
    } else {
        using R = Real<T>;
        constexpr int reals = is_complex<T> ? 2 : 1;
        // Gapless rows are joined to one run.
        const bool joined = row_stride == columns && to.row_stride == columns &&
                            (part == Part::all || columns * reals <= width<T>);
        std::array<const R*, width<T>> runs;
        for (core::index_t i = 0; i < (joined ? std::min(rows, core::index_t{1}) : rows); ++i) {
            for (int l = 0; l < width<T>; ++l) {
                runs[l] = reinterpret_cast<const R*>(
                    data + std::min(l, problems - 1) * problem_stride + i * row_stride);
            }
            const core::index_t length = joined ? rows * columns : columns_of<T>(part, i, columns);
            gather_runs<R>(runs, length * reals, to.at(i, 0));
        }
    }
}

/// Stores lanes [0, problems) to problems [first, first + problems), all of every matrix.
template <Scalar T, class Layout>
void store_lanes(const Matrix<T>& from, MatrixBatch<T, core::Host, Layout> batch,
                 core::index_t first, int problems) {
    const auto [all, rows, columns] = batch.extent;
    const auto [problem_stride, row_stride, column_stride] = batch.stride;
    T* data = batch.data + first * problem_stride;
    if constexpr (std::same_as<Layout, core::Interleaved>) {
        for (core::index_t i = 0; i < rows; ++i) {
            for (core::index_t j = 0; j < columns; ++j) {
                scatter_element(from.load(i, j), problems,
                                data + i * row_stride + j * column_stride);
            }
        }
    } else {
        using R = Real<T>;
        constexpr int reals = is_complex<T> ? 2 : 1;
        const bool joined = row_stride == columns && from.row_stride == columns;
        std::array<R*, width<T>> runs;
        for (core::index_t i = 0; i < (joined ? std::min(rows, core::index_t{1}) : rows); ++i) {
            for (int l = 0; l < width<T>; ++l) {
                runs[l] = reinterpret_cast<R*>(data + std::min(l, problems - 1) * problem_stride +
                                               i * row_stride);
            }
            const core::index_t length = joined ? rows * columns : columns;
            scatter_runs<R>(from.at(i, 0), length * reals, problems, runs);
        }
    }
}

/// Calls body(first problem, number of problems <= width, scratch) for every pack of a batch, on
/// the executor's threads. Scratch is allocated beforehand, so that nothing can throw inside.
template <Scalar T, class Body>
void for_each_pack(core::Cpu& cpu, core::index_t problems, std::ptrdiff_t scratch_elements,
                   const Body& body) {
    constexpr core::index_t count = width<T>;
    const core::index_t packs = core::ceil_div(problems, count);
    const int threads =
        static_cast<int>(std::min<core::index_t>(cpu.threads(), std::max<core::index_t>(packs, 1)));
    const std::size_t bytes = std::max<std::size_t>(
        static_cast<std::size_t>(scratch_elements * element_reals<T>) * sizeof(Real<T>), 1);
    for (int t = 0; t < threads; ++t) cpu.scratch(t, bytes);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (core::index_t pack = 0; pack < packs; ++pack) {
        auto* scratch = reinterpret_cast<Real<T>*>(cpu.scratch(omp_get_thread_num(), bytes));
        body(pack * count, static_cast<int>(std::min(count, problems - pack * count)), scratch);
    }
}

}  // namespace aperture::dense::lanes
