// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <random>
#include <vector>

#include "libdense/gpu/batch_factor.cuh"
#include "tests/dense/factor_suite.hpp"
#include "tests/dense/orthogonal_suite.hpp"
#include "tests/dense/simt_runner.hpp"

namespace aperture::dense::oracle {

using Factors = SomeOrders<SimtMappings<Mapping::columns, Mapping::rows, Mapping::block>, 17>;
INSTANTIATE_TYPED_TEST_SUITE_P(Simt, FactorSuite, Factors);

using Reflectors = SomeOrders<SimtMappings<Mapping::columns, Mapping::block>, 17>;
INSTANTIATE_TYPED_TEST_SUITE_P(Simt, OrthogonalSuite, Reflectors);

// Where shared memory is too small, blocks work in the output or in scratch memory.
TEST(SimtKernels, BlocksHaveTheSameBitsWithLittleSharedMemory) {
    using C = std::complex<float>;
    using Batch = HostBatch<C>;
    using Executor = SimtWith<std::integer_sequence<int, 1, 17>>;
    constexpr int order = 40;
    constexpr core::index_t problems = 11;
    std::mt19937 generator(40003);
    Batch a(problems, order, order), b(problems, 3, order);
    for (core::index_t p = 0; p < problems; ++p) {
        a.set(p, with_spectrum<C>(geometric(order, 100), generator));
        b.set(p, random_matrix<C>(3, order, generator));
    }
    const auto run = [&](int shared_memory) {
        Executor simt;
        simt.device.shared_memory_per_block = shared_memory;
        Batch lu(problems, order, order), qr(lu), inverse(lu), tau(problems, 1, order), g(lu);
        Batch x(b), solved(b);
        std::vector<int> info(problems), rows(problems * order);
        const core::View<int, 1> its_info(info.data(), {problems});
        const core::View<int, 2> its_rows(rows.data(), {problems, order});
        const auto vectors = core::View<C, 2>(tau.view().data, {problems, order});
        const auto its_a = std::as_const(a).view();
        launch_factor_lu<Executor, C>(simt, Pivoting::partial, its_a, lu.view(), its_rows,
                                      its_info);
        launch_solve_lu<Executor, C>(simt, Pivoting::partial, its_a, x.view(), its_info);
        launch_invert<Executor, C>(simt, its_a, inverse.view(), its_info);
        launch_factor_cholesky<Executor, C>(simt, its_a, g.view(), its_info);
        launch_factor_qr<Executor, C>(simt, its_a, qr.view(), vectors);
        launch_least_squares<Executor, C>(simt, its_a, std::as_const(b).view(), solved.view(),
                                          its_info);
        return std::vector<Batch>{lu, x, inverse, g, qr, tau, solved};
    };
    const std::vector<Batch> expected = run(227 * 1024);
    const std::vector<Batch> results = run(8 * 1024);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(results[i].same_bits(expected[i])) << i;
    }
}

/// A view of a kernel on one matrix by rows.
template <class T>
core::KernelView<T, 3> one_matrix(T* data, index_t rows, index_t columns) {
    return core::kernel_view(MatrixBatch<T, core::Host>(data, {1, rows, columns}));
}

// The other warps work ahead while one factors a panel: one warp alone gives the same bits.
TEST(BlocksOfWarps, GiveTheBitsOfOneWarp) {
    constexpr int m = 41, n = 37;
    std::mt19937 generator(4);
    std::vector<double> matrix(m * n);
    for (double& value : matrix) value = std::normal_distribution<double>()(generator);
    std::vector<double> positive(n * n);
    for (int i = 0; i < n * n; ++i) positive[i] = i % (n + 1) == 0 ? 2 * n : matrix[i];
    using enum MatrixPlace;
    using enum BlockElimination;
    const auto launch = [](auto kernel, int threads, int bytes, const auto& arguments,
                           BlockScratch<double> scratch = {}) {
        core::Simt simt(core::LaneOrder::random, 5);
        core::launch(simt, kernel,
                     core::LaunchConfig(dim3(1), dim3(unsigned(threads)), std::size_t(bytes)),
                     arguments, scratch);
    };
    const int stride = panel_row_stride<double>(n);
    std::vector<double> expected;
    for (const int threads : {32, 64, 160}) {
        std::vector<double> qr(m * n), tau(n), lu(n * n), inverse(n * n), g(n * n);
        std::vector<int> pivots(n), info(1);
        QrArguments<double> of_qr{};
        of_qr.a = one_matrix<const double>(matrix.data(), m, n);
        of_qr.qr = one_matrix(qr.data(), m, n);
        of_qr.tau = core::kernel_view(VectorBatch<double, core::Host>(tau.data(), {1, n}));
        launch(qr_in_block<double, 2, shared>, threads,
               qr_vector_bytes<double>(2, n) + m * stride * 8, of_qr);
        LuArguments<double> of_lu{};
        of_lu.a = one_matrix<const double>(matrix.data(), n, n);
        of_lu.lu = one_matrix(lu.data(), n, n);
        of_lu.pivots = core::kernel_view(core::View<int, 2>(pivots.data(), {1, n}));
        of_lu.info = core::kernel_view(core::View<int, 1>(info.data(), {1}));
        of_lu.elimination = GeneralElimination::pivoted_lu;
        launch(lu_in_block<double, 2, shared, looks_left>, threads,
               elimination_bytes<double>(false, n) + n * stride * 8, of_lu);
        EXPECT_EQ(info[0], 0);
        // Whichever way a block looks, and with some rows in scratch memory.
        constexpr int outside = 7;
        std::vector<double> right(n * n), split(n * n), scratch_rows(outside * std::size_t(stride));
        of_lu.lu = one_matrix(right.data(), n, n);
        launch(lu_in_block<double, 2, shared, looks_right>, threads,
               elimination_bytes<double>(false, n) + n * stride * 8, of_lu);
        EXPECT_EQ(right, lu) << threads << " threads";
        of_lu.lu = one_matrix(split.data(), n, n);
        launch(lu_in_block<double, 2, scratch, looks_right>, threads,
               elimination_bytes<double>(false, n) + (n - outside) * stride * 8, of_lu,
               BlockScratch<double>{scratch_rows.data(), outside});
        EXPECT_EQ(split, lu) << threads << " threads";
        of_lu.lu = {};
        of_lu.pivots = {};
        of_lu.inverse = one_matrix(inverse.data(), n, n);
        launch(lu_in_block<double, 2, shared, jordan>, threads,
               elimination_bytes<double>(true, n) + n * stride * 8, of_lu);
        EXPECT_EQ(info[0], 0);
        CholeskyArguments<double> of_g{};
        of_g.a = one_matrix<const double>(positive.data(), n, n);
        of_g.g = one_matrix(g.data(), n, n);
        of_g.info = core::kernel_view(core::View<int, 1>(info.data(), {1}));
        launch(
            cholesky_in_block<double, 2, shared>, threads,
            cholesky_bytes + TrianglePanels<double>::lines(n) * TrianglePanels<double>::stride * 8,
            of_g);
        EXPECT_EQ(info[0], 0);
        std::vector<double> all(qr);
        for (const auto& part :
             {tau, lu, inverse, g, std::vector<double>(pivots.begin(), pivots.end())}) {
            all.insert(all.end(), part.begin(), part.end());
        }
        if (threads == 32) expected = all;
        EXPECT_EQ(all, expected) << threads << " threads";
    }
}

}  // namespace aperture::dense::oracle
