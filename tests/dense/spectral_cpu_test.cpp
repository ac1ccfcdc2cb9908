// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/spectral_suite.hpp"

namespace aperture::dense::oracle {

using OnCpu = HostRunner<core::Cpu, false>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, SpectralSuite, AllCombinations<OnCpu>);

namespace {

TEST(SpectralBatch, ManyTinyProblemsOnAnyThreads) {
    constexpr int n = 3;
    constexpr core::index_t different = 100;
    constexpr core::index_t problems = 600'000;
    std::mt19937 generator(1);
    HostBatch<float> a(problems, n, n);
    std::vector<Matrix> matrices;
    for (core::index_t p = 0; p < different; ++p) {
        matrices.push_back(random_hermitian<float>(n, generator));
        for (core::index_t q = p; q < problems; q += different) a.set(q, matrices.back());
    }
    const auto values_of = [&](int threads, HostBatch<float>& values, HostBatch<float>& v) {
        core::Cpu cpu(threads);
        std::vector<int> info(problems, -99);
        eigen_hermitian<float>(cpu, std::as_const(a).view(), {values.view().data, {problems, n}},
                               v.view(), {info.data(), {problems}});
        EXPECT_EQ(std::count(info.begin(), info.end(), 0), problems);
    };
    HostBatch<float> values(problems, 1, n), v(problems, n, n);
    HostBatch<float> of_one(problems, 1, n), its_v(problems, n, n);
    values_of(2, values, v);
    values_of(1, of_one, its_v);
    EXPECT_TRUE(values.same_bits(of_one) && v.same_bits(its_v));
    core::index_t differing = 0;
    for (core::index_t p = 0; p < problems; ++p) {
        const core::index_t first = p % different;
        differing += !values.same_bits(p, values, first) || !v.same_bits(p, v, first);
    }
    EXPECT_EQ(differing, 0);
    for (core::index_t p = 0; p < different; ++p) {
        check_eigen<float>(a.matrix(p), values.columns(p), v.matrix(p));
    }
}

// Neighbours make a lane rotate by the identity, which may turn a zero's sign.
TEST(SpectralBatch, SignsOfZerosDoNotDependOnNeighbours) {
    constexpr int n = 3;
    constexpr core::index_t problems = 32;
    std::mt19937 generator(2);
    Matrix diagonal = Matrix::Constant(n, n, -0.0);
    diagonal.diagonal() << 3, -2, 1;
    HostBatch<float> equal(problems, n, n), mixed(problems, n, n);
    for (core::index_t p = 0; p < problems; ++p) {
        equal.set(p, diagonal);
        mixed.set(p, p % 2 == 0 ? diagonal : random_matrix<float>(n, n, generator));
    }
    const auto u_of = [&](const HostBatch<float>& a) {
        core::Cpu cpu(1);
        HostBatch<float> u(problems, n, n), v(problems, n, n), values(problems, 1, n);
        std::vector<int> info(problems);
        svd<float>(cpu, a.view(), u.view(), {values.view().data, {problems, n}}, v.view(),
                   {info.data(), {problems}});
        return u;
    };
    const HostBatch<float> expected = u_of(equal), u = u_of(mixed);
    for (core::index_t p = 0; p < problems; p += 2) EXPECT_TRUE(u.same_bits(p, expected, p));
}

}  // namespace
}  // namespace aperture::dense::oracle
