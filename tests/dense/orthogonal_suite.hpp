// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <limits>
#include <type_traits>
#include <utility>

#include "aperture/dense/batch_orthogonal.hpp"
#include "tests/dense/batch_runner.hpp"
#include "tests/dense/orthogonal_checks.hpp"

/// QR factors and least squares on any executor.
namespace aperture::dense::oracle {

template <class SomeCombination>
class OrthogonalSuite : public Suite<SomeCombination> {
  protected:
    using typename Suite<SomeCombination>::Runner;
    using typename Suite<SomeCombination>::T;
    using typename Suite<SomeCombination>::R;
    using typename Suite<SomeCombination>::Batch;
    using Suite<SomeCombination>::runner_;

    void check_qr(int m, int n, Order layout, core::index_t gap) {
        SCOPED_TRACE(::testing::Message() << m << " x " << n << ", layout " << int(layout));
        const std::vector<ZooMatrix> zoo = tall_zoo<T>(m, n, 3u + unsigned(m));
        const auto problems = core::index_t(zoo.size());
        const Batch a = this->batch_of(zoo, layout, gap);
        const Batch before(a);
        Batch qr(problems, m, n, layout, gap);
        Batch tau(problems, 1, n, layout == Order::problems ? layout : Order::columns, gap);
        Batch q(problems, m, n, layout, gap);
        runner_.run(APERTURE_CALL(factor_qr), a.view(), qr.view(), this->vectors(tau));
        EXPECT_TRUE(a.same_bits(before)) << "a was changed";
        qr.expect_gaps_untouched();
        runner_.run(APERTURE_CALL(form_q), std::as_const(qr).view(),
                    this->vectors(std::as_const(tau)), q.view());
        q.expect_gaps_untouched();
        for (std::size_t p = 0; p < zoo.size(); ++p) {
            if (zoo[p].a.allFinite()) {
                SCOPED_TRACE(zoo[p].name);
                check_qr_factors<T>(zoo[p].a, qr.matrix(core::index_t(p)),
                                    q.matrix(core::index_t(p)));
            } else {
                EXPECT_FALSE(qr.matrix(core::index_t(p)).allFinite()) << zoo[p].name;
            }
        }
        // Four vectors and one more pass, and one vector, for which there are other kernels.
        for (int vectors : {5, 1}) check_apply_q(zoo, qr, tau, q, vectors, layout, gap);
    }

    void check_apply_q(const std::vector<ZooMatrix>& zoo, const Batch& qr, const Batch& tau,
                       const Batch& q, int vectors, Order layout, core::index_t gap) {
        SCOPED_TRACE(::testing::Message() << vectors << " vectors");
        const auto m = static_cast<int>(qr.view().extent[1]);
        Batch c = this->random_batch(core::index_t(zoo.size()), vectors, m, layout, gap, 4);
        const Batch old(c);
        runner_.run(APERTURE_CALL(apply_q), true, qr.view(), this->vectors(tau), c.view());
        const Batch turned(c);
        runner_.run(APERTURE_CALL(apply_q), false, qr.view(), this->vectors(tau), c.view());
        c.expect_gaps_untouched();
        for (std::size_t p = 0; p < zoo.size(); ++p) {
            SCOPED_TRACE(zoo[p].name);
            const auto problem = core::index_t(p);
            if (!zoo[p].a.allFinite()) continue;
            check_applied_q<T>(q.matrix(problem), old.columns(problem), turned.columns(problem),
                               c.columns(problem));
        }
    }

    void check_least_squares(int m, int n, Order layout, core::index_t gap) {
        SCOPED_TRACE(::testing::Message() << m << " x " << n << ", layout " << int(layout));
        const std::vector<ZooMatrix> zoo = tall_zoo<T>(m, n, 5u + unsigned(m));
        const auto problems = core::index_t(zoo.size());
        const Batch a = this->batch_of(zoo, layout, gap);
        const Batch b = this->random_batch(problems, 2, m, layout, gap, 6);
        Batch x(problems, 2, n, layout, gap);
        std::vector<int> info(zoo.size(), -99);
        runner_.run(APERTURE_CALL(least_squares), a.view(), b.view(), x.view(),
                    this->entries(info));
        x.expect_gaps_untouched();
        for (std::size_t p = 0; p < zoo.size(); ++p) {
            SCOPED_TRACE(zoo[p].name);
            const auto problem = core::index_t(p);
            check_least_squares_solution<T>(zoo[p], x.columns(problem), b.columns(problem),
                                            info[p]);
        }
    }
};

TYPED_TEST_SUITE_P(OrthogonalSuite);

TYPED_TEST_P(OrthogonalSuite, FactorsQr) {
    using Shape = std::pair<int, int>;
    this->for_each_mapping([&] {
        for (auto [m, n] : {Shape{1, 1}, Shape{2, 1}, Shape{2, 2}, Shape{5, 3}, Shape{7, 7},
                            Shape{8, 8}, Shape{17, 4}, Shape{18, 18}, Shape{33, 32}, Shape{4, 0}}) {
            this->check_qr(m, n, Order::columns, 0);
        }
        for (Order layout : layouts) {
            this->check_qr(6, 5, layout, 3);
            this->check_qr(8, 8, layout, 0);
            this->check_qr(17, 17, layout, 3);
            this->check_qr(20, 9, layout, 0);
        }
        // In the registers of a block.
        if (std::is_same_v<typename TypeParam::T, std::complex<float>>) {
            this->check_qr(225, 66, Order::columns, 0);
        }
        if (!TypeParam::Runner::emulated) {
            for (auto [m, n] : {Shape{56, 56}, Shape{79, 16}, Shape{240, 66}, Shape{128, 128}}) {
                this->check_qr(m, n, Order::columns, 0);
            }
        }
    });
}

TYPED_TEST_P(OrthogonalSuite, FactorsSubnormalMatrices) {
    using Value = typename TypeParam::T;
    this->for_each_mapping([&] {
        for (int n : {3, 20}) {
            const double size = 64 * double(std::numeric_limits<Real<Value>>::denorm_min());
            const Matrix a = size * Matrix::Identity(n, n);
            typename TestFixture::Batch batch(1, n, n), qr(1, n, n), tau(1, 1, n), q(1, n, n);
            batch.set(0, a);
            this->runner_.run(APERTURE_CALL(factor_qr), std::as_const(batch).view(), qr.view(),
                              this->vectors(tau));
            this->runner_.run(APERTURE_CALL(form_q), std::as_const(qr).view(),
                              this->vectors(std::as_const(tau)), q.view());
            EXPECT_EQ(Matrix(qr.matrix(0).cwiseAbs()), a);
            EXPECT_EQ(Matrix(q.matrix(0).cwiseAbs()), Matrix::Identity(n, n));
        }
    });
}

TYPED_TEST_P(OrthogonalSuite, LeastSquares) {
    using Shape = std::pair<int, int>;
    for (auto [m, n] : {Shape{1, 1}, Shape{5, 3}, Shape{8, 8}, Shape{18, 6}, Shape{33, 20}}) {
        this->check_least_squares(m, n, Order::columns, 0);
    }
    for (Order layout : layouts) {
        this->check_least_squares(9, 4, layout, 3);
        this->check_least_squares(17, 17, layout, 0);
    }
    if (!TypeParam::Runner::emulated) this->check_least_squares(240, 66, Order::problems, 0);
}

TYPED_TEST_P(OrthogonalSuite, BitsDependOnTheProblemAlone) {
    using Value = typename TypeParam::T;
    using Problems = typename TestFixture::Batch;
    this->for_each_mapping([&] {
        for (auto [m, n] : {std::pair{5, 2}, {20, 18}}) {
            const std::vector<ZooMatrix> bad = tall_zoo<Value>(m, n, 7);
            const auto problems = 2 * core::index_t(bad.size());
            const Problems good = this->random_batch(problems, m, n, Order::columns, 0, 11);
            Problems expected(problems, m, n), tau(problems, 1, n);
            this->runner_.run(APERTURE_CALL(factor_qr), good.view(), expected.view(),
                              this->vectors(tau));
            for (Order layout : layouts) {
                Problems mixed(problems, m, n, layout, 1), qr(problems, m, n, layout, 2);
                for (core::index_t p = 0; p < problems; ++p) {
                    mixed.set(p, p % 2 == 0 ? good.matrix(p) : bad[std::size_t(p / 2)].a);
                }
                Problems its_tau(problems, 1, n);
                this->runner_.run(APERTURE_CALL(factor_qr), std::as_const(mixed).view(), qr.view(),
                                  this->vectors(its_tau));
                for (core::index_t p = 0; p < problems; p += 2) {
                    EXPECT_TRUE(qr.same_bits(p, expected, p))
                        << m << " x " << n << " problem " << p;
                    EXPECT_TRUE(its_tau.same_bits(p, tau, p));
                }
            }
        }
    });
}

TYPED_TEST_P(OrthogonalSuite, RefusesWrongShapes) {
    using Problems = typename TestFixture::Batch;
    Problems a(4, 3, 2), qr(4, 3, 2), wide(4, 2, 3), tau(4, 1, 2), long_tau(4, 1, 3);
    Problems b(4, 2, 3), x(4, 2, 2), big(1, max_rows + 1, 1), big_tau(1, 1, 1);
    std::vector<int> info(4), few(3);
    const auto refuses = [&](auto function, auto... arguments) {
        EXPECT_THROW(this->runner_.run(function, arguments...), core::InvalidArgument);
    };
    const auto in = [](Problems& batch) { return std::as_const(batch).view(); };
    refuses(APERTURE_CALL(factor_qr), in(wide), wide.view(), this->vectors(long_tau));
    refuses(APERTURE_CALL(factor_qr), in(a), wide.view(), this->vectors(tau));
    refuses(APERTURE_CALL(factor_qr), in(a), qr.view(), this->vectors(long_tau));
    refuses(APERTURE_CALL(factor_qr), in(big), big.view(), this->vectors(big_tau));
    refuses(APERTURE_CALL(form_q), in(qr), this->vectors(std::as_const(tau)), wide.view());
    refuses(APERTURE_CALL(apply_q), true, in(qr), this->vectors(std::as_const(tau)), x.view());
    refuses(APERTURE_CALL(least_squares), in(a), in(x), x.view(), this->entries(info));
    refuses(APERTURE_CALL(least_squares), in(a), in(b), b.view(), this->entries(info));
    refuses(APERTURE_CALL(least_squares), in(a), in(b), x.view(), this->entries(few));
}

REGISTER_TYPED_TEST_SUITE_P(OrthogonalSuite, FactorsQr, FactorsSubnormalMatrices, LeastSquares,
                            BitsDependOnTheProblemAlone, RefusesWrongShapes);

}  // namespace aperture::dense::oracle
