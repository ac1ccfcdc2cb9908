// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Which calls on batches join a kernel, and who computes a problem.
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "libcompose/problem_groups.hpp"
#include "tests/compose/batch_values.hpp"
#include "tests/compose/listing1.hpp"

namespace aperture::compose {
namespace {

/// Kernels of a program's thesis plan, by their operations.
std::vector<std::vector<std::string>> kernels_of(const std::string& text) {
    std::vector<std::vector<std::string>> all;
    const Plan made = plan(parse(text), Registry(), Fusion::thesis);
    for (const Kernel* kernel : made.kernels()) {
        auto& operations = all.emplace_back();
        for (const PlannedCall& planned : kernel->calls) {
            operations.push_back(planned.call->operation);
        }
    }
    return all;
}
using Kernels = std::vector<std::vector<std::string>>;

TEST(ComposeBatchKernels, CallsOfAsManyProblemsAreOneKernel) {
    const auto of = [](const std::string& statements) {
        return kernels_of(
            "program p { input A: batch f32[9, 3, 3]; input x: batch f32[9, 3];"
            "input B: batch f32[8, 3, 3]; input a: array f32[9]; input s: scalar f32;"
            "input H: batch f64[9, 60, 60]; local y: batch f32[9, 3]; local z: batch f32[9, 3];"
            "local C: batch f32[8, 3, 3]; local b: array f32[9]; local q: scalar f32;"
            "local d: batch f32[9, 1]; local G: batch f64[9, 60, 60];"
            "local F: batch f64[9, 60, 60];" +
            statements + "return y; }");
    };
    EXPECT_EQ(of("y = matrix_multiply(A, x); d = norm(y); y = multiply(y, d);"),
              (Kernels{{"matrix_multiply", "norm", "multiply"}}));
    EXPECT_EQ(of("q = add(s, s); z = multiply(q, x); y = solve(A, z);"),
              (Kernels{{"add", "multiply", "solve"}}));
    // Others numbers of problems, or elements of arrays.
    EXPECT_EQ(of("y = copy(x); C = transposed(B); b = add(a, a); y = add(y, x);"),
              (Kernels{{"copy"}, {"transposed"}, {"add"}, {"add"}}));
    // More than 48 KB.
    EXPECT_EQ(of("G = transposed(H); F = transposed(G); y = copy(x);"),
              (Kernels{{"transposed"}, {"transposed"}, {"copy"}}));
}

/// Threads that a device gives a problem of a program of one kernel.
int threads_of(const std::string& text) {
    const Plan made = plan(parse(text), Registry(), Fusion::thesis);
    return problem_groups(*made.kernels().at(0)).threads;
}

TEST(ComposeBatchKernels, SmallProblemsHaveAThreadEach) {
    const auto product = [](const char* type, int order) {
        const std::string matrices = core::text("batch ", type, "[9, ", order, ", ", order, "]");
        return core::text("program p { input A: ", matrices, "; local B: ", matrices,
                          "; B = matrix_multiply(A, A); return B; }");
    };
    EXPECT_EQ(threads_of(product("f32", 8)), 1);
    EXPECT_EQ(threads_of(product("c64", 5)), 1);
    EXPECT_EQ(threads_of(product("f32", 16)), 32);
    EXPECT_EQ(threads_of(product("c128", 21)), 128);
    // Their workspaces would not fit registers, small results as they are.
    EXPECT_EQ(threads_of("program p { input A: batch f64[9, 12, 12]; input b: batch f64[9, 12];"
                         "local x: batch f64[9, 12]; x = solve(A, b); return x; }"),
              8);
}

TEST(ComposeBatchKernels, Listing1IsOneKernel) {
    EXPECT_EQ(threads_of(listing1), 1);
    EXPECT_EQ(
        explain(plan(parse(listing1), Registry(), Fusion::thesis)),
        R"(kernel 1, 1001 problems: matrix_multiply matrix_multiply norm matrix_multiply add multiply
    loads A B c D E
    stores F
    on chip M1 v1 s1 M2 M3
    384 bytes and 378 operations a problem, of 636 bytes on chip
)");
    const Values inputs = inputs_of(parse(listing1));
    const Values results = run(listing1, inputs, Fusion::none);
    for (index_t p = 0; p < 1001; ++p) {
        const auto in = [&](const char* name) { return inputs.at(name).problem(p); };
        const double s = (in("A") * in("B") * in("c")).size();
        const Oracle expected = s * (in("D") * in("E") + in("D"));
        EXPECT_LE((results.at("F").problem(p) - expected).size(),
                  1e-6 * in("A").size() * in("B").size() * in("c").size() *
                      (in("D").size() * in("E").size() + in("D").size()));
    }
    expect_same_bits(run(listing1, inputs), results);
    expect_same_bits(run(listing1, inputs, Fusion::thesis, Tier::compiled), results);
    expect_same_bits(run_on_simt(listing1, inputs, Fusion::thesis, core::LaneOrder::reverse),
                     results);
}

TEST(ComposeBatchKernels, AllPlansOfListing1HaveTheSameBits) {
    const Program program = parse(listing1);
    Values inputs = inputs_of(program);
    const Values expected = run(listing1, inputs, Fusion::none);
    std::vector<Plan> plans = best_plans(program, Registry(), 86);
    std::set<std::string> explained;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        Plan& planned = plans[rank];
        explained.insert(explain(planned));
        const Tier tier = rank % 40 == 3 ? Tier::compiled : Tier::interpreted;
        Memory memory(program, inputs);
        core::Cpu cpu(2);
        Executable<core::Cpu>(cpu, std::move(planned), tier)
            .run(cpu, memory.arguments, memory.results);
        expect_same_bits(memory.named(program), expected);
    }
    EXPECT_EQ(explained.size(), 86U);
}

/// A step of Kalman's filter: state x of covariance S, measurement z = H x + noise of covariance
/// S_R.
const char* const kalman = R"(program kalman {
    inout x: batch f64[77, 5];
    inout S: batch f64[77, 5, 5];
    input F: batch f64[77, 5, 5];
    input S_Q: batch f64[77, 5, 5];
    input H: batch f64[77, 2, 5];
    input S_R: batch f64[77, 2, 2];
    input z: batch f64[77, 2];
    local xp: batch f64[77, 5];
    local FS: batch f64[77, 5, 5];
    local P: batch f64[77, 5, 5];
    local HP: batch f64[77, 2, 5];
    local I: batch f64[77, 2, 2];
    local Kt: batch f64[77, 2, 5];
    local y: batch f64[77, 2];
    local Ky: batch f64[77, 5];
    local KHP: batch f64[77, 5, 5];
    xp = matrix_multiply(F, x);
    FS = matrix_multiply(F, S);
    P = matrix_multiply<b = transposed>(FS, F);
    P = add(P, S_Q);
    HP = matrix_multiply(H, P);
    I = matrix_multiply<b = transposed>(HP, H);
    I = add(I, S_R);
    Kt = solve<matrix = positive_definite>(I, HP);
    y = matrix_multiply(H, xp);
    y = subtract(z, y);
    Ky = matrix_multiply<a = transposed>(Kt, y);
    x = add(xp, Ky);
    KHP = matrix_multiply<a = transposed>(Kt, HP);
    S = subtract(P, KHP);
    return x, S;
}
)";

TEST(ComposeBatchKernels, AStepOfKalmansFilterIsOneKernel) {
    EXPECT_EQ(kernels_of(kalman).size(), 1U);
    EXPECT_EQ(threads_of(kalman), 1);
    const Values inputs = inputs_of(parse(kalman));
    const Values results = run(kalman, inputs, Fusion::none);
    for (index_t p = 0; p < 77; ++p) {
        const auto in = [&](const char* name) { return inputs.at(name).problem(p); };
        const Oracle f = in("F"), h = in("H");
        const Oracle xp = f * in("x");
        const Oracle cov = f * in("S") * transposed(f) + in("S_Q");
        // The innovation's covariance is 2 x 2: its inverse is known.
        const Oracle innovation = h * cov * transposed(h) + in("S_R");
        const auto determinant =
            innovation(0, 0) * innovation(1, 1) - innovation(0, 1) * innovation(1, 0);
        Oracle inverse(2, 2);
        inverse(0, 0) = innovation(1, 1) / determinant;
        inverse(1, 1) = innovation(0, 0) / determinant;
        inverse(0, 1) = -innovation(0, 1) / determinant;
        inverse(1, 0) = -innovation(1, 0) / determinant;
        const Oracle gain = cov * transposed(h) * inverse;
        const Oracle x = xp + gain * (in("z") - h * xp), s = cov - gain * h * cov;
        EXPECT_LE((results.at("x").problem(p) - x).size(), 1e-12 * (1 + x.size()));
        EXPECT_LE((results.at("S").problem(p) - s).size(), 1e-12 * cov.size());
    }
    expect_same_bits(run(kalman, inputs), results);
    expect_same_bits(run(kalman, inputs, Fusion::thesis, Tier::compiled), results);
    expect_same_bits(run_on_simt(kalman, inputs, Fusion::thesis, core::LaneOrder::random), results);
}

TEST(ComposeBatchKernels, LargeProblemsHaveTheSameBits) {
    // A block of threads a problem on a device; on a CPU a warp's worth of lanes does not fit.
    const std::string text =
        "program p { input S: batch f64[18, 40, 40]; input b: batch f64[18, 40];"
        "local x: batch f64[18, 40]; local L: batch f64[18, 40, 40];"
        "local P: batch f64[18, 40, 40]; x = solve(S, b); L = cholesky(S);"
        "P = matrix_multiply(S, S); return x, L, P; }";
    const Values inputs = inputs_of(parse(text));
    const Values expected = run(text, inputs, Fusion::none);
    expect_same_bits(run(text, inputs, Fusion::thesis, Tier::compiled), expected);
    expect_same_bits(run_on_simt(text, inputs, Fusion::thesis, core::LaneOrder::random), expected);
}

TEST(ComposeBatchKernels, BlocksComputeAllProblemsOfAnyMemory) {
    // Rows of 9 numbers are copied in pieces of 16 bytes where they are aligned.
    const std::string text =
        "program p { input A: batch f32[1000, 3, 3]; input B: batch f32[1000, 3, 3];"
        "local C: batch f32[1000, 3, 3]; C = matrix_multiply(A, B); return C; }";
    const Program program = parse(text);
    const Values inputs = inputs_of(program);
    const Values expected = run(text, inputs);
    for (const std::size_t offset : {0, 1, 2}) {
        std::vector<float> memory[3];
        const auto argument = [&](int i, const Numbers* numbers) {
            memory[i].resize(9000 + offset);
            if (numbers != nullptr) {
                for (index_t k = 0; k < 9000; ++k) {
                    memory[i][std::size_t(k) + offset] = static_cast<float>(numbers->at(k).real());
                }
            }
            return Argument{memory[i].data() + offset, batch(Dtype::f32, {1000, 3, 3})};
        };
        const Arguments arguments{{"A", argument(0, &inputs.at("A"))},
                                  {"B", argument(1, &inputs.at("B"))}};
        const std::vector<Argument> results{argument(2, nullptr)};
        core::Simt simt(core::LaneOrder::random);
        SimtExecutable executable(plan(program, Registry(), Fusion::thesis));
        executable.most_blocks = 3;
        executable.run(simt, arguments, results);
        for (index_t k = 0; k < 9000; ++k) {
            ASSERT_EQ(memory[2][std::size_t(k) + offset], expected.at("C").at(k).real())
                << "number " << k << ", offset " << offset;
        }
    }
}

}  // namespace
}  // namespace aperture::compose
