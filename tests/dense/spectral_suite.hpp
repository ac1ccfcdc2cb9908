// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "aperture/dense/batch_spectral.hpp"
#include "tests/dense/batch_runner.hpp"
#include "tests/dense/orthogonal_checks.hpp"
#include "tests/dense/spectral_checks.hpp"

/// Eigenvalues and singular values on any executor.
namespace aperture::dense::oracle {

template <class SomeCombination>
class SpectralSuite : public Suite<SomeCombination> {
  protected:
    using typename Suite<SomeCombination>::Runner;
    using typename Suite<SomeCombination>::T;
    using typename Suite<SomeCombination>::R;
    using typename Suite<SomeCombination>::Batch;
    using Reals = HostBatch<R>;
    using Suite<SomeCombination>::runner_;

    /// Emulated kernels take a few of the largest matrices only.
    static std::vector<ZooMatrix> some_of(std::vector<ZooMatrix> zoo, int n) {
        if (Runner::emulated && n > 20) zoo.erase(zoo.begin() + 1, zoo.end() - 2);
        return zoo;
    }
    static bool all_zero(const Matrix& a) { return (a.array() == Complex(0)).all(); }

    void check_eigen_batch(int n, Order layout, core::index_t gap, Order of_values) {
        SCOPED_TRACE(::testing::Message() << "order " << n << ", layout " << int(layout));
        const std::vector<ZooMatrix> zoo = some_of(hermitian_zoo<T>(n, 3u + unsigned(n)), n);
        const auto problems = core::index_t(zoo.size());
        Batch a = this->batch_of(zoo, layout, gap);
        a.spoil_upper_triangle();
        const Batch before(a);
        Batch v(problems, n, n, layout, gap);
        Reals values(problems, 1, n, of_values, gap), alone(problems, 1, n);
        std::vector<int> info(zoo.size(), -99), its_info(zoo.size(), -99);
        runner_.run(APERTURE_CALL(eigen_hermitian), std::as_const(a).view(), this->vectors(values),
                    v.view(), this->entries(info));
        EXPECT_TRUE(a.same_bits(before)) << "a was changed";
        v.expect_gaps_untouched();
        values.expect_gaps_untouched();
        runner_.run(APERTURE_CALL(eigen_hermitian), std::as_const(a).view(), this->vectors(alone),
                    MatrixBatch<T, core::Host>{}, this->entries(its_info));
        EXPECT_EQ(its_info, info);
        for (core::index_t p = 0; p < problems; ++p) {
            const ZooMatrix& entry = zoo[std::size_t(p)];
            SCOPED_TRACE(entry.name);
            EXPECT_EQ(info[std::size_t(p)], entry.info);
            EXPECT_TRUE(alone.same_bits(p, values, p)) << "without vectors";
            if (entry.info == 0) {
                check_eigen<T>(entry.a, values.columns(p), v.matrix(p));
            } else {
                EXPECT_TRUE(all_zero(values.matrix(p)) && all_zero(v.matrix(p)));
            }
        }
    }

    void check_svd_batch(int m, int n, Order layout, core::index_t gap) {
        SCOPED_TRACE(::testing::Message() << m << " x " << n << ", layout " << int(layout));
        const std::vector<ZooMatrix> zoo = some_of(tall_zoo<T>(m, n, 5u + unsigned(m)), n);
        const auto problems = core::index_t(zoo.size());
        const Batch a = this->batch_of(zoo, layout, gap);
        const Batch before(a);
        Batch u(problems, m, n, layout, gap), v(problems, n, n, layout, gap);
        Reals values(problems, 1, n, Order::columns, gap);
        std::vector<int> info(zoo.size(), -99);
        runner_.run(APERTURE_CALL(svd), a.view(), u.view(), this->vectors(values), v.view(),
                    this->entries(info));
        EXPECT_TRUE(a.same_bits(before)) << "a was changed";
        u.expect_gaps_untouched();
        v.expect_gaps_untouched();
        values.expect_gaps_untouched();
        for (core::index_t p = 0; p < problems; ++p) {
            const ZooMatrix& entry = zoo[std::size_t(p)];
            SCOPED_TRACE(entry.name);
            EXPECT_EQ(info[std::size_t(p)], entry.a.allFinite() ? 0 : 1);
            if (entry.a.allFinite()) {
                check_svd<T>(entry.a, u.matrix(p), values.columns(p), v.matrix(p));
            } else {
                EXPECT_TRUE(all_zero(u.matrix(p)) && all_zero(v.matrix(p)) &&
                            all_zero(values.matrix(p)));
            }
        }
    }

    /// Random Hermitian matrices.
    static Batch hermitian_batch(core::index_t problems, int n, Order layout, core::index_t gap) {
        std::mt19937 generator(11);
        Batch batch(problems, n, n, layout, gap);
        for (core::index_t p = 0; p < problems; ++p) {
            batch.set(p, random_hermitian<T>(n, generator));
        }
        return batch;
    }
};

TYPED_TEST_SUITE_P(SpectralSuite);

TYPED_TEST_P(SpectralSuite, Eigen) {
    for (int n : {0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 64}) {
        this->check_eigen_batch(n, Order::columns, 0, Order::columns);
    }
    for (Order layout : layouts) {
        this->check_eigen_batch(6, layout, 3, layout == Order::problems ? layout : Order::columns);
    }
}

TYPED_TEST_P(SpectralSuite, Svd) {
    using Shape = std::pair<int, int>;
    for (auto [m, n] :
         {Shape{4, 0}, Shape{1, 1}, Shape{2, 1}, Shape{2, 2}, Shape{3, 3}, Shape{4, 4}, Shape{5, 3},
          Shape{8, 8}, Shape{17, 4}, Shape{16, 16}, Shape{18, 17}, Shape{33, 32}, Shape{64, 64}}) {
        this->check_svd_batch(m, n, Order::columns, 0);
    }
    for (Order layout : layouts) this->check_svd_batch(9, 6, layout, 3);
    if (!TypeParam::Runner::emulated) this->check_svd_batch(max_rows, 40, Order::rows, 0);
}

TYPED_TEST_P(SpectralSuite, BitsDependOnTheProblemAlone) {
    using Value = typename TypeParam::T;
    using Problems = typename TestFixture::Batch;
    using RealProblems = typename TestFixture::Reals;
    for (int n : {2, 5, 12}) {
        const std::vector<ZooMatrix> bad = hermitian_zoo<Value>(n, 7);
        const auto problems = 2 * core::index_t(bad.size());
        const Problems good = this->hermitian_batch(problems, n, Order::columns, 0);
        Problems v(problems, n, n), u(problems, n, n), right(problems, n, n);
        RealProblems values(problems, 1, n), lengths(problems, 1, n);
        std::vector<int> info(std::size_t(problems), -99);
        this->runner_.run(APERTURE_CALL(eigen_hermitian), good.view(), this->vectors(values),
                          v.view(), this->entries(info));
        this->runner_.run(APERTURE_CALL(svd), good.view(), u.view(), this->vectors(lengths),
                          right.view(), this->entries(info));
        for (Order layout : layouts) {
            Problems mixed(problems, n, n, layout, 1), its_v(problems, n, n, layout, 2);
            Problems its_u(problems, n, n, layout, 2), its_right(problems, n, n, layout, 2);
            RealProblems its_values(problems, 1, n), its_lengths(problems, 1, n);
            for (core::index_t p = 0; p < problems; ++p) {
                mixed.set(p, p % 2 == 0 ? good.matrix(p) : bad[std::size_t(p / 2)].a);
            }
            this->runner_.run(APERTURE_CALL(eigen_hermitian), std::as_const(mixed).view(),
                              this->vectors(its_values), its_v.view(), this->entries(info));
            this->runner_.run(APERTURE_CALL(svd), std::as_const(mixed).view(), its_u.view(),
                              this->vectors(its_lengths), its_right.view(), this->entries(info));
            for (core::index_t p = 0; p < problems; p += 2) {
                SCOPED_TRACE(::testing::Message() << "order " << n << ", problem " << p);
                EXPECT_TRUE(its_values.same_bits(p, values, p) && its_v.same_bits(p, v, p));
                EXPECT_TRUE(its_lengths.same_bits(p, lengths, p) && its_u.same_bits(p, u, p) &&
                            its_right.same_bits(p, right, p));
            }
        }
    }
}

TYPED_TEST_P(SpectralSuite, BatchesOfAnySize) {
    using Value = typename TypeParam::T;
    using Problems = typename TestFixture::Batch;
    using RealProblems = typename TestFixture::Reals;
    const int n = 3;
    for (int problems : {0, 1, 31, 32, 33}) {
        // The eigenvectors replace the matrices.
        Problems v = this->hermitian_batch(problems, n, Order::columns, 0);
        const Problems a(v);
        RealProblems values(problems, 1, n);
        std::vector<int> info(std::size_t(problems), -99);
        this->runner_.run(APERTURE_CALL(eigen_hermitian), std::as_const(v).view(),
                          this->vectors(values), v.view(), this->entries(info));
        for (int p = 0; p < problems; ++p) {
            EXPECT_EQ(info[std::size_t(p)], 0);
            check_eigen<Value>(a.matrix(p), values.columns(p), v.matrix(p));
        }
    }
}

TYPED_TEST_P(SpectralSuite, VectorsReplaceMatrices) {
    using Problems = typename TestFixture::Batch;
    using RealProblems = typename TestFixture::Reals;
    const int problems = 3;
    for (int n : {6, 20}) {
        const Problems a = this->hermitian_batch(problems, n, Order::columns, 0);
        Problems u(problems, n, n), v(problems, n, n);
        RealProblems values(problems, 1, n), again(problems, 1, n);
        std::vector<int> info(std::size_t(problems), -99);
        const auto run = [&](const Problems& in, Problems& its_u, Problems& its_v,
                             RealProblems& its_values) {
            this->runner_.run(APERTURE_CALL(svd), in.view(), its_u.view(),
                              this->vectors(its_values), its_v.view(), this->entries(info));
            EXPECT_EQ(info, std::vector<int>(std::size_t(problems), 0));
        };
        run(a, u, v, values);
        Problems other(problems, n, n), in_u(a), in_v(a);
        run(in_u, in_u, other, again);
        EXPECT_TRUE(in_u.same_bits(u) && other.same_bits(v) && again.same_bits(values)) << n;
        run(in_v, other, in_v, again);
        EXPECT_TRUE(other.same_bits(u) && in_v.same_bits(v) && again.same_bits(values)) << n;
    }
}

TYPED_TEST_P(SpectralSuite, RefusesWrongShapes) {
    using Problems = typename TestFixture::Batch;
    using RealProblems = typename TestFixture::Reals;
    constexpr int too_many = max_spectral_order + 1;
    Problems a(4, 3, 3), wide(4, 2, 3), tall(4, 3, 2), square(4, 2, 2), v(4, 3, 3);
    Problems big(1, too_many, too_many);
    RealProblems values(4, 1, 3), few_values(4, 1, 2), big_values(1, 1, too_many);
    std::vector<int> info(4), few(3), one(1);
    const auto refuses = [&](auto function, auto... arguments) {
        EXPECT_THROW(this->runner_.run(function, arguments...), core::InvalidArgument);
    };
    const auto in = [](Problems& batch) { return std::as_const(batch).view(); };
    const auto eigen = APERTURE_CALL(eigen_hermitian);
    refuses(eigen, in(tall), this->vectors(values), v.view(), this->entries(info));
    refuses(eigen, in(a), this->vectors(few_values), v.view(), this->entries(info));
    refuses(eigen, in(a), this->vectors(values), square.view(), this->entries(info));
    refuses(eigen, in(a), this->vectors(values), v.view(), this->entries(few));
    refuses(eigen, in(big), this->vectors(big_values), big.view(), this->entries(one));
    const auto svd_of = APERTURE_CALL(svd);
    refuses(svd_of, in(wide), wide.view(), this->vectors(values), v.view(), this->entries(info));
    refuses(svd_of, in(tall), a.view(), this->vectors(few_values), square.view(),
            this->entries(info));
    refuses(svd_of, in(tall), tall.view(), this->vectors(values), square.view(),
            this->entries(info));
    refuses(svd_of, in(tall), tall.view(), this->vectors(few_values), v.view(),
            this->entries(info));
    refuses(svd_of, in(big), big.view(), this->vectors(big_values), big.view(), this->entries(one));
}

REGISTER_TYPED_TEST_SUITE_P(SpectralSuite, Eigen, Svd, BitsDependOnTheProblemAlone,
                            BatchesOfAnySize, VectorsReplaceMatrices, RefusesWrongShapes);

}  // namespace aperture::dense::oracle
