// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/tall_qr.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>

#include "aperture/core/error.hpp"
#include "libdense/tall_factors.hpp"
#include "tests/dense/tall_qr_suite.hpp"
#include "tests/ended_runs.hpp"

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

/// Throws at every matrix but the first, as if memory were exhausted.
struct FailingExecutor {
    using Space = Host;
};
class FailingFactors final : public TallFactors<float, Host> {
  public:
    void factor(Matrix<const float> /*a*/, Matrix<float> /*r*/, bool /*keep*/) override {
        if (count_++ > 0) throw core::DeviceError("out of memory");
    }
    index_t bytes() const override { return 0; }
    void form_q(Matrix<float> /*q*/) override {}
    void apply_transposed(Matrix<const float> /*c*/, Matrix<float> /*x*/) override {}
    void apply(Matrix<const float> /*x*/, Matrix<float> /*c*/) override {}

  private:
    int count_ = 0;
};

}  // namespace
}  // namespace aperture::dense::oracle

template <>
std::unique_ptr<aperture::dense::TallFactors<float, aperture::core::Host>>
aperture::dense::make_factors<float>(oracle::FailingExecutor& /*executor*/, QrMethod /*method*/,
                                     index_t /*rows*/, index_t /*columns*/) {
    return std::make_unique<oracle::FailingFactors>();
}

namespace aperture::dense::oracle {
namespace {

TEST(TallQr, AFailureDiscardsTheQBefore) {
    FailingExecutor executor;
    TallQr<float, FailingExecutor> qr(executor, QrMethod::tsqr, 4, 2);
    Array<float, 2> a({4, 2}), r({2, 2}), q({4, 2});
    std::fill(a.begin(), a.end(), 1.0F);
    qr.factor(a.view(), r);
    EXPECT_NO_THROW(qr.form_q(q));
    EXPECT_THROW(qr.find_r(a.view(), r), core::DeviceError);
    EXPECT_THROW(qr.form_q(q), core::InvalidArgument);
}

TEST(TallScale, AMillionRowsAreFactoredBackwardStably) {
    const Array<float, 2> a = matrix_of<float>({1000000, 96, Content::random});
    core::Cpu cpu(0);
    Qr<float> qr(cpu, QrMethod::tsqr, 1000000, 96);
    Array<float, 2> r({96, 96});
    Array<float, 2> q({1000000, 96});
    qr.factor(a.view(), r);
    qr.form_q(q);
    EXPECT_LE(residual_ratio<float>(a.view(), q.view(), r.view()), ratio_limit);
    EXPECT_LE(orthogonality_ratio<float>(q.view()), ratio_limit);
}

TEST(TallQr, CholeskyOfManyColumnsPassesCheckpoints) {
    core::Cpu cpu(1);
    constexpr index_t columns = 150;
    const Array<float, 2> a = matrix_of<float>({400, columns, Content::random});
    Qr<float> qr(cpu, QrMethod::cholesky2, 400, columns);
    Array<float, 2> r({columns, columns});
    index_t passed = 0;
    cpu.set_checkpoint([&] { ++passed; });
    qr.factor(a.view(), r);
    EXPECT_FALSE(qr.fell_back());
    EXPECT_GE(passed, 4 * columns) << "rows of two factors and of their products";
}

TEST(TallQr, EndsAtCheckpoints) {
    core::Cpu cpu(1);
    const Array<float, 2> a = matrix_of<float>({3001, 24, Content::random});
    for (const QrMethod method : CpuRunner::methods()) {
        Qr<float> qr(cpu, method, 3001, 24);
        Array<float, 2> r({24, 24}), q({3001, 24}), x({24, 24}), c({3001, 24});
        tests::expect_same_after_ended_runs(cpu, [&] {
            qr.factor(a.view(), r);
            qr.form_q(q);
            qr.apply_q_transposed(a.view(), x);
            qr.apply_q(std::as_const(x).view(), c);
            std::vector<float> values(r.begin(), r.end());
            values.insert(values.end(), q.begin(), q.end());
            values.insert(values.end(), c.begin(), c.end());
            return values;
        });
        // Q is that of no matrix if its factorisation was ended.
        cpu.set_checkpoint([] { throw core::DeviceError("ended"); });
        EXPECT_THROW(qr.factor(a.view(), r), core::DeviceError);
        cpu.set_checkpoint({});
        EXPECT_THROW(qr.form_q(q), core::InvalidArgument);
    }
}

}  // namespace
}  // namespace aperture::dense::oracle
