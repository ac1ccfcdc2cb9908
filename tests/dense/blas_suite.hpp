// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <utility>

#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_mapping.hpp"
#include "libcore/cpu/simd.hpp"
#include "tests/dense/accuracy_checks.hpp"
#include "tests/dense/batch_runner.hpp"

/// Products of small matrices and vectors on any executor.
namespace aperture::dense::oracle {

inline constexpr std::array<Op, 3> ops{Op::none, Op::transposed, Op::adjoint};

inline Matrix operated(Op op, const Matrix& a) {
    if (op == Op::none) return a;
    return op == Op::transposed ? Matrix(a.transpose()) : Matrix(a.adjoint());
}

template <class SomeCombination>
class BlasSuite : public Suite<SomeCombination> {
  protected:
    using typename Suite<SomeCombination>::Runner;
    using typename Suite<SomeCombination>::T;
    using typename Suite<SomeCombination>::R;
    using typename Suite<SomeCombination>::Batch;
    using Suite<SomeCombination>::runner_;

    static T complex_if(double re, double im) { return rounded<T>(Complex(re, im)); }

    /// Expects value = alpha A B + beta C, each entry within the rounding of its terms (Higham
    /// 2002, section 3.1).
    static void check_product(T alpha, const Matrix& a, const Matrix& b, T beta, const Matrix& c,
                              const Matrix& value) {
        const Complex scale(alpha), old(beta);
        const Matrix kept = beta == T{0} ? Matrix::Zero(value.rows(), value.cols()) : c;
        const Matrix exact = scale * (a * b) + old * kept;
        const Eigen::MatrixXd sizes =
            std::abs(scale) * (a.cwiseAbs() * b.cwiseAbs()) + std::abs(old) * kept.cwiseAbs();
        const double terms = 2 * double(a.cols()) + 6;
        EXPECT_TRUE(((value - exact).array().abs() <= terms * eps<T> * sizes.array()).all());
    }

    void check_gemm(Op op_a, Op op_b, int rows, int columns, int depth, T alpha, T beta,
                    Order layout, core::index_t gap, core::index_t problems = core::lanes<R> + 3) {
        SCOPED_TRACE(::testing::Message()
                     << rows << " x " << columns << " x " << depth << ", ops " << int(op_a)
                     << int(op_b) << ", layout " << int(layout) << ", beta " << beta);
        const auto batch = [&](Op op, int m, int n, Order its, unsigned seed) {
            return op == Op::none ? this->random_batch(problems, m, n, its, gap, seed)
                                  : this->random_batch(problems, n, m, its, gap, seed);
        };
        // Operands of one call may differ in layout.
        const Batch a = batch(op_a, rows, depth, layout, 1);
        const Batch b = batch(op_b, depth, columns, Order::columns, 2);
        Batch c = this->random_batch(problems, rows, columns, layout, gap, 3);
        const Batch old(c);
        if (beta == T{0}) {
            for (core::index_t p = 0; p < problems; ++p) {
                c.set(p, Matrix::Constant(rows, columns, std::nan("")));
            }
        }
        runner_.run(APERTURE_CALL(gemm), op_a, op_b, alpha, a.view(), b.view(), beta, c.view());
        c.expect_gaps_untouched();
        for (core::index_t p = 0; p < problems; ++p) {
            check_product(alpha, operated(op_a, a.matrix(p)), operated(op_b, b.matrix(p)), beta,
                          old.matrix(p), c.matrix(p));
        }
    }

    /// Products of two problems in other layouts than the first two of five.
    void check_bits_of_gemm(int rows, int columns, int depth) {
        const auto product = [&](core::index_t problems, Order of_a, Order of_b, Order of_c,
                                 core::index_t gap) {
            const Batch a = this->random_batch(problems, rows, depth, of_a, gap, 1);
            const Batch b = this->random_batch(problems, depth, columns, of_b, gap, 2);
            Batch c(problems, rows, columns, of_c, gap);
            runner_.run(APERTURE_CALL(gemm), Op::none, Op::none, T(1), a.view(), b.view(), T(0),
                        c.view());
            return c;
        };
        const Batch all = product(5, Order::columns, Order::columns, Order::columns, 0);
        for (Order of_a : layouts) {
            for (Order of_b : layouts) {
                for (Order of_c : {Order::columns, Order::problems}) {
                    const Batch two = product(2, of_a, of_b, of_c, 1);
                    EXPECT_TRUE(two.same_bits(0, all, 0) && two.same_bits(1, all, 1))
                        << rows << " x " << columns << " x " << depth << ", layouts " << int(of_a)
                        << int(of_b) << int(of_c);
                }
            }
        }
    }

    /// More problems than two blocks of a GPU have of so many entries each.
    static core::index_t problems_of_blocks(int entries) {
        return 70000 / (core::index_t(sizeof(T)) * entries) + 11;
    }

    /// Products of small problems: those of a part of a batch change only that, and what is no
    /// number harms only its problem.
    void check_small_gemm(Op op_a, Op op_b, int rows, int columns, int depth, T beta,
                          Order layout = Order::columns) {
        SCOPED_TRACE(::testing::Message()
                     << rows << " x " << columns << " x " << depth << ", ops " << int(op_a)
                     << int(op_b) << ", beta " << beta << ", layout " << int(layout));
        constexpr core::index_t around = 4;
        const core::index_t problems =
            problems_of_blocks(rows * depth + depth * columns + rows * columns) + 2 * around;
        const auto batch = [&](Op op, int m, int n, unsigned seed) {
            return op == Op::none ? this->random_batch(problems, m, n, layout, 0, seed)
                                  : this->random_batch(problems, n, m, layout, 0, seed);
        };
        Batch a = batch(op_a, rows, depth, 1);
        const Batch b = batch(op_b, depth, columns, 2);
        Batch c = this->random_batch(problems, rows, columns, layout, 0, 3);
        const Batch old(c);
        const core::index_t spoilt = problems / 2;
        a.set(spoilt, Matrix::Constant(a.view().extent[1], a.view().extent[2], std::nan("")));
        const auto part = [&](auto view) { return view.slice(0, around, problems - around); };
        const T alpha = complex_if(-0.5, 0.25);
        runner_.run(APERTURE_CALL(gemm), op_a, op_b, alpha, part(std::as_const(a).view()),
                    part(b.view()), beta, part(c.view()));
        for (core::index_t p = 0; p < problems; ++p) {
            if (p < around || p >= problems - around) {
                EXPECT_TRUE(c.same_bits(p, old, p)) << p;
            } else if (p == spoilt) {
                EXPECT_TRUE((c.matrix(p).array() != c.matrix(p).array()).all());
            } else {
                check_product(alpha, operated(op_a, a.matrix(p)), operated(op_b, b.matrix(p)), beta,
                              old.matrix(p), c.matrix(p));
            }
        }
    }

    /// Rank-k updates by rows and by columns, and their bits where there are gaps.
    void check_small_rank_k(int n, int depth, R beta) {
        SCOPED_TRACE(::testing::Message()
                     << "order " << n << ", depth " << depth << ", beta " << beta);
        const core::index_t problems = problems_of_blocks(n * (n + depth));
        const auto update = [&](Order of_a, Order of_c, core::index_t gap, const Batch& old_c) {
            const Batch a = this->random_batch(problems, n, depth, of_a, gap, 1);
            Batch c(problems, n, n, of_c, gap);
            for (core::index_t p = 0; p < problems; ++p) c.set(p, old_c.matrix(p));
            runner_.run(APERTURE_CALL(hermitian_rank_k), R(0.5), a.view(), beta, c.view());
            c.expect_gaps_untouched();
            return c;
        };
        std::mt19937 generator(2);
        Batch old(problems, n, n);
        for (core::index_t p = 0; p < problems; ++p) old.set(p, random_hermitian<T>(n, generator));
        const Batch a = this->random_batch(problems, n, depth, Order::columns, 0, 1);
        const Batch c = update(Order::columns, Order::columns, 0, old);
        const Batch by_rows = update(Order::rows, Order::rows, 0, old);
        const Batch with_gaps = update(Order::columns, Order::columns, 1, old);
        for (core::index_t p = 0; p < problems; ++p) {
            check_rank_k_sum<T>(0.5, a.matrix(p), beta, old.matrix(p), c.matrix(p));
            // The order of the sums is fixed, how beta C is added is not.
            if (beta != 0) continue;
            EXPECT_TRUE(by_rows.same_bits(p, c, p) && with_gaps.same_bits(p, c, p)) << p;
        }
    }

    void check_gemv(Op op, int rows, int columns, T alpha, T beta, Order layout, core::index_t gap,
                    core::index_t problems = core::lanes<R> + 3) {
        // A vector lies by problems or by entries.
        const Order of_vectors = layout == Order::problems ? layout : Order::columns;
        SCOPED_TRACE(::testing::Message() << rows << " x " << columns << ", op " << int(op)
                                          << ", layout " << int(layout) << ", beta " << beta);
        const Batch a = this->random_batch(problems, rows, columns, layout, gap, 4);
        const bool turned = op != Op::none;
        const Batch x =
            this->random_batch(problems, 1, turned ? rows : columns, Order::columns, gap, 5);
        Batch y = this->random_batch(problems, 1, turned ? columns : rows, of_vectors, gap, 6);
        const Batch old(y);
        if (beta == T{0}) {
            for (core::index_t p = 0; p < problems; ++p) {
                y.set(p, Matrix::Constant(1, y.view().extent[2], std::nan("")));
            }
        }
        runner_.run(APERTURE_CALL(gemv), op, alpha, a.view(), this->vectors(x), beta,
                    this->vectors(y));
        y.expect_gaps_untouched();
        for (core::index_t p = 0; p < problems; ++p) {
            check_product(alpha, operated(op, a.matrix(p)), x.columns(p), beta, old.columns(p),
                          y.columns(p));
        }
    }

    /// The batch without what has index 0 in dimension `d`: where that is contiguous, addresses are
    /// not aligned to more than an entry.
    template <class View>
    static View without_first(View view, int d) {
        view.data += view.stride[d];
        --view.extent[d];
        return view;
    }

    /// Products of parts of batches, which begin at entry 1 of the contiguous dimension.
    void check_parts(int rows, int columns, int depth, Order layout) {
        SCOPED_TRACE(::testing::Message()
                     << rows << " x " << columns << " x " << depth << ", layout " << int(layout));
        constexpr core::index_t problems = 5;
        const int d = layout == Order::problems ? 0 : layout == Order::rows ? 1 : 2;
        const auto batch = [&](int m, int n, unsigned seed) {
            return this->random_batch(problems + (d == 0), m + (d == 1), n + (d == 2), layout, 0,
                                      seed);
        };
        const Batch a = batch(rows, depth, 1), b = batch(depth, columns, 2);
        const Batch x = batch(1 - (d == 1), depth, 3);
        Batch c = batch(rows, columns, 4), y = batch(1 - (d == 1), rows, 5);
        const Batch old_c(c), old_y(y);
        const auto vectors = [&](auto view) {
            if (d != 1) view = without_first(view, d);
            return core::View<std::remove_pointer_t<decltype(view.data)>, 2, core::Host>{
                view.data, {view.extent[0], view.extent[2]}, {view.stride[0], view.stride[2]}};
        };
        const T alpha = complex_if(-0.5, 0.25), beta = complex_if(2, 1);
        runner_.run(APERTURE_CALL(gemm), Op::none, Op::none, alpha, without_first(a.view(), d),
                    without_first(b.view(), d), beta, without_first(c.view(), d));
        runner_.run(APERTURE_CALL(gemv), Op::none, alpha, without_first(a.view(), d),
                    vectors(x.view()), beta, vectors(y.view()));
        const auto part = [&](const Matrix& m, bool is_vector = false) -> Matrix {
            const int first_row = d == 1 && !is_vector ? 1 : 0, first_column = d == 2 ? 1 : 0;
            return m.bottomRightCorner(m.rows() - first_row, m.cols() - first_column);
        };
        for (core::index_t p = d == 0 ? 1 : 0; p < problems + (d == 0); ++p) {
            check_product(alpha, part(a.matrix(p)), part(b.matrix(p)), beta, part(old_c.matrix(p)),
                          part(c.matrix(p)));
            check_product(alpha, part(a.matrix(p)), part(x.matrix(p), true).transpose(), beta,
                          part(old_y.matrix(p), true).transpose(),
                          part(y.matrix(p), true).transpose());
        }
    }

    void check_vectors(core::index_t problems, int entries, Order layout, core::index_t gap) {
        SCOPED_TRACE(::testing::Message()
                     << problems << " vectors of " << entries << ", layout " << int(layout));
        const Batch a = this->random_batch(problems, 1, entries, layout, gap, 7);
        Batch b = this->random_batch(problems, 1, entries, layout, gap, 8);
        const Batch old(b);
        std::vector<T> dots(std::size_t(problems), T(-99));
        std::vector<R> norms(std::size_t(problems), R(-99));
        const T alpha = complex_if(-0.75, 0.5);
        runner_.run(APERTURE_CALL(dot), this->vectors(a), this->vectors(std::as_const(b)),
                    core::View<T, 1, core::Host>(dots.data(), {problems}));
        runner_.run(APERTURE_CALL(norm), this->vectors(a),
                    core::View<R, 1, core::Host>(norms.data(), {problems}));
        runner_.run(APERTURE_CALL(axpy), alpha, this->vectors(a), this->vectors(b));
        b.expect_gaps_untouched();
        for (core::index_t p = 0; p < problems; ++p) {
            const Matrix x = a.columns(p), y = old.columns(p);
            const double terms = (2 * double(entries) + 4) * eps<T>;
            const Complex exact = x.conjugate().cwiseProduct(y).sum();
            const double sizes = x.cwiseAbs().cwiseProduct(y.cwiseAbs()).sum();
            EXPECT_LE(std::abs(Complex(dots[std::size_t(p)]) - exact), terms * sizes) << p;
            EXPECT_LE(std::abs(double(norms[std::size_t(p)]) - x.norm()), terms * x.norm()) << p;
            const Matrix sum = Complex(alpha) * x + y;
            EXPECT_LE((b.columns(p) - sum).cwiseAbs().sum(),
                      8 * eps<T> * (x.cwiseAbs().sum() + y.cwiseAbs().sum()))
                << p;
        }
    }
};

TYPED_TEST_SUITE_P(BlasSuite);

TYPED_TEST_P(BlasSuite, MultipliesMatrices) {
    using Value = typename TypeParam::T;
    const Value one(1), zero(0), some = this->complex_if(-0.5, 0.25);
    for (Op op_a : ops) {
        for (Op op_b : ops) {
            for (Order layout : layouts) {
                this->check_gemm(op_a, op_b, 4, 4, 4, some, some, layout, 0);
                this->check_gemm(op_a, op_b, 5, 7, 3, one, zero, layout, 0);
                this->check_gemm(op_a, op_b, 17, 4, 9, some, some, layout, 3);
            }
        }
    }
    for (int n : {1, 2, 4, 8, 16, 31, 32, 33}) {
        this->check_gemm(Op::none, Op::none, n, n, n, some, one, Order::columns, 0);
    }
    this->check_gemm(Op::none, Op::adjoint, 79, 16, 16, one, zero, Order::columns, 0);
    // Blocks of C, slices of the depth, and their edges.
    for (int n : {40, 47, 64, 65, 96, 127, 128, 129}) {
        this->check_gemm(Op::none, Op::adjoint, n, n, n, one, zero, Order::columns, 0, 2);
    }
    for (Order layout : layouts) {
        this->check_gemm(Op::adjoint, Op::none, 130, 36, 68, some, some, layout, 4, 2);
        this->check_gemm(Op::none, Op::transposed, 33, 70, 129, one, some, layout, 1, 3);
    }
    this->check_gemm(Op::none, Op::none, 2, 3, 256, one, zero, Order::columns, 0);
    this->check_gemm(Op::none, Op::none, 3, 2, 0, one, some, Order::columns, 0);
    if (!TypeParam::Runner::emulated) {
        for (int n : {48, 64, 128}) {
            this->check_gemm(Op::none, Op::transposed, n, n, n, one, zero, Order::columns, 0);
        }
        this->check_gemm(Op::none, Op::none, 256, 3, 256, one, zero, Order::problems, 0);
    }
}

TYPED_TEST_P(BlasSuite, MultipliesSmallMatricesOfSeveralBlocks) {
    using Value = typename TypeParam::T;
    const Value zero(0), some = this->complex_if(-0.5, 0.75);
    for (Op op_a : ops) {
        for (Op op_b : ops) {
            for (int n : {1, 2, 3, 4, 5}) {
                this->check_small_gemm(op_a, op_b, n, n, n, n % 2 == 0 ? some : zero);
            }
            this->check_small_gemm(op_a, op_b, 7, 3, 2, some);
            this->check_small_gemm(op_a, op_b, 4, 6, 5, zero);
            this->check_small_gemm(op_a, op_b, 5, 8, 3, some, Order::problems);
        }
    }
    for (int n : {2, 3, 4, 6, 7, 8, 13, 16}) {
        this->check_small_gemm(Op::adjoint, Op::none, n, n, n, n % 2 == 0 ? zero : some);
    }
    for (int n : {2, 3, 4, 6, 7}) {
        this->check_small_gemm(Op::none, Op::adjoint, n, n, n, n % 2 == 0 ? zero : some,
                               Order::problems);
    }
    this->check_small_gemm(Op::none, Op::transposed, 1, 16, 7, some);
    this->check_small_gemm(Op::transposed, Op::none, 15, 2, 32, zero);
    this->check_small_gemm(Op::none, Op::none, 2, 2, 33, zero);
    this->check_small_gemm(Op::none, Op::none, 10, 9, 1, some);
}

TYPED_TEST_P(BlasSuite, UpdatesSmallMatricesOfSeveralBlocks) {
    for (int n : {1, 2, 3, 4, 5, 6, 7, 8, 13, 16}) {
        this->check_small_rank_k(n, n, n % 2 == 0 ? 0.0f : -1.25f);
    }
    for (int n : {2, 3, 4}) this->check_small_rank_k(n, n, n % 2 == 0 ? 0.75f : 0.0f);
    this->check_small_rank_k(2, 7, 0.5f);
    this->check_small_rank_k(5, 1, 0.0f);
    this->check_small_rank_k(9, 32, 0.5f);
}

TYPED_TEST_P(BlasSuite, ProductsDependNeitherOnLayoutsNorOnNeighbours) {
    this->check_bits_of_gemm(4, 4, 4);
    for (int n : {2, 3, 5, 8}) this->check_bits_of_gemm(n, n, n);
    this->check_bits_of_gemm(12, 8, 20);
    this->check_bits_of_gemm(40, 36, 52);
}

TYPED_TEST_P(BlasSuite, MultipliesVectors) {
    using Value = typename TypeParam::T;
    const Value one(1), zero(0), some = this->complex_if(1.5, -1);
    for (Op op : ops) {
        for (Order layout : layouts) {
            this->check_gemv(op, 5, 7, one, zero, layout, 0);
            this->check_gemv(op, 16, 3, some, some, layout, 3);
            this->check_gemv(op, 33, 40, some, one, layout, 0);
            this->check_gemv(op, 8, 12, one, zero, layout, 4);
            this->check_gemv(op, 129, 64, some, zero, layout, 0);
            this->check_gemv(op, 3, 256, one, zero, layout, 0);
        }
    }
    for (int n : {1, 2, 3, 4, 7, 8, 9, 31, 32}) {
        this->check_gemv(Op::none, n, n, one, zero, Order::columns, 0);
        this->check_gemv(Op::transposed, n, n, one, some, Order::columns, 0);
    }
    this->check_gemv(Op::none, 3, 0, one, some, Order::columns, 0);
    // Several blocks of a GPU, the last of which is not full.
    for (Op op : ops) {
        this->check_gemv(op, 3, 5, some, zero, Order::columns, 0, 1001);
        this->check_gemv(op, 12, 16, some, one, Order::columns, 0, 100);
    }
    if (!TypeParam::Runner::emulated) {
        this->check_gemv(Op::none, 256, 128, one, zero, Order::columns, 0);
    }
}

TYPED_TEST_P(BlasSuite, MultipliesPartsThatAreNotAligned) {
    for (Order layout : layouts) {
        this->check_parts(8, 4, 16, layout);
        this->check_parts(36, 40, 32, layout);
    }
}

TYPED_TEST_P(BlasSuite, DotNormAndAxpyOfAnyLength) {
    for (Order layout : {Order::columns, Order::problems}) {
        for (int entries : {0, 1, 2, 3, 4, 8, 15, 16, 17, 63, 64, 65, 200, 1027}) {
            this->check_vectors(37, entries, layout, 0);
            this->check_vectors(5, entries, layout, 3);
        }
        this->check_vectors(3, 4096, layout, 0);
        for (core::index_t problems : {0, 1, 31, 32, 33}) {
            this->check_vectors(problems, 3, layout, 0);
        }
    }
    // Several blocks of a GPU, the last of which is not full.
    this->check_vectors(5000, 3, Order::columns, 0);
}

TYPED_TEST_P(BlasSuite, LargeBatches) {
    if (TypeParam::Runner::emulated) GTEST_SKIP() << "LargeSimt has them";
    for (core::index_t problems : {65535, 65536, 65537, 600000}) {
        this->check_vectors(problems, 2, Order::columns, 0);
    }
}

// Of vectors of several parts: the last one has an entry, or lacks one.
TYPED_TEST_P(BlasSuite, LongVectorsHaveTheSameSumsByBlockAndByGrid) {
    using Value = typename TypeParam::T;
    using Number = typename TestFixture::R;
    constexpr int part = 8192;
    this->check_vectors(5, 2 * part + 1, Order::columns, 0);
    this->check_vectors(2, 3 * part - 1, Order::columns, 3);
    this->check_vectors(2, 2 * part, Order::problems, 0);
    const auto a = this->random_batch(2, 1, 34 * part + 4, Order::columns, 0, 9);
    const auto b = this->random_batch(2, 1, 34 * part + 4, Order::columns, 0, 10);
    const auto sums = [&](Mapping mapping) {
        const ForcedMapping forced(mapping);
        std::vector<Value> dots(2);
        std::vector<Number> norms(2);
        this->runner_.run(APERTURE_CALL(dot), this->vectors(a), this->vectors(b),
                          core::View<Value, 1, core::Host>(dots.data(), {2}));
        this->runner_.run(APERTURE_CALL(norm), this->vectors(a),
                          core::View<Number, 1, core::Host>(norms.data(), {2}));
        for (const Number norm : norms) dots.push_back(Value(norm));
        return dots;
    };
    EXPECT_EQ(sums(Mapping::walk), sums(Mapping::grid));
}

TYPED_TEST_P(BlasSuite, LongNormsNeitherOverflowNorVanish) {
    using Number = typename TestFixture::R;
    constexpr int entries = 10000;
    for (const Number size : {std::numeric_limits<Number>::max() / 200,
                              std::numeric_limits<Number>::min() * 4, Number(3)}) {
        typename TestFixture::Batch a(1, 1, entries);
        for (int j = 0; j < entries; ++j) a.view()(0, 0, j) = size;
        Number norm = -1;
        this->runner_.run(APERTURE_CALL(norm), this->vectors(std::as_const(a)),
                          core::View<Number, 1, core::Host>(&norm, {1}));
        EXPECT_NEAR(norm / size, 100, 100 * entries * eps<Number>);
    }
}

TYPED_TEST_P(BlasSuite, NormNeitherOverflowsNorVanishes) {
    using Number = typename TestFixture::R;
    using Limits = std::numeric_limits<Number>;
    const std::vector<Number> sizes{Limits::max() / 8, Limits::min(),      Limits::denorm_min(),
                                    Number(0),         Limits::infinity(), Limits::quiet_NaN(),
                                    Number(1)};
    constexpr int entries = 9;
    typename TestFixture::Batch a(core::index_t(sizes.size()), 1, entries);
    for (std::size_t p = 0; p < sizes.size(); ++p) {
        for (int j = 0; j < entries; ++j) a.view()(core::index_t(p), 0, j) = Number(1);
        const Number size = sizes[p];
        if (size == 1) continue;
        for (int j = 0; j < entries; ++j) {
            const bool special = !(size <= Limits::max());
            a.view()(core::index_t(p), 0, j) = special && j != 4 ? Number(1) : size;
        }
    }
    std::vector<Number> norms(sizes.size(), Number(-99));
    this->runner_.run(
        APERTURE_CALL(norm), this->vectors(std::as_const(a)),
        core::View<Number, 1, core::Host>(norms.data(), {core::index_t(norms.size())}));
    for (std::size_t p = 0; p < sizes.size(); ++p) {
        if (sizes[p] != sizes[p]) {
            EXPECT_NE(norms[p], norms[p]);
        } else if (sizes[p] > Limits::max()) {
            EXPECT_EQ(norms[p], sizes[p]);
        } else {
            EXPECT_NEAR(norms[p] / (sizes[p] == 0 ? Number(1) : sizes[p]), sizes[p] == 0 ? 0 : 3,
                        8 * eps<Number>)
                << p;
        }
    }
}

TYPED_TEST_P(BlasSuite, RefusesWrongShapes) {
    using Problems = typename TestFixture::Batch;
    using Value = typename TypeParam::T;
    Problems a(4, 3, 2), b(4, 2, 5), c(4, 3, 5), other(5, 2, 5), tall(4, 5, 3), x(4, 1, 2),
        y(4, 1, 3);
    Problems big(1, max_rows + 1, 1), one(1, 1, 1), big_c(1, max_rows + 1, 1);
    const Value unit(1);
    const auto refuses = [&](auto function, auto... arguments) {
        EXPECT_THROW(this->runner_.run(function, arguments...), core::InvalidArgument);
    };
    const auto in = [](Problems& batch) { return std::as_const(batch).view(); };
    const auto n = Op::none;
    refuses(APERTURE_CALL(gemm), n, n, unit, in(a), in(tall), unit, c.view());
    refuses(APERTURE_CALL(gemm), n, n, unit, in(a), in(other), unit, c.view());
    refuses(APERTURE_CALL(gemm), n, n, unit, in(a), in(b), unit, tall.view());
    refuses(APERTURE_CALL(gemm), n, n, unit, in(big), in(one), unit, big_c.view());
    refuses(APERTURE_CALL(gemv), n, unit, in(a), this->vectors(std::as_const(y)), unit,
            this->vectors(y));
    refuses(APERTURE_CALL(axpy), unit, this->vectors(std::as_const(x)), this->vectors(y));
    std::vector<Value> results(3);
    refuses(APERTURE_CALL(dot), this->vectors(std::as_const(x)), this->vectors(std::as_const(x)),
            core::View<Value, 1, core::Host>(results.data(), {3}));
    auto strided = c.view();
    strided.stride[2] = 2;
    refuses(APERTURE_CALL(gemm), n, n, unit, in(a), in(b), unit, strided);
}

REGISTER_TYPED_TEST_SUITE_P(BlasSuite, MultipliesMatrices, MultipliesSmallMatricesOfSeveralBlocks,
                            UpdatesSmallMatricesOfSeveralBlocks,
                            ProductsDependNeitherOnLayoutsNorOnNeighbours, MultipliesVectors,
                            MultipliesPartsThatAreNotAligned, DotNormAndAxpyOfAnyLength,
                            LargeBatches, LongVectorsHaveTheSameSumsByBlockAndByGrid,
                            LongNormsNeitherOverflowNorVanish, NormNeitherOverflowsNorVanishes,
                            RefusesWrongShapes);

}  // namespace aperture::dense::oracle
