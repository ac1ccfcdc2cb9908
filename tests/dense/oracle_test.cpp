// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/oracle.hpp"

#include <gtest/gtest.h>

#include "tests/dense/matrix_zoo.hpp"

namespace aperture::dense::oracle {
namespace {

constexpr Complex i1{0, 1};

TEST(DenseOracle, RankKByHand) {
    Matrix a(2, 2);
    a << 1.0, i1, 2.0, 1.0 - i1;
    const Matrix c = hermitian_rank_k(2, a, 3, Matrix::Identity(2, 2));
    EXPECT_EQ(c(0, 0), Complex(2 * 2 + 3, 0));
    EXPECT_EQ(c(1, 1), Complex(2 * 6 + 3, 0));
    // 1*2 + i*conj(1-i) = 2 + i(1+i) = 1 + i
    EXPECT_EQ(c(0, 1), Complex(2, 2));
    EXPECT_EQ(c(1, 0), Complex(2, -2));
}

TEST(DenseOracle, PivotsByHand) {
    Matrix a(3, 3);
    a << 4.0, 0.0, 0.0, 2.0 * i1, 5.0, 0.0, 4.0, 2.0 * i1, 14.0;
    // d = 4, 5 - |2i|^2/4 = 4; l31 = 1, l32 = (2i - 4*conj(i/2))/4 = i; 14 - 4 - 4 = 6
    EXPECT_EQ(pivots(a), (std::vector<double>{4, 4, 6}));
    EXPECT_EQ(first_bad_minor(a), 0);
    a(2, 2) = 8;
    EXPECT_EQ(first_bad_minor(a), 3);
    a(1, 0) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(first_bad_minor(a), 2);
    EXPECT_EQ(first_bad_minor(Matrix(0, 0)), 0);
}

TEST(DenseOracle, RatiosByHand) {
    Matrix a(2, 2), x(2, 1), b(2, 1);
    a << 2.0, 1.0, 1.0, 3.0;
    x << 1.0, 2.0;
    b << 4.0, 7.0;
    EXPECT_EQ(residual_ratio(a, x, b, 0.5), 0);
    b(1) = 8.0;
    // residual 1, n = 2, ||A|| = 4, ||x|| = 3
    EXPECT_DOUBLE_EQ(residual_ratio(a, x, b, 0.5), 1.0 / (2 * 0.5 * 4 * 3));
    Matrix other = x;
    other(0) = 2.0;
    EXPECT_DOUBLE_EQ(forward_ratio(other, x, 10, 0.25), 1.0 / (2 * 10 * 0.25));
    other(0) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isnan(residual_ratio(a, other, b, 0.5)));
    EXPECT_TRUE(std::isnan(forward_ratio(other, x, 10, 0.25)));
    EXPECT_DOUBLE_EQ(snr_db(1.001 * a, a), 20 * std::log10(1 / (1.001 - 1)));
}

TEST(DenseOracle, ZooHasTheSpectraItPlants) {
    for (const ZooMatrix& entry : zoo<std::complex<double>>(12, 3)) {
        if (entry.condition == 0 || entry.condition > 1e10) continue;
        EXPECT_NEAR(condition(entry.a) / entry.condition, 1, 1e-4) << entry.name;
    }
}

TEST(DenseOracle, ZooFailsWhereItSays) {
    for (int n : {1, 2, 5, 18}) {
        for (const ZooMatrix& entry : zoo<std::complex<float>>(n, 5)) {
            if (entry.info >= 0) {
                EXPECT_EQ(first_bad_minor(entry.a), entry.info) << entry.name << ' ' << n;
            }
        }
    }
}

}  // namespace
}  // namespace aperture::dense::oracle
