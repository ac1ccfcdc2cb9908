// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/cpu/multiply_add.hpp"
#include "libdense/cpu/lane_batch.hpp"
#include "libdense/cpu/lane_qr.hpp"
#include "libdense/cpu/layout_runs.hpp"

/// Products of the matrices of one problem, by rows of the result. Sums have the order, so the
/// bits, of products of problems in lanes, and operands a tenth of the memory.
namespace aperture::dense::lanes {

/// Sums in registers: so many rows of so many packs.
inline constexpr int product_rows = core::simd_bytes == 64 ? 8 : 4;
inline constexpr int product_packs = core::simd_bytes == 64 ? 3 : 2;

/// Real numbers in a T.
template <Scalar T>
inline constexpr std::ptrdiff_t reals_of = is_complex<T> ? 2 : 1;

/// Rows whose entries are contiguous, as reals: re, im, re, im, ... of complex ones.
template <class R>
struct RealRows {
    R* data = nullptr;
    std::ptrdiff_t stride = 0;

    R* row(std::ptrdiff_t i) const { return data + i * stride; }
    RealRows from(std::ptrdiff_t real) const { return {data + real, stride}; }
};

/// i b of the complex numbers re, im, re, im, ... in a pack.
template <class R, int... lane>
[[gnu::always_inline]] inline core::Pack<R> turned(core::Pack<R> b,
                                                   std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(b, b, (lane ^ 1)...) *
           core::Pack<R>{R(lane % 2 == 0 ? -1 : 1)...};
}

/// c(row, column) = sum over k < depth of a(row, k) b(k, column), of packs the last of which has
/// `last` reals.
template <int rows, int packs, Scalar T>
[[gnu::noinline]] void row_product_tile(std::ptrdiff_t depth, const SharedMatrix<T>& a,
                                        const RealRows<const Real<T>>& b, std::ptrdiff_t last,
                                        const RealRows<Real<T>>& c, Ahead& ahead) {
    using R = Real<T>;
    constexpr int lanes = core::lanes<R>;
    core::Pack<R> sum[rows][packs] = {};
    Ahead next = ahead;  // in registers
    for (std::ptrdiff_t k = 0; k < depth; ++k) {
        next.fetch();
        const R* const factors = reinterpret_cast<const R*>(a.data + k * a.column_stride);
        core::Pack<R> of_b[packs];
#pragma GCC unroll 4
        for (int p = 0; p + 1 < packs; ++p) of_b[p] = core::load(b.row(k) + p * lanes);
        of_b[packs - 1] = load_some(b.row(k) + (packs - 1) * lanes, last);
#pragma GCC unroll 2
        for (int part = 0; part < reals_of<T>; ++part) {
#pragma GCC unroll 8
            for (int r = 0; r < rows; ++r) {
                core::Pack<R> of_a =
                    core::broadcast(factors[r * a.row_stride * reals_of<T> + part]);
                core::hold(of_a);
#pragma GCC unroll 4
                for (int p = 0; p < packs; ++p) {
                    sum[r][p] = core::multiply_add<R>(of_a, of_b[p], sum[r][p]);
                }
            }
            if (part + 1 == reals_of<T>) break;
#pragma GCC unroll 4
            for (int p = 0; p < packs; ++p) {
                of_b[p] = turned<R>(of_b[p], std::make_integer_sequence<int, lanes>{});
            }
        }
    }
    ahead = next;
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
        for (int p = 0; p + 1 < packs; ++p) core::store(c.row(r) + p * lanes, sum[r][p]);
        store_some(c.row(r) + (packs - 1) * lanes, sum[r][packs - 1], last);
    }
}

/// The same of all rows, in tiles of 8, 4, 2 and 1 of them.
template <int packs, Scalar T, int most = product_rows>
void multiply_rows(int rows, std::ptrdiff_t depth, const SharedMatrix<T>& a,
                   const RealRows<const Real<T>>& b, std::ptrdiff_t last,
                   const RealRows<Real<T>>& c, Ahead& ahead) {
    int i = 0;
    for (; i + most <= rows; i += most) {
        row_product_tile<most, packs>(depth, a.from(i, 0), b, last,
                                      RealRows<Real<T>>{c.row(i), c.stride}, ahead);
    }
    if constexpr (most > 1) {
        if (i == rows) return;
        multiply_rows<packs, T, most / 2>(rows - i, depth, a.from(i, 0), b, last,
                                          {c.row(i), c.stride}, ahead);
    }
}

/// Calls body(alpha, beta), of real type where both are real.
template <Scalar T, class Body>
void with_factors(T alpha, T beta, const Body& body) {
    if constexpr (is_complex<T>) {
        if (alpha.imag() != 0 || beta.imag() != 0) return body(alpha, beta);
    }
    body(std::real(alpha), std::real(beta));
}

template <Scalar T>
void conjugate_all(core::index_t rows, core::index_t columns, const Matrix<T>& a) {
    for (core::index_t i = 0; i < rows; ++i) {
        for (core::index_t j = 0; j < columns; ++j) a.store(i, j, conjugate(a.load(i, j)));
    }
}

/// Matrices, conjugated or as they are.
template <Scalar T>
struct Operand {
    MatrixBatch<const T, core::Host> batch;
    bool conjugated;

    Operand turned() const { return {transposed(batch), conjugated}; }
    const T* first(core::index_t p) const { return batch.data + p * batch.stride[0]; }
    core::index_t entries() const { return batch.extent[1] * batch.extent[2]; }
    /// Copies a matrix to rows without gaps.
    void copy_rows(core::index_t p, T* to) const {
        using core::index_t;
        const auto [problems, rows, columns] = batch.extent;
        if (order_of(batch) == Order::rows) {
            layout::load_runs(first(p), batch.stride[2], columns, rows, to, columns);
        } else {
            for (index_t i = 0; i < rows; ++i) {
                for (index_t j = 0; j < columns; ++j) to[i * columns + j] = batch(p, i, j);
            }
        }
        if constexpr (is_complex<T>) {
            for (index_t e = 0; conjugated && e < rows * columns; ++e) to[e] = std::conj(to[e]);
        }
    }
};

/// value := alpha value + beta old, of rows of so many entries.
template <Scalar T>
void combine_rows(core::index_t rows, core::index_t columns, T alpha, T* value, T beta,
                  const T* old, core::index_t old_stride) {
    with_factors(alpha, beta, [&](auto by, auto old_by) {
        for (core::index_t i = 0; i < rows; ++i) {
            for (core::index_t j = 0; j < columns; j += width<T>) {
                const auto count = std::min<core::index_t>(columns - j, width<T>);
                T* const entries = value + i * columns + j;
                const Element<T> result =
                    combined(by, gather_element<T>(entries, count), old_by,
                             [&] { return gather_element<T>(old + i * old_stride + j, count); });
                scatter_element(result, count, entries);
            }
        }
    });
}

/// C = alpha A B + beta C of concatenated batches.
template <Scalar T>
void multiply_by_rows(core::Cpu& cpu, const Operand<T>& a, const Operand<T>& b, T alpha, T beta,
                      const MatrixBatch<T, core::Host>& c) {
    using core::index_t;
    using R = Real<T>;
    constexpr index_t reals = reals_of<T>;
    constexpr index_t lanes = core::lanes<R>;
    const bool by_rows = order_of(c) == Order::columns;
    if constexpr (!is_complex<T>) {
        if (!by_rows) {
            return multiply_by_rows<T>(cpu, b.turned(), a.turned(), alpha, beta, transposed(c));
        }
    }
    const auto rows = static_cast<int>(c.extent[1]);
    const index_t columns = c.extent[2];
    const index_t depth = a.batch.extent[2];
    const index_t entries = rows * columns;
    const bool copies_b = b.conjugated || order_of(b.batch) != Order::columns;
    const bool combines = alpha != T{1} || beta != T{0};
    const bool is_direct = by_rows && !combines;
    const bool copies_old = beta != T{0} && !by_rows;

    const index_t packs = core::ceil_div(columns * reals, lanes);
    const auto parts = core::ceil_div<index_t>(packs, product_packs);
    const index_t bytes = std::max({a.entries(), b.entries(), entries}) * index_t{sizeof(T)};
    const index_t steps = parts * core::ceil_div(rows, product_rows) * depth;
    const index_t step = core::ceil_div(bytes, std::max<index_t>(steps, 1));
    // Of small problems several are on their way.
    const auto problems_ahead = core::ceil_div<index_t>(2048, std::max<index_t>(bytes, 1));

    const auto multiply = [&](const SharedMatrix<T>& left, const T* right, index_t right_stride,
                              T* result, index_t result_stride, Ahead ahead) {
        const RealRows<const R> of_b{reinterpret_cast<const R*>(right), right_stride * reals};
        const RealRows<R> of_c{reinterpret_cast<R*>(result), result_stride * reals};
        index_t begin = 0;
        for (index_t part = 0; part < parts; ++part) {
            // Parts are of nearly equal width.
            const index_t end = part + 1 == parts ? packs : packs * (part + 1) / parts;
            const index_t wanted = std::min(end * lanes, columns * reals) - begin * lanes;
            with_constant<product_packs>(static_cast<int>(end - begin), [&](auto some) {
                multiply_rows<some>(rows, depth, left, of_b.from(begin * lanes),
                                    wanted - (some - 1) * lanes, of_c.from(begin * lanes), ahead);
            });
            begin = end;
        }
    };
    const auto room = [](bool needed, index_t numbers) { return needed ? numbers : 0; };
    const index_t of_a = room(a.conjugated, a.entries());
    const index_t of_b = room(copies_b, b.entries());
    const index_t of_c = room(!is_direct, entries);
    const index_t of_old = room(copies_old, entries);
    using Room = Scratch<T>;
    const index_t elements =
        Room::elements(of_a) + Room::elements(of_b) + Room::elements(of_c) + Room::elements(of_old);
    for_each_pack<T, 1>(cpu, c.extent[0], elements, [&](index_t p, int, Scratch<T> scratch) {
        SharedMatrix<T> left{a.first(p), a.batch.stride[1], a.batch.stride[2]};
        if (a.conjugated) {
            T* const copy = scratch.entries(of_a);
            a.copy_rows(p, copy);
            left = {copy, depth, 1};
        }
        const T* right = b.first(p);
        if (copies_b) {
            T* const copy = scratch.entries(of_b);
            b.copy_rows(p, copy);
            right = copy;
        }
        T* const to = c.data + p * c.stride[0];
        const Ahead ahead{a.first(p + problems_ahead), b.first(p + problems_ahead),
                          to + problems_ahead * c.stride[0], step};
        const index_t right_stride = copies_b ? columns : b.batch.stride[1];
        if (is_direct) return multiply(left, right, right_stride, to, c.stride[1], ahead);
        T* const result = scratch.entries(of_c);
        multiply(left, right, right_stride, result, columns, ahead);
        const T* old = to;
        if (copies_old) {
            T* const copy = scratch.entries(of_old);
            Operand<T>{c, false}.copy_rows(p, copy);
            old = copy;
        }
        if (combines) {
            combine_rows(rows, columns, alpha, result, beta, old,
                         copies_old ? columns : c.stride[1]);
        }
        if (by_rows) {
            for (int i = 0; i < rows; ++i) {
                std::copy_n(result + i * columns, columns, to + i * c.stride[1]);
            }
        } else {
            layout::load_runs(result, columns, rows, columns, to, c.stride[2]);
        }
    });
}

}  // namespace aperture::dense::lanes
