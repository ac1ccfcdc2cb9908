// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/tall_qr.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "aperture/core/error.hpp"
#include "tests/dense/tall_qr_suite.hpp"

namespace aperture::dense::oracle {
namespace {

struct CpuRunner : HostTallRunner<core::Cpu> {
    CpuRunner() : HostTallRunner{core::Cpu{2}} {}

    static std::vector<QrMethod> methods() { return {QrMethod::tsqr, QrMethod::cholesky2}; }
    static std::vector<std::pair<int, int>> sizes() {
        return {{1, 1},    {2, 1},     {2, 2},     {7, 3},     {8, 8},    {9, 8},
                {16, 16},  {17, 15},   {127, 16},  {128, 16},  {129, 17}, {100, 100},
                {700, 65}, {2047, 24}, {4100, 33}, {9001, 129}};
    }
    static index_t tall() { return 6200; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, TallQrSuite, CpuRunner);

template <class T>
using Qr = TallQr<T, core::Cpu>;

TEST(TallQr, RIsThatOfAnotherLibrary) {
    const Array<double, 2> a = matrix_of<double>({5000, 37, Content::random});
    const Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>
        mapped(a.data(), 5000, 37);
    const Eigen::MatrixXd expected = Eigen::HouseholderQR<Eigen::MatrixXd>(mapped).matrixQR();
    core::Cpu cpu(2);
    for (const QrMethod method : CpuRunner::methods()) {
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

TEST(TallQr, BitsDoNotDependOnTheNumberOfThreads) {
    const Array<float, 2> a = matrix_of<float>({20011, 50, Content::random});
    for (const QrMethod method : CpuRunner::methods()) {
        Array<float, 2> first_r({50, 50}), first_q({20011, 50});
        for (const int threads : {1, 2, 3, 7}) {
            core::Cpu cpu(threads);
            Qr<float> qr(cpu, method, 20011, 50);
            Array<float, 2> r({50, 50}), alone({50, 50}), q({20011, 50});
            qr.factor(a.view(), r);
            qr.form_q(q);
            qr.find_r(a.view(), alone);
            EXPECT_TRUE(tests::same_bytes(r, alone));
            if (threads == 1) {
                first_r = std::move(r);
                first_q = std::move(q);
                continue;
            }
            EXPECT_TRUE(tests::same_bytes(r, first_r)) << threads;
            EXPECT_TRUE(tests::same_bytes(q, first_q)) << threads;
        }
    }
}

TEST(TallScale, AMillionRowsAreFactoredBackwardStably) {
    const Array<float, 2> a = matrix_of<float>({1000000, 192, Content::random});
    core::Cpu cpu(0);
    Qr<float> qr(cpu, QrMethod::tsqr, 1000000, 192);
    Array<float, 2> r({192, 192});
    Array<float, 2> q({1000000, 192});
    qr.factor(a.view(), r);
    qr.form_q(q);
    EXPECT_LE(residual_ratio<float>(a.view(), q.view(), r.view()), ratio_limit);
    EXPECT_LE(orthogonality_ratio<float>(q.view()), ratio_limit);
}

}  // namespace
}  // namespace aperture::dense::oracle
