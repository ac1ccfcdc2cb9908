// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "libcore/cpu/simd.hpp"
#include "tests/dense/accuracy_checks.hpp"
#include "tests/dense/host_batch.hpp"

/// One suite for every executor: BatchSuite is instantiated with Combination<Runner, T, Layout>.
///
/// A Runner runs the library on host views and copies data if its executor has memory of its own:
///     static constexpr bool emulated;  // true: the suite uses small sizes only
///     static std::string why_not();    // optional; not empty: the reason to skip the suite
///     void solve(Factorisation, MatrixBatch<const T, Host, Layout> a, MatrixBatch<T, ...> x,
///                View<int, 1, Host> info, View<Real<T>, 1, Host> pivot_ratio);
///     void hermitian_rank_k(Real<T> alpha, MatrixBatch<const T, ...> a, Real<T> beta,
///                           MatrixBatch<T, ...> c);
///     void change_layout(MatrixBatch<const T, Host, From>, MatrixBatch<T, Host, To>);
/// HostRunner is a Runner for executors that use host memory.
namespace aperture::dense::oracle {

template <class Executor, bool is_emulated>
struct HostRunner {
    static constexpr bool emulated = is_emulated;
    Executor executor = Executor();

    void solve(auto... arguments) { dense::solve(executor, arguments...); }
    void hermitian_rank_k(auto... arguments) { dense::hermitian_rank_k(executor, arguments...); }
    void change_layout(auto... arguments) { dense::change_layout(executor, arguments...); }
};

template <class SomeRunner, Scalar SomeScalar, class SomeLayout>
struct Combination {
    using Runner = SomeRunner;
    using T = SomeScalar;
    using Layout = SomeLayout;
};

/// Sanitized, each combination takes long to compile, so every type is tested in one layout.
#if defined(APERTURE_SANITIZE)
template <class Runner>
using AllCombinations =
    ::testing::Types<Combination<Runner, float, core::Concatenated>,
                     Combination<Runner, double, core::Interleaved>,
                     Combination<Runner, std::complex<float>, core::Interleaved>,
                     Combination<Runner, std::complex<double>, core::Concatenated>>;
#else
template <class Runner>
using AllCombinations = ::testing::Types<
    Combination<Runner, float, core::Concatenated>, Combination<Runner, float, core::Interleaved>,
    Combination<Runner, double, core::Concatenated>, Combination<Runner, double, core::Interleaved>,
    Combination<Runner, std::complex<float>, core::Concatenated>,
    Combination<Runner, std::complex<float>, core::Interleaved>,
    Combination<Runner, std::complex<double>, core::Concatenated>,
    Combination<Runner, std::complex<double>, core::Interleaved>>;
#endif

inline constexpr std::array<int, 8> right_hand_side_counts{0, 1, 2, 3, 15, 16, 17, 64};
inline constexpr std::array<Factorisation, 2> factorisations{Factorisation::cholesky,
                                                             Factorisation::gauss_jordan};

template <class SomeCombination>
class BatchSuite : public ::testing::Test {
  protected:
    using Runner = typename SomeCombination::Runner;
    using T = typename SomeCombination::T;
    using Layout = typename SomeCombination::Layout;
    using Batch = HostBatch<T, Layout>;
    using R = Real<T>;

    void SetUp() override {
        if constexpr (requires { Runner::why_not(); }) {
            if (!Runner::why_not().empty()) GTEST_SKIP() << Runner::why_not();
        }
    }

    struct Outcome {
        std::vector<int> info;
        std::vector<R> pivot_ratio;
    };

    Outcome solve(Factorisation factorisation, const Batch& a, Batch& x) {
        const core::index_t problems = a.view().extent[0];
        const auto count = static_cast<std::size_t>(problems);
        Outcome outcome{std::vector<int>(count, -99), std::vector<R>(count, R(-99))};
        using Host = core::Host;
        runner_.solve(factorisation, a.view(), x.view(),
                      core::View<int, 1, Host>(outcome.info.data(), {problems}),
                      core::View<R, 1, Host>(outcome.pivot_ratio.data(), {problems}));
        return outcome;
    }

    static std::vector<int> orders() {
        if (Runner::emulated) return {0, 1, 2, 3, 5, 8, 12, 17, 18, 24, 31, 33, 65};
        return {0, 1, 2, 3, 5, 8, 12, 16, 17, 18, 24, 31, 32, 33, 48, 64, 96, 128};
    }

    /// Solves for every matrix of the zoo in one batch and checks each problem separately.
    void check_zoo(int n, int sides, core::index_t gap) {
        SCOPED_TRACE(::testing::Message()
                     << "order " << n << ", " << sides << " right-hand sides, gap " << gap);
        const std::vector<ZooMatrix> entries = zoo<T>(n, 17u + unsigned(n));
        const auto problems = static_cast<core::index_t>(entries.size());
        std::mt19937 generator(unsigned(n * 100 + sides));
        Batch a(problems, n, n, gap);
        Batch b(problems, sides, n, gap);
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

    void check_rank_k(int n, int depth, R alpha, R beta, core::index_t gap) {
        SCOPED_TRACE(::testing::Message() << "order " << n << ", depth " << depth << ", beta "
                                          << beta << ", gap " << gap);
        const core::index_t problems = core::lanes<R> + 3;
        std::mt19937 generator(unsigned(1000 * n + depth));
        Batch a(problems, n, depth, gap);
        Batch c(problems, n, n, gap);
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
        runner_.hermitian_rank_k(alpha, std::as_const(a).view(), beta, c.view());
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

    void check_batch_size(core::index_t problems) {
        SCOPED_TRACE(::testing::Message() << problems << " problems");
        Batch a(problems, 2, 2);
        Batch x(problems, 1, 2);
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

    Runner runner_{};
};

TYPED_TEST_SUITE_P(BatchSuite);

TYPED_TEST_P(BatchSuite, SolvesTheZoo) {
    std::size_t next = 0;
    for (int n : this->orders()) {
        this->check_zoo(n, right_hand_side_counts[next++ % right_hand_side_counts.size()], 0);
    }
}

TYPED_TEST_P(BatchSuite, SolvesAnyNumberOfRightHandSides) {
    for (int n : {3, 18}) {
        for (int sides : right_hand_side_counts) this->check_zoo(n, sides, 0);
    }
    if (!TypeParam::Runner::emulated) this->check_zoo(128, 40, 0);
}

TYPED_TEST_P(BatchSuite, SolvesStridedViews) {
    for (int n : {1, 5, 18, 33}) this->check_zoo(n, 3, 5);
}

TYPED_TEST_P(BatchSuite, FailuresLeaveTheirNeighboursAlone) {
    using Value = typename TypeParam::T;
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
}

TYPED_TEST_P(BatchSuite, SolvesBatchesOfAnySize) {
    for (core::index_t problems : {0, 1, 15, 16, 17, 33}) this->check_batch_size(problems);
    if (TypeParam::Runner::emulated) {
        this->check_batch_size(1031);
    } else {
        for (core::index_t problems : {65535, 65536, 65537, 600000}) {
            this->check_batch_size(problems);
        }
    }
}

TYPED_TEST_P(BatchSuite, RankKReaches130dB) {
    for (int n : this->orders()) this->check_rank_k(n, 64, 1.0f / 64, 0, 0);
}

TYPED_TEST_P(BatchSuite, RankKOfAnyDepthAddsToC) {
    for (int depth : {0, 1, 2, 7, 65, 700}) {
        for (int n : {1, 5, 18}) {
            this->check_rank_k(n, depth, 0.5f, 0, 0);
            this->check_rank_k(n, depth, 0.5f, -1.25f, 3);
        }
    }
}

TYPED_TEST_P(BatchSuite, ChangesLayoutThereAndBack) {
    using Value = typename TypeParam::T;
    using core::index_t;
    for (index_t problems : {0, 1, 15, 16, 17, 70}) {
        for (auto [rows, columns] :
             {std::pair<index_t, index_t>{0, 3}, {1, 1}, {5, 3}, {18, 18}, {2, 64}, {3, 300}}) {
            HostBatch<Value, core::Concatenated> from(problems, rows, columns, 3);
            HostBatch<Value, core::Interleaved> to(problems, rows, columns, 2);
            HostBatch<Value, core::Concatenated> back(problems, rows, columns, 3);
            for (index_t p = 0; p < problems; ++p) {
                for (index_t i = 0; i < rows; ++i) {
                    for (index_t j = 0; j < columns; ++j) {
                        from.view()(p, i, j) = rounded<Value>(
                            Complex{double(p * 1000 + i * columns + j), double(p - j)});
                    }
                }
            }
            this->runner_.change_layout(std::as_const(from).view(), to.view());
            to.expect_gaps_untouched();
            for (index_t p = 0; p < problems; ++p) {
                ASSERT_EQ(to.matrix(p), from.matrix(p)) << rows << " x " << columns << ' ' << p;
            }
            this->runner_.change_layout(std::as_const(to).view(), back.view());
            EXPECT_TRUE(back.same_bits(from)) << rows << " x " << columns << ' ' << problems;
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
    EXPECT_THROW(this->runner_.hermitian_rank_k(1, std::as_const(x).view(), 0, a.view()),
                 core::InvalidArgument);
    EXPECT_THROW(this->runner_.hermitian_rank_k(1, std::as_const(a).view(), 0, wide.view()),
                 core::InvalidArgument);
    auto strided = a.view();
    std::swap(strided.stride[0], strided.stride[2]);
    EXPECT_THROW(this->runner_.hermitian_rank_k(1, std::as_const(a).view(), 0, strided),
                 core::InvalidArgument);
}

REGISTER_TYPED_TEST_SUITE_P(BatchSuite, SolvesTheZoo, SolvesAnyNumberOfRightHandSides,
                            SolvesStridedViews, FailuresLeaveTheirNeighboursAlone,
                            SolvesBatchesOfAnySize, RankKReaches130dB, RankKOfAnyDepthAddsToC,
                            ChangesLayoutThereAndBack, RefusesWrongShapes);

}  // namespace aperture::dense::oracle
