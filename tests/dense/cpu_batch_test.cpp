// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/batch_suite.hpp"
#include "tests/same_bytes.hpp"

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

/// dot, norm, gemv and gemm of random problems, which are the same in every layout.
template <class T>
std::vector<T> sums_of(Op op, core::index_t rows, core::index_t depth, Order layout, Order other) {
    constexpr core::index_t problems = core::lanes<float> + 5, columns = 21;
    std::mt19937 generator(5);
    const auto batch = [&](core::index_t m, core::index_t n, Order its) {
        HostBatch<T> made(problems, m, n, its, 1);
        for (core::index_t p = 0; p < problems; ++p) made.set(p, random_matrix<T>(m, n, generator));
        return made;
    };
    const auto vectors = [](auto view) {
        return core::View(view.data, core::Extents<2>{view.extent[0], view.extent[2]},
                          core::Extents<2>{view.stride[0], view.stride[2]});
    };
    const Order of_vectors = layout == Order::rows ? Order::columns : layout;
    const HostBatch<T> a = op == Op::none ? batch(rows, depth, layout) : batch(depth, rows, layout);
    const HostBatch<T> b = batch(depth, columns, layout), x = batch(1, depth, other);
    const HostBatch<T> left = batch(1, 3 * depth, of_vectors), right = batch(1, 3 * depth, other);
    HostBatch<T> y = batch(1, rows, of_vectors);
    HostBatch<T> c = batch(rows, columns, other == Order::columns ? layout : other);
    const T alpha = rounded<T>(Complex(-1.5, 0.5)), beta = rounded<T>(Complex(0.25, 1));
    core::Cpu cpu(2);
    std::vector<T> all(problems);
    std::vector<Real<T>> norms(problems);
    dense::dot<T>(cpu, vectors(left.view()), vectors(right.view()), {all.data(), {problems}});
    dense::norm<T>(cpu, vectors(right.view()), {norms.data(), {problems}});
    dense::gemv<T>(cpu, op, alpha, a.view(), vectors(x.view()), beta, vectors(y.view()));
    dense::gemm<T>(cpu, op, Op::none, alpha, a.view(), b.view(), beta, c.view());
    for (core::index_t p = 0; p < problems; ++p) {
        all.push_back(T(norms[std::size_t(p)]));
        for (core::index_t i = 0; i < rows; ++i) {
            all.push_back(y.view()(p, 0, i));
            for (core::index_t j = 0; j < columns; ++j) all.push_back(c.view()(p, i, j));
        }
    }
    return all;
}

// Other loads and loops sum in every layout.
template <class T>
void expect_sums_of_one_order() {
    for (const auto& [rows, depth] : {std::pair{3, 2}, {4, 4}, {17, 9}, {18, 90}}) {
        for (Op op : {Op::none, Op::transposed, Op::adjoint}) {
            const auto expected = sums_of<T>(op, rows, depth, Order::columns, Order::columns);
            for (Order layout : layouts) {
                for (Order other : {Order::columns, Order::problems}) {
                    EXPECT_TRUE(
                        tests::same_bytes(sums_of<T>(op, rows, depth, layout, other), expected))
                        << rows << " x " << depth << ", op " << int(op) << ", layouts "
                        << int(layout) << int(other);
                }
            }
        }
    }
}

TEST(DenseCpu, BitsOfSumsDoNotDependOnLayouts) {
    expect_sums_of_one_order<float>();
    expect_sums_of_one_order<double>();
    expect_sums_of_one_order<std::complex<float>>();
    expect_sums_of_one_order<std::complex<double>>();
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
