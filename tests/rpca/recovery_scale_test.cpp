// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Recovery of matrices of order 500 and 1,000 as in Candes et al. (2011, table 1). Too slow for
// sanitizers.
#include <gtest/gtest.h>

#include <utility>

#include "tests/rpca/oracle.hpp"

namespace aperture::rpca::oracle {
namespace {

/// Entries of S up to the magnitude `least` count as zero.
void expect_recovery(core::index_t order, Solver solver, double share, double least) {
    const auto rank = static_cast<int>(order / 20);
    const Planted truth = planted(order, order, rank, share, 23);
    const core::Array<double, 2> frames = frames_of<double>(truth.low_rank + truth.sparse);
    core::Array<double, 2> low_rank(frames.extent()), sparse(frames.extent());
    core::Cpu cpu(2);
    Parameters parameters;
    parameters.solver = solver;
    parameters.rank = rank;
    parameters.tolerance = 1e-7;
    RobustPca<double, core::Cpu> pca(cpu, order, order, parameters);
    const Outcome outcome = pca.run(frames.view(), low_rank, sparse);
    EXPECT_TRUE(outcome.converged);
    // The constant part counts as one, unless a rank was requested.
    EXPECT_EQ(outcome.rank, solver == Solver::accaltproj ? rank : rank + 1);
    const Matrix found = matrix_of<double>(std::as_const(low_rank).view());
    EXPECT_LE((found - truth.low_rank).norm(), 1e-5 * truth.low_rank.norm());
    const Matrix s = matrix_of<double>(std::as_const(sparse).view());
    EXPECT_EQ(((s.array().abs() > least) != (truth.sparse.array() != 0)).count(), 0);
    testing::Test::RecordProperty("iterations", outcome.iterations);
}

// Five percent, the table's other row, is easier.
TEST(RpcaScale, MultipliersRecoverOrderFiveHundred) { expect_recovery(500, Solver::ialm, 0.1, 0); }

TEST(RpcaScale, ProjectionsRecoverOrderThousand) {
    // Planted entries are +-1. Parts of L that remain in S are smaller than L's error.
    for (const double share : {0.05, 0.1}) expect_recovery(1000, Solver::accaltproj, share, 1e-3);
}

}  // namespace
}  // namespace aperture::rpca::oracle
