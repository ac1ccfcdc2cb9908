// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose_operations/stap.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "aperture/core/error.hpp"
#include "tests/compose/refusal.hpp"
#include "tests/compose/simt_executable.hpp"
#include "tests/compose_operations/programs.hpp"
#include "tests/compose_operations/registry.hpp"
#include "tests/same_bytes.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/stap/owned_results.hpp"
#include "tests/stap/random_input.hpp"

namespace aperture::compose {
namespace {

using stap::cfloat;
using tests::same_bytes;

using Cube = core::Array<cfloat, 3>;

stap::Parameters parameters_of(const StapProgram& program, double loading, bool relative) {
    stap::Parameters p;
    p.training_block = program.block;
    p.temporal_taps = program.taps;
    p.loading = {loading, relative};
    p.implementation = stap::Implementation::staged;
    p.precision = stap::Precision::fp32;
    return p;
}

struct Input {
    explicit Input(const StapProgram& program)
        : cube(stap::random_normal<3>({program.channels, program.bins, program.cells}, 1)),
          steering(stap::random_normal<2>({program.directions, program.order()}, 2)) {}
    Arguments arguments() const {
        const auto [l, k, n] = cube.extent();
        const auto [d, order] = steering.extent();
        return {{"cube", argument(cube.data(), {l, k, n})},
                {"steering", argument(steering.data(), {d, order})}};
    }
    Cube cube;
    core::Array<cfloat, 2> steering;
};

Cube run(const StapProgram& program, const std::string& text, const Input& input, Tier tier,
         int threads = 2) {
    Cube result({program.directions, program.bins, program.cells});
    core::Cpu cpu(threads);
    Executable<core::Cpu> executable(cpu, plan(parse(text), registry(), Fusion::thesis), tier);
    // The second run keeps the memory of the first.
    for (int i = 0; i < 2; ++i) {
        std::fill(result.begin(), result.end(), cfloat(7));
        executable.run(cpu, input.arguments(),
                       std::vector{argument(result.data(),
                                            {program.directions, program.bins, program.cells})});
    }
    return result;
}

Cube by_library(const StapProgram& program, const Input& input, double loading, bool relative,
                stap::Implementation implementation = stap::Implementation::staged) {
    core::Cpu cpu(2);
    stap::Parameters parameters = parameters_of(program, loading, relative);
    parameters.implementation = implementation;
    const stap::Problem problem =
        stap::make_problem({program.channels, program.bins, program.cells, stap::Domain::doppler},
                           parameters, program.directions);
    stap::OwnedResults results(problem);
    stap::Pipeline<core::Cpu>(cpu, problem, input.steering)
        .run(input.cube, results.views(), nullptr);
    return std::move(results.output);
}

double snr(const Cube& found, const Cube& expected) {
    stap::oracle::SnrDb snr;
    for (index_t i = 0; i < found.size(); ++i) {
        snr.add(std::complex<double>(expected.data()[i]), std::complex<double>(found.data()[i]));
    }
    return snr.value();
}

class ComposeStap : public testing::TestWithParam<StapProgram> {};
// The last block of the second and the third is shorter than its training.
INSTANTIATE_TEST_SUITE_P(Sizes, ComposeStap,
                         testing::Values(StapProgram{3, 8, 64, 32, 3, 4, "loading = 0.01"},
                                         StapProgram{2, 5, 33, 16, 5, 5, "loading = 0.01"},
                                         StapProgram{6, 4, 129, 64, 3, 16, "loading = 0.01"},
                                         StapProgram{1, 1, 1, 1, 1, 1, "loading = 0.01"}));

TEST_P(ComposeStap, WithoutSnapshotsIsTheLibrarysStagedPipeline) {
    const StapProgram program = GetParam();
    const Input input(program);
    const Cube expected = by_library(program, input, 0.01, false);
    for (const int threads : {1, 3}) {
        EXPECT_TRUE(same_bytes(
            expected, run(program, program.without_snapshots(), input, Tier::automatic, threads)));
    }
}

TEST_P(ComposeStap, InOnePassIsTheLibrarysFusedPipeline) {
    const StapProgram program = GetParam();
    const Input input(program);
    EXPECT_TRUE(same_bytes(run(program, program.in_one_pass(), input, Tier::automatic),
                           by_library(program, input, 0.01, false, stap::Implementation::fused)));
}

TEST_P(ComposeStap, StageByStageAgreesWithTheLibrary) {
    const StapProgram program = GetParam();
    const Input input(program);
    const std::string text = program.stage_by_stage();
    const Cube compiled = run(program, text, input, Tier::compiled);
    // Loading is added before or after rounding.
    EXPECT_GT(snr(compiled, by_library(program, input, 0.01, false)), 90);
    EXPECT_TRUE(same_bytes(compiled, run(program, text, input, Tier::interpreted)));
}

TEST(ComposeStap, LoadsRelativeToTheTrace) {
    StapProgram program{3, 8, 64, 32, 3, 4, "relative_loading = 0.02"};
    const Input input(program);
    EXPECT_TRUE(same_bytes(run(program, program.without_snapshots(), input, Tier::automatic),
                           by_library(program, input, 0.02, true)));
}

TEST(ComposeStap, FailedCovariancesHaveNoOutput) {
    const StapProgram program{3, 8, 64, 32, 3, 4, "loading = 0"};
    Input input(program);
    // Channels alike: every covariance is singular.
    const index_t plane = program.bins * program.cells;
    for (index_t i = 0; i < plane; ++i) {
        for (index_t c : {1, 2}) input.cube.data()[c * plane + i] = input.cube.data()[i];
    }
    const Cube expected = by_library(program, input, 0, false);
    EXPECT_TRUE(
        same_bytes(expected, run(program, program.without_snapshots(), input, Tier::automatic)));
    for (const Tier tier : {Tier::compiled, Tier::interpreted}) {
        const Cube found = run(program, program.stage_by_stage(), input, tier);
        for (index_t i = 0; i < found.size(); ++i) {
            if (expected.data()[i] != cfloat(0)) continue;
            EXPECT_EQ(found.data()[i], cfloat(0)) << i;
        }
    }
}

/// The part of the program that is compiled, on kernels for GPUs.
TEST_P(ComposeStap, WeightsAreAppliedByKernelsForGpusToo) {
    const StapProgram p = GetParam();
    const index_t order = p.order();
    const auto batch_of = [&](index_t rows, index_t columns) {
        return text_of(batch(Dtype::c64, {p.problems(), rows, columns}));
    };
    const std::string text =
        core::text("program p { input s: ", batch_of(order, p.block),
                   "; input w: ", batch_of(p.directions, order), "; input v: array c64[",
                   p.directions, ", ", order, "]; local g: array f32[", p.problems(), ", ",
                   p.directions, "]; local y: array c64[", p.directions, ", ", p.bins, ", ",
                   p.cells, "]; g = gamma_weights(w, v); y = inner_products<bins = ", p.bins,
                   ", cells = ", p.cells, ">(s, w, g); return y; }");
    const auto s = stap::random_normal<3>({p.problems(), order, p.block}, 3);
    auto w = stap::random_normal<3>({p.problems(), p.directions, order}, 4);
    std::fill_n(w.data(), order, cfloat(0));
    const auto v = stap::random_normal<2>({p.directions, order}, 5);
    const auto argument_of = [](const auto& numbers, const Type& type) {
        return Argument{const_cast<cfloat*>(numbers.data()), type, true};
    };
    const Arguments arguments{
        {"s", argument_of(s, batch(Dtype::c64, {p.problems(), order, p.block}))},
        {"w", argument_of(w, batch(Dtype::c64, {p.problems(), p.directions, order}))},
        {"v", argument_of(v, array(Dtype::c64, {p.directions, order}))}};
    Cube on_simt({p.directions, p.bins, p.cells}), on_cpu({p.directions, p.bins, p.cells});
    core::Simt simt;
    SimtExecutable(plan(parse(text), registry(), Fusion::thesis))
        .run(simt, arguments,
             std::vector{argument(on_simt.data(), {p.directions, p.bins, p.cells})});
    core::Cpu cpu(1);
    Executable<core::Cpu>(cpu, plan(parse(text), registry(), Fusion::thesis), Tier::compiled)
        .run(cpu, arguments, std::vector{argument(on_cpu.data(), {p.directions, p.bins, p.cells})});
    EXPECT_TRUE(same_bytes(on_simt, on_cpu));
}

TEST(ComposeStap, TransformsPulses) {
    const auto pulses = stap::random_normal<3>({2, 6, 20}, 1);
    stap::Parameters parameters;
    parameters.doppler_bins = 8;
    parameters.training_block = 20;
    parameters.temporal_taps = 1;
    core::Cpu cpu(1);
    Cube expected({2, 8, 20}), found({2, 8, 20});
    stap::DopplerFilter<core::Cpu>(cpu, stap::make_problem({2, 6, 20}, parameters, 1))
        .run(pulses, expected);
    Executable<core::Cpu>(cpu,
                          plan(parse("program p { input x: array c64[2, 6, 20]; local y: array "
                                     "c64[2, 8, 20]; y = doppler<bins = 8>(x); return y; }"),
                               registry(), Fusion::thesis))
        .run(cpu, {{"x", argument(pulses.data(), {2, 6, 20})}},
             std::vector{argument(found.data(), {2, 8, 20})});
    EXPECT_TRUE(same_bytes(found, expected));
}

TEST(ComposeStap, SaysWhatIsWrong) {
    const auto message = [](const std::string& statement) {
        return refusal(
            "program p { input cube: array c64[2, 4, 32]; input v: array c64[3, 6];"
            "input many: array c64[65, 6];"
            "input R: batch c64[8, 6, 6]; input w: batch c64[8, 3, 6];"
            "input s: batch c64[8, 6, 16]; local g: array f32[8, 3];"
            "local y: batch c64[8, 6, 6];" +
                statement + " return v; }",
            registry());
    };
    const std::pair<const char*, const char*> cases[] = {
        {"y = estimate_covariance(R);", "the cube is of type batch c64[8, 6, 6]"},
        {"y = estimate_covariance<block = 4>(cube);", "4"},
        {"y = estimate_covariance<loading = 1, relative_loading = 1>(cube);", "not both"},
        {"y = estimate_covariance<window = 4>(cube);", "no attribute window"},
        {"y = outer_products(cube);", "the snapshots is of type array c64[2, 4, 32]"},
        {"y = outer_products<loading = -1>(s);", "expected 0 or more"},
        {"y = solve_weights(s, v);", "their orders differ"},
        {"y = adapt_cube<block = 16, taps = 1>(cube, v);", "expected order 2"},
        {"y = solve_weights(R, many);", "65 steering vectors, at most 64"},
        {"y = solve_weights<solver = qr>(R, v);", "cholesky|gauss_jordan"},
        {"y = apply_weights<block = 16>(cube, v);", "apply_weights has 3 operands, not 2"},
        {"y = apply_weights<block = 8>(cube, v, w);", "expected order 6 and 16 problems"},
        {"g = gamma_weights(w, v); y = inner_products<bins = 3, cells = 32>(s, w, g);",
         "<bins = 3, cells = 32> of batch c64[8, 6, 16]"},
    };
    for (const auto& [statement, expected] : cases) {
        EXPECT_THAT(message(statement), testing::HasSubstr(expected)) << statement;
    }
}

}  // namespace
}  // namespace aperture::compose
