// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/stap/attempts_suite.hpp"
#include "tests/stap/simt_run.hpp"

namespace aperture::stap::kernel_cases {
namespace {

const auto on_simt = [](const Problem& problem, const auto& cube, const auto& steering) {
    return run_simt(problem, cube, steering);
};

TEST(Attempts, LoadTenTimesMoreEach) {
    EXPECT_EQ(automatic_loading(first_attempt), 0);
    EXPECT_EQ(automatic_loading(fp64_attempt), 0);
    EXPECT_DOUBLE_EQ(automatic_loading(first_loaded_attempt), 1e-12);
    EXPECT_NEAR(automatic_loading(last_attempt), 1e-2, 1e-8);
}

TEST(Attempts, TrustWhatTheLimitAllows) {
    const auto most = static_cast<float>(trust_limit / 0x1p-24 / 24);
    EXPECT_FALSE(needs_another(first_attempt, 0, 0.999f * most, 24));
    EXPECT_TRUE(needs_another(first_attempt, 0, 1.001f * most, 24));
    EXPECT_TRUE(needs_another(first_attempt, 1, 1, 24));
    EXPECT_TRUE(needs_another(first_attempt, -1, 1, 24));
    EXPECT_TRUE(needs_another(first_attempt, 0, std::nanf(""), 24));
    EXPECT_FALSE(needs_another(fp64_attempt, 0, 1e9f, 24));
    EXPECT_TRUE(needs_another(fp64_attempt, 0, 1e13f, 24));
    EXPECT_FALSE(needs_another(last_attempt, 1, 1, 24));
}

TEST(CpuAttempts, RepeatAndLoadWhatNeedsIt) { expect_attempts(run_cpu); }
TEST(SimtAttempts, RepeatAndLoadWhatNeedsIt) { expect_attempts(on_simt); }

}  // namespace
}  // namespace aperture::stap::kernel_cases
