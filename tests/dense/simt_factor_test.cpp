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

}  // namespace aperture::dense::oracle
