// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/rpca/oracle.hpp"

#include <gtest/gtest.h>

namespace aperture::rpca::oracle {
namespace {

TEST(RpcaOracle, FirstStepIsThatByHand) {
    // ||M||_2 = 4, the largest entry over lambda is 8: Y_0 = M / 8, mu_0 = 1.25 / 4 = 0.3125. So
    // M + Y_0 / mu_0 = 1.4 M, of which lambda / mu_0 = 1.6 is taken: S = diag(4, 1.2). L is the
    // shrinkage by 3.2 of M - S + 0.4 M = diag(1.6, 1.6): nothing.
    Matrix m(2, 2);
    m << 4, 0, 0, 2;
    const Split split = ialm(m, 0.5, 1);
    EXPECT_EQ(split.rank, 0);
    EXPECT_NEAR(split.low_rank.norm(), 0, 1e-14);
    // Y_1 / mu_1 = (diag(1.6, 1.6) - 0) / 1.5, and lambda / mu_1 = 16/15.
    EXPECT_NEAR(split.sparse(0, 0), 4 + 1.6 / 1.5 - 16.0 / 15, 1e-12);
    EXPECT_NEAR(split.sparse(1, 1), 2 + 1.6 / 1.5 - 16.0 / 15, 1e-12);
    EXPECT_EQ(split.sparse(0, 1), 0);
}

TEST(RpcaOracle, RecoversWhatWasPlanted) {
    const Planted truth = planted(60, 60, 2, 0.05, 5);
    for (const Split& split : {ialm(truth.low_rank + truth.sparse, 1 / std::sqrt(60.0), 40),
                               admm(truth.low_rank + truth.sparse, 1 / std::sqrt(60.0), 400)}) {
        EXPECT_LE((split.low_rank - truth.low_rank).norm(), 1e-4 * truth.low_rank.norm());
        EXPECT_LE((split.sparse - truth.sparse).norm(), 1e-4 * truth.sparse.norm());
    }
}

}  // namespace
}  // namespace aperture::rpca::oracle
