// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/plan.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "libcompose/data_flow.hpp"
#include "libcompose/emit.hpp"
#include "tests/compose/listing1.hpp"
#include "tests/compose/random_program.hpp"
#include "tests/compose/thesis_programs.hpp"

namespace aperture::compose {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

/// Jacobi's method, as in section 5.10 of Anderson 2014.
const char* const jacobi = R"(program jacobi {
    input D: scalar f32;
    stencil R: f32 replicate {(0, -1): 0.1, (-1, 0): 0.3, (1, 0): 0.3, (0, 1): 0.1};
    input b: array f32[128, 128];
    inout x: array f32[128, 128];
    constant num_iter = 10;
    local i: iteration i64;
    local f5: array f32[128, 128];
    local f6: array f32[128, 128];
    local f7: array f32[128, 128];
    local r: array f32[128, 128];
    for i in num_iter {
        f5 = stencil_product(R, x);
        f6 = subtract(b, f5);
        r = copy(f6);
        f7 = multiply(D, r);
        x = copy(f7);
    }
    return x;
}
)";

std::vector<std::string> names(const Program& program, const auto& ids) {
    std::vector<std::string> all;
    for (const SymbolId id : ids) all.push_back(program[id].name);
    return all;
}

std::vector<std::string> operations(const Kernel& kernel) {
    std::vector<std::string> all;
    for (const PlannedCall& planned : kernel.calls) all.push_back(planned.call->operation);
    return all;
}

const Block& body(const Program& program) {
    return std::get<Loop>(program.statements.front().what).body;
}

TEST(ComposeDataFlow, OfJacobiIsThatOfTheThesis) {
    // Table 5.2: live symbols before and after each operation of the loop.
    const Program program = parse(jacobi);
    const auto live = live_symbols(program);
    const std::vector<std::vector<std::string>> between{
        {"D", "R", "b", "x"}, {"D", "R", "b", "f5"}, {"D", "R", "b", "f6"},
        {"D", "R", "b", "r"}, {"D", "R", "b", "f7"}, {"D", "R", "b", "x"}};
    std::size_t i = 0;
    for (const Statement& statement : body(program)) {
        const Live& of_call = live.at(&std::get<Call>(statement.what));
        EXPECT_THAT(names(program, of_call.before), testing::UnorderedElementsAreArray(between[i]));
        EXPECT_THAT(names(program, of_call.after),
                    testing::UnorderedElementsAreArray(between[i + 1]));
        ++i;
    }
    EXPECT_EQ(i, 5u);
}

TEST(ComposePlan, OfJacobiHasTheTwoKernelsOfTheThesis) {
    // Figure 5.6.
    const Program program = parse(jacobi);
    const Plan fused = plan(program, Registry(), Fusion::thesis);
    ASSERT_EQ(fused.steps.size(), 1u);
    const auto& steps = std::get<Repeat>(fused.steps[0].what).body;
    ASSERT_EQ(steps.size(), 2u);
    const auto& first = std::get<Kernel>(steps[0].what);
    EXPECT_THAT(operations(first), ElementsAre("stencil_product", "subtract", "copy", "multiply"));
    EXPECT_THAT(names(program, first.loads), UnorderedElementsAre("D", "b", "x"));
    EXPECT_THAT(names(program, first.stores), ElementsAre("f7"));
    EXPECT_THAT(names(program, first.registers), UnorderedElementsAre("f5", "f6", "r"));
    EXPECT_EQ(first.bytes, 128 * 128 * 12 + 4);
    const auto& second = std::get<Kernel>(steps[1].what);
    EXPECT_THAT(operations(second), ElementsAre("copy"));
    // Nobody reads f7 later.
    EXPECT_TRUE(second.exchanges);
    EXPECT_EQ(second.bytes, 0);
}

TEST(ComposePlan, WithoutFusionHasAKernelForEachCall) {
    const Program program = parse(jacobi);
    const Plan alone = plan(program, Registry(), Fusion::none);
    EXPECT_EQ(std::get<Repeat>(alone.steps[0].what).body.size(), 5u);
}

/// Kernels of a program with these statements, by their operations.
std::vector<std::vector<std::string>> kernels(const std::string& statements) {
    const Program program = parse(
        "program p { input a: array f32[8, 9]; input b: array f32[8, 9]; input v: array f32[72];"
        "stencil S: f32 zero {(0, 1): 1}; input s: scalar f32; local q: scalar f32;"
        "local r: scalar f32; inout y: array f32[8, 9]; local t: array f32[8, 9];"
        "local u: array f32[8, 9]; local w: array f32[72];" +
        statements + "return y; }");
    std::vector<std::vector<std::string>> all;
    for (const Step& step : plan(program, Registry(), Fusion::thesis).steps) {
        all.push_back(operations(std::get<Kernel>(step.what)));
    }
    return all;
}

using Kernels = std::vector<std::vector<std::string>>;

TEST(ComposePlan, NeighboursAreReadInTheNextKernel) {
    EXPECT_EQ(kernels("t = add(a, b); y = stencil_product(S, t);"),
              (Kernels{{"add"}, {"stencil_product"}}));
    EXPECT_EQ(kernels("t = stencil_product(S, y); u = add(a, t); y = add(a, u);"),
              (Kernels{{"stencil_product", "add"}, {"add"}}));
    EXPECT_EQ(kernels("t = stencil_product(S, a); u = stencil_product(S, b); y = add(t, u);"),
              (Kernels{{"stencil_product", "stencil_product", "add"}}));
}

TEST(ComposePlan, OtherExtentsAreAnotherKernel) {
    EXPECT_EQ(kernels("t = add(a, b); w = add(v, v); y = add(t, b);"),
              (Kernels{{"add"}, {"add"}, {"add"}}));
}

TEST(ComposePlan, SumsAreReadInTheNextKernel) {
    EXPECT_EQ(kernels("t = add(a, b); q = sum(t); r = multiply(q, s); y = multiply(r, a);"),
              (Kernels{{"add", "sum"}, {"multiply", "multiply"}}));
    EXPECT_EQ(kernels("q = sum(a); r = dot(a, b); y = add(a, b);"),
              (Kernels{{"sum", "dot", "add"}}));
}

TEST(ComposePlan, ScalarsThatAreReadAreOverwrittenInTheNextKernel) {
    EXPECT_EQ(kernels("q = copy(s); y = multiply(q, a);"), (Kernels{{"copy", "multiply"}}));
    EXPECT_EQ(kernels("q = sum(a); y = multiply(s, b); t = multiply(q, a); q = copy(s);"),
              (Kernels{{"sum", "multiply"}, {"multiply"}, {"copy"}}));
    EXPECT_EQ(kernels("q = copy(s); y = multiply(q, a); q = add(s, s); t = multiply(q, a);"),
              (Kernels{{"copy", "multiply"}, {"add", "multiply"}}));
}

/// Bytes a pixel of all kernels in a program's loop.
double bytes_of_loop(const Program& program, Fusion fusion) {
    const Plan made = plan(program, Registry(), fusion);
    double bytes = 0;
    for (const Step& step : std::get<Repeat>(made.steps.back().what).body) {
        if (const auto* kernel = std::get_if<Kernel>(&step.what)) bytes += kernel->bytes;
    }
    return std::round(bytes / (1080 * 1920));
}

TEST(ComposePlan, OfTheThesisProgramsMovesFewerBytesIfPlanned) {
    // Calls in the order of the expressions, in which copies to du and dv stand between others.
    const Program jacobi_flow = thesis::jacobi_flow(1080, 1920, 0.25, 10);
    EXPECT_EQ(bytes_of_loop(jacobi_flow, Fusion::thesis), 52);
    EXPECT_EQ(bytes_of_loop(jacobi_flow, Fusion::planned), 36);
    const Program blockwise = thesis::blockwise_flow(1080, 1920, 0.25, 10);
    EXPECT_EQ(bytes_of_loop(blockwise, Fusion::thesis), 64);
    EXPECT_EQ(bytes_of_loop(blockwise, Fusion::planned), 28);
    const Program red_black = thesis::red_black_flow(1080, 1920, 0.25, 10);
    EXPECT_EQ(bytes_of_loop(red_black, Fusion::thesis), 124);
    EXPECT_EQ(bytes_of_loop(red_black, Fusion::planned), 72);
}

double predicted(const Plan& plan) {
    double seconds = 0;
    for (const Kernel* kernel : plan.kernels()) {
        seconds += predicted_seconds(*plan.program, *kernel, h100);
    }
    return seconds;
}

TEST(ComposePlan, IsPredictedToBeFasterThanCallsInARow) {
    const Registry registry;
    // Calls of this one are in the best order.
    const Program gradients = thesis::conjugate_gradients_flow(388, 592, 0.25, 1e-6, 10);
    EXPECT_DOUBLE_EQ(predicted(plan(gradients, registry, Fusion::planned)),
                     predicted(plan(gradients, registry, Fusion::thesis)));
    for (unsigned seed = 0; seed < 50; ++seed) {
        const Program program = parse(RandomProgram(seed).text());
        const std::vector<Plan> planned = best_plans(program, registry, 3);
        EXPECT_LT(predicted(planned[0]), predicted(plan(program, registry, Fusion::thesis)))
            << print(program);
        constexpr double rounding = 1e-12;
        EXPECT_LE(predicted(planned[0]), predicted(planned[1]) + rounding);
        EXPECT_LE(predicted(planned[1]), predicted(planned[2]) + rounding);
    }
}

TEST(ComposePlan, ManyCallsArePlannedInParts) {
    std::string text =
        "program p { input a: array f32[64, 64]; inout y: array f32[64, 64]; y = copy(a);";
    for (int i = 0; i < 200; ++i) text += "y = add(y, a);";
    const Program program = parse(text + "return y; }");
    const Plan planned = plan(program, Registry(), Fusion::planned);
    std::size_t calls = 0;
    for (const Kernel* kernel : planned.kernels()) {
        EXPECT_LE(kernel->calls.size(), 64U);
        calls += kernel->calls.size();
    }
    EXPECT_EQ(calls, 201U);
    EXPECT_EQ(planned.kernels().size(), 4U);
}

TEST(ComposePlan, IsExplained) {
    const Program program = parse(jacobi);
    const std::string text = explain(plan(program, Registry(), Fusion::thesis));
    EXPECT_EQ(text, R"(for i in 10
    kernel 1, 128 x 128: stencil_product subtract copy multiply
        loads D b x
        stores f7
        registers f5 f6 r
        12.0002 bytes and 10 operations an element
    kernel 2, 128 x 128: copy, by an exchange of memory
        loads f7
        stores x
        0 bytes and 0 operations an element
)");
}

TEST(ComposePlan, IsExplainedWithTimes) {
    const Plan planned = plan(parse(jacobi), Registry(), Fusion::thesis);
    const std::string predicted = explain(planned, h100);
    EXPECT_THAT(predicted, testing::HasSubstr("196612 bytes in all, 1.4 us predicted\n"));
    EXPECT_THAT(predicted, testing::HasSubstr("0 bytes in all, 0 us predicted\n"));
    EXPECT_THAT(explain(planned, h100, std::vector<double>{12.34e-6}),
                testing::AllOf(testing::HasSubstr("1.4 us predicted, 12.3 us measured\n"),
                               testing::HasSubstr("0 us predicted\n")));
}

TEST(ComposePlan, IsThatOfItsKernels) {
    const auto texts = [](const Plan& of) {
        std::vector<std::string> all;
        for (const Kernel* kernel : of.kernels()) {
            if (!is_generated(*kernel)) continue;
            all.push_back(generate(*of.program, *kernel, Target::cpu).text);
        }
        return all;
    };
    std::vector<Plan> plans = best_plans(parse(listing1), Registry(), 86);
    const auto add = [&](const Program& program) {
        plans.push_back(plan(program, Registry(), Fusion::thesis));
        for (Plan& made : best_plans(program, Registry(), 3)) plans.push_back(std::move(made));
    };
    add(thesis::blockwise_flow(388, 592, 0.25, 10));
    add(thesis::conjugate_gradients_flow(388, 592, 0.25, 1e-6, 10));
    add(thesis::red_black_flow(388, 592, 0.25, 10));
    for (unsigned seed = 0; seed < 40; ++seed) add(parse(RandomProgram(seed).text()));
    add(parse(RandomProgram::merged(8)));
    for (const Plan& made : plans) {
        const CallsOfKernels kernels = calls_of_kernels(made);
        const Plan again =
            with_loop_kernels(plan(*made.program, Registry(), kernels), loop_kernels(made));
        EXPECT_EQ(explain(again), explain(made));
        EXPECT_EQ(texts(again), texts(made));
        EXPECT_EQ(calls_of_kernels(again), kernels);
    }
}

TEST(ComposePlan, HasLoopsAsOneKernel) {
    const Plan made =
        plan(parse("program p { inout x: array f32[9, 9]; inout z: batch f32[9, 4]; constant n = 3;"
                   "local i: iteration i64; local k: iteration i64;"
                   "for i in n { for k in n { x = add(x, x); } for k in n { z = add(z, z); } }"
                   "for i in n { for k in n { x = add(x, x); } } return x; }"),
             Registry(), Fusion::thesis);
    EXPECT_THAT(loop_kernels(made), testing::IsEmpty());
    EXPECT_THAT(possible_loop_kernels(made), testing::ElementsAre(1, 3));
    const auto with = [&](const std::vector<int>& loops) { return with_loop_kernels(made, loops); };
    EXPECT_THAT(loop_kernels(with({1, 4})), testing::ElementsAre(1, 4));
    EXPECT_THAT(loop_kernels(with_loop_kernels(with({1, 4}), std::vector{3})),
                testing::ElementsAre(3));
    EXPECT_THAT(explain(with({1})), testing::HasSubstr("for k in 3, cooperative on a GPU\n"));
    // Of batches, of none, in another one, twice.
    for (const std::vector<int>& loops :
         {std::vector{0}, std::vector{2}, std::vector{5}, std::vector{3, 4}, std::vector{1, 1}}) {
        EXPECT_THROW(with(loops), core::InvalidArgument);
    }
}

/// Whether one kernel makes an image with a stencil of what the statements make of `a`, t.
bool makes_for_neighbours(const std::string& extents, const std::string& statements,
                          const std::string& offset, const Machine& machine = small_caches) {
    const std::string image = ": array f32[" + extents + "];";
    const Plan made =
        plan(parse("program p { input a" + image + "local t" + image + "local y" + image +
                   "stencil S: f32 zero {(" + offset + "): 1}; local q: scalar f32;" + statements +
                   "y = stencil_product(S, t); return y; }"),
             Registry(), Fusion::planned, machine);
    return made.kernels().size() == 1 && made.kernels()[0]->parts.size() == 2;
}

TEST(ComposePlan, ImagesAreMadeForNeighbours) {
    EXPECT_TRUE(makes_for_neighbours("90, 90", "t = add(a, a);", "0, 1"));
    EXPECT_TRUE(makes_for_neighbours("90, 90", "t = add(a, a); t = add(t, a);", "0, 1"));
    // Vectors and volumes are not, nor what needs all entries, or too large a margin.
    EXPECT_FALSE(makes_for_neighbours("90", "t = add(a, a);", "1"));
    EXPECT_FALSE(makes_for_neighbours("9, 9, 9", "t = add(a, a);", "0, 0, 1"));
    EXPECT_FALSE(makes_for_neighbours("90, 90", "q = sum(a); t = add(a, q);", "0, 1"));
    EXPECT_FALSE(makes_for_neighbours("90, 90", "t = add(a, a);", "300, 1"));
    EXPECT_FALSE(makes_for_neighbours("90, 90000", "t = add(a, a);", "0, 1"));
    // It takes longer where images are in the caches.
    Machine machine = small_caches;
    machine.cache_bytes = 4 * 90 * 90 * 4;
    EXPECT_TRUE(makes_for_neighbours("90, 90", "t = add(a, a);", "0, 1", machine));
    machine.cache_bytes += 4;
    EXPECT_FALSE(makes_for_neighbours("90, 90", "t = add(a, a);", "0, 1", machine));
    machine.cache_bytes = 0;
    EXPECT_FALSE(makes_for_neighbours("90, 90", "t = add(a, a);", "0, 1", machine));
    EXPECT_FALSE(makes_for_neighbours("1080, 1920", "t = add(a, a);", "0, 1", h100));
    EXPECT_TRUE(makes_for_neighbours("2160, 3840", "t = add(a, a);", "0, 1", h100));
}

TEST(ComposePlan, TilesAreAroundThoseThatAreComputedOfThem) {
    const Plan made = plan(
        parse("program p { input a: array f32[64, 64]; local t: array f32[64, 64];"
              "local u: array f32[64, 64]; local v: array f32[64, 64]; local w: array f32[64, 64];"
              "local y: array f32[64, 64]; stencil S: f32 zero {(-1, 2): 1, (0, -3): 1};"
              "stencil R: f32 zero {(4, 0): 1}; t = add(a, a); u = multiply(a, t);"
              "v = stencil_product(S, t); v = add(u, v); w = stencil_product(R, v);"
              "y = stencil_product(R, u); y = add(w, y); return t, y; }"),
        Registry(), CallsOfKernels{{0, 1, 2, 3, 4, 5, 6}});
    const Kernel& kernel = *made.kernels().front();
    const auto margin = [](int above, int below, int left, int right) {
        return Access{Access::Kind::point, above, below, left, right};
    };
    // Two with one margin are not one part if one reads the other.
    ASSERT_EQ(kernel.parts.size(), 4U);
    EXPECT_THAT(kernel.parts[0].tiles, ElementsAre(0U));
    EXPECT_EQ(kernel.parts[0].margin, margin(1, 4, 3, 2));
    EXPECT_THAT(kernel.parts[0].calls, ElementsAre(true, false, false, false, false, false, false));
    EXPECT_THAT(kernel.parts[1].tiles, ElementsAre(1U));
    EXPECT_EQ(kernel.parts[1].margin, margin(0, 4, 0, 0));
    EXPECT_THAT(kernel.parts[1].calls, ElementsAre(false, true, false, false, false, false, false));
    EXPECT_THAT(kernel.parts[2].tiles, ElementsAre(3U));
    EXPECT_EQ(kernel.parts[2].margin, margin(0, 4, 0, 0));
    EXPECT_THAT(kernel.parts[2].calls, ElementsAre(false, false, true, true, false, false, false));
    EXPECT_THAT(kernel.parts[3].calls, ElementsAre(false, false, false, false, true, true, true));
    EXPECT_THAT(explain(made), testing::HasSubstr("    for neighbours t u v\n"));
}

TEST(ComposePlan, OfImpossibleKernelsIsRefused) {
    const auto refused = [](const std::string& statements, const CallsOfKernels& kernels) {
        const Program program = parse(
            "program p { input a: array f32[9, 9]; inout x: array f32[9, 9]; constant n = 3;"
            "local i: iteration i64; local y: array f32[9, 9]; local z: array f32[9, 9];"
            "stencil S: f32 zero {(0, 1): 1}; " +
            statements + " return x; }");
        try {
            plan(program, Registry(), kernels);
        } catch (const core::InvalidArgument& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const std::string two = "y = add(a, a); x = add(y, x);";
    EXPECT_EQ(refused(two, {{0, 1}}), "");
    EXPECT_EQ(refused(two, {{0}, {1}}), "");
    EXPECT_THAT(refused(two, {}), testing::HasSubstr("in no kernel"));
    EXPECT_THAT(refused(two, {{0}}), testing::HasSubstr("a call after call -1 is in no kernel"));
    EXPECT_THAT(refused(two, {{0}, {}, {1}}), testing::HasSubstr("in no kernel"));
    EXPECT_THAT(refused(two, {{0, 0}, {1}}), testing::HasSubstr("call 0 is in two kernels"));
    EXPECT_THAT(refused(two, {{0}, {2}}), testing::HasSubstr("call 2 is"));
    EXPECT_THAT(refused(two, {{-2147483647 - 1}, {1}}), testing::HasSubstr("call -2147483648 is"));
    EXPECT_THAT(refused(two, {{0, 1}, {2}}), testing::HasSubstr("1 kernels more"));
    EXPECT_THAT(refused(two, {{1, 0}}), testing::HasSubstr("add runs before add"));
    EXPECT_THAT(refused(two, {{1}, {0}}), testing::HasSubstr("add runs before add"));
    // Readers before what overwrites, and values of a symbol in their order.
    EXPECT_NE(refused("y = add(a, x); x = copy(a); x = add(x, y);", {{1}, {0}, {2}}), "");
    EXPECT_NE(refused("y = add(a, a); y = copy(a); x = add(x, y);", {{1}, {0}, {2}}), "");
    EXPECT_EQ(refused("y = add(a, a); z = copy(a); x = add(z, y);", {{1, 0}, {2}}), "");
    // What is made for neighbours must not be made of what the kernel overwrites.
    EXPECT_EQ(refused("y = add(a, a); x = stencil_product(S, y);", {{0, 1}}), "");
    EXPECT_EQ(refused("y = add(a, a); y = add(a, y); x = stencil_product(S, y);", {{0, 1, 2}}), "");
    EXPECT_EQ(refused("y = add(a, a); z = stencil_product(S, y); y = add(a, z);", {{0, 1, 2}}), "");
    const auto cannot_join = testing::HasSubstr("cannot run in one kernel");
    EXPECT_THAT(refused("y = add(a, x); x = stencil_product(S, y);", {{0, 1}}), cannot_join);
    EXPECT_THAT(refused("x = add(a, x); y = stencil_product(S, x);", {{0, 1}}), cannot_join);
    EXPECT_THAT(refused("y = add(a, x); z = stencil_product(S, y); x = copy(z);", {{0, 1, 2}}),
                cannot_join);
    EXPECT_THAT(refused("y = add(a, x); x = copy(a); z = stencil_product(S, y);", {{0, 1, 2}}),
                cannot_join);
    // Calls of a loop and those after it.
    const std::string loop = "for i in n { y = add(a, x); x = copy(y); } x = add(x, a);";
    EXPECT_EQ(refused(loop, {{0, 1}, {2}}), "");
    EXPECT_THAT(refused(loop, {{0, 1, 2}}), testing::HasSubstr("calls beyond a loop"));
    EXPECT_THAT(refused(loop, {{2}, {0, 1}}), testing::HasSubstr("calls beyond a loop"));
}

}  // namespace
}  // namespace aperture::compose
