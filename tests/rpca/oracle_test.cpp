// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/rpca/oracle.hpp"

#include <gtest/gtest.h>

namespace aperture::rpca::oracle {
namespace {

TEST(RpcaOracle, FirstStepIsThatByHand) {
    // The means are 2 and 0, so ||M||_2 is estimated as sqrt(2 * 4 + 8) = 4. The largest entry over
    // lambda is 8: Y_0 = (2, -2; 0, 0) / 8, mu_0 = 1.25 / 4 = 0.3125. L_0 is the means. M - L_0 +
    // Y_0 / mu_0 = 1.4 (2, -2; 0, 0) is shrunk by lambda / mu_0 = 1.6: S = (1.2, -1.2; 0, 0). W = M
    // - S + Y_0 / mu_0 = (3.6, 0.4; 0, 0) has the means 2 and 0. Its deviation, of norm 1.6 sqrt(2)
    // < 1 / mu_0 = 3.2, is shrunk to 0: L_1 = (2, 2; 0, 0).
    Matrix m(2, 2);
    m << 4, 0, 0, 0;
    const Split split = ialm(m, 0.5, 1);
    EXPECT_EQ(split.rank, 1);
    EXPECT_NEAR(split.low_rank(0, 0), 2, 1e-12);
    EXPECT_NEAR(split.low_rank(0, 1), 2, 1e-12);
    EXPECT_NEAR(split.low_rank.row(1).norm(), 0, 1e-14);
    // Y_1 / mu_1 = (1.6, -1.6; 0, 0) / 1.5, and lambda / mu_1 = 16/15.
    EXPECT_NEAR(split.sparse(0, 0), 2 + 1.6 / 1.5 - 16.0 / 15, 1e-12);
    EXPECT_NEAR(split.sparse(0, 1), -2 - 1.6 / 1.5 + 16.0 / 15, 1e-12);
    EXPECT_EQ(split.sparse.row(1).norm(), 0);
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
