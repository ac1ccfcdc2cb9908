// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "aperture/dense/batch_blas.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/batch_instances.hpp"
#include "libdense/cpu/lane_qr.hpp"
#include "libdense/cpu/matrix_products.hpp"
#include "libdense/cpu/order_four.hpp"
#include "libdense/cpu/vector_sums.hpp"

namespace aperture::dense {
namespace {

using core::index_t;

/// Real numbers in a T.
template <Scalar T>
constexpr index_t reals = lanes::is_complex<T> ? 2 : 1;

/// Calls finish(first problem, problems, sums of conj(a_k) c_k in lanes).
template <Scalar T, class Finish>
void for_each_dot(core::Cpu& cpu, const VectorBatch<const T, core::Host>& a,
                  const VectorBatch<const T, core::Host>& c, const Finish& finish) {
    using lanes::part_entries;
    if constexpr (lanes::has_order_four<T>) {
        if (lanes::are_dense_fours(a) && lanes::are_dense_fours(c)) {
            return lanes::for_each_dot_of_fours<T>(cpu, a, c, finish);
        }
    }
    if (a.stride[1] == 1 && c.stride[1] == 1) {
        return lanes::for_each_row_sum<lanes::Second::conjugated, T>(cpu, as_rows(a), c, finish);
    }
    const auto rows_of_a = as_rows(a);
    const auto rows_of_c = as_rows(c);
    const index_t n = a.extent[1];
    lanes::for_each_pack<T>(cpu, a.extent[0], 2 * lanes::matrix_elements(1, part_entries),
                            [&](index_t first, int count, lanes::Scratch<T> scratch) {
                                const lanes::Matrix<T> left = scratch.matrix(1, part_entries);
                                const lanes::Matrix<T> right = scratch.matrix(1, part_entries);
                                lanes::Element<T> sum{};
                                for (index_t i = 0; i < n; i += part_entries) {
                                    const index_t end = std::min(i + part_entries, n);
                                    lanes::load_lanes<T>(rows_of_a.slice(2, i, end), first, count,
                                                         lanes::Part::all, left);
                                    lanes::load_lanes<T>(rows_of_c.slice(2, i, end), first, count,
                                                         lanes::Part::all, right);
                                    lanes::add_lane_sum<lanes::Second::conjugated>(
                                        end - i, [&](index_t k) { return left.load(0, k); },
                                        [&](index_t k) { return right.load(0, k); }, sum);
                                }
                                finish(first, count, sum);
                            });
}

/// y = alpha sum + beta y for `count` entries from number `first` of all vectors' on.
template <Scalar T>
void update_entries(T alpha, const lanes::Element<T>& sum, T beta,
                    const VectorBatch<T, core::Host>& y, index_t first, int count) {
    const index_t n = y.extent[1];
    const index_t p = first / n;
    const index_t i = first % n;
    const bool contiguous = y.stride[1] == 1 && (y.stride[0] == n || i + count <= n);
    T buffer[lanes::width<T>] = {};
    T* const entries = contiguous ? &y(p, i) : buffer;
    const auto for_each_entry = [&](const auto& copy) {
        for (int l = 0; l < count; ++l) copy(y((first + l) / n, (first + l) % n), buffer[l]);
    };
    if (!contiguous && beta != T{0}) for_each_entry([](const T& from, T& to) { to = from; });
    lanes::with_factors(alpha, beta, [&](auto by, auto old_by) {
        const auto old = [&] { return lanes::gather_element(entries, count); };
        lanes::scatter_element(lanes::combined(by, sum, old_by, old), count, entries);
    });
    if (!contiguous) for_each_entry([](T& to, const T& from) { to = from; });
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

/// op(A) in lanes, of an A that is loaded.
template <Scalar T>
lanes::Matrix<T> operated(Op op, index_t rows, index_t columns, const lanes::Matrix<T>& a) {
    if (op == Op::adjoint) lanes::conjugate_all(rows, columns, a);
    return op == Op::none ? a : a.transposed();
}

/// op(A) but for conjugation.
template <class T>
MatrixBatch<T, core::Host> turned(Op op, const MatrixBatch<T, core::Host>& a) {
    return op == Op::none ? a : transposed(a);
}

/// y = alpha A x + beta y, or conj(A), of an A whose columns are contiguous.
template <lanes::Second second, Scalar T>
void add_columns(core::Cpu& cpu, T alpha, const MatrixBatch<const T, core::Host>& a,
                 const VectorBatch<const T, core::Host>& x, T beta,
                 const VectorBatch<T, core::Host>& y) {
    const index_t m = a.extent[1];
    const index_t n = a.extent[2];
    lanes::for_each_pack<T, 1>(cpu, a.extent[0], 0, [&](index_t p, int, const auto&) {
        const lanes::SharedMatrix<T> entries{&x(p, 0)};
        for (index_t i = 0; i < m; i += lanes::width<T>) {
            const int some = static_cast<int>(std::min<index_t>(m - i, lanes::width<T>));
            lanes::Element<T> sum{};
            lanes::add_lane_sum<second>(
                n, [&](index_t k) { return lanes::gather_element(&a(p, i, k), some); },
                [&](index_t k) { return entries.load(0, k); }, sum);
            update_entries(alpha, sum, beta, y, p * m + i, some);
        }
    });
}

/// The same of operands of any layout.
template <lanes::Second second, Scalar T>
void multiply_in_lanes(core::Cpu& cpu, T alpha, const MatrixBatch<const T, core::Host>& a,
                       const VectorBatch<const T, core::Host>& x, T beta,
                       const VectorBatch<T, core::Host>& y) {
    const index_t m = a.extent[1];
    const index_t n = a.extent[2];
    lanes::for_each_pack<T>(
        cpu, a.extent[0],
        lanes::matrix_elements(m, n) + lanes::matrix_elements(1, n) + lanes::matrix_elements(1, m),
        [&](index_t first, int count, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> matrix = scratch.like(a);
            const lanes::Matrix<T> from = scratch.matrix(1, n);
            const lanes::Matrix<T> to = scratch.matrix(1, m);
            lanes::load_lanes<T>(a, first, count, lanes::Part::all, matrix);
            lanes::load_lanes<T>(as_rows(x), first, count, lanes::Part::all, from);
            if (beta != T{0}) {
                lanes::load_lanes<T>(as_rows(y), first, count, lanes::Part::all, to);
            }
            lanes::with_factors(alpha, beta, [&](auto by, auto old_by) {
                for (index_t i = 0; i < m; ++i) {
                    lanes::Element<T> sum{};
                    lanes::add_lane_sum<second>(
                        n, [&](index_t k) { return matrix.load(i, k); },
                        [&](index_t k) { return from.load(0, k); }, sum);
                    to.store(0, i, lanes::combined(by, sum, old_by, [&] { return to.load(0, i); }));
                }
            });
            lanes::store_lanes<T>(to, as_rows(y), first, count);
        });
}

template <lanes::Second second, Scalar T>
void multiply_vectors(core::Cpu& cpu, T alpha, const MatrixBatch<const T, core::Host>& a,
                      const VectorBatch<const T, core::Host>& x, T beta,
                      const VectorBatch<T, core::Host>& y) {
    if constexpr (lanes::has_order_four<T>) {
        if (lanes::is_four_by_four(a) && x.stride[1] == 1) {
            return lanes::for_each_product_of_fours<T>(
                cpu, a, x, [&](index_t first, int count, const lanes::Element<T>& sum) {
                    update_entries(alpha, sum, beta, y, first, count);
                });
        }
    }
    // Rows of less than half a pack are read in less time by lanes.
    const bool are_short = 2 * reals<T> * a.extent[2] < lanes::width<T>;
    const Order order = order_of(a);
    if (order == Order::problems || x.stride[1] != 1 || are_short) {
        multiply_in_lanes<second>(cpu, alpha, a, x, beta, y);
    } else if (order == Order::rows) {
        add_columns<second>(cpu, alpha, a, x, beta, y);
    } else {
        lanes::for_each_row_sum<second, T>(
            cpu, a, x, [&](index_t first, int count, const lanes::Element<T>& sum) {
                update_entries(alpha, sum, beta, y, first, count);
            });
    }
}

/// C = alpha A B + beta C if there is a kernel for these matrices of order 4. Returns whether.
template <Scalar T>
bool multiply_order_four(core::Cpu& cpu, T alpha, const MatrixBatch<const T, core::Host>& a,
                         const MatrixBatch<const T, core::Host>& b, T beta,
                         const MatrixBatch<T, core::Host>& c) {
    using lanes::is_four_by_four;
    if constexpr (lanes::has_order_four<T>) {
        if (!is_four_by_four(b) || !is_four_by_four(c)) return false;
        if (is_four_by_four(a)) {
            lanes::multiply_four_by_four<false>(cpu, alpha, a, b, beta, c);
            return true;
        }
        if (is_four_by_four(transposed(a))) {
            lanes::multiply_four_by_four<true>(cpu, alpha, transposed(a), b, beta, c);
            return true;
        }
    }
    return false;
}

}  // namespace

template <Scalar T>
void dot(core::Cpu& cpu, VectorBatch<const T, core::Host> a, VectorBatch<const T, core::Host> c,
         core::View<T, 1, core::Host> result) {
    expects_dot(a, c, result);
    const VectorBatch<T, core::Host> results{
        result.data, {result.extent[0], 1}, {result.stride[0], 1}};
    for_each_dot<T>(cpu, a, c, [&](index_t first, int count, const lanes::Element<T>& sum) {
        update_entries(T{1}, sum, T{0}, results, first, count);
    });
}

template <Scalar T>
void norm(core::Cpu& cpu, VectorBatch<const T, core::Host> a,
          core::View<Real<T>, 1, core::Host> result) {
    using R = Real<T>;
    expects_norm(a, result);
    constexpr R smallest = std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon();
    constexpr R largest = std::numeric_limits<R>::max();
    for_each_dot<T>(cpu, a, a, [&](index_t first, int count, const lanes::Element<T>& sum) {
        const core::Pack<R> root = lanes::square_root<R>(sum.re);
        for (int l = 0; l < count; ++l) {
            const bool safe = sum.re[l] >= smallest && sum.re[l] <= largest;
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
    constexpr index_t entries_at_once = 64;
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
    if constexpr (lanes::is_complex<T>) {
        if (op == Op::adjoint) {
            return multiply_vectors<lanes::Second::conjugated>(cpu, alpha, transposed(a), x, beta,
                                                               y);
        }
    }
    multiply_vectors<lanes::Second::plain>(cpu, alpha, turned(op, a), x, beta, y);
}

template <Scalar T>
void gemm(core::Cpu& cpu, Op op_a, Op op_b, T alpha, MatrixBatch<const T, core::Host> a,
          MatrixBatch<const T, core::Host> b, T beta, MatrixBatch<T, core::Host> c) {
    expects_gemm(op_a, op_b, a, b, c);
    const auto rows = static_cast<int>(c.extent[1]);
    const auto columns = static_cast<int>(c.extent[2]);
    const auto depth = static_cast<int>(OperandShape(op_a, a).columns);
    const auto left = turned(op_a, a);
    const auto right = turned(op_b, b);
    if (multiply_order_four<T>(cpu, alpha, left, right, beta, c) ||
        multiply_order_four<T>(cpu, alpha, transposed(right), transposed(left), beta,
                               transposed(c))) {
        return;
    }
    const auto interleaved = [](const auto& batch) { return order_of(batch) == Order::problems; };
    // Fewer columns would leave too many lanes empty; four take less time in lanes of problems.
    const bool many = columns > 4 && 2 * reals<T> * columns >= lanes::width<T>;
    if (many && !interleaved(a) && !interleaved(b) && !interleaved(c)) {
        const auto is_conjugated = [](Op op) { return lanes::is_complex<T> && op == Op::adjoint; };
        return lanes::multiply_by_rows<T>(cpu, {left, is_conjugated(op_a)},
                                          {right, is_conjugated(op_b)}, alpha, beta, c);
    }
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
            lanes::with_factors(alpha, beta, [&](auto by, auto old_by) {
                lanes::multiply<lanes::Second::plain>(
                    rows, columns, depth, by, operated(op_a, a.extent[1], a.extent[2], of_a),
                    operated(op_b, b.extent[1], b.extent[2], of_b).transposed(), old_by, of_c);
            });
            lanes::store_lanes<T>(of_c, c, first, problems);
        });
}

APERTURE_FOR_ALL_SCALARS(APERTURE_BLAS, core::Cpu)

}  // namespace aperture::dense
