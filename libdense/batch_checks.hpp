// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/error.hpp"
#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "aperture/dense/batch_spectral.hpp"

/// What the batched functions refuse, on any executor, and how a batch lies in memory.
namespace aperture::dense {

/// The dimension of a batch whose stride is 1.
enum class Order { problems, columns, rows };

/// Of a dimension of extent 1 the stride does not matter.
template <class T, class Space>
Order order_of(const MatrixBatch<T, Space>& batch) {
    const auto unit = [&](int d) { return batch.stride[d] == 1 || batch.extent[d] <= 1; };
    if (batch.extent[0] > 1 && batch.stride[0] == 1) return Order::problems;
    return unit(2) ? Order::columns : unit(1) ? Order::rows : Order::problems;
}

template <class T, class Space>
MatrixBatch<T, Space> transposed(MatrixBatch<T, Space> batch) {
    const auto [problems, rows, columns] = batch.extent;
    const auto [by_problem, by_row, by_column] = batch.stride;
    batch.extent = {problems, columns, rows};
    batch.stride = {by_problem, by_column, by_row};
    return batch;
}

/// Vectors as matrices of one row.
template <class T, class Space>
MatrixBatch<T, Space> as_rows(const VectorBatch<T, Space>& batch) {
    return {batch.data,
            {batch.extent[0], 1, batch.extent[1]},
            {batch.stride[0], batch.stride[1] * batch.extent[1], batch.stride[1]}};
}

/// The checks of one function, which is named in messages.
class Checks {
  public:
    explicit Checks(const char* function) : function_(function) {}

    /// [problems][rows][columns], with a stride of 1.
    template <class T, class Space>
    void matrices(const char* name, const MatrixBatch<T, Space>& batch, core::index_t problems,
                  core::index_t rows, core::index_t columns) const {
        const auto [p, m, n] = batch.extent;
        core::expects(p == problems && m == rows && n == columns, function_, ": ", name, " is ", p,
                      " x ", m, " x ", n, ", must be ", problems, " x ", rows, " x ", columns);
        const auto [by_problem, by_row, by_column] = batch.stride;
        core::expects(batch.empty() || p == 1 || m == 1 || n == 1 || by_problem == 1 ||
                          by_row == 1 || by_column == 1,
                      function_, ": the strides of ", name, " are ", by_problem, ", ", by_row,
                      " and ", by_column, "; one must be 1");
    }
    /// [problems][entries], with a stride of 1.
    template <class T, class Space>
    void vectors(const char* name, const VectorBatch<T, Space>& batch, core::index_t problems,
                 core::index_t entries) const {
        const auto [p, n] = batch.extent;
        core::expects(p == problems && n == entries, function_, ": ", name, " is ", p, " x ", n,
                      ", must be ", problems, " x ", entries);
        core::expects(p <= 1 || n <= 1 || batch.stride[0] == 1 || batch.stride[1] == 1, function_,
                      ": the strides of ", name, " are ", batch.stride[0], " and ", batch.stride[1],
                      "; one must be 1");
    }
    /// [problems]
    template <class T, class Space>
    void entries(const char* name, const core::View<T, 1, Space>& view,
                 core::index_t problems) const {
        core::expects(view.extent[0] == problems, function_, ": ", name, " holds ", view.extent[0],
                      " entries for ", problems, " problems");
    }
    /// [problem][n][n], with n up to max_order.
    template <class T, class Space>
    void square(const char* name, const MatrixBatch<T, Space>& batch) const {
        const auto [problems, m, n] = batch.extent;
        core::expects(m == n, function_, ": ", name, " is ", m, " x ", n, ", must be square");
        core::expects(n <= max_order, function_, ": order ", n, " exceeds ", max_order);
        matrices(name, batch, problems, n, n);
    }
    /// [problem][m][n], with m and n up to max_rows.
    template <class T, class Space>
    void operand(const char* name, const MatrixBatch<T, Space>& batch) const {
        const auto [problems, m, n] = batch.extent;
        core::expects(m <= max_rows && n <= max_rows, function_, ": ", name, " is ", m, " x ", n,
                      "; the limit is ", max_rows);
        matrices(name, batch, problems, m, n);
    }
    /// [problem][m][n], with n <= m and both within the limits.
    template <class T, class Space>
    void tall(const char* name, const MatrixBatch<T, Space>& batch) const {
        const auto [problems, m, n] = batch.extent;
        core::expects(n <= m, function_, ": ", name, " is ", m, " x ", n,
                      ", must not have more columns than rows");
        core::expects(m <= max_rows && n <= max_order, function_, ": ", name, " is ", m, " x ", n,
                      "; the limit is ", max_rows, " x ", max_order);
        matrices(name, batch, problems, m, n);
    }
    /// At most max_spectral_order columns.
    template <class T, class Space>
    void spectral(const char* name, const MatrixBatch<T, Space>& batch) const {
        core::expects(batch.extent[2] <= max_spectral_order, function_, ": ", name, " has ",
                      batch.extent[2], " columns; the limit is ", max_spectral_order);
    }

  private:
    const char* function_;
};

template <class T, class Space>
void expects_solvable(const char* function, const MatrixBatch<const T, Space>& a,
                      const MatrixBatch<T, Space>& x, const core::View<int, 1, Space>& info) {
    const Checks checks(function);
    checks.square("a", a);
    checks.matrices("x", x, a.extent[0], x.extent[1], a.extent[1]);
    checks.entries("info", info, a.extent[0]);
}

template <class T, class Space>
void expects_solvable(const MatrixBatch<const T, Space>& a, const MatrixBatch<T, Space>& x,
                      const core::View<int, 1, Space>& info,
                      const core::View<Real<T>, 1, Space>& pivot_ratio) {
    expects_solvable("solve", a, x, info);
    if (!pivot_ratio.empty()) Checks("solve").entries("pivot_ratio", pivot_ratio, a.extent[0]);
}

template <class T, class Space>
void expects_factor(const char* function, const MatrixBatch<const T, Space>& a, const char* name,
                    const MatrixBatch<T, Space>& factor, const core::View<int, 1, Space>& info) {
    const Checks checks(function);
    checks.square("a", a);
    checks.matrices(name, factor, a.extent[0], a.extent[1], a.extent[2]);
    checks.entries("info", info, a.extent[0]);
}

template <class T, class Space>
void expects_lu(const MatrixBatch<const T, Space>& a, const MatrixBatch<T, Space>& lu,
                Pivoting pivoting, const core::View<int, 2, Space>& pivots,
                const core::View<int, 1, Space>& info) {
    expects_factor("factor_lu", a, "lu", lu, info);
    if (pivoting == Pivoting::partial || !pivots.empty()) {
        Checks("factor_lu").vectors("pivots", pivots, a.extent[0], a.extent[1]);
    }
}

/// `pivots` may be empty.
template <class T, class Space>
void expects_factored(const char* function, const char* name,
                      const MatrixBatch<const T, Space>& factor, const MatrixBatch<T, Space>& x,
                      const core::View<const int, 2, Space>& pivots = {}) {
    const Checks checks(function);
    checks.square(name, factor);
    checks.matrices("x", x, factor.extent[0], x.extent[1], factor.extent[1]);
    if (!pivots.empty()) {
        checks.vectors("pivots", pivots, factor.extent[0], factor.extent[1]);
    }
}

template <class T, class Space>
void expects_determinant(const MatrixBatch<const T, Space>& a,
                         const core::View<T, 1, Space>& result) {
    const Checks checks("determinant");
    checks.square("a", a);
    checks.entries("result", result, a.extent[0]);
}

template <class T, class Space>
void expects_factor_qr(const MatrixBatch<const T, Space>& a, const MatrixBatch<T, Space>& qr,
                       const VectorBatch<T, Space>& tau) {
    const Checks checks("factor_qr");
    checks.tall("a", a);
    checks.matrices("qr", qr, a.extent[0], a.extent[1], a.extent[2]);
    checks.vectors("tau", tau, a.extent[0], a.extent[2]);
}

template <class T, class Space>
void expects_applicable(const MatrixBatch<const T, Space>& qr,
                        const VectorBatch<const T, Space>& tau, const MatrixBatch<T, Space>& c) {
    const Checks checks("apply_q");
    checks.tall("qr", qr);
    checks.vectors("tau", tau, qr.extent[0], qr.extent[2]);
    checks.matrices("c", c, qr.extent[0], c.extent[1], qr.extent[1]);
}

template <class T, class Space>
void expects_formable(const MatrixBatch<const T, Space>& qr, const VectorBatch<const T, Space>& tau,
                      const MatrixBatch<T, Space>& q) {
    const Checks checks("form_q");
    checks.tall("qr", qr);
    checks.vectors("tau", tau, qr.extent[0], qr.extent[2]);
    checks.matrices("q", q, qr.extent[0], qr.extent[1], qr.extent[2]);
}

template <class T, class Space>
void expects_least_squares(const MatrixBatch<const T, Space>& a,
                           const MatrixBatch<const T, Space>& b, const MatrixBatch<T, Space>& x,
                           const core::View<int, 1, Space>& info) {
    const Checks checks("least_squares");
    checks.tall("a", a);
    checks.matrices("b", b, a.extent[0], b.extent[1], a.extent[1]);
    checks.matrices("x", x, a.extent[0], b.extent[1], a.extent[2]);
    checks.entries("info", info, a.extent[0]);
}

template <class T, class Space>
void expects_eigen(const MatrixBatch<const T, Space>& a, const VectorBatch<Real<T>, Space>& values,
                   const MatrixBatch<T, Space>& vectors, const core::View<int, 1, Space>& info) {
    const Checks checks("eigen_hermitian");
    checks.square("a", a);
    checks.spectral("a", a);
    checks.vectors("values", values, a.extent[0], a.extent[2]);
    if (vectors.extent != core::Extents<3>{}) {
        checks.matrices("vectors", vectors, a.extent[0], a.extent[1], a.extent[2]);
    }
    checks.entries("info", info, a.extent[0]);
}

template <class T, class Space>
void expects_svd(const MatrixBatch<const T, Space>& a, const MatrixBatch<T, Space>& u,
                 const VectorBatch<Real<T>, Space>& values, const MatrixBatch<T, Space>& v,
                 const core::View<int, 1, Space>& info) {
    const Checks checks("svd");
    checks.tall("a", a);
    checks.spectral("a", a);
    checks.matrices("u", u, a.extent[0], a.extent[1], a.extent[2]);
    checks.vectors("values", values, a.extent[0], a.extent[2]);
    checks.matrices("v", v, a.extent[0], a.extent[2], a.extent[2]);
    checks.entries("info", info, a.extent[0]);
}

template <class T, class Space>
void expects_dot(const VectorBatch<const T, Space>& a, const VectorBatch<const T, Space>& c,
                 const core::View<T, 1, Space>& result) {
    const Checks checks("dot");
    checks.vectors("a", a, a.extent[0], a.extent[1]);
    checks.vectors("c", c, a.extent[0], a.extent[1]);
    checks.entries("result", result, a.extent[0]);
}

template <class T, class Space>
void expects_norm(const VectorBatch<const T, Space>& a,
                  const core::View<Real<T>, 1, Space>& result) {
    const Checks checks("norm");
    checks.vectors("a", a, a.extent[0], a.extent[1]);
    checks.entries("result", result, a.extent[0]);
}

template <class T, class Space>
void expects_axpy(const VectorBatch<const T, Space>& x, const VectorBatch<T, Space>& y) {
    const Checks checks("axpy");
    checks.vectors("x", x, x.extent[0], x.extent[1]);
    checks.vectors("y", y, x.extent[0], x.extent[1]);
}

/// Extents of op(A).
struct OperandShape {
    core::index_t rows, columns;

    template <class T, class Space>
    OperandShape(Op op, const MatrixBatch<T, Space>& a)
        : rows(a.extent[op == Op::none ? 1 : 2]), columns(a.extent[op == Op::none ? 2 : 1]) {}
};

template <class T, class Space>
void expects_gemv(Op op, const MatrixBatch<const T, Space>& a, const VectorBatch<const T, Space>& x,
                  const VectorBatch<T, Space>& y) {
    const Checks checks("gemv");
    checks.operand("a", a);
    const OperandShape shape(op, a);
    checks.vectors("x", x, a.extent[0], shape.columns);
    checks.vectors("y", y, a.extent[0], shape.rows);
}

template <class T, class Space>
void expects_gemm(Op op_a, Op op_b, const MatrixBatch<const T, Space>& a,
                  const MatrixBatch<const T, Space>& b, const MatrixBatch<T, Space>& c) {
    const Checks checks("gemm");
    checks.operand("a", a);
    checks.operand("b", b);
    const OperandShape left(op_a, a);
    const OperandShape right(op_b, b);
    core::expects(left.columns == right.rows, "gemm: op(a) has ", left.columns,
                  " columns, op(b) has ", right.rows, " rows");
    core::expects(b.extent[0] == a.extent[0], "gemm: b holds ", b.extent[0], " problems, a holds ",
                  a.extent[0]);
    checks.matrices("c", c, a.extent[0], left.rows, right.columns);
}

template <class T, class Space>
void expects_rank_k(const MatrixBatch<const T, Space>& a, const MatrixBatch<T, Space>& c) {
    const Checks checks("hermitian_rank_k");
    checks.square("c", c);
    checks.matrices("a", a, c.extent[0], c.extent[1], a.extent[2]);
}

template <class T, class Space>
void expects_same_extents(const MatrixBatch<const T, Space>& from,
                          const MatrixBatch<T, Space>& to) {
    const auto [problems, rows, columns] = from.extent;
    const Checks checks("change_layout");
    checks.matrices("from", from, problems, rows, columns);
    checks.matrices("to", to, problems, rows, columns);
}

}  // namespace aperture::dense
