// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/dense/tall_qr.hpp"
#include "tests/dense/accuracy_checks.hpp"
#include "tests/dense/tall_matrices.hpp"
#include "tests/same_bytes.hpp"

/// TallQr of any executor.
///
/// A Runner runs it on host views and copies data if its executor has memory of its own (else see
/// HostTallRunner):
///     std::string why_not();                    // not empty: the reason to skip the suite
///     std::vector<QrMethod> methods();
///     std::vector<std::pair<int, int>> sizes(); // rows, columns: around blocks, levels, panels
///     index_t tall();                           // rows that span several blocks
///     std::uint64_t allocations();              // on its device since the program started
///     template <class T> class Qr: Qr(Runner&, QrMethod, rows, columns) and TallQr's functions.
namespace aperture::dense::oracle {

using core::Array;
using core::Host;
using core::View;

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
inline Eigen::Map<RowMajor> mapped(Array<double, 2>& array) {
    return {array.data(), array.extent()[0], array.extent()[1]};
}

/// For executors that use host memory.
template <class Executor>
struct HostTallRunner {
    Executor executor{};

    static std::string why_not() { return ""; }
    static std::uint64_t allocations() { return core::host_allocations(); }

    template <class T>
    class Qr {
      public:
        Qr(HostTallRunner& runner, QrMethod method, index_t rows, index_t columns)
            : qr_(runner.executor, method, rows, columns) {}

        std::uint64_t factor(View<const T, 2, Host> a, View<T, 2, Host> r) {
            return counted([&] { qr_.factor(a, r); });
        }
        std::uint64_t find_r(View<const T, 2, Host> a, View<T, 2, Host> r) {
            return counted([&] { qr_.find_r(a, r); });
        }
        std::uint64_t form_q(View<T, 2, Host> q) {
            return counted([&] { qr_.form_q(q); });
        }
        void apply_q_transposed(View<const T, 2, Host> c, View<T, 2, Host> x) {
            qr_.apply_q_transposed(c, x);
        }
        void apply_q(View<const T, 2, Host> x, View<T, 2, Host> c) { qr_.apply_q(x, c); }
        bool fell_back() const { return qr_.fell_back(); }

      private:
        template <class Work>
        static std::uint64_t counted(const Work& work) {
            const auto before = allocations();
            work();
            return allocations() - before;
        }

        TallQr<T, Executor> qr_;
    };
};

/// Expects A = Q R, orthonormal columns of Q, and zeros below R's diagonal. `qr` has factor(a, r)
/// and form_q(q).
template <class T, class Qr>
void expect_factors(const TallCase& c, Qr&& qr) {
    SCOPED_TRACE(name_of(c));
    const Array<T, 2> a = matrix_of<T>(c);
    const index_t n = c.columns;
    Array<T, 2> r({n, n});
    Array<T, 2> q({c.rows, n});
    qr.factor(a.view(), r.view());
    qr.form_q(q.view());
    EXPECT_LE(residual_ratio<T>(a.view(), q.view(), r.view()), ratio_limit);
    EXPECT_LE(orthogonality_ratio<T>(q.view()), ratio_limit);
    for (index_t i = 0; i < n; ++i) {
        for (index_t j = 0; j < i; ++j) EXPECT_EQ(r(i, j), 0) << i << ", " << j;
    }
}

/// Columns that are hard to factor, of these rows and columns.
inline std::vector<TallCase> hard_cases(const std::vector<std::pair<index_t, index_t>>& sizes) {
    std::vector<TallCase> cases;
    for (const Content content :
         {Content::graded, Content::hilbert, Content::dependent, Content::zero_columns,
          Content::zero, Content::huge, Content::tiny}) {
        for (const auto& [rows, columns] : sizes) cases.push_back({rows, columns, content});
    }
    return cases;
}

template <class Runner>
class TallQrSuite : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = runner.why_not(); !reason.empty()) GTEST_SKIP() << reason;
    }

    /// Calls work(method) for every method of the runner.
    template <class Work>
    void for_methods(const Work& work) {
        for (const QrMethod method : runner.methods()) {
            SCOPED_TRACE(testing::Message() << "method " << static_cast<int>(method));
            work(method);
        }
    }
    template <class T>
    void check(const TallCase& c) {
        using Qr = typename Runner::template Qr<T>;
        for_methods(
            [&](QrMethod method) { expect_factors<T>(c, Qr(runner, method, c.rows, c.columns)); });
    }

    Runner runner;
};
TYPED_TEST_SUITE_P(TallQrSuite);

TYPED_TEST_P(TallQrSuite, FactorsBackwardStably) {
    for (const auto& [rows, columns] : this->runner.sizes()) {
        this->template check<float>({rows, columns, Content::random});
        this->template check<double>({rows, columns, Content::random});
    }
}

TYPED_TEST_P(TallQrSuite, FactorsWhateverColumnsHold) {
    for (const TallCase& c : hard_cases({{5, 3}, {40, 40}, {TypeParam::tall(), 31}})) {
        this->template check<float>(c);
        this->template check<double>(c);
    }
}

TYPED_TEST_P(TallQrSuite, OfAHandSizedMatrixIsKnown) {
    // Columns of length 5 and 13 with the dot product 15: R = [5 3; 0 sqrt(160)] up to signs.
    const double entries[] = {3, 5, 4, 0, 0, 12};
    this->for_methods([&](QrMethod method) {
        typename TypeParam::template Qr<double> qr(this->runner, method, 3, 2);
        Array<double, 2> r({2, 2});
        qr.find_r(View<const double, 2, Host>(entries, {3, 2}), r);
        EXPECT_NEAR(std::abs(r(0, 0)), 5, 1e-14);
        EXPECT_NEAR(r(0, 1) * (r(0, 0) > 0 ? 1 : -1), 3, 1e-14);
        EXPECT_EQ(r(1, 0), 0);
        EXPECT_NEAR(std::abs(r(1, 1)), std::sqrt(160.0), 1e-13);
    });
}

TYPED_TEST_P(TallQrSuite, TakesAndWritesAnyStrides) {
    const index_t m = TypeParam::tall() - 97;
    constexpr index_t n = 37;
    const Array<float, 2> a = matrix_of<float>({m, n, Content::random});
    const Array<float, 2> c = matrix_of<float>({m, 70, Content::random});
    this->for_methods([&](QrMethod method) {
        Array<float, 2> first_r({n, n}), first_q({m, n}), first_x({n, 70});
        typename TypeParam::template Qr<float> qr(this->runner, method, m, n);
        qr.factor(a.view(), first_r);
        qr.form_q(first_q);
        qr.apply_q_transposed(c.view(), first_x);
        for (const core::Extents<2> stride : {core::Extents<2>{n + 5, 1}, {1, m + 3}, {2 * n, 2}}) {
            const core::Extents<2> of_c =
                stride[0] == 1 ? stride : core::Extents<2>{70 * stride[1], stride[1]};
            Stored<float> stored(a.view(), stride), q(first_q.view(), stride);
            Stored<float> x(first_x.view(), {70 * stride[1] + 1, stride[1]}), other(c.view(), of_c);
            Array<float, 2> r({n, n});
            for (index_t i = 0; i < m; ++i) q.view(i, 0) = 0;
            qr.factor(stored.view, r);
            qr.form_q(q.view);
            qr.apply_q_transposed(other.view, x.view);
            EXPECT_TRUE(tests::same_bytes(r, first_r));
            for (index_t j = 0; j < n; ++j) {
                for (index_t i = 0; i < m; ++i)
                    ASSERT_EQ(q.view(i, j), first_q(i, j)) << i << " " << j;
                for (index_t k = 0; k < 70; ++k) ASSERT_EQ(x.view(j, k), first_x(j, k));
            }
        }
    });
}

TYPED_TEST_P(TallQrSuite, AppliesQAsIfItWereFormed) {
    const index_t m = TypeParam::tall() + 90;
    constexpr index_t n = 40;
    const Array<double, 2> a = matrix_of<double>({m, n, Content::graded});
    this->for_methods([&](QrMethod method) {
        typename TypeParam::template Qr<double> qr(this->runner, method, m, n);
        Array<double, 2> r({n, n}), q({m, n});
        qr.factor(a.view(), r);
        qr.form_q(q);
        // Fewer columns than A has, as many, and more.
        for (const index_t columns : {index_t{1}, index_t{40}, index_t{151}}) {
            Array<double, 2> c = matrix_of<double>({m, columns, Content::random});
            Array<double, 2> x({n, columns}), back({m, columns});
            qr.apply_q_transposed(std::as_const(c).view(), x);
            qr.apply_q(std::as_const(x).view(), back);
            const Eigen::MatrixXd expected = mapped(q).transpose() * mapped(c);
            EXPECT_LE((mapped(x) - expected).norm(), 1e-13 * expected.norm() * std::sqrt(m));
            EXPECT_LE((mapped(back) - mapped(q) * expected).norm(),
                      1e-13 * expected.norm() * std::sqrt(m));
        }
    });
}

TYPED_TEST_P(TallQrSuite, NanSpreadsIntoROfItsCallAlone) {
    Array<float, 2> a = matrix_of<float>({TypeParam::tall(), 20, Content::random});
    this->for_methods([&](QrMethod method) {
        typename TypeParam::template Qr<float> qr(this->runner, method, TypeParam::tall(), 20);
        Array<float, 2> r({20, 20}), again({20, 20}), first({20, 20});
        qr.find_r(std::as_const(a).view(), first);
        const float kept = a(TypeParam::tall() - 98, 7);
        a(TypeParam::tall() - 98, 7) = std::nanf("");
        qr.find_r(std::as_const(a).view(), r);
        EXPECT_TRUE(std::isnan(r(7, 7)));
        EXPECT_TRUE(std::isnan(r(19, 19)));
        a(TypeParam::tall() - 98, 7) = kept;
        qr.find_r(std::as_const(a).view(), again);
        EXPECT_TRUE(tests::same_bytes(again, first));
    });
}

TYPED_TEST_P(TallQrSuite, SteadyStateAllocatesNothingAndGivesTheSameBits) {
    const Array<float, 2> a = matrix_of<float>({TypeParam::tall() + 170, 40, Content::random});
    this->for_methods([&](QrMethod method) {
        typename TypeParam::template Qr<float> qr(this->runner, method, TypeParam::tall() + 170,
                                                  40);
        Array<float, 2> r({40, 40}), q({TypeParam::tall() + 170, 40}), first_r({40, 40}),
            first_q({TypeParam::tall() + 170, 40});
        const auto allocations = [&](Array<float, 2>& to_r, Array<float, 2>& to_q) {
            std::uint64_t made = 0;
            made += qr.factor(a.view(), to_r);
            made += qr.form_q(to_q);
            return made;
        };
        allocations(first_r, first_q);
        EXPECT_EQ(allocations(r, q), 0U);
        EXPECT_TRUE(tests::same_bytes(r, first_r));
        EXPECT_TRUE(tests::same_bytes(q, first_q));
    });
}

TYPED_TEST_P(TallQrSuite, CholeskyMethodsSayWhereTheyFallBack) {
    const auto falls_back = [&](Content content, QrMethod method) {
        const Array<float, 2> a = matrix_of<float>({TypeParam::tall(), 31, content});
        typename TypeParam::template Qr<float> qr(this->runner, method, TypeParam::tall(), 31);
        Array<float, 2> r({31, 31});
        qr.find_r(a.view(), r);
        return qr.fell_back();
    };
    EXPECT_FALSE(falls_back(Content::random, QrMethod::cholesky2));
    EXPECT_FALSE(falls_back(Content::graded, QrMethod::cholesky2));
    EXPECT_TRUE(falls_back(Content::hilbert, QrMethod::cholesky2));
    EXPECT_TRUE(falls_back(Content::zero, QrMethod::cholesky2));
    EXPECT_FALSE(falls_back(Content::zero, QrMethod::tsqr));
}

TYPED_TEST_P(TallQrSuite, RefusesWhatItCannotTake) {
    using Qr = typename TypeParam::template Qr<float>;
    EXPECT_THROW(Qr(this->runner, QrMethod::tsqr, 3, 4), core::InvalidArgument);
    EXPECT_THROW(Qr(this->runner, QrMethod::tsqr, 3, 0), core::InvalidArgument);
    Qr qr(this->runner, QrMethod::tsqr, 5, 2);
    Array<float, 2> a({5, 2}), r({2, 2}), q({5, 2}), wide({5, 3});
    std::fill(a.begin(), a.end(), 1.0F);
    std::fill(wide.begin(), wide.end(), 1.0F);
    EXPECT_THROW(qr.form_q(q), core::InvalidArgument);
    EXPECT_THROW(qr.factor(std::as_const(wide).view(), r), core::InvalidArgument);
    qr.factor(std::as_const(a).view(), r);
    EXPECT_THROW(qr.form_q(wide), core::InvalidArgument);
    qr.find_r(std::as_const(a).view(), r);
    EXPECT_THROW(qr.form_q(q), core::InvalidArgument);
}

REGISTER_TYPED_TEST_SUITE_P(TallQrSuite, FactorsBackwardStably, FactorsWhateverColumnsHold,
                            OfAHandSizedMatrixIsKnown, TakesAndWritesAnyStrides,
                            AppliesQAsIfItWereFormed, NanSpreadsIntoROfItsCallAlone,
                            SteadyStateAllocatesNothingAndGivesTheSameBits,
                            CholeskyMethodsSayWhereTheyFallBack, RefusesWhatItCannotTake);

}  // namespace aperture::dense::oracle
