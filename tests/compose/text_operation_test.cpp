// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/text_operation.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/compose/program_memory.hpp"
#include "tests/compose/simt_executable.hpp"

namespace aperture::compose {
namespace {

Registry with_texts() {
    Registry registry;
    registry.add("shrink",
                 text_operation({.operands = {{"x"}, {"t"}},
                                 .body = "return fabs(x) > t ? x - copysign(t, x) : T(0);"}));
    registry.add("across",
                 text_operation({.operands = {{"x", {}, Access{Access::Kind::halo, 1, 1, 1, 1}}},
                                 .body = "return (x(0, 1) - x(0, -1)) * T(0.5) + x(-1, 0);"}));
    // Reads more columns than it says.
    registry.add("far",
                 text_operation({.operands = {{"x", {}, Access{Access::Kind::halo}, Border::zero}},
                                 .body = "return x(1, 20) + x(0, -30);"}));
    registry.add("polar", text_operation(
                              {.operands = {{"x"}, {"y"}},
                               .results = {{"length"}, {"in_front", Dtype::boolean}},
                               .body = "length = sqrt(fma(x, x, y * y));\nin_front = x > T(0);"}));
    registry.add("columns_of",
                 text_operation({.operands = {{"m", Dtype::boolean}},
                                 .results = {{"", Dtype::f32}},
                                 .body = "return m ? float(at.column) : -float(at.row);"}));
    registry.add("weighted_largest", text_operation({.operands = {{"x"}, {"w"}},
                                                     .body = "return x * w;",
                                                     .combination = Combination::greatest}));
    return registry;
}

constexpr const char* text = R"(program p {
    input a: array f32[19, 300]; input s: scalar f32; local q: scalar f32; local r: scalar f32;
    local x: array f32[19, 300]; local y: array f32[19, 300]; local z: array f32[19, 300];
    local m: array bool[19, 300]; local w: array f32[19, 300];
    x = shrink(a, s); y = across(x); z = far(x); z = add(y, z); z, m = polar(z, y);
    w = columns_of(m); q = weighted_largest(z, s); r = shrink(q, s); return x, y, z, m, w, q, r;
})";

bool has_compiler() {
    core::Cpu cpu(1);
    return Executable<core::Cpu>(
               cpu, plan(parse("program p { inout x: scalar f32; x = negate(x); return x; }"),
                         Registry(), Fusion::none))
        .reason_of_interpretation()
        .empty();
}

TEST(ComposeTextOperation, ComputesWhatItSays) {
    if (!has_compiler()) GTEST_SKIP() << "there is no compiler";
    const Program program = parse(text);
    ProgramMemory memory(program, 3);
    core::Cpu cpu(2);
    Executable<core::Cpu>(cpu, plan(program, with_texts(), Fusion::thesis))
        .run(cpu, memory.arguments(), memory.results());
    const auto of = [&](const Argument& argument) {
        return static_cast<const float*>(argument.data);
    };
    const float* const a = of(memory.arguments().at("a"));
    const float s = *of(memory.arguments().at("s"));
    const auto& results = memory.results();
    float largest = -1;
    for (int row = 0; row < 19; ++row) {
        for (int column = 0; column < 300; ++column) {
            const int i = row * 300 + column;
            const float x = std::fabs(a[i]) > s ? a[i] - std::copysign(s, a[i]) : 0;
            ASSERT_EQ(of(results[0])[i], x);
            const auto shrunk = [&](int r, int c) { return of(results[0])[r * 300 + c]; };
            const float y =
                (shrunk(row, std::min(column + 1, 299)) - shrunk(row, std::max(column - 1, 0))) *
                    0.5f +
                shrunk(std::max(row - 1, 0), column);
            ASSERT_EQ(of(results[1])[i], y);
            const float far =
                (row + 1 < 19 && column + 20 < 300 ? shrunk(row + 1, column + 20) : 0) +
                (column >= 30 ? shrunk(row, column - 30) : 0);
            const float z = std::sqrt(std::fma(y + far, y + far, y * y));
            ASSERT_EQ(of(results[2])[i], z);
            ASSERT_EQ(static_cast<const bool*>(results[3].data)[i], y + far > 0);
            ASSERT_EQ(of(results[4])[i], y + far > 0 ? float(column) : -float(row));
            largest = std::max(largest, z * s);
        }
    }
    EXPECT_EQ(*of(results[5]), largest);
}

TEST(ComposeTextOperation, HasTheSameBitsEverywhere) {
    if (!has_compiler()) GTEST_SKIP() << "there is no compiler";
    const Program program = parse(text);
    const auto bits = [&](Fusion fusion, Tier tier) {
        ProgramMemory memory(program, 3);
        core::Cpu cpu(2);
        Executable<core::Cpu>(cpu, plan(program, with_texts(), fusion), tier)
            .run(cpu, memory.arguments(), memory.results());
        return memory.bits();
    };
    const auto expected = bits(Fusion::none, Tier::interpreted);
    EXPECT_EQ(bits(Fusion::thesis, Tier::interpreted), expected);
    EXPECT_EQ(bits(Fusion::thesis, Tier::compiled), expected);
    ProgramMemory memory(program, 3);
    core::Simt simt(core::LaneOrder::random, 5);
    SimtExecutable executable(plan(program, with_texts(), Fusion::thesis));
    ASSERT_EQ(executable.reason, "");
    executable.run(simt, memory.arguments(), memory.results());
    EXPECT_EQ(memory.bits(), expected);
    EXPECT_EQ(plan(program, with_texts(), Fusion::thesis).kernels().size(), 3u);
}

/// A program of one call.
std::string calling(const std::string& call, const std::string& result = "array f32[4, 5]") {
    return "program p { input x: array f32[4, 5]; input v: array f32[4]; input d: array f64[4, 5];"
           "input s: scalar f32; local y: " +
           result + "; y = " + call + "; return y; }";
}

TEST(ComposeTextOperation, BodiesThatDoNotCompileAreNamed) {
    if (!has_compiler()) GTEST_SKIP() << "there is no compiler";
    Registry registry;
    registry.add("wrong",
                 text_operation({.operands = {{"x"}}, .body = "const T y = x;\nreturn z;"}));
    registry.add("open", text_operation({.operands = {{"x"}}, .body = "return x; {"}));
    registry.add("word", text_operation({.operands = {{"int"}}, .body = "return 1;"}));
    core::Cpu cpu(1);
    for (const Tier tier : {Tier::interpreted, Tier::compiled}) {
        const auto make = [&](const char* call) {
            Executable<core::Cpu>(cpu, plan(parse(calling(call)), registry, Fusion::thesis), tier);
        };
        const auto refuses = [](const std::vector<std::string>& parts) {
            std::vector<testing::Matcher<std::string>> all;
            for (const std::string& part : parts) all.push_back(testing::HasSubstr(part));
            return testing::ThrowsMessage<core::InvalidArgument>(testing::AllOfArray(all));
        };
        EXPECT_THAT([&] { make("wrong(x)"); }, refuses({"the compiler refuses the body of wrong",
                                                        "operation wrong:2:", "'z'"}));
        EXPECT_THAT([&] { make("open(x)"); }, refuses({"the compiler refuses the body of open"}));
        EXPECT_THAT([&] { make("word(x)"); }, refuses({"the compiler refuses the body of word"}));
    }
}

TEST(ComposeTextOperation, RefusesWrongDeclarationsAndOperands) {
    const auto declaring = [](const OperationText& operation) {
        return [operation] { text_operation(operation); };
    };
    const auto refuses = [](const char* part) {
        return testing::ThrowsMessage<core::InvalidArgument>(testing::HasSubstr(part));
    };
    EXPECT_THAT(declaring({.operands = {{"x y"}}}), refuses("'x y' cannot be a name"));
    EXPECT_THAT(declaring({.operands = {{"x"}, {"x"}}}), refuses("x has two meanings"));
    EXPECT_THAT(declaring({.operands = {{"T"}}}), refuses("T has two meanings"));
    EXPECT_THAT(declaring({.operands = {{"x"}}, .results = {{"x"}, {"y"}}}),
                refuses("x has two meanings"));
    EXPECT_THAT(declaring({}), refuses("an operation with 0 operands"));
    EXPECT_THAT(declaring({.operands = {{"x"}}, .results = {}}),
                refuses("an operation with 0 results"));
    EXPECT_THAT(declaring({.operands = {{"x", Dtype::f32}}}), refuses("types are all stated"));
    EXPECT_THAT(
        declaring(
            {.operands = {{"x"}}, .results = {{"y"}, {"z"}}, .combination = Combination::add}),
        refuses("has one result"));

    const Registry registry = with_texts();
    const auto planning = [&](const std::string& program) {
        return [&registry, program] { plan(parse(program), registry, Fusion::thesis); };
    };
    EXPECT_THAT(planning(calling("shrink(x)")), refuses("shrink has 2 operands, not 1"));
    EXPECT_THAT(planning(calling("shrink(x, d)")), refuses("different types"));
    EXPECT_THAT(planning(calling("shrink(x, v)")), refuses("their extents differ"));
    EXPECT_THAT(planning(calling("across(v)")), refuses("expected an array of rank 2"));
    EXPECT_THAT(planning(calling("columns_of(x)")),
                refuses("m of columns_of is of type array f32[4, 5]; expected bool"));
    EXPECT_THAT(planning(calling("weighted_largest(s, s)")), refuses("expected an array"));
    EXPECT_THAT(planning(calling("shrink<a = 1>(x, s)")), refuses("shrink has no attribute a"));
}

}  // namespace
}  // namespace aperture::compose
