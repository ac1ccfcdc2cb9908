// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/cpu/lane_batch.hpp"
#include "libdense/cpu/lane_qr.hpp"

/// Products of the matrices of one problem, of whose result every lane has a column. Sums have the
/// order, so the bits, of products of problems in lanes, and operands a tenth of the memory.
namespace aperture::dense::lanes {

/// Sums in registers: so many rows of so many packs of columns.
template <Scalar T>
inline constexpr int product_rows = core::simd_bytes == 64 ? (is_complex<T> ? 4 : 8)
                                                           : (is_complex<T> ? 2 : 4);
inline constexpr int product_packs = core::simd_bytes == 64 ? 3 : 2;

/// c(pack, row) = sum over k < depth of a(row, k) b(pack, k)
template <int rows, int packs, Scalar T>
[[gnu::noinline]] void column_product_tile(std::ptrdiff_t depth, const SharedMatrix<T>& a,
                                           const Matrix<T>& b, const Matrix<T>& c, Ahead& ahead) {
    Element<T> sum[rows][packs] = {};
    Ahead next = ahead;  // in registers
    for (std::ptrdiff_t k = 0; k < depth; ++k) {
        next.fetch();
        Element<T> right[packs];
#pragma GCC unroll 4
        for (int p = 0; p < packs; ++p) right[p] = b.load(p, k);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            Element<T> left = a.load(r, k);
            core::hold(left.re);
            if constexpr (is_complex<T>) core::hold(left.im);
#pragma GCC unroll 4
            for (int p = 0; p < packs; ++p) {
                add_product<Second::plain>(sum[r][p], left, right[p]);
            }
        }
    }
    ahead = next;
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
        for (int p = 0; p < packs; ++p) c.store(p, r, sum[r][p]);
    }
}

/// The same of all rows; packs <= product_packs.
template <Scalar T>
void multiply_columns(int packs, int rows, std::ptrdiff_t depth, const SharedMatrix<T>& a,
                      const Matrix<T>& b, const Matrix<T>& c, Ahead& ahead) {
    with_constant<product_packs>(packs, [&](auto width) {
        for (int i = 0; i < rows; i += product_rows<T>) {
            with_constant<product_rows<T>>(rows - i, [&](auto some) {
                column_product_tile<some, width>(depth, a.from(i, 0), b, c.from(0, i), ahead);
            });
        }
    });
}

/// Calls by_rows(entries, pack, row, columns) where the rows of a problem are contiguous, else
/// by_columns(batch of the columns, pack, columns).
template <Scalar T, class U, class ByRows, class ByColumns>
void for_each_pack_of_columns(const MatrixBatch<U, core::Host>& batch, core::index_t p,
                              const ByRows& by_rows, const ByColumns& by_columns) {
    const auto [problems, rows, columns] = batch.extent;
    const auto [by_problem, by_row, by_column] = batch.stride;
    const core::index_t whole = columns / width<T>;
    const int rest = static_cast<int>(columns % width<T>);
    U* const first = batch.data + p * by_problem;
    if (by_column == 1) {
        for (core::index_t i = 0; i < rows; ++i) {
            U* const row = first + i * by_row;
            for (core::index_t j = 0; j < whole; ++j) by_rows(row + j * width<T>, j, i, width<T>);
            if (rest > 0) by_rows(row + whole * width<T>, whole, i, rest);
        }
    } else {
        const MatrixBatch<U, core::Host> as_problems{
            first, {columns, 1, rows}, {by_column, rows * by_row, by_row}};
        for (core::index_t j = 0; j < whole; ++j) by_columns(as_problems, j, width<T>);
        if (rest > 0) by_columns(as_problems, whole, rest);
    }
}

/// Loads columns of one problem to lanes of (pack, row).
template <Scalar T>
void load_columns(const MatrixBatch<const T, core::Host>& batch, core::index_t p,
                  const Matrix<T>& to) {
    for_each_pack_of_columns<T>(
        batch, p,
        [&](const T* from, core::index_t pack, core::index_t row, int count) {
            to.store(pack, row, gather_element(from, count));
        },
        [&](const auto& columns, core::index_t pack, int count) {
            load_lanes<T>(columns, pack * width<T>, count, Part::all, to.from(pack, 0));
        });
}

template <Scalar T>
void store_columns(const Matrix<T>& from, const MatrixBatch<T, core::Host>& batch,
                   core::index_t p) {
    for_each_pack_of_columns<T>(
        batch, p,
        [&](T* to, core::index_t pack, core::index_t row, int count) {
            scatter_element(from.load(pack, row), count, to);
        },
        [&](const auto& columns, core::index_t pack, int count) {
            store_lanes<T>(from.from(pack, 0), columns, pack * width<T>, count);
        });
}

/// Calls body(alpha, beta), of real type where both are real.
template <Scalar T, class Body>
void with_factors(T alpha, T beta, const Body& body) {
    if constexpr (is_complex<T>) {
        if (alpha.imag() != 0 || beta.imag() != 0) return body(alpha, beta);
    }
    body(std::real(alpha), std::real(beta));
}

/// value := alpha value + beta old
template <Scalar T>
void combine(int packs, int rows, T alpha, const Matrix<T>& value, T beta, const Matrix<T>& old) {
    with_factors(alpha, beta, [&](auto by, auto old_by) {
        for (int j = 0; j < packs; ++j) {
            for (int i = 0; i < rows; ++i) {
                value.store(j, i,
                            combined(by, value.load(j, i), old_by, [&] { return old.load(j, i); }));
            }
        }
    });
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

    /// Elements of a copy, which only conjugated matrices need.
    core::index_t copy_elements() const {
        return conjugated ? batch.extent[1] * batch.extent[2] / width<T> + 1 : 0;
    }
    SharedMatrix<T> shared(core::index_t p, Scratch<T>& scratch) const {
        if constexpr (is_complex<T>) {
            if (conjugated) return conjugated_copy(p, scratch);
        }
        return {&batch(p, 0, 0), batch.stride[1], batch.stride[2]};
    }

  private:
    SharedMatrix<T> conjugated_copy(core::index_t p, Scratch<T>& scratch) const {
        const auto [problems, rows, columns] = batch.extent;
        T* const copy = reinterpret_cast<T*>(scratch.matrix(1, copy_elements()).data);
        for (core::index_t i = 0; i < rows; ++i) {
            for (core::index_t k = 0; k < columns; ++k) {
                copy[i * columns + k] = std::conj(batch(p, i, k));
            }
        }
        return {copy, columns, 1};
    }
};

/// C = alpha A B + beta C of concatenated batches.
template <Scalar T>
void multiply_by_columns(core::Cpu& cpu, const Operand<T>& a, const Operand<T>& b, T alpha, T beta,
                         const MatrixBatch<T, core::Host>& c) {
    using core::index_t;
    constexpr index_t most = product_packs;
    const auto rows = static_cast<int>(c.extent[1]);
    const index_t columns = c.extent[2];
    const index_t depth = a.batch.extent[2];
    const index_t packs = core::ceil_div<index_t>(columns, width<T>);
    const index_t parts = core::ceil_div(packs, most);
    const index_t steps = parts * core::ceil_div(rows, product_rows<T>) * depth;
    const index_t bytes =
        std::max({rows * depth, depth * columns, rows * columns}) * index_t{sizeof(T)};
    const index_t step = core::ceil_div(bytes, std::max<index_t>(steps, 1));
    const std::ptrdiff_t elements = matrix_elements(most, depth) + 2 * matrix_elements(most, rows) +
                                    matrix_elements(1, a.copy_elements());
    for_each_pack<T, 1>(cpu, c.extent[0], elements, [&](index_t p, int, Scratch<T> scratch) {
        const Matrix<T> right = scratch.matrix(most, depth);
        const Matrix<T> result = scratch.matrix(most, rows);
        const Matrix<T> old = scratch.matrix(most, rows);
        const SharedMatrix<T> left = a.shared(p, scratch);
        Ahead ahead{&a.batch(p, 0, 0) + a.batch.stride[0], &b.batch(p, 0, 0) + b.batch.stride[0],
                    &c(p, 0, 0) + c.stride[0], step};
        for (index_t part = 0; part < parts; ++part) {
            // Parts are of nearly equal width.
            const index_t first = packs * part / parts;
            const index_t last = packs * (part + 1) / parts;
            const auto some = static_cast<int>(last - first);
            const auto its_columns = [&](const auto& batch) {
                return batch.slice(2, first * width<T>, std::min(last * width<T>, columns));
            };
            load_columns<T>(its_columns(b.batch), p, right);
            if (b.conjugated) conjugate_all(some, depth, right);
            multiply_columns(some, rows, depth, left, right, result, ahead);
            if (beta != T{0}) load_columns<T>(its_columns(c), p, old);
            if (alpha != T{1} || beta != T{0}) combine(some, rows, alpha, result, beta, old);
            store_columns<T>(result, its_columns(c), p);
        }
    });
}

}  // namespace aperture::dense::lanes
