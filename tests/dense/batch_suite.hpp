// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "aperture/dense/batch_blas.hpp"
#include "libcore/cpu/simd.hpp"
#include "tests/dense/accuracy_checks.hpp"
#include "tests/dense/batch_runner.hpp"

/// Rank-k updates, solutions of positive definite systems and changes of layout on any executor.
namespace aperture::dense::oracle {

inline constexpr std::array<int, 8> right_hand_side_counts{0, 1, 2, 3, 15, 16, 17, 64};
inline constexpr std::array<Factorisation, 2> factorisations{Factorisation::cholesky,
                                                             Factorisation::gauss_jordan};

template <class SomeCombination>
class BatchSuite : public Suite<SomeCombination> {
  protected:
    using typename Suite<SomeCombination>::Runner;
    using typename Suite<SomeCombination>::T;
    using typename Suite<SomeCombination>::R;
    using typename Suite<SomeCombination>::Batch;
    using Suite<SomeCombination>::runner_;

    struct Outcome {
        std::vector<int> info;
        std::vector<R> pivot_ratio;
    };

    Outcome solve(Factorisation factorisation, const Batch& a, Batch& x) {
        const core::index_t problems = a.view().extent[0];
        const auto count = static_cast<std::size_t>(problems);
        Outcome outcome{std::vector<int>(count, -99), std::vector<R>(count, R(-99))};
        using Host = core::Host;
        runner_.run(call_solve, factorisation, a.view(), x.view(),
                    core::View<int, 1, Host>(outcome.info.data(), {problems}),
                    core::View<R, 1, Host>(outcome.pivot_ratio.data(), {problems}));
        return outcome;
    }

    static std::vector<int> orders() {
        if (Runner::emulated) return {0, 1, 2, 3, 5, 8, 12, 17, 18, 24, 31, 33, 65};
        return {0, 1, 2, 3, 5, 8, 12, 16, 17, 18, 24, 31, 32, 33, 48, 64, 96, 128};
    }

    /// Solves for every matrix of the zoo in one batch and checks each problem separately.
    void check_zoo(int n, int sides, Order layout, core::index_t gap) {
        SCOPED_TRACE(::testing::Message()
                     << "order " << n << ", " << sides << " right-hand sides, layout "
                     << int(layout) << ", gap " << gap);
        const std::vector<ZooMatrix> entries = zoo<T>(n, 17u + unsigned(n));
        const auto problems = static_cast<core::index_t>(entries.size());
        std::mt19937 generator(unsigned(n * 100 + sides));
        Batch a(problems, n, n, layout, gap);
        Batch b(problems, sides, n, layout, gap);
        std::vector<Matrix> exact;
        for (core::index_t p = 0; p < problems; ++p) {
            const Matrix& matrix = entries[std::size_t(p)].a;
            exact.push_back(random_matrix<T>(n, sides, generator));
            a.set(p, matrix);
            b.set_columns(p, right_hand_sides(matrix, exact.back()));
        }
        a.spoil_upper_triangle();
        for (Factorisation factorisation : factorisations) {
            // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): solve might write to a.
            const Batch a_before(a);
            Batch x(b);
            const Outcome outcome = solve(factorisation, a, x);
            EXPECT_TRUE(a.same_bits(a_before)) << "a was changed";
            x.expect_gaps_untouched();
            for (core::index_t p = 0; p < problems; ++p) {
                check_solution<T>(entries[std::size_t(p)], factorisation, x.columns(p),
                                  b.columns(p), exact[std::size_t(p)], outcome.info[std::size_t(p)],
                                  outcome.pivot_ratio[std::size_t(p)]);
            }
        }
    }

    void check_rank_k(int n, int depth, R alpha, R beta, Order layout, core::index_t gap) {
        SCOPED_TRACE(::testing::Message() << "order " << n << ", depth " << depth << ", beta "
                                          << beta << ", gap " << gap);
        const core::index_t problems = core::lanes<R> + 3;
        std::mt19937 generator(unsigned(1000 * n + depth));
        Batch a(problems, n, depth, layout, gap);
        Batch c(problems, n, n, layout, gap);
        for (core::index_t p = 0; p < problems; ++p) {
            a.set(p, random_matrix<T>(n, depth, generator));
            c.set(p, random_hermitian<T>(n, generator));
        }
        const Batch old(c);
        if (beta == 0) {
            for (core::index_t p = 0; p < problems; ++p) {
                c.set(p, Matrix::Constant(n, n, std::nan("")));
            }
        }
        runner_.run(APERTURE_CALL(hermitian_rank_k), alpha, std::as_const(a).view(), beta,
                    c.view());
        c.expect_gaps_untouched();
        for (core::index_t p = 0; p < problems && n > 0; ++p) {
            SCOPED_TRACE(::testing::Message() << "problem " << p);
            check_rank_k_sum<T>(alpha, a.matrix(p), beta, old.matrix(p), c.matrix(p));
        }
    }

    /// Problem p of order 2, with a closed-form solution. Neighbouring problems differ.
    static Matrix small_matrix(core::index_t p) {
        Matrix a(2, 2);
        a << 2.0 + double(p % 7), std::conj(small_corner(p)), small_corner(p), 3.0 + double(p % 11);
        return a;
    }
    static Complex small_corner(core::index_t p) {
        const bool complex = !std::same_as<T, R>;
        return {double(p % 13) / 16, complex ? double(p % 5) / 8 : 0.0};
    }

    void check_batch_size(core::index_t problems, Order layout) {
        SCOPED_TRACE(::testing::Message() << problems << " problems");
        Batch a(problems, 2, 2, layout);
        Batch x(problems, 1, 2, layout);
        for (core::index_t p = 0; p < problems; ++p) {
            a.set(p, small_matrix(p));
            x.view()(p, 0, 0) = R(p % 17) - R(8);
            x.view()(p, 0, 1) = R(p % 19) + R(1);
        }
        const Batch b(x);
        const Outcome outcome = solve(Factorisation::cholesky, a, x);
        for (core::index_t p = 0; p < problems; ++p) {
            const Complex corner = small_corner(p);
            const double first = 2.0 + double(p % 7), second = 3.0 + double(p % 11);
            const double determinant = first * second - std::norm(corner);
            const Complex b0(b.view()(p, 0, 0)), b1(b.view()(p, 0, 1));
            const Complex x0 = (second * b0 - std::conj(corner) * b1) / determinant;
            const Complex x1 = (first * b1 - corner * b0) / determinant;
            const double error = std::abs(Complex(x.view()(p, 0, 0)) - x0) +
                                 std::abs(Complex(x.view()(p, 0, 1)) - x1);
            ASSERT_LE(error, ratio_limit * 20 * eps<T> * (std::abs(x0) + std::abs(x1)))
                << "problem " << p;
            ASSERT_EQ(outcome.info[std::size_t(p)], 0) << "problem " << p;
            ASSERT_GE(outcome.pivot_ratio[std::size_t(p)], R(1)) << "problem " << p;
        }
    }
};

TYPED_TEST_SUITE_P(BatchSuite);

TYPED_TEST_P(BatchSuite, SolvesTheZoo) {
    this->for_each_mapping([&] {
        std::size_t next = 0;
        for (int n : this->orders()) {
            const int sides = right_hand_side_counts[next++ % right_hand_side_counts.size()];
            this->check_zoo(n, sides, Order::columns, 0);
            this->check_zoo(n, sides, Order::problems, 0);
        }
    });
}

TYPED_TEST_P(BatchSuite, SolvesAnyNumberOfRightHandSides) {
    this->for_each_mapping([&] {
        for (int n : {3, 18}) {
            for (int sides : right_hand_side_counts) this->check_zoo(n, sides, Order::columns, 0);
        }
        if (!TypeParam::Runner::emulated) this->check_zoo(128, 40, Order::columns, 0);
    });
}

TYPED_TEST_P(BatchSuite, SolvesStridedViews) {
    this->for_each_mapping([&] {
        for (Order layout : layouts) {
            for (int n : {1, 5, 18, 33}) this->check_zoo(n, 3, layout, 5);
        }
    });
}

TYPED_TEST_P(BatchSuite, FailuresLeaveTheirNeighboursAlone) {
    using Value = typename TypeParam::T;
    this->for_each_mapping([&] {
        for (int n : {2, 5, 18, 40}) {
            const std::vector<ZooMatrix> bad = zoo<Value>(n, 5);
            std::mt19937 generator(9);
            const core::index_t problems = 2 * core::index_t(bad.size());
            typename TestFixture::Batch good(problems, n, n), mixed(problems, n, n);
            typename TestFixture::Batch x_good(problems, 4, n);
            for (core::index_t p = 0; p < problems; ++p) {
                const Matrix fine = with_spectrum<Value>(geometric(n, 100), generator);
                good.set(p, fine);
                mixed.set(p, p % 2 == 0 ? fine : bad[std::size_t(p / 2)].a);
                x_good.set(p, random_matrix<Value>(4, n, generator));
            }
            const typename TestFixture::Batch b(x_good);
            for (Factorisation factorisation : factorisations) {
                typename TestFixture::Batch all_good(b), some_good(b);
                const auto expected = this->solve(factorisation, good, all_good);
                const auto outcome = this->solve(factorisation, mixed, some_good);
                for (core::index_t p = 0; p < problems; p += 2) {
                    EXPECT_EQ(outcome.info[std::size_t(p)], 0);
                    EXPECT_EQ(outcome.pivot_ratio[std::size_t(p)],
                              expected.pivot_ratio[std::size_t(p)]);
                    EXPECT_TRUE(some_good.same_bits(p, all_good, p))
                        << "order " << n << " problem " << p;
                }
            }
        }
    });
}

TYPED_TEST_P(BatchSuite, SolvesBatchesOfAnySize) {
    this->for_each_mapping([&] {
        for (Order layout : layouts) {
            for (core::index_t problems : {0, 1, 15, 16, 17, 33}) {
                this->check_batch_size(problems, layout);
            }
        }
        this->check_batch_size(1031, Order::problems);
    });
}

TYPED_TEST_P(BatchSuite, LargeBatches) {
    if (TypeParam::Runner::emulated) GTEST_SKIP() << "LargeSimt has them";
    for (core::index_t problems : {65535, 65536, 65537, 600000}) {
        this->check_batch_size(problems, Order::columns);
        this->check_batch_size(problems, Order::problems);
    }
}

TYPED_TEST_P(BatchSuite, RankKReaches130dB) {
    for (int n : this->orders()) this->check_rank_k(n, 64, 1.0f / 64, 0, Order::columns, 0);
}

TYPED_TEST_P(BatchSuite, RankKOfAnyDepthAddsToC) {
    for (int depth : {0, 1, 2, 7, 65, 700}) {
        for (int n : {1, 5, 18}) {
            this->check_rank_k(n, depth, 0.5f, 0, Order::problems, 0);
            for (Order layout : layouts) this->check_rank_k(n, depth, 0.5f, -1.25f, layout, 3);
        }
    }
}

TYPED_TEST_P(BatchSuite, ChangesLayoutThereAndBack) {
    using Value = typename TypeParam::T;
    using core::index_t;
    for (index_t problems : {0, 1, 15, 16, 17, 70}) {
        for (auto [rows, columns] :
             {std::pair<index_t, index_t>{0, 3}, {1, 1}, {5, 3}, {18, 18}, {2, 64}, {3, 300}}) {
            for (Order layout : layouts) {
                for (Order other : layouts) {
                    HostBatch<Value> from(problems, rows, columns, layout, 3);
                    HostBatch<Value> to(problems, rows, columns, other, 2);
                    HostBatch<Value> back(problems, rows, columns, layout, 3);
                    for (index_t p = 0; p < problems; ++p) {
                        for (index_t i = 0; i < rows; ++i) {
                            for (index_t j = 0; j < columns; ++j) {
                                from.view()(p, i, j) = rounded<Value>(
                                    Complex{double(p * 1000 + i * columns + j), double(p - j)});
                            }
                        }
                    }
                    SCOPED_TRACE(::testing::Message()
                                 << problems << " of " << rows << " x " << columns << ", "
                                 << int(layout) << " to " << int(other));
                    this->runner_.run(APERTURE_CALL(change_layout), std::as_const(from).view(),
                                      to.view());
                    to.expect_gaps_untouched();
                    for (index_t p = 0; p < problems; ++p) {
                        ASSERT_EQ(to.matrix(p), from.matrix(p)) << p;
                    }
                    this->runner_.run(APERTURE_CALL(change_layout), std::as_const(to).view(),
                                      back.view());
                    EXPECT_TRUE(back.same_bits(from));
                }
            }
        }
    }
}

TYPED_TEST_P(BatchSuite, RefusesWrongShapes) {
    using Problems = typename TestFixture::Batch;
    Problems a(4, 3, 3), x(4, 2, 3), other_batch(5, 2, 3), other_order(4, 2, 2), wide(4, 3, 4);
    Problems big(1, max_order + 1, max_order + 1), big_x(1, 1, max_order + 1);
    const auto f = Factorisation::cholesky;
    EXPECT_THROW(this->solve(f, a, other_batch), core::InvalidArgument);
    EXPECT_THROW(this->solve(f, a, other_order), core::InvalidArgument);
    EXPECT_THROW(this->solve(f, wide, x), core::InvalidArgument);
    EXPECT_THROW(this->solve(f, big, big_x), core::InvalidArgument);
    EXPECT_THROW(
        this->runner_.run(APERTURE_CALL(hermitian_rank_k), 1, std::as_const(x).view(), 0, a.view()),
        core::InvalidArgument);
    EXPECT_THROW(this->runner_.run(APERTURE_CALL(hermitian_rank_k), 1, std::as_const(a).view(), 0,
                                   wide.view()),
                 core::InvalidArgument);
    auto strided = a.view();
    strided.stride[2] = 2;
    EXPECT_THROW(
        this->runner_.run(APERTURE_CALL(hermitian_rank_k), 1, std::as_const(a).view(), 0, strided),
        core::InvalidArgument);
}

REGISTER_TYPED_TEST_SUITE_P(BatchSuite, SolvesTheZoo, SolvesAnyNumberOfRightHandSides,
                            SolvesStridedViews, FailuresLeaveTheirNeighboursAlone,
                            SolvesBatchesOfAnySize, LargeBatches, RankKReaches130dB,
                            RankKOfAnyDepthAddsToC, ChangesLayoutThereAndBack, RefusesWrongShapes);

}  // namespace aperture::dense::oracle
