// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/cpu/multiply_add.hpp"
#include "libdense/cpu/lane_batch.hpp"

/// Products of real matrices of order 4 whose rows are neighbours: whole rows in a pack. Sums have
/// the order, so the bits, of products of problems in lanes.
namespace aperture::dense::lanes {

inline constexpr int order_four = 4;

/// Rows in a pack.
template <class R>
inline constexpr int rows_in_pack = core::lanes<R> / order_four;

/// Whether there are kernels for matrices of such numbers.
template <Scalar T>
inline constexpr bool has_order_four = !is_complex<T> && width<T> >= order_four;

/// Whether all entries of a matrix of order 4 are neighbours, by rows.
template <class T>
bool is_four_by_four(const MatrixBatch<T, core::Host>& a) {
    return a.extent[1] == order_four && a.extent[2] == order_four && a.stride[2] == 1 &&
           a.stride[1] == order_four;
}

/// Whether the vectors have four entries and no gaps.
template <class T>
bool are_dense_fours(const VectorBatch<T, core::Host>& a) {
    return a.extent[1] == order_four && a.stride[1] == 1 && a.stride[0] == order_four;
}

namespace detail {

/// Lane (row, column) of the result is lane first + by_row row + by_column column of x.
template <int first, int by_row, int by_column, class R, int... lane>
[[gnu::always_inline]] inline core::Pack<R> picked(core::Pack<R> x,
                                                   std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(
        x, x, (first + by_row * (lane / order_four) + by_column * (lane % order_four))...);
}
template <int first, int by_row, int by_column, class R>
[[gnu::always_inline]] inline core::Pack<R> picked(core::Pack<R> x) {
    return picked<first, by_row, by_column, R>(x,
                                               std::make_integer_sequence<int, core::lanes<R>>{});
}

/// A matrix of order 4.
template <class R>
struct FourRows {
    static constexpr int packs = order_four / rows_in_pack<R>;

    core::Pack<R> pack[packs];

    [[gnu::always_inline]] explicit FourRows(const R* from) {
#pragma GCC unroll 4
        for (int p = 0; p < packs; ++p) pack[p] = core::load(from + p * core::lanes<R>);
    }
    /// Entry (row, k) in all lanes of the rows that pack r has.
    template <int r, int k>
    [[gnu::always_inline]] core::Pack<R> of_rows() const {
        return picked<k, order_four, 0, R>(pack[r]);
    }
    /// The same of the transposed matrix.
    template <int r, int k>
    [[gnu::always_inline]] core::Pack<R> of_columns() const {
        constexpr int first = order_four * k + r * rows_in_pack<R>;
        return picked<first % core::lanes<R>, 1, 0, R>(pack[first / core::lanes<R>]);
    }
    /// Row k in all rows.
    template <int k>
    [[gnu::always_inline]] core::Pack<R> row() const {
        constexpr int first = order_four * k;
        return picked<first % core::lanes<R>, 0, 1, R>(pack[first / core::lanes<R>]);
    }
};

/// Pack r of A B.
template <bool a_by_columns, int r, class R, int... k>
[[gnu::always_inline]] inline core::Pack<R> product_of_fours(const FourRows<R>& a,
                                                             const FourRows<R>& b,
                                                             std::integer_sequence<int, k...>) {
    core::Pack<R> sum{};
    const auto add = [&]<int at>(std::integral_constant<int, at>) {
        if constexpr (a_by_columns) {
            sum = core::multiply_add<R>(a.template of_columns<r, at>(), b.template row<at>(), sum);
        } else {
            sum = core::multiply_add<R>(a.template of_rows<r, at>(), b.template row<at>(), sum);
        }
    };
    (add(std::integral_constant<int, k>{}), ...);
    return sum;
}

/// Sums of the four entries of the rows in four packs: entries 0 and 2, and 1 and 3, are added,
/// then the two sums.
template <class R, int... lane>
[[gnu::always_inline]] inline core::Pack<R> sums_of_fours(const core::Pack<R>* products,
                                                          std::integer_sequence<int, lane...>) {
    constexpr int lanes = core::lanes<R>;
    constexpr int rows = rows_in_pack<R>;
    // Lane (row, column) of a result: columns 0 and 1 of one pack, then of the other.
    const auto halves = [](core::Pack<R> a, core::Pack<R> b) {
        return __builtin_shufflevector(a, b, (lane % 4 < 2 ? lane : lane - 2 + lanes)...) +
               __builtin_shufflevector(a, b, (lane % 4 < 2 ? lane + 2 : lane + lanes)...);
    };
    const core::Pack<R> first = halves(products[0], products[1]);
    const core::Pack<R> second = halves(products[2], products[3]);
    // Lane (row, q): the sum of pack q's row.
    const core::Pack<R> sums =
        __builtin_shufflevector(first, second,
                                (lane % 4 < 2 ? lane + lane % 4 : lane + lane % 4 - 4 + lanes)...) +
        __builtin_shufflevector(
            first, second, (lane % 4 < 2 ? lane + lane % 4 + 1 : lane + lane % 4 - 3 + lanes)...);
    return __builtin_shufflevector(sums, sums, (lane % rows * order_four + lane / rows)...);
}

}  // namespace detail

/// C = alpha op(A) B + beta C, of matrices that are `is_four_by_four`. `a_by_columns`: op
/// transposes A.
template <bool a_by_columns, Scalar T>
void multiply_four_by_four(core::Cpu& cpu, T alpha, const MatrixBatch<const T, core::Host>& a,
                           const MatrixBatch<const T, core::Host>& b, T beta,
                           const MatrixBatch<T, core::Host>& c) {
    constexpr std::make_integer_sequence<int, order_four> all{};
    for_each_pack<T, 1>(cpu, c.extent[0], 0, [&](core::index_t p, int, const auto&) {
        const detail::FourRows<T> left(a.data + p * a.stride[0]);
        const detail::FourRows<T> right(b.data + p * b.stride[0]);
        T* const to = c.data + p * c.stride[0];
        const auto store = [&]<int r>(std::integral_constant<int, r>) {
            T* const at = to + r * core::lanes<T>;
            const Element<T> sum{detail::product_of_fours<a_by_columns, r>(left, right, all)};
            core::store(
                at, combined<T>(alpha, sum, beta, [&] { return Element<T>{core::load(at)}; }).re);
        };
        [&]<int... r>(std::integer_sequence<int, r...>) {
            (store(std::integral_constant<int, r>{}), ...);
        }
        (std::make_integer_sequence<int, detail::FourRows<T>::packs>{});
    });
}

/// Calls finish(first row, rows, sums in lanes) for `rows` rows of four entries. product(row,
/// reals) are products of the entries of the rows in a pack, from `row` on, of which so many exist.
template <Scalar T, class Product, class Finish>
void for_each_sum_of_fours(core::Cpu& cpu, core::index_t rows, const Product& product,
                           const Finish& finish) {
    using core::index_t;
    for_each_pack<T>(cpu, rows, 0, [&](index_t first, int count, const auto&) {
        core::Pack<T> products[order_four] = {};
#pragma GCC unroll 4
        for (int q = 0; q < order_four; ++q) {
            const int done = q * rows_in_pack<T>;
            if (done >= count) continue;
            const int reals = std::min((count - done) * order_four, core::lanes<T>);
            products[q] = product(first + done, reals);
        }
        finish(first, count,
               Element<T>{detail::sums_of_fours<T>(
                   products, std::make_integer_sequence<int, core::lanes<T>>{})});
    });
}

/// The same of the products A x of matrices that are `is_four_by_four`; entries of x are
/// neighbours.
template <Scalar T, class Finish>
void for_each_product_of_fours(core::Cpu& cpu, const MatrixBatch<const T, core::Host>& a,
                               const VectorBatch<const T, core::Host>& x, const Finish& finish) {
    for_each_sum_of_fours<T>(
        cpu, a.extent[0] * order_four,
        [&](core::index_t row, int) {
            const core::index_t p = row / order_four;
            const T* const rows = a.data + p * a.stride[0] + row % order_four * order_four;
            const core::Pack<T> vector = load_some(x.data + p * x.stride[0], order_four);
            return core::multiply_add<T>(core::load(rows), detail::picked<0, 0, 1, T>(vector),
                                         core::Pack<T>{});
        },
        finish);
}

/// The same of the dot products of vectors of four entries without gaps.
template <Scalar T, class Finish>
void for_each_dot_of_fours(core::Cpu& cpu, const VectorBatch<const T, core::Host>& a,
                           const VectorBatch<const T, core::Host>& c, const Finish& finish) {
    for_each_sum_of_fours<T>(
        cpu, a.extent[0],
        [&](core::index_t row, int reals) {
            return core::multiply_add<T>(load_some(a.data + row * order_four, reals),
                                         load_some(c.data + row * order_four, reals),
                                         core::Pack<T>{});
        },
        finish);
}

}  // namespace aperture::dense::lanes
