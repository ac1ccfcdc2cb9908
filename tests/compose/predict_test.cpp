// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <string>

#include "aperture/compose/plan.hpp"
#include "aperture/core/error.hpp"
#include "tests/compose/random_program.hpp"
#include "tests/compose/thesis_programs.hpp"

namespace aperture::compose {
namespace {

/// Seconds of the kernels of a program, or of its loop's body.
double seconds(const Program& program, const Machine& machine, Fusion fusion = Fusion::thesis) {
    const Plan made = plan(program, Registry(), fusion, machine);
    const auto* const repeat = std::get_if<Repeat>(&made.steps.back().what);
    double sum = 0;
    for (const Step& step : repeat != nullptr ? repeat->body : made.steps) {
        sum += predicted_seconds(*made.program, std::get<Kernel>(step.what), machine);
    }
    return sum;
}
/// Of one statement on square images.
double seconds(index_t order, const std::string& statement, const Machine& machine,
               const std::string& dtype = "f32") {
    const std::string image = core::text(": array ", dtype, "[", order, ", ", order, "];");
    return seconds(
        parse("program p { input a" + image + "input b" + image + "local y" + image +
              "input s: scalar " + dtype + "; local q: scalar " + dtype +
              ";"
              "stencil S: " +
              dtype + " zero {(-1, 0): 1, (1, 0): 1, (0, 2): 1};" + statement + "return y; }"),
        machine);
}

constexpr Machine without_launches = [] {
    Machine machine = h100;
    machine.launch_seconds = 0;
    machine.latency_seconds = 0;
    return machine;
}();

TEST(ComposePrediction, OfLargeKernelsIsThatOfTheirBytes) {
    constexpr double image = 8192.0 * 8192 * 4;
    const Machine& machine = without_launches;
    EXPECT_NEAR(seconds(8192, "y = add(a, b);", machine) * 2.8e12, 3 * image, 1e-3 * image);
    EXPECT_NEAR(seconds(8192, "y = add(a, b);", machine, "f64") * 2.8e12, 6 * image, 1e-3 * image);
    // Blocks of 8 rows load two more of the neighbours.
    EXPECT_NEAR(seconds(8192, "y = stencil_product(S, a);", machine) * 2.8e12, 2.25 * image,
                1e-3 * image);
    Machine cpu{.bytes_a_second = 1e10, .flops_a_second = 1e11, .double_flops_a_second = 5e10};
    EXPECT_NEAR(seconds(8192, "y = stencil_product(S, a);", cpu) * 1e10, 2 * image, 1);
    cpu.launch_seconds = 1;
    EXPECT_NEAR(seconds(8192, "y = add(a, b);", cpu) - 1, 3 * image / 1e10, 1e-9);
}

TEST(ComposePrediction, OfSmallKernelsIsLatencyAndLaunches) {
    const double transfer = 16 * 16 * 4 / h100.bytes_a_second;
    EXPECT_NEAR(seconds(16, "y = add(a, b);", h100),
                h100.launch_seconds + h100.latency_seconds + 3 * transfer, 1e-12);
    // A second kernel finishes sums.
    EXPECT_NEAR(seconds(16, "y = copy(a); q = sum(y);", h100),
                2 * h100.launch_seconds + h100.latency_seconds + 2 * transfer, 2e-12);
}

TEST(ComposePrediction, OfFewResidentBlocksIsThatOfFewBytesUnderWay) {
    // Blocks of 128 threads load 16 KB and store 8; of one a multiprocessor, too few are under way.
    Machine machine = without_launches;
    machine.latency_seconds = 10e-6;
    machine.blocks = 1;
    const Program program = parse(
        "program p { input A: batch f32[8192, 45, 45]; input B: batch f32[8192, 45, 45];"
        "local C: batch f32[8192, 45, 45]; C = add(A, B); return C; }");
    const double under_way = 132 * 3.0 * 4 * 45 * 45;
    const double rate = under_way / machine.latency_seconds;
    ASSERT_LT(rate, machine.bytes_a_second);
    EXPECT_NEAR(seconds(program, machine),
                8192 * 3.0 * 4 * 45 * 45 / rate + machine.latency_seconds, 1e-9);
}

TEST(ComposePrediction, ExchangesTakeLaunchesIfConditionsDecide) {
    const auto exchange = [](const std::string& after) {
        const Program program = parse(
            "program p { inout x: array f32[9, 9]; local t: array f32[9, 9]; constant n = 3;"
            "stencil S: f32 zero {(0, 1): 1}; input c: scalar bool; local i: iteration i64;"
            "for i in n { t = stencil_product(S, x); x = copy(t);" +
            after + "} return x; }");
        const Plan made = plan(program, Registry(), Fusion::thesis);
        const Kernel& kernel = *made.kernels().at(1);
        EXPECT_TRUE(kernel.exchanges);
        return predicted_seconds(program, kernel, h100);
    };
    EXPECT_EQ(exchange(""), 0);
    EXPECT_EQ(exchange("if c { break; }"), h100.launch_seconds);
}

TEST(ComposePrediction, OfLongComputationsIsThatOfTheirOperations) {
    Machine slow = without_launches;
    slow.flops_a_second = 1e9;
    slow.double_flops_a_second = 1e8;
    EXPECT_NEAR(seconds(1024, "y = multiply_add(a, b, a);", slow), 2 * 1048576 / 1e9, 1e-9);
    EXPECT_NEAR(seconds(1024, "y = multiply_add(a, b, a);", slow, "f64"), 2 * 1048576 / 1e8, 1e-9);
    EXPECT_NEAR(seconds(1024, "q = add(s, s); y = copy(a);", slow), 1e-9 + 2 * 4194304 / 2.8e12,
                2e-9);
}

TEST(ComposePrediction, OfProblemsThatFillSharedMemoryIsThatOfFewerAtATime) {
    // 36 KB a block of 128 threads: a multiprocessor has room for six, and wants 16 warps.
    const Program program = parse(
        "program p { input A: batch f32[16384, 48, 48]; input B: batch f32[16384, 48, 48];"
        "local C: batch f32[16384, 48, 48]; local D: batch f32[16384, 48, 48];"
        "C = matrix_multiply(A, B); D = matrix_multiply(A, C); return D; }");
    const double flops = 16384.0 * 2 * 2 * 48 * 48 * 48, bytes = 16384.0 * 3 * 4 * 48 * 48;
    EXPECT_NEAR(seconds(program, without_launches) / (bytes / 2.8e12), 1, 1e-3);
    Machine small = without_launches;
    small.shared_bytes = 64 << 10;  // for one
    EXPECT_NEAR(seconds(program, small) / (4 * flops / small.flops_a_second), 1, 1e-3);
}

TEST(ComposePrediction, OfTilesIsThatOfTheirBytesInCaches) {
    const Plan made =
        plan(parse("program p { input a: array f32[1024, 1024]; local t: array f32[1024, 1024];"
                   "local y: array f32[1024, 1024]; stencil S: f32 zero {(-1, 0): 1, (0, 2): 1};"
                   "t = stencil_product(S, a); y = stencil_product(S, t); y = add(y, t);"
                   "return y; }"),
             Registry(), CallsOfKernels{{0, 1, 2}});
    Machine cpu = small_caches;
    cpu.launch_seconds = 0;
    const auto seconds = [&] { return predicted_seconds(*made.program, *made.kernels()[0], cpu); };
    EXPECT_NEAR(seconds() * cpu.bytes_a_second / 1048576, (2 + 2 / 8.0) * 4, 1e-6);
    cpu.flops_a_second = 1e9;
    EXPECT_NEAR(seconds() * 1e9 / 1048576, 4 + 4 + 1, 1e-6);
}

TEST(ComposePrediction, ThreadsWithoutNumbersCountAsWell) {
    Machine slow = without_launches;
    slow.flops_a_second = 1e9;
    // 400 numbers by a warp, in 13 rounds of 32.
    const Program product = parse(
        "program p { input A: batch f32[16384, 20, 20]; local C: batch f32[16384, 20, 20];"
        "C = matrix_multiply(A, A); return C; }");
    const double flops = 16384.0 * 2 * 20 * 20 * 20;
    EXPECT_NEAR(seconds(product, slow) / (flops / 1e9 * 13 * 32 / 400), 1, 1e-6);
    slow.multiprocessors = 0;
    EXPECT_NEAR(seconds(product, slow) / (flops / 1e9), 1, 1e-6);
}

TEST(ComposePrediction, OfProgram13IsNearWhatAnH100Takes) {
    // docs/notes/compose.md: microseconds a sweep.
    struct Measured {
        index_t rows, columns;
        double fused, one_by_one;
    };
    for (const auto& it : {Measured{388, 592, 4.9, 36.9}, Measured{1080, 1920, 27.9, 188.5}}) {
        const Program program = thesis::blockwise_flow(it.rows, it.columns, 0.25, 10);
        EXPECT_NEAR(1e6 * seconds(program, h100, Fusion::planned) / it.fused, 1, 0.25);
        EXPECT_NEAR(1e6 * seconds(program, h100, Fusion::none) / it.one_by_one, 1, 0.25);
    }
}

TEST(ComposePrediction, OfPlansCountsLoops) {
    const Plan made =
        plan(parse("program p { inout x: array f32[9, 9]; constant n = 7; local i: iteration i64;"
                   "input c: scalar bool; x = add(x, x); for i in n { x = add(x, x);"
                   "if c { x = abs(x); } else { x = negate(x); break; } } return x; }"),
             Registry(), Fusion::thesis);
    const double kernel = predicted_seconds(*made.program, *made.kernels()[1], h100);
    // A GPU decides 21 times: whether there is another time, which branch runs, and what a break
    // leaves.
    EXPECT_NEAR(predicted_seconds(made, h100), 22 * kernel + 21 * 4.5 * h100.launch_seconds,
                1e-3 * kernel);
    const Machine cpu{
        .bytes_a_second = 1e10, .flops_a_second = 1e10, .double_flops_a_second = 1e10};
    const double on_cpu = predicted_seconds(*made.program, *made.kernels()[1], cpu);
    EXPECT_NEAR(predicted_seconds(made, cpu), 22 * on_cpu, 1e-3 * on_cpu);
}

TEST(ComposePrediction, ChoosesLoopsInOneKernel) {
    const auto loops = [](int rows, const std::string& body, const Machine& machine) {
        return loop_kernels(plan(parse(core::text("program p { inout x: array f32[", rows,
                                                  ", 592]; constant n = 100;"
                                                  "number half: f32 = 0.5; local i: iteration i64; "
                                                  "local k: iteration i64; local s: scalar f32;"
                                                  "local c: scalar bool; local y: batch f32[9, 4];"
                                                  "inout z: batch f32[9, 4];",
                                                  body, "return x; }")),
                                 Registry(), Fusion::planned, machine));
    };
    const std::string body =
        "for i in n { x = multiply(x, half); s = sum(x); c = less(s, half); if c { break; } }";
    EXPECT_THAT(loops(388, body, h100), testing::ElementsAre(0));
    Machine slow = h100;
    slow.barrier_seconds = 100e-6;
    EXPECT_THAT(loops(388, body, slow), testing::IsEmpty());
    Machine small = h100;
    small.cache_bytes = 1 << 20;
    EXPECT_THAT(loops(388, body, small), testing::IsEmpty());
    Machine cpu = h100;
    cpu.multiprocessors = 0;
    EXPECT_THAT(loops(388, body, cpu), testing::IsEmpty());
    // Without conditions a barrier must take less than a launch and the first loads.
    const std::string counted = "for i in n { x = multiply(x, half); }";
    EXPECT_THAT(loops(388, counted, h100), testing::ElementsAre(0));
    Machine slower = h100;
    slower.barrier_seconds = 1.5e-6;
    EXPECT_THAT(loops(388, counted, slower), testing::IsEmpty());
    EXPECT_THAT(loops(388, body, slower), testing::ElementsAre(0));
    // The outer loop has a kernel of batches.
    EXPECT_THAT(loops(388, "for k in n { z = multiply(half, z); " + body + "}", h100),
                testing::ElementsAre(1));
}

TEST(ComposePrediction, RefusesMachinesWithoutRates) {
    EXPECT_THROW(seconds(16, "y = add(a, b);", Machine{}), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::compose
