// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/batch_suite.hpp"

namespace aperture::dense::oracle {

using CpuRunner = HostRunner<core::Cpu, false>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, BatchSuite, AllCombinations<CpuRunner>);

namespace {

using Complex64 = std::complex<float>;
using Batch = HostBatch<Complex64>;

TEST(DenseCpu, BitsDoNotDependOnTheNumberOfThreads) {
    constexpr int n = 18;
    constexpr core::index_t problems = 83;
    std::mt19937 generator(4);
    Batch samples(problems, n, 64), b(problems, 16, n);
    for (core::index_t p = 0; p < problems; ++p) {
        samples.set(p, random_matrix<Complex64>(n, 64, generator));
        b.set(p, random_matrix<Complex64>(16, n, generator));
    }
    for (Factorisation factorisation : factorisations) {
        Batch first_a(problems, n, n), first_x(b);
        for (int threads : {1, 2, 3, 7}) {
            core::Cpu cpu(threads);
            Batch a(problems, n, n), x(b);
            std::vector<int> info(problems);
            dense::hermitian_rank_k<Complex64>(cpu, 1.0f / 64, std::as_const(samples).view(), 0.0f,
                                               a.view());
            solve<Complex64>(cpu, factorisation, std::as_const(a).view(), x.view(),
                             {info.data(), {problems}}, {});
            if (threads == 1) {
                for (core::index_t p = 0; p < problems; ++p) {
                    first_a.set(p, a.matrix(p));
                    first_x.set(p, x.matrix(p));
                }
            }
            EXPECT_TRUE(a.same_bits(first_a)) << threads;
            EXPECT_TRUE(x.same_bits(first_x)) << threads;
        }
    }
}

TEST(DenseCpu, SteadyStateAllocatesNothing) {
    core::Cpu cpu(2);
    Batch a(40, 18, 18), x(40, 16, 18);
    std::vector<int> info(40);
    std::vector<float> ratio(40);
    for (core::index_t p = 0; p < 40; ++p) a.set(p, Matrix::Identity(18, 18));
    const auto run = [&] {
        solve<Complex64>(cpu, Factorisation::gauss_jordan, std::as_const(a).view(), x.view(),
                         {info.data(), {40}}, {ratio.data(), {40}});
        dense::hermitian_rank_k<Complex64>(cpu, 1.0f, std::as_const(x).view().slice(1, 0, 16), 0.0f,
                                           a.view().slice(1, 0, 16).slice(2, 0, 16));
    };
    run();
    const auto before = core::host_allocations();
    run();
    EXPECT_EQ(core::host_allocations(), before);
}

}  // namespace
}  // namespace aperture::dense::oracle
