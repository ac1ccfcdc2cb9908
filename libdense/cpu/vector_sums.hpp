// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <utility>

#include "libcore/cpu/lane_sums.hpp"
#include "libcore/cpu/multiply_add.hpp"
#include "libdense/cpu/lane_batch.hpp"

/// Sums of products of vectors, in two forms with the same bits: of vectors whose entries are
/// neighbours in memory, which are read where they are, and of vectors of which each lane has one.
///
/// Real number r of a part of a vector (re, im, re, im, ... of complex ones) belongs to partial sum
/// r mod n of the n lanes of a pack. Sums i and i + n/2 are added, then i and i + n/4, and so on.
/// Parts are added one after the other: sums of partial sums lose less to rounding than a long one.
namespace aperture::dense::lanes {

/// Entries of a part.
inline constexpr core::index_t part_entries = 256;

namespace detail {

/// What is that far behind a run is fetched while the run is read.
inline constexpr std::ptrdiff_t bytes_ahead = 2048;

template <class R, int... lane>
[[gnu::always_inline]] inline core::Pack<R> exchange_neighbours(
    core::Pack<R> x, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(x, x, (lane ^ 1)...);
}
template <class R, int... lane>
[[gnu::always_inline]] inline core::Pack<R> negate_odd(core::Pack<R> x,
                                                       std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(x, -x, (lane % 2 == 0 ? lane : lane + core::lanes<R>)...);
}
/// The first halves of a and b, and the second ones.
template <class R, int... lane>
[[gnu::always_inline]] inline Element<std::complex<R>> regroup_halves(
    core::Pack<R> a, core::Pack<R> b, std::integer_sequence<int, lane...>) {
    constexpr int half = core::lanes<R> / 2;
    return {__builtin_shufflevector(a, b, (lane < half ? lane : lane + half)...),
            __builtin_shufflevector(a, b, (lane < half ? lane + half : lane + 2 * half)...)};
}

template <class P, std::size_t count>
[[gnu::always_inline]] inline P sum_as_tree(std::array<P, count>& x) {
#pragma GCC unroll 8
    for (std::size_t half = count / 2; half > 0; half /= 2) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < half; ++i) x[i] += x[i + half];
    }
    return x[0];
}

/// Calls add(l, r, reals of the piece) for the packs from r on of runs l < count: of long runs in
/// the order of memory, which the processor fetches ahead.
template <class R, int count, class Add>
[[gnu::always_inline]] inline void for_each_piece(core::index_t first, core::index_t end,
                                                  const Add& add) {
    using core::index_t;
    constexpr index_t at_once = core::lanes<R>;
    constexpr index_t long_run = 96 / static_cast<index_t>(sizeof(R));
    if (end - first <= long_run) {
        for (index_t r = first; r < end; r += at_once) {
#pragma GCC unroll 16
            for (int l = 0; l < count; ++l) add(l, r, std::min(at_once, end - r));
        }
    } else {
#pragma GCC unroll 16
        for (int l = 0; l < count; ++l) {
            for (index_t r = first; r < end; r += at_once) add(l, r, std::min(at_once, end - r));
        }
    }
}

/// Lane l is the sum of products of reals r in [first, end) of two runs, which are at a(l, r) and
/// x(l, r).
template <Second second, Scalar T, class Left, class Right>
[[gnu::always_inline]] inline Element<T> sum_of_runs(const Left& a, const Right& x,
                                                     core::index_t first, core::index_t end) {
    using R = Real<T>;
    constexpr int count = width<T>;
    constexpr std::make_integer_sequence<int, count> all{};
    if constexpr (!is_complex<T>) {
        core::Pack<R> sum[count] = {};
        for_each_piece<R, count>(first, end, [&](int l, core::index_t r, core::index_t some) {
            sum[l] =
                core::multiply_add<R>(load_some(a(l, r), some), load_some(x(l, r), some), sum[l]);
        });
        return {core::sums_of_lanes<R, count>(sum)};
    } else {
        // Half of the runs at a time: products with x, then with x whose parts are exchanged.
        constexpr int half = count / 2;
        core::Pack<R> totals[2];
        for (int h = 0; h < 2; ++h) {
            core::Pack<R> sum[count] = {};
            for_each_piece<R, half>(first, end, [&](int l, core::index_t r, core::index_t some) {
                const core::Pack<R> left = load_some(a(h * half + l, r), some);
                const core::Pack<R> right = load_some(x(h * half + l, r), some);
                const core::Pack<R> exchanged = exchange_neighbours<R>(right, all);
                sum[l] = core::multiply_add<R>(left, right, sum[l]);
                sum[half + l] = core::multiply_add<R>(left, exchanged, sum[half + l]);
            });
#pragma GCC unroll 8
            for (int l = 0; l < half; ++l) {
                core::Pack<R>& negated = sum[second == Second::plain ? l : half + l];
                negated = negate_odd<R>(negated, all);
            }
            totals[h] = core::sums_of_lanes<R, count>(sum);
        }
        return regroup_halves<R>(totals[0], totals[1], all);
    }
}

/// The same of entries a(k) and x(k) in lanes, k < n. Of `count` partial sums those of index n and
/// more are zero.
template <Second second, int count, Scalar T, class Left, class Right>
[[gnu::always_inline]] inline Element<T> sum_in_lanes(core::index_t n, const Left& a,
                                                      const Right& x) {
    using R = Real<T>;
    using P = core::Pack<R>;
    std::array<P, count> re{}, re_of_im{}, im{}, im_of_im{};
    for (core::index_t k = 0; k < n; k += count) {
#pragma GCC unroll 16
        for (int j = 0; j < count; ++j) {
            if (k + j >= n) continue;
            const Element<T> left = a(k + j), right = x(k + j);
            re[j] = core::multiply_add<R>(left.re, right.re, re[j]);
            if constexpr (is_complex<T>) {
                re_of_im[j] = core::multiply_add<R>(left.im, right.im, re_of_im[j]);
                im[j] = core::multiply_add<R>(left.re, right.im, im[j]);
                im_of_im[j] = core::multiply_add<R>(left.im, right.re, im_of_im[j]);
            }
        }
    }
    Element<T> sum;
    sum.re = sum_as_tree(re);
    if constexpr (is_complex<T>) {
        const P other = sum_as_tree(re_of_im), other_im = sum_as_tree(im_of_im);
        sum.im = sum_as_tree(im);
        constexpr bool is_plain = second == Second::plain;
        sum.re = is_plain ? sum.re - other : sum.re + other;
        sum.im = is_plain ? sum.im + other_im : sum.im - other_im;
    }
    return sum;
}

}  // namespace detail

/// Calls finish(first row, rows, sums in lanes) for the rows of all matrices, which are counted
/// through: sums of a_k x_k, or conj(a_k) x_k. Rows and x have neighbouring entries.
template <Second second, Scalar T, class Finish>
void for_each_row_sum(core::Cpu& cpu, const MatrixBatch<const T, core::Host>& a,
                      const VectorBatch<const T, core::Host>& x, const Finish& finish) {
    using R = Real<T>;
    constexpr core::index_t reals = is_complex<T> ? 2 : 1;
    const core::index_t rows = a.extent[1];
    const core::index_t end = reals * a.extent[2];
    const auto sum = [&](const auto& left, const auto& right) {
        Element<T> all{};
        for (core::index_t r = 0; r < end; r += reals * part_entries) {
            all = sum_of(all, detail::sum_of_runs<second, T>(
                                  left, right, r, std::min(r + reals * part_entries, end)));
        }
        return all;
    };
    const auto fetched = [](const R* from) {
        prefetch<false>(from, detail::bytes_ahead);
        return from;
    };
    for_each_pack<T>(
        cpu, a.extent[0] * rows, 0, [&](core::index_t first, int count, const Scratch<T>&) {
            using core::index_t;
            index_t p = first / rows;
            index_t i = first % rows;
            const auto left_at = [&] {
                return reinterpret_cast<const R*>(a.data + p * a.stride[0] + i * a.stride[1]);
            };
            const auto right_at = [&] {
                return reinterpret_cast<const R*>(x.data + p * x.stride[0]);
            };
            const R* const left = left_at();
            const R* const right = right_at();
            if (i + width<T> <= rows) {  // all of one matrix
                const index_t step = reals * a.stride[1];
                const auto of_a = [&](int l, index_t r) { return fetched(left + l * step + r); };
                const auto of_x = [&](int, index_t r) { return right + r; };
                return finish(first, count, sum(of_a, of_x));
            }
            if (rows == 1 && count == width<T>) {
                const index_t step = reals * a.stride[0], x_step = reals * x.stride[0];
                const auto of_a = [&](int l, index_t r) { return fetched(left + l * step + r); };
                const auto of_x = [&](int l, index_t r) { return fetched(right + l * x_step + r); };
                return finish(first, count, sum(of_a, of_x));
            }
            std::array<const R*, width<T>> lefts, rights;
            for (int l = 0; l < width<T>; ++l) {
                lefts[l] = left_at();
                rights[l] = right_at();
                if (l + 1 >= count) continue;
                if (++i == rows) {
                    i = 0;
                    ++p;
                }
            }
            const auto of_a = [&](int l, index_t r) { return fetched(lefts[l] + r); };
            const auto of_x = [&](int l, index_t r) { return rights[l] + r; };
            finish(first, count, sum(of_a, of_x));
        });
}

/// The same sum of entries a(k) and x(k) in lanes, k < n <= part_entries, added to `all`.
template <Second second, Scalar T, class Left, class Right>
void add_lane_sum(core::index_t n, const Left& a, const Right& x, Element<T>& all) {
    constexpr int most = is_complex<T> ? width<T> / 2 : width<T>;
    constexpr int few = std::min(4, most);
    all = sum_of(all, n <= few ? detail::sum_in_lanes<second, few, T>(n, a, x)
                               : detail::sum_in_lanes<second, most, T>(n, a, x));
}

}  // namespace aperture::dense::lanes
