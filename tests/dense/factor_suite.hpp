// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <utility>

#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "tests/dense/batch_runner.hpp"
#include "tests/dense/factor_checks.hpp"

/// Cholesky and LU factors and what is computed from them, on any executor.
namespace aperture::dense::oracle {

template <class SomeCombination>
class FactorSuite : public Suite<SomeCombination> {
  protected:
    using typename Suite<SomeCombination>::Runner;
    using typename Suite<SomeCombination>::T;
    using typename Suite<SomeCombination>::R;
    using typename Suite<SomeCombination>::Batch;
    using Suite<SomeCombination>::runner_;

    static std::vector<int> orders() {
        const Mapping mapping = ForcedMapping::current();
        // What SomeOrders has in registers; others would be the blocks' once more.
        if (mapping == Mapping::columns || mapping == Mapping::rows) {
            return sizeof(T) == 4 ? std::vector{1, 3, 8, 17, 34} : std::vector{1, 3, 8, 17};
        }
        if (Runner::emulated) return {0, 1, 2, 3, 5, 8, 17, 24, 33};
        return {0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 31, 32, 33, 48, 64, 96, 128};
    }
    /// Calls test(order, layout, gap) for layouts other than the one without gaps that all orders
    /// have.
    static void for_each_layout(auto test) {
        const Mapping mapping = ForcedMapping::current();
        const bool registers = mapping == Mapping::columns || mapping == Mapping::rows;
        for (const Order layout : layouts) {
            for (const core::index_t gap : {0, 3}) {
                if (layout == Order::columns && gap == 0) continue;
                for (const int n : registers ? std::vector{1, 3, 8, 17} : std::vector{1, 5, 18, 33})
                    test(n, layout, gap);
            }
        }
    }
    static std::vector<int> zeros(const std::vector<ZooMatrix>& entries) {
        return std::vector<int>(entries.size(), -99);
    }
    void check_cholesky(int n, Order layout, core::index_t gap) {
        SCOPED_TRACE(::testing::Message() << "order " << n << ", layout " << int(layout));
        const std::vector<ZooMatrix> zoo = oracle::zoo<T>(n, 3u + unsigned(n));
        Batch a = this->batch_of(zoo, layout, gap);
        a.spoil_upper_triangle();
        const Batch before(a);
        Batch g(core::index_t(zoo.size()), n, n, layout, gap);
        std::vector<int> info = zeros(zoo);
        runner_.run(APERTURE_CALL(factor_cholesky), std::as_const(a).view(), g.view(),
                    this->entries(info));
        EXPECT_TRUE(a.same_bits(before)) << "a was changed";
        g.expect_gaps_untouched();
        for (std::size_t p = 0; p < zoo.size(); ++p) {
            check_cholesky_factor<T>(zoo[p], g.matrix(core::index_t(p)), info[p]);
        }
        // Four right-hand sides and one more pass, and one, for which there are other kernels.
        for (int sides : {5, 1}) {
            const Batch b = this->random_batch(core::index_t(zoo.size()), sides, n, layout, gap, 4);
            Batch x(b);
            runner_.run(APERTURE_CALL(substitute_cholesky), std::as_const(g).view(), x.view());
            x.expect_gaps_untouched();
            for (std::size_t p = 0; p < zoo.size(); ++p) {
                const auto problem = core::index_t(p);
                if (info[p] != 0) continue;
                EXPECT_LT(residual_ratio(zoo[p].a, x.columns(problem), b.columns(problem), eps<T>),
                          ratio_limit)
                    << zoo[p].name;
            }
        }
    }

    void check_lu(Pivoting pivoting, int n, Order layout, core::index_t gap) {
        check_lu(pivoting,
                 pivoting == Pivoting::partial ? general_zoo<T>(n, 5u + unsigned(n))
                                               : dominant_zoo<T>(n, 6u + unsigned(n)),
                 layout, gap);
    }
    void check_lu(Pivoting pivoting, const std::vector<ZooMatrix>& zoo, Order layout,
                  core::index_t gap) {
        const bool partial = pivoting == Pivoting::partial;
        const auto n = static_cast<int>(zoo.front().a.rows());
        SCOPED_TRACE(::testing::Message() << "order " << n << ", layout " << int(layout)
                                          << (partial ? ", partial pivoting" : ", no pivoting"));
        const auto problems = core::index_t(zoo.size());
        const Batch a = this->batch_of(zoo, layout, gap);
        const Batch before(a);
        Batch lu(problems, n, n, layout, gap);
        std::vector<int> info = zeros(zoo);
        std::vector<int> pivots(zoo.size() * std::size_t(n), -99);
        const auto its_rows = core::View<int, 2, core::Host>(pivots.data(), {problems, n});
        runner_.run(APERTURE_CALL(factor_lu), pivoting, a.view(), lu.view(), its_rows,
                    this->entries(info));
        EXPECT_TRUE(a.same_bits(before)) << "a was changed";
        lu.expect_gaps_untouched();
        // Four right-hand sides by the kernels of four, five by those of sixteen.
        const int sides = layout == Order::columns ? 4 : 5;
        const Batch b = this->random_batch(problems, sides, n, layout, gap, 6);
        Batch x(b), direct(b), inverse(problems, n, n, layout, gap);
        runner_.run(APERTURE_CALL(substitute_lu), std::as_const(lu).view(),
                    core::View<const int, 2, core::Host>(its_rows), x.view());
        x.expect_gaps_untouched();
        std::vector<int> info_of_solve = zeros(zoo);
        runner_.run(APERTURE_CALL(solve_lu), pivoting, a.view(), direct.view(),
                    this->entries(info_of_solve));
        const auto expect_info = [&](const std::vector<int>& its) {
            for (std::size_t p = 0; p < zoo.size(); ++p) {
                if (zoo[p].a.allFinite()) {
                    EXPECT_EQ(its[p], info[p]) << zoo[p].name;
                } else {
                    EXPECT_GT(its[p], 0) << zoo[p].name;
                    EXPECT_LE(its[p], n) << zoo[p].name;
                }
            }
        };
        expect_info(info_of_solve);
        std::vector<int> info_of_inverse = zeros(zoo);
        std::vector<T> determinants(zoo.size());
        if (partial) {
            runner_.run(APERTURE_CALL(invert), a.view(), inverse.view(),
                        this->entries(info_of_inverse));
            inverse.expect_gaps_untouched();
            runner_.run(APERTURE_CALL(determinant), a.view(),
                        core::View<T, 1, core::Host>(determinants.data(), {problems}));
            expect_info(info_of_inverse);
        }
        for (std::size_t p = 0; p < zoo.size(); ++p) {
            SCOPED_TRACE(zoo[p].name);
            const auto problem = core::index_t(p);
            const std::vector<int> exchanged(pivots.begin() + std::ptrdiff_t(p) * n,
                                             pivots.begin() + std::ptrdiff_t(p + 1) * n);
            check_lu_factor<T>(zoo[p], lu.matrix(problem), exchanged, info[p], pivoting);
            if (partial) {
                check_inverse<T>(zoo[p], inverse.matrix(problem), info[p]);
                check_determinant<T>(zoo[p], Complex(determinants[p]));
            }
            if (info[p] != 0) {
                EXPECT_TRUE((direct.matrix(problem).array() == Complex(0)).all());
                continue;
            }
            EXPECT_LT(residual_ratio(zoo[p].a, x.columns(problem), b.columns(problem), eps<T>),
                      ratio_limit);
            EXPECT_LT(residual_ratio(zoo[p].a, direct.columns(problem), b.columns(problem), eps<T>),
                      ratio_limit);
        }
    }

    void check_gauss_jordan(int n, Order layout, core::index_t gap) {
        check_gauss_jordan(dominant_zoo<T>(n, 8u + unsigned(n)), layout, gap);
    }
    void check_gauss_jordan(const std::vector<ZooMatrix>& zoo, Order layout, core::index_t gap) {
        const auto n = static_cast<int>(zoo.front().a.rows());
        SCOPED_TRACE(::testing::Message() << "order " << n << ", layout " << int(layout));
        const auto problems = core::index_t(zoo.size());
        const Batch a = this->batch_of(zoo, layout, gap);
        const Batch exact = this->random_batch(problems, 4, n, layout, gap, 9);
        Batch x(exact);
        for (std::size_t p = 0; p < zoo.size(); ++p) {
            const auto problem = core::index_t(p);
            x.set_columns(problem, right_hand_sides(zoo[p].a, exact.columns(problem)));
        }
        std::vector<int> info = zeros(zoo);
        runner_.run(APERTURE_CALL(solve_gauss_jordan), a.view(), x.view(), this->entries(info));
        x.expect_gaps_untouched();
        for (std::size_t p = 0; p < zoo.size(); ++p) {
            SCOPED_TRACE(zoo[p].name);
            const auto problem = core::index_t(p);
            if (zoo[p].info >= 0) {
                EXPECT_EQ(info[p], zoo[p].info);
            }
            if (info[p] != 0) {
                EXPECT_TRUE((x.matrix(problem).array() == Complex(0)).all());
            } else if (zoo[p].condition > 0) {
                EXPECT_LT(forward_ratio(x.columns(problem), exact.columns(problem),
                                        zoo[p].condition, eps<T>),
                          ratio_limit);
            }
        }
    }

    /// 2 x 2 problems that differ, with a closed-form solution.
    void check_batch_size(core::index_t problems, Order layout) {
        SCOPED_TRACE(::testing::Message() << problems << " problems");
        Batch a(problems, 2, 2, layout), x(problems, 1, 2, layout);
        for (core::index_t p = 0; p < problems; ++p) {
            // Half of the problems exchange their rows.
            a.view()(p, 0, 0) = R(p % 7);
            a.view()(p, 0, 1) = R(2);
            a.view()(p, 1, 0) = R(3);
            a.view()(p, 1, 1) = R(p % 5);
            x.view()(p, 0, 0) = R(p % 17);
            x.view()(p, 0, 1) = R(p % 19);
        }
        const Batch b(x);
        std::vector<int> info(std::size_t(problems), -99);
        runner_.run(APERTURE_CALL(solve_lu), Pivoting::partial, std::as_const(a).view(), x.view(),
                    this->entries(info));
        for (core::index_t p = 0; p < problems; ++p) {
            const double a0 = double(p % 7), a3 = double(p % 5), b0 = double(p % 17),
                         b1 = double(p % 19);
            const double d = a0 * a3 - 6;
            const Complex x0 = (a3 * b0 - 2 * b1) / d, x1 = (a0 * b1 - 3 * b0) / d;
            const double error = std::abs(Complex(x.view()(p, 0, 0)) - x0) +
                                 std::abs(Complex(x.view()(p, 0, 1)) - x1);
            if (d == 0) continue;
            ASSERT_EQ(info[std::size_t(p)], 0) << p;
            ASSERT_LE(error, 1000 * eps<T> * (std::abs(x0) + std::abs(x1) + 1)) << p;
        }
    }
};

TYPED_TEST_SUITE_P(FactorSuite);

TYPED_TEST_P(FactorSuite, Cholesky) {
    this->for_each_mapping([&] {
        for (int n : this->orders()) this->check_cholesky(n, Order::columns, 0);
        this->for_each_layout([&](auto... its) { this->check_cholesky(its...); });
    });
}

TYPED_TEST_P(FactorSuite, LuWithPartialPivoting) {
    this->for_each_mapping([&] {
        for (int n : this->orders()) this->check_lu(Pivoting::partial, n, Order::columns, 0);
        this->for_each_layout([&](auto... its) { this->check_lu(Pivoting::partial, its...); });
    });
}

TYPED_TEST_P(FactorSuite, LuWithoutPivoting) {
    this->for_each_mapping([&] {
        for (int n : this->orders()) this->check_lu(Pivoting::none, n, Order::columns, 0);
        this->for_each_layout([&](auto... its) { this->check_lu(Pivoting::none, its...); });
    });
}

TYPED_TEST_P(FactorSuite, GaussJordan) {
    this->for_each_mapping([&] {
        for (int n : this->orders()) this->check_gauss_jordan(n, Order::columns, 0);
        for (Order layout : layouts) this->check_gauss_jordan(7, layout, 3);
    });
}

// The reciprocal of a subnormal pivot overflows.
TYPED_TEST_P(FactorSuite, FactorsSubnormalMatrices) {
    using Value = typename TypeParam::T;
    this->for_each_mapping([&] {
        for (int n : {3, 8, 20}) {
            const double size = 64 * double(std::numeric_limits<Real<Value>>::denorm_min());
            const Matrix ones = Matrix::Ones(n, n).template triangularView<Eigen::Lower>();
            typename TestFixture::Batch a(2, n, n), lu(2, n, n);
            for (core::index_t p = 0; p < 2; ++p) a.set(p, size * ones);
            std::vector<int> info(2, -99), pivots(std::size_t(2 * n));
            this->runner_.run(APERTURE_CALL(factor_lu), Pivoting::partial, std::as_const(a).view(),
                              lu.view(), core::View<int, 2, core::Host>(pivots.data(), {2, n}),
                              this->entries(info));
            Matrix expected = ones;
            expected.diagonal().setConstant(size);
            for (core::index_t p = 0; p < 2; ++p) {
                EXPECT_EQ(info[std::size_t(p)], 0);
                EXPECT_EQ(lu.matrix(p), expected);
            }
            // Of a column's entries, some zero, only differences of their last bits tell the pivot.
            typename TestFixture::Batch x(2, 2, n);
            Matrix first = Matrix::Zero(2, n);
            for (core::index_t p = 0; p < 2; ++p) x.set(p, size * Matrix::Ones(2, n));
            first.col(0).setOnes();
            this->runner_.run(APERTURE_CALL(solve_lu), Pivoting::partial, std::as_const(a).view(),
                              x.view(), this->entries(info));
            typename TestFixture::Batch substituted(2, 2, n);
            for (core::index_t p = 0; p < 2; ++p) substituted.set(p, size * Matrix::Ones(2, n));
            this->runner_.run(APERTURE_CALL(substitute_lu), std::as_const(lu).view(),
                              core::View<const int, 2, core::Host>(pivots.data(), {2, n}),
                              substituted.view());
            for (core::index_t p = 0; p < 2; ++p) {
                EXPECT_EQ(info[std::size_t(p)], 0);
                EXPECT_EQ(x.matrix(p), first);
                EXPECT_EQ(substituted.matrix(p), first);
            }
        }
    });
}

// Few problems, of orders that have kernels of their own.
TYPED_TEST_P(FactorSuite, LargerOrders) {
    using Value = typename TypeParam::T;
    for (int n : {49, 65, 97}) {
        const std::vector<ZooMatrix> zoo = dominant_zoo<Value>(n, 4);
        std::mt19937 generator(5);
        const Matrix random = random_matrix<Value>(n, n, generator);
        this->check_lu(Pivoting::partial, {{"random", random, 0, 0}}, Order::columns, 0);
        this->check_lu(Pivoting::none, {zoo.front()}, Order::columns, 0);
        this->check_gauss_jordan({zoo.front()}, Order::columns, 0);
    }
}

TYPED_TEST_P(FactorSuite, BatchesOfAnySize) {
    this->for_each_mapping([&] {
        for (Order layout : layouts) {
            for (core::index_t problems : {0, 1, 31, 32, 33})
                this->check_batch_size(problems, layout);
        }
        this->check_batch_size(1031, Order::problems);
    });
}

TYPED_TEST_P(FactorSuite, LargeBatches) {
    if (TypeParam::Runner::emulated) GTEST_SKIP() << "LargeSimt has them";
    for (core::index_t problems : {65535, 65536, 65537, 600000}) {
        this->check_batch_size(problems, Order::columns);
        this->check_batch_size(problems, Order::problems);
    }
}

// Every layout gives the same bits, and so do neighbours that are not finite or singular.
TYPED_TEST_P(FactorSuite, BitsDependOnTheProblemAlone) {
    using Value = typename TypeParam::T;
    using Problems = typename TestFixture::Batch;
    this->for_each_mapping([&] {
        for (int n : {2, 5, 18, 33}) {
            const std::vector<ZooMatrix> bad = general_zoo<Value>(n, 7);
            const auto problems = 2 * core::index_t(bad.size());
            const Problems good = this->random_batch(problems, n, n, Order::columns, 0, 11);
            Problems expected(problems, n, n);
            std::vector<int> info(std::size_t(problems), -99);
            std::vector<int> pivots(std::size_t(problems * n), -99);
            const core::View<int, 2, core::Host> rows(pivots.data(), {problems, n});
            this->runner_.run(APERTURE_CALL(factor_lu), Pivoting::partial, good.view(),
                              expected.view(), rows, this->entries(info));
            for (Order layout : layouts) {
                Problems mixed(problems, n, n, layout, 1), lu(problems, n, n, layout, 2);
                for (core::index_t p = 0; p < problems; ++p) {
                    mixed.set(p, p % 2 == 0 ? good.matrix(p) : bad[std::size_t(p / 2)].a);
                }
                this->runner_.run(APERTURE_CALL(factor_lu), Pivoting::partial,
                                  std::as_const(mixed).view(), lu.view(), rows,
                                  this->entries(info));
                for (core::index_t p = 0; p < problems; p += 2) {
                    EXPECT_EQ(info[std::size_t(p)], 0);
                    EXPECT_TRUE(lu.same_bits(p, expected, p)) << "order " << n << " problem " << p;
                }
            }
        }
    });
}

TYPED_TEST_P(FactorSuite, RefusesWrongShapes) {
    using Problems = typename TestFixture::Batch;
    Problems a(4, 3, 3), lu(4, 3, 3), wide(4, 3, 4), other(5, 2, 3);
    Problems big(1, max_order + 1, max_order + 1), big_x(1, 1, max_order + 1);
    std::vector<int> info(4), few(3), one(1), rows(12);
    const core::View<int, 2, core::Host> pivots(rows.data(), {4, 3});
    const auto partial = Pivoting::partial;
    const auto refuses = [&](auto function, auto... arguments) {
        EXPECT_THROW(this->runner_.run(function, arguments...), core::InvalidArgument);
    };
    const auto in = [](Problems& batch) { return std::as_const(batch).view(); };
    refuses(APERTURE_CALL(factor_lu), partial, in(wide), wide.view(), pivots, this->entries(info));
    refuses(APERTURE_CALL(factor_lu), partial, in(a), wide.view(), pivots, this->entries(info));
    refuses(APERTURE_CALL(factor_lu), partial, in(a), lu.view(), pivots, this->entries(few));
    refuses(APERTURE_CALL(factor_lu), partial, in(a), lu.view(), core::View<int, 2, core::Host>(),
            this->entries(info));
    refuses(APERTURE_CALL(solve_lu), partial, in(a), other.view(), this->entries(info));
    refuses(APERTURE_CALL(solve_lu), partial, in(big), big_x.view(), this->entries(one));
    refuses(APERTURE_CALL(solve_gauss_jordan), in(a), wide.view(), this->entries(info));
    refuses(APERTURE_CALL(invert), in(a), wide.view(), this->entries(info));
    refuses(APERTURE_CALL(factor_cholesky), in(wide), wide.view(), this->entries(info));
    refuses(APERTURE_CALL(substitute_cholesky), in(a), wide.view());
    auto strided = lu.view();
    strided.stride[2] = 2;
    refuses(APERTURE_CALL(factor_cholesky), in(a), strided, this->entries(info));
}

REGISTER_TYPED_TEST_SUITE_P(FactorSuite, Cholesky, LuWithPartialPivoting, LuWithoutPivoting,
                            GaussJordan, FactorsSubnormalMatrices, LargerOrders, BatchesOfAnySize,
                            LargeBatches, BitsDependOnTheProblemAlone, RefusesWrongShapes);

}  // namespace aperture::dense::oracle
