// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/stap/attempts_suite.hpp"
#include "tests/stap/simt_run.hpp"

namespace aperture::stap::kernel_cases {
namespace {

HostResults run_cpu(const Problem& problem, core::View<const cfloat, 3, core::Host> cube,
                    core::View<const cfloat, 2, core::Host> steering) {
    core::Cpu cpu(2);
    HostResults results(problem);
    Pipeline<core::Cpu> pipeline(cpu, problem, steering);
    pipeline.run(cube, results.views(problem), nullptr);
    return results;
}

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

TEST(CpuAttempts, KeepFp32WhereItIsEnough) {
    for (const Case& c : attempt_cases()) expect_fp32_where_it_is_enough(c, run_cpu);
}
TEST(CpuAttempts, LoadSingularMatrices) {
    for (Case c : {attempt_cases()[0], attempt_cases()[1], attempt_cases()[4]})
        expect_singular_matrix_to_be_loaded(c, run_cpu);
}
TEST(CpuAttempts, LoadSingularBins) {
    expect_singular_bins_to_be_loaded(Implementation::fused, run_cpu);
}
TEST(CpuAttempts, CannotHelpZeros) {
    for (const Case& c : {attempt_cases()[0], attempt_cases()[1]}) expect_zeros_to_fail(c, run_cpu);
}

TEST(SimtAttempts, KeepFp32WhereItIsEnough) {
    for (const Case& c : attempt_cases()) expect_fp32_where_it_is_enough(c, on_simt);
}
TEST(SimtAttempts, LoadSingularMatrices) {
    for (Case c : {attempt_cases()[0], attempt_cases()[1], attempt_cases()[4]})
        expect_singular_matrix_to_be_loaded(c, on_simt);
}
TEST(SimtAttempts, LoadSingularBins) {
    for (const Implementation way : {Implementation::fused, Implementation::staged})
        expect_singular_bins_to_be_loaded(way, on_simt);
}
TEST(SimtAttempts, CannotHelpZeros) {
    for (const Case& c : {attempt_cases()[0], attempt_cases()[1]}) expect_zeros_to_fail(c, on_simt);
}

}  // namespace
}  // namespace aperture::stap::kernel_cases
