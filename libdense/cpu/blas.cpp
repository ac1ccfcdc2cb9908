// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "aperture/dense/batch_blas.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/batch_instances.hpp"
#include "libdense/cpu/lane_batch.hpp"
#include "libdense/cpu/lane_qr.hpp"

namespace aperture::dense {
namespace {

using core::index_t;

// Entries of long vectors in lanes at once: they stay in the first-level cache.
constexpr index_t entries_at_once = 64;

/// Sums over the entries of vectors. The sum of a part of `entries_at_once` is added as a whole:
/// sums of partial sums lose less to rounding than one long sum.
template <class Value, class AddPart>
Value sum_over_parts(index_t entries, Value zero, const AddPart& add_part) {
    Value sum = zero;
    for (index_t i = 0; i < entries; i += entries_at_once) {
        add_part(sum, i, std::min(i + entries_at_once, entries));
    }
    return sum;
}

/// ||x||_2 of one vector whose squares overflow or vanish.
template <Scalar T>
Real<T> careful_norm(const core::View<const T, 1, core::Host>& x) {
    using R = Real<T>;
    R largest = 0;
    for (index_t i = 0; i < x.extent[0]; ++i) {
        const R size = std::abs(x(i));
        if (!(size <= std::numeric_limits<R>::max())) return size;
        largest = std::max(largest, size);
    }
    if (largest == 0) return 0;
    const int exponent = std::ilogb(largest);
    R sum = 0;
    for (index_t i = 0; i < x.extent[0]; ++i) {
        const R size = std::ldexp(std::abs(x(i)), -exponent);
        sum += size * size;
    }
    return std::ldexp(std::sqrt(sum), exponent);
}

template <Scalar T>
void conjugate_all(index_t rows, index_t columns, const lanes::Matrix<T>& a) {
    for (index_t i = 0; i < rows; ++i) {
        for (index_t j = 0; j < columns; ++j) a.store(i, j, lanes::conjugate(a.load(i, j)));
    }
}

/// op(A) in lanes, of an A that is loaded.
template <Scalar T>
lanes::Matrix<T> operated(Op op, index_t rows, index_t columns, const lanes::Matrix<T>& a) {
    if (op == Op::adjoint) conjugate_all(rows, columns, a);
    return op == Op::none ? a : a.transposed();
}

/// C = alpha op(A) op(B) + beta C; beta and alpha real where they can be.
template <Scalar T>
void multiply(const lanes::Matrix<T>& a, const lanes::Matrix<T>& b, int rows, int columns,
              int depth, T alpha, T beta, const lanes::Matrix<T>& c) {
    const lanes::Matrix<T> columns_of_b = b.transposed();
    if (std::imag(alpha) == 0 && std::imag(beta) == 0) {
        lanes::multiply<lanes::Second::plain>(rows, columns, depth, Real<T>(std::real(alpha)), a,
                                              columns_of_b, Real<T>(std::real(beta)), c);
    } else {
        lanes::multiply<lanes::Second::plain>(rows, columns, depth, alpha, a, columns_of_b, beta,
                                              c);
    }
}

}  // namespace

template <Scalar T>
void dot(core::Cpu& cpu, VectorBatch<const T, core::Host> a, VectorBatch<const T, core::Host> c,
         core::View<T, 1, core::Host> result) {
    const auto [problems, entries] = a.extent;
    expects_dot(a, c, result);
    const auto rows_of_a = as_rows(a);
    const auto rows_of_c = as_rows(c);
    const index_t n = entries;
    lanes::for_each_pack<T>(cpu, problems, 2 * lanes::matrix_elements(1, entries_at_once),
                            [&](index_t first, int count, lanes::Scratch<T> scratch) {
                                const lanes::Matrix<T> left = scratch.matrix(1, entries_at_once);
                                const lanes::Matrix<T> right = scratch.matrix(1, entries_at_once);
                                const auto sum = sum_over_parts(
                                    n, lanes::Element<T>{},
                                    [&](lanes::Element<T>& all, index_t i, index_t end) {
                                        lanes::load_lanes<T>(rows_of_a.slice(2, i, end), first,
                                                             count, lanes::Part::all, left);
                                        lanes::load_lanes<T>(rows_of_c.slice(2, i, end), first,
                                                             count, lanes::Part::all, right);
                                        lanes::Element<T> part[2] = {};
                                        for (index_t j = 0; j < end - i; ++j) {
                                            lanes::add_product<lanes::Second::conjugated>(
                                                part[j % 2], right.load(0, j), left.load(0, j));
                                        }
                                        all = lanes::sum_of(all, lanes::sum_of(part[0], part[1]));
                                    });
                                for (int l = 0; l < count; ++l) {
                                    if constexpr (lanes::is_complex<T>) {
                                        result(first + l) = T(sum.re[l], sum.im[l]);
                                    } else {
                                        result(first + l) = sum.re[l];
                                    }
                                }
                            });
}

template <Scalar T>
void norm(core::Cpu& cpu, VectorBatch<const T, core::Host> a,
          core::View<Real<T>, 1, core::Host> result) {
    using R = Real<T>;
    const auto [problems, entries] = a.extent;
    expects_norm(a, result);
    const auto rows = as_rows(a);
    const index_t n = entries;
    constexpr R smallest = std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon();
    constexpr R largest = std::numeric_limits<R>::max();
    lanes::for_each_pack<T>(
        cpu, problems, lanes::matrix_elements(1, entries_at_once),
        [&](index_t first, int count, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> block = scratch.matrix(1, entries_at_once);
            const auto sum =
                sum_over_parts(n, core::Pack<R>{}, [&](core::Pack<R>& all, index_t i, index_t end) {
                    lanes::load_lanes<T>(rows.slice(2, i, end), first, count, lanes::Part::all,
                                         block);
                    core::Pack<R> part[2] = {};
                    for (index_t j = 0; j < end - i; ++j) {
                        part[j % 2] += lanes::square(block.load(0, j));
                    }
                    all += part[0] + part[1];
                });
            const core::Pack<R> root = lanes::square_root<R>(sum);
            for (int l = 0; l < count; ++l) {
                const bool safe = sum[l] >= smallest && sum[l] <= largest;
                result(first + l) = safe ? root[l] : careful_norm<T>(a[first + l]);
            }
        });
}

template <Scalar T>
void axpy(core::Cpu& cpu, T alpha, VectorBatch<const T, core::Host> x,
          VectorBatch<T, core::Host> y) {
    const auto [problems, entries] = x.extent;
    expects_axpy(x, y);
    const auto rows_of_x = as_rows(x);
    const auto rows_of_y = as_rows(y);
    const index_t n = entries;
    lanes::for_each_pack<T>(
        cpu, problems, 2 * lanes::matrix_elements(1, entries_at_once),
        [&](index_t first, int count, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> from = scratch.matrix(1, entries_at_once);
            const lanes::Matrix<T> to = scratch.matrix(1, entries_at_once);
            for (index_t i = 0; i < n; i += entries_at_once) {
                const index_t end = std::min(i + entries_at_once, n);
                lanes::load_lanes<T>(rows_of_x.slice(2, i, end), first, count, lanes::Part::all,
                                     from);
                lanes::load_lanes<T>(rows_of_y.slice(2, i, end), first, count, lanes::Part::all,
                                     to);
                for (index_t j = 0; j < end - i; ++j) {
                    to.store(0, j,
                             lanes::sum_of(to.load(0, j), lanes::times(from.load(0, j), alpha)));
                }
                lanes::store_lanes<T>(to, rows_of_y.slice(2, i, end), first, count);
            }
        });
}

template <Scalar T>
void gemv(core::Cpu& cpu, Op op, T alpha, MatrixBatch<const T, core::Host> a,
          VectorBatch<const T, core::Host> x, T beta, VectorBatch<T, core::Host> y) {
    expects_gemv(op, a, x, y);
    const auto rows = static_cast<int>(y.extent[1]);
    const auto depth = static_cast<int>(x.extent[1]);
    lanes::for_each_pack<T>(
        cpu, a.extent[0],
        lanes::matrix_elements(rows, depth) + lanes::matrix_elements(1, depth) +
            lanes::matrix_elements(1, rows),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> matrix = scratch.like(a);
            const lanes::Matrix<T> from = scratch.matrix(1, depth);
            const lanes::Matrix<T> to = scratch.matrix(1, rows);
            lanes::load_lanes<T>(a, first, problems, lanes::Part::all, matrix);
            lanes::load_lanes<T>(as_rows(x), first, problems, lanes::Part::all, from);
            if (beta != T{0}) {
                lanes::load_lanes<T>(as_rows(y), first, problems, lanes::Part::all, to);
            }
            multiply(operated(op, a.extent[1], a.extent[2], matrix), from.transposed(), rows, 1,
                     depth, alpha, beta, to.transposed());
            lanes::store_lanes<T>(to, as_rows(y), first, problems);
        });
}

template <Scalar T>
void gemm(core::Cpu& cpu, Op op_a, Op op_b, T alpha, MatrixBatch<const T, core::Host> a,
          MatrixBatch<const T, core::Host> b, T beta, MatrixBatch<T, core::Host> c) {
    expects_gemm(op_a, op_b, a, b, c);
    const auto rows = static_cast<int>(c.extent[1]);
    const auto columns = static_cast<int>(c.extent[2]);
    const auto depth = static_cast<int>(OperandShape(op_a, a).columns);
    lanes::for_each_pack<T>(
        cpu, a.extent[0],
        lanes::matrix_elements(rows, depth) + lanes::matrix_elements(depth, columns) +
            lanes::matrix_elements(rows, columns),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> of_a = scratch.like(a);
            const lanes::Matrix<T> of_b = scratch.like(b);
            const lanes::Matrix<T> of_c = scratch.like(c);
            lanes::load_lanes<T>(a, first, problems, lanes::Part::all, of_a);
            lanes::load_lanes<T>(b, first, problems, lanes::Part::all, of_b);
            if (beta != T{0}) {
                lanes::load_lanes<T>(c, first, problems, lanes::Part::all, of_c);
            }
            multiply(operated(op_a, a.extent[1], a.extent[2], of_a),
                     operated(op_b, b.extent[1], b.extent[2], of_b), rows, columns, depth, alpha,
                     beta, of_c);
            lanes::store_lanes<T>(of_c, c, first, problems);
        });
}

APERTURE_FOR_ALL_SCALARS(APERTURE_BLAS, core::Cpu)

}  // namespace aperture::dense
