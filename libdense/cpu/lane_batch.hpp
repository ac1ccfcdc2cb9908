// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "aperture/core/executor.hpp"
#include "libcore/cpu/past_caches.hpp"
#include "libcore/cpu/simd.hpp"
#include "libcore/rounding.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/cpu/lane_kernels.hpp"
#include "libdense/cpu/lane_runs.hpp"

/// Conversion between batches in memory and problems in lanes. A complex row is a run of reals re,
/// im, re, im, ...; transposing a square of `lanes` runs yields lane elements in their layout.
namespace aperture::dense::lanes {

/// Loads one element of `problems` neighbours in an interleaved batch; zeros in spare lanes.
template <Scalar T>
[[gnu::always_inline]] inline Element<T> gather_element(const T* from, std::ptrdiff_t problems) {
    constexpr std::ptrdiff_t count = width<T>;
    const auto* reals = reinterpret_cast<const Real<T>*>(from);
    if constexpr (is_complex<T>) {
        const std::ptrdiff_t first = std::min(2 * problems, count);
        Element<T> value{load_some(reals, first), load_some(reals + first, 2 * problems - first)};
        split_parts<Real<T>>(value.re, value.im, std::make_integer_sequence<int, width<T>>{});
        return value;
    } else {
        return {load_some(reals, problems)};
    }
}

template <Scalar T>
[[gnu::always_inline]] inline void scatter_element(Element<T> value, std::ptrdiff_t problems,
                                                   T* to) {
    constexpr std::ptrdiff_t count = width<T>;
    auto* reals = reinterpret_cast<Real<T>*>(to);
    if constexpr (is_complex<T>) {
        const std::ptrdiff_t first = std::min(2 * problems, count);
        join_parts<Real<T>>(value.re, value.im, std::make_integer_sequence<int, width<T>>{});
        store_some(reals, value.re, first);
        store_some(reals + first, value.im, 2 * problems - first);
    } else {
        store_some(reals, value.re, problems);
    }
}

/// The part of each row to copy: all of it, or up to and including the diagonal (possibly more).
enum class Part { all, lower };

/// Elements of the memory of a matrix in lanes, by rows or by columns.
constexpr std::ptrdiff_t matrix_elements(core::index_t rows, core::index_t columns) {
    return std::max(rows * padded(columns), columns * padded(rows));
}

/// Hands out parts of a thread's scratch memory.
template <Scalar T>
class Scratch {
  public:
    explicit Scratch(Real<T>* memory) : next_(memory) {}

    Matrix<T> matrix(core::index_t rows, core::index_t columns, Order order = Order::columns) {
        const Matrix<T> result = order == Order::rows ? Matrix<T>{next_, 1, padded(rows)}
                                                      : Matrix<T>{next_, padded(columns), 1};
        next_ += matrix_elements(rows, columns) * element_reals<T>;
        return result;
    }
    /// A matrix that `load_lanes` and `store_lanes` copy in the order of the batch.
    template <class U>
    Matrix<T> like(const MatrixBatch<U, core::Host>& batch) {
        return matrix(batch.extent[1], batch.extent[2], order_of(batch));
    }

    /// Room for so many numbers in the order of memory, which takes elements(count) elements.
    T* entries(core::index_t count) {
        auto* const result = reinterpret_cast<T*>(next_);
        next_ += elements(count) * element_reals<T>;
        return result;
    }
    static constexpr std::ptrdiff_t elements(core::index_t count) {
        return core::ceil_div<core::index_t>(count, width<T>);
    }

  private:
    Real<T>* next_;
};

namespace detail {

/// Columns of `row` in the part; at least a whole square if the row is that long.
template <Scalar T>
core::index_t columns_of(Part part, core::index_t row, core::index_t columns) {
    constexpr core::index_t square = std::max(1, width<T> / (is_complex<T> ? 2 : 1));
    return part == Part::all ? columns : std::min(columns, (row / square + 1) * square);
}

/// Whether rows without gaps are one run of a batch and of Scratch::like it.
template <Scalar T, class Batch>
bool are_joined(const Batch& batch, Part part) {
    const core::index_t columns = batch.extent[2];
    return batch.stride[1] == columns && padded(columns) == columns &&
           (part == Part::all || columns * (is_complex<T> ? 2 : 1) <= width<T>);
}

/// Calls copy(runs, reals, lanes) for the rows of matrices that are contiguous in the batch and in
/// lanes; gapless rows are joined to one run.
template <Scalar T, class U, class Copy>
void for_each_run(const MatrixBatch<U, core::Host>& batch, core::index_t first, int problems,
                  Part part, const Matrix<T>& in_lanes, const Copy& copy) {
    using R = std::conditional_t<std::is_const_v<U>, const Real<T>, Real<T>>;
    constexpr int reals = is_complex<T> ? 2 : 1;
    const core::index_t rows = batch.extent[1];
    const core::index_t columns = batch.extent[2];
    const bool joined = are_joined<T>(batch, part) && in_lanes.row_stride == columns;
    std::array<R*, width<T>> runs;
    auto* run = reinterpret_cast<R*>(batch.data + first * batch.stride[0]);
    for (int l = 0; l < width<T>; ++l) {
        runs[l] = run;
        if (l + 1 < problems) run += batch.stride[0] * reals;
    }
    for (core::index_t i = 0; i < (joined ? std::min(rows, core::index_t{1}) : rows); ++i) {
        const core::index_t length = joined ? rows * columns : columns_of<T>(part, i, columns);
        copy(runs, length * reals, in_lanes.at(i, 0));
        if (i + 1 == rows) break;
        for (R*& of_lane : runs) of_lane += batch.stride[1] * reals;
    }
}

/// Of the buffer through which rows go past the caches.
inline constexpr core::index_t row_buffer_bytes = 32 * 1024;

/// Whether rows of matrices go past the caches: a cache line that is stored through them is read
/// before. Smaller packs gain nothing.
template <Scalar T>
bool is_past_caches(const MatrixBatch<T, core::Host>& batch) {
    constexpr core::index_t least_pack = 4 * 1024;
    const auto [problems, rows, columns] = batch.extent;
    const core::index_t bytes = rows * columns * core::index_t{sizeof(T)};
    const core::index_t of_row = columns * core::index_t{sizeof(T)};
    return problems * bytes > cached_bytes && width<T> * bytes >= least_pack &&
           batch.stride[1] == columns && width<T> * of_row <= row_buffer_bytes;
}

}  // namespace detail

/// Steps in which `load_lanes` and `store_lanes` fetch ahead, none of interleaved batches.
template <Scalar T, class U>
core::index_t transfer_steps(const MatrixBatch<U, core::Host>& batch, Part part = Part::all) {
    constexpr int reals = is_complex<T> ? 2 : 1;
    const Order order = order_of(batch);
    if (order == Order::problems) return 0;
    if (order == Order::rows) return transfer_steps<T>(transposed(batch));
    const auto [problems, rows, columns] = batch.extent;
    if (detail::are_joined<T>(batch, part)) return squares<Real<T>>(rows * columns * reals);
    core::index_t steps = 0;
    for (core::index_t i = 0; i < rows; ++i) {
        steps += squares<Real<T>>(detail::columns_of<T>(part, i, columns) * reals);
    }
    return steps;
}

namespace detail {

/// Steps to the pack after this one, of nothing yet; none if a pack is more than `most` bytes.
template <Scalar T, class U>
Ahead next_pack(const MatrixBatch<U, core::Host>& batch, core::index_t steps, std::ptrdiff_t most) {
    const std::ptrdiff_t bytes = width<T> * batch.stride[0] * core::index_t{sizeof(T)};
    if (steps == 0 || bytes > most) return {};
    return {nullptr, nullptr, nullptr, core::ceil_div(bytes, steps), bytes, bytes};
}

/// Largest packs that are fetched ahead: while one is loaded or stored, and if it is computed, too.
inline constexpr std::ptrdiff_t most_transferred = 24 * 1024;
inline constexpr std::ptrdiff_t most_computed = 40 * 1024;

}  // namespace detail

/// The next pack's matrices, to be fetched in so many steps while one is loaded and computed.
/// Nothing of interleaved batches and of matrices that the first cache levels do not keep until
/// then.
template <Scalar T>
Ahead next_matrices(const MatrixBatch<const T, core::Host>& from, core::index_t first,
                    core::index_t steps) {
    if (order_of(from) == Order::problems) return {};
    Ahead ahead = detail::next_pack<T>(from, steps, detail::most_computed);
    ahead.a = from.data + first * from.stride[0];
    return ahead;
}

/// The same of two batches while one is loaded, computed in so many steps, and stored; nothing of
/// batches of different strides.
template <Scalar T>
Ahead next_packs(const MatrixBatch<const T, core::Host>& from, const MatrixBatch<T, core::Host>& to,
                 core::index_t first, core::index_t steps) {
    const Order order = order_of(to);
    if (order == Order::problems || from.stride[0] != to.stride[0]) return {};
    const core::index_t transfers = transfer_steps<T>(from) + transfer_steps<T>(to);
    Ahead ahead = next_matrices<T>(from, first, transfers + steps);
    const bool past_caches = detail::is_past_caches(order == Order::rows ? transposed(to) : to);
    if (!past_caches) ahead.c = to.data + first * to.stride[0];
    return ahead;
}

/// Loads problems [first, first + problems), at most `width`, into lanes; spare lanes repeat the
/// last problem or are zero. `to` is Scratch::like of the batch, or of any strides for
/// Order::problems. Fetches `ahead`, if it is nothing the batch's next pack.
template <Scalar T>
void load_lanes(const MatrixBatch<const T, core::Host>& batch, core::index_t first, int problems,
                Part part, const Matrix<T>& to, Ahead* ahead = nullptr) {
    const Order order = order_of(batch);
    if (order == Order::rows) {
        load_lanes(transposed(batch), first, problems, Part::all, to.transposed(), ahead);
    } else if (order == Order::problems) {
        const auto [all, rows, columns] = batch.extent;
        const T* data = batch.data + first * batch.stride[0];
        for (core::index_t i = 0; i < rows; ++i) {
            const core::index_t wanted = part == Part::all ? columns : i + 1;
            for (core::index_t j = 0; j < wanted; ++j) {
                const T* const from = data + i * batch.stride[1] + j * batch.stride[2];
                prefetch<false>(from, width<T> * sizeof(T));
                to.store(i, j, gather_element(from, problems));
            }
        }
    } else {
        Ahead own;
        if (ahead == nullptr || ahead->step == 0) {
            own = detail::next_pack<T>(batch, transfer_steps<T>(batch, part),
                                       detail::most_transferred);
            own.a = batch.data + first * batch.stride[0];
            ahead = &own;
        }
        detail::for_each_run<T>(batch, first, problems, part, to,
                                [&](const auto& runs, core::index_t length, Real<T>* lanes) {
                                    gather_runs<Real<T>>(runs, length, lanes, width<T>, ahead);
                                });
    }
}

namespace detail {

/// Stores lanes [0, problems) to rows that are contiguous.
template <Scalar T>
void store_rows(const Matrix<T>& from, const MatrixBatch<T, core::Host>& batch, core::index_t first,
                int problems, Ahead* ahead) {
    for_each_run<T>(batch, first, problems, Part::all, from,
                    [&](const auto& runs, core::index_t length, const Real<T>* lanes) {
                        scatter_runs<Real<T>>(lanes, length, problems, runs, width<T>, ahead);
                    });
}

/// The same past the caches, of matrices whose rows follow one another without gaps: so many rows
/// of all lanes at a time.
template <Scalar T>
void store_rows_past_caches(const Matrix<T>& from, const MatrixBatch<T, core::Host>& batch,
                            core::index_t first, int problems, Ahead* ahead) {
    using core::index_t;
    alignas(64) std::array<Real<T>, row_buffer_bytes / sizeof(Real<T>)> reals;
    auto* const buffer = reinterpret_cast<T*>(reals.data());
    const auto [all, rows, columns] = batch.extent;
    const index_t at_once = row_buffer_bytes / (width<T> * columns * index_t{sizeof(T)});
    for (index_t i = 0; i < rows; i += at_once) {
        const index_t some = std::min(at_once, rows - i);
        const index_t entries = some * columns;
        store_rows<T>(from.from(i, 0), {buffer, {problems, some, columns}, {entries, columns, 1}},
                      0, problems, ahead);
        const bool joined = entries == batch.stride[0];
        const int runs = joined ? 1 : problems;
        const auto bytes =
            static_cast<std::size_t>(joined ? problems * entries : entries) * sizeof(T);
        for (int l = 0; l < runs; ++l) {
            core::copy_past_caches(buffer + l * entries, bytes, &batch(first + l, i, 0));
        }
    }
}

}  // namespace detail

/// Stores lanes [0, problems) to problems [first, first + problems), all of every matrix. `from` is
/// Scratch::like of the batch, or of any strides for Order::problems. Fetches `ahead`, if it is
/// nothing what the next pack will write.
template <Scalar T>
void store_lanes(const Matrix<T>& from, const MatrixBatch<T, core::Host>& batch,
                 core::index_t first, int problems, Ahead* ahead = nullptr) {
    const Order order = order_of(batch);
    if (order == Order::rows) {
        store_lanes(from.transposed(), transposed(batch), first, problems, ahead);
    } else if (order == Order::problems) {
        const auto [all, rows, columns] = batch.extent;
        T* data = batch.data + first * batch.stride[0];
        for (core::index_t i = 0; i < rows; ++i) {
            for (core::index_t j = 0; j < columns; ++j) {
                T* const to = data + i * batch.stride[1] + j * batch.stride[2];
                prefetch<true>(to, width<T> * sizeof(T));
                scatter_element(from.load(i, j), problems, to);
            }
        }
    } else if (detail::is_past_caches(batch)) {
        detail::store_rows_past_caches(from, batch, first, problems, ahead);
    } else {
        Ahead own;
        if (ahead == nullptr || ahead->step == 0) {
            own = detail::next_pack<T>(batch, transfer_steps<T>(batch), detail::most_transferred);
            own.c = batch.data + first * batch.stride[0];
            ahead = &own;
        }
        detail::store_rows(from, batch, first, problems, ahead);
    }
}

/// Calls body(first problem, number of problems <= at_once, Scratch) for every pack of a batch, on
/// the executor's threads. Scratch is allocated beforehand, so that nothing can throw inside.
template <Scalar T, int at_once = width<T>, class Body>
void for_each_pack(core::Cpu& cpu, core::index_t problems, std::ptrdiff_t scratch_elements,
                   const Body& body) {
    constexpr core::index_t count = at_once;
    const core::index_t packs = core::ceil_div(problems, count);
    const int threads =
        static_cast<int>(std::min<core::index_t>(cpu.threads(), std::max<core::index_t>(packs, 1)));
    const std::size_t bytes = std::max<std::size_t>(
        static_cast<std::size_t>(scratch_elements * element_reals<T>) * sizeof(Real<T>), 1);
    for (int t = 0; t < threads; ++t) cpu.scratch(t, bytes);
#pragma omp parallel num_threads(threads)
    {
        auto* const scratch = reinterpret_cast<Real<T>*>(cpu.scratch(omp_get_thread_num(), bytes));
#pragma omp for schedule(static)
        for (core::index_t pack = 0; pack < packs; ++pack) {
            body(pack * count, static_cast<int>(std::min(count, problems - pack * count)),
                 Scratch<T>(scratch));
        }
        core::complete_stores();
    }
}

}  // namespace aperture::dense::lanes
