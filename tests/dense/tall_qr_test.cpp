// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/tall_qr.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstring>
#include <limits>

#include "aperture/core/error.hpp"
#include "tests/dense/judgement.hpp"
#include "tests/dense/tall_matrices.hpp"

namespace aperture::dense::oracle {
namespace {

using core::Array;
using core::Host;
using core::View;

template <class T>
using Qr = TallQr<T, core::Cpu>;

constexpr QrMethod methods[] = {QrMethod::tsqr, QrMethod::caqr, QrMethod::blas2,
                                QrMethod::cholesky2, QrMethod::shifted_cholesky3};

template <class T>
void judge(HostMatrix<T> a, QrMethod method, int threads = 2) {
    SCOPED_TRACE(testing::Message() << "method " << static_cast<int>(method));
    core::Cpu cpu(threads);
    const index_t n = a.extent[1];
    Qr<T> qr(cpu, method, a.extent[0], n);
    Array<T, 2> r({n, n});
    Array<T, 2> q({a.extent[0], n});
    qr.factor(a, r);
    qr.form_q(q);
    EXPECT_LE(residual_ratio<T>(a, q.view(), r.view()), ratio_limit);
    EXPECT_LE(orthogonality_ratio<T>(q.view()), ratio_limit);
    for (index_t i = 0; i < n; ++i) {
        for (index_t j = 0; j < i; ++j) EXPECT_EQ(r(i, j), 0) << i << ", " << j;
    }
}

class TallMatrices : public testing::TestWithParam<TallCase> {};

TEST_P(TallMatrices, AreFactoredBackwardStably) {
    const Array<float, 2> single = matrix_of<float>(GetParam());
    const Array<double, 2> fp64 = matrix_of<double>(GetParam());
    for (const QrMethod method : methods) {
        judge<float>(single.view(), method);
        judge<double>(fp64.view(), method);
    }
}

std::vector<TallCase> all_cases() {
    std::vector<TallCase> cases;
    for (const auto& [rows, columns] : {std::pair{1, 1},
                                        {2, 1},
                                        {2, 2},
                                        {7, 3},
                                        {8, 8},
                                        {9, 8},
                                        {16, 16},
                                        {17, 15},
                                        {127, 16},
                                        {128, 16},
                                        {129, 17},
                                        {100, 100},
                                        {700, 65},
                                        {2047, 24},
                                        {4100, 33},
                                        {9001, 129}}) {
        cases.push_back({rows, columns, Content::random});
    }
    for (const Content content :
         {Content::graded, Content::hilbert, Content::dependent, Content::zero_columns,
          Content::zero, Content::huge, Content::tiny}) {
        for (const auto& [rows, columns] : {std::pair{5, 3}, {40, 40}, {1030, 31}, {6200, 70}}) {
            cases.push_back({rows, columns, content});
        }
    }
    return cases;
}
INSTANTIATE_TEST_SUITE_P(Dense, TallMatrices, testing::ValuesIn(all_cases()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST(TallQr, OfAHandSizedMatrixIsKnown) {
    core::Cpu cpu(1);
    // Columns of length 5 and 13 with the product 15: R = [5 3; 0 sqrt(160)] up to signs.
    const double entries[] = {3, 5, 4, 0, 0, 12};
    for (const QrMethod method : methods) {
        Qr<double> qr(cpu, method, 3, 2);
        Array<double, 2> r({2, 2});
        qr.find_r(View<const double, 2, Host>(entries, {3, 2}), r);
        EXPECT_NEAR(std::abs(r(0, 0)), 5, 1e-14);
        EXPECT_NEAR(r(0, 1) * (r(0, 0) > 0 ? 1 : -1), 3, 1e-14);
        EXPECT_EQ(r(1, 0), 0);
        EXPECT_NEAR(std::abs(r(1, 1)), std::sqrt(160.0), 1e-13);
    }
}

TEST(TallQr, RIsThatOfAnotherLibrary) {
    const Array<double, 2> a = matrix_of<double>({5000, 37, Content::random});
    const Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>
        mapped(a.data(), 5000, 37);
    const Eigen::MatrixXd expected = Eigen::HouseholderQR<Eigen::MatrixXd>(mapped).matrixQR();
    core::Cpu cpu(2);
    for (const QrMethod method : methods) {
        Array<double, 2> r({37, 37});
        Qr<double>(cpu, method, 5000, 37).find_r(a.view(), r);
        for (index_t i = 0; i < 37; ++i) {
            const double sign = expected(i, i) * r(i, i) > 0 ? 1 : -1;
            for (index_t j = i; j < 37; ++j) {
                EXPECT_NEAR(sign * r(i, j), expected(i, j), 1e-11) << i << ", " << j;
            }
        }
    }
}

TEST(TallQr, TakesAndWritesAnyStrides) {
    constexpr index_t m = 4333;
    constexpr index_t n = 21;
    const Array<float, 2> a = matrix_of<float>({m, n, Content::random});
    const Array<float, 2> c = matrix_of<float>({m, 30, Content::random});
    core::Cpu cpu(2);
    for (const QrMethod method : methods) {
        Array<float, 2> first_r({n, n}), first_q({m, n}), first_x({n, 30});
        Qr<float> qr(cpu, method, m, n);
        qr.factor(a.view(), first_r);
        qr.form_q(first_q);
        qr.apply_q_transposed(c.view(), first_x);
        for (const std::array<index_t, 2> stride :
             {std::array<index_t, 2>{n + 5, 1}, {1, m + 3}, {2 * n, 2}}) {
            const std::array<index_t, 2> of_c =
                stride[0] == 1 ? stride : std::array{30 * stride[1], stride[1]};
            Stored<float> stored(a.view(), stride), q(first_q.view(), stride);
            Stored<float> x(first_x.view(), {30 * stride[1] + 1, stride[1]}), other(c.view(), of_c);
            Array<float, 2> r({n, n});
            for (index_t i = 0; i < m; ++i) q.view(i, 0) = 0;
            qr.factor(stored.view, r);
            qr.form_q(q.view);
            qr.apply_q_transposed(other.view, x.view);
            EXPECT_EQ(std::memcmp(r.data(), first_r.data(), sizeof(float) * n * n), 0);
            for (index_t j = 0; j < n; ++j) {
                for (index_t i = 0; i < m; ++i)
                    ASSERT_EQ(q.view(i, j), first_q(i, j)) << i << " " << j;
                for (index_t k = 0; k < 30; ++k) ASSERT_EQ(x.view(j, k), first_x(j, k));
            }
        }
    }
}

TEST(TallQr, QIsAppliedAsIfItWereFormed) {
    constexpr index_t m = 6200;
    constexpr index_t n = 70;
    const Array<double, 2> a = matrix_of<double>({m, n, Content::graded});
    core::Cpu cpu(2);
    for (const QrMethod method : methods) {
        // Fewer and more columns than A has.
        for (const index_t columns : {index_t{1}, index_t{70}, index_t{151}}) {
            const Array<double, 2> c = matrix_of<double>({m, columns, Content::random});
            Qr<double> qr(cpu, method, m, n);
            Array<double, 2> r({n, n}), q({m, n}), x({n, columns}), back({m, columns});
            qr.factor(a.view(), r);
            qr.form_q(q);
            qr.apply_q_transposed(c.view(), x);
            qr.apply_q(x.view(), back);
            const auto mapped = [](Array<double, 2>& array) {
                return Eigen::Map<
                    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
                    array.data(), array.extent()[0], array.extent()[1]);
            };
            Array<double, 2> copy({m, columns});
            std::copy(c.begin(), c.end(), copy.begin());
            const Eigen::MatrixXd expected = mapped(q).transpose() * mapped(copy);
            EXPECT_LE((mapped(x) - expected).norm(), 1e-13 * expected.norm() * std::sqrt(m));
            EXPECT_LE((mapped(back) - mapped(q) * expected).norm(),
                      1e-13 * expected.norm() * std::sqrt(m));
        }
    }
}

TEST(TallQr, BitsDoNotDependOnTheNumberOfThreads) {
    const Array<float, 2> a = matrix_of<float>({20011, 50, Content::random});
    for (const QrMethod method : methods) {
        Array<float, 2> first_r({50, 50}), first_q({20011, 50});
        for (const int threads : {1, 2, 3, 7}) {
            core::Cpu cpu(threads);
            Qr<float> qr(cpu, method, 20011, 50);
            Array<float, 2> r({50, 50}), alone({50, 50}), q({20011, 50});
            qr.factor(a.view(), r);
            qr.form_q(q);
            qr.find_r(a.view(), alone);
            EXPECT_EQ(std::memcmp(r.data(), alone.data(), sizeof(float) * 2500), 0);
            if (threads == 1) {
                first_r = std::move(r);
                first_q = std::move(q);
                continue;
            }
            EXPECT_EQ(std::memcmp(r.data(), first_r.data(), sizeof(float) * 2500), 0) << threads;
            EXPECT_EQ(std::memcmp(q.data(), first_q.data(), sizeof(float) * 50 * 20011), 0)
                << threads;
        }
    }
}

TEST(TallQr, NanSpreadsIntoROfItsCallAlone) {
    Array<float, 2> a = matrix_of<float>({5000, 20, Content::random});
    core::Cpu cpu(2);
    for (const QrMethod method : methods) {
        Qr<float> qr(cpu, method, 5000, 20);
        Array<float, 2> r({20, 20}), again({20, 20}), first({20, 20});
        qr.find_r(a.view(), first);
        const float kept = a(4321, 7);
        a(4321, 7) = std::nanf("");
        qr.find_r(a.view(), r);
        EXPECT_TRUE(std::isnan(r(7, 7)));
        EXPECT_TRUE(std::isnan(r(19, 19)));
        a(4321, 7) = kept;
        qr.find_r(a.view(), again);
        EXPECT_EQ(std::memcmp(again.data(), first.data(), sizeof(float) * 400), 0);
    }
}

TEST(TallQr, SteadyStateAllocatesNothing) {
    const Array<float, 2> a = matrix_of<float>({5000, 70, Content::random});
    core::Cpu cpu(2);
    for (const QrMethod method : methods) {
        Qr<float> qr(cpu, method, 5000, 70);
        Array<float, 2> r({70, 70}), q({5000, 70}), x({70, 70});
        const auto run = [&] {
            qr.factor(a.view(), r);
            qr.form_q(q);
            qr.apply_q_transposed(a.view(), x);
            qr.find_r(a.view(), r);
        };
        run();
        const auto before = core::host_allocations();
        run();
        EXPECT_EQ(core::host_allocations(), before);
    }
}

TEST(TallQr, CholeskyMethodsSayWhereTheyFallBack) {
    core::Cpu cpu(2);
    const auto falls_back = [&](Content content, QrMethod method) {
        const Array<float, 2> a = matrix_of<float>({1030, 31, content});
        Qr<float> qr(cpu, method, 1030, 31);
        Array<float, 2> r({31, 31});
        qr.find_r(a.view(), r);
        return qr.fell_back();
    };
    EXPECT_FALSE(falls_back(Content::random, QrMethod::cholesky2));
    EXPECT_FALSE(falls_back(Content::graded, QrMethod::cholesky2));
    EXPECT_TRUE(falls_back(Content::hilbert, QrMethod::cholesky2));
    EXPECT_FALSE(falls_back(Content::hilbert, QrMethod::shifted_cholesky3));
    EXPECT_TRUE(falls_back(Content::zero, QrMethod::shifted_cholesky3));
    EXPECT_FALSE(falls_back(Content::zero, QrMethod::tsqr));
}

TEST(TallQr, RefusesWhatItCannotTake) {
    core::Cpu cpu(1);
    EXPECT_THROW(Qr<float>(cpu, QrMethod::tsqr, 3, 4), core::InvalidArgument);
    EXPECT_THROW(Qr<float>(cpu, QrMethod::tsqr, 3, 0), core::InvalidArgument);
    Qr<float> qr(cpu, QrMethod::tsqr, 5, 2);
    Array<float, 2> a({5, 2}), r({2, 2}), q({5, 2}), wide({5, 3});
    std::fill(a.begin(), a.end(), 1.0F);
    EXPECT_THROW(qr.form_q(q), core::InvalidArgument);
    EXPECT_THROW(qr.factor(wide.view(), r), core::InvalidArgument);
    qr.factor(a.view(), r);
    EXPECT_THROW(qr.form_q(wide), core::InvalidArgument);
    qr.find_r(a.view(), r);
    EXPECT_THROW(qr.form_q(q), core::InvalidArgument);
}

TEST(TallScale, AMillionRowsAreFactoredBackwardStably) {
    const Array<float, 2> a = matrix_of<float>({1000000, 192, Content::random});
    judge<float>(a.view(), QrMethod::tsqr, 0);
}

}  // namespace
}  // namespace aperture::dense::oracle
