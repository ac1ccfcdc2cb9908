// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <regex>
#include <string>
#include <vector>

#include "libcompose/sweep_programs.hpp"
#include "tests/compose/sweeping.hpp"

namespace aperture::compose {
namespace {

using testing::HasSubstr;

TEST(ComposeSweep, ComputesOnceWhatNoParameterReaches) {
    const std::string text =
        "program counts { input a: array f32[50]; input p: scalar f32; local x: array f32[50];"
        "local y: array f32[50]; local z: array f32[50]; local q: scalar f32; constant n = 3;"
        "local i: iteration i64; local c: scalar bool;"
        "x = once(a); x = add(x, a); q = sum(x); for i in n { y = once(x); x = copy(y); }"
        "y = multiply(p, x); z = each(y); x = once(a); z = add(z, x); y = negate(z);"
        "c = less(q, q); if c { z = each(y); } else { z = multiply(z, q); } return z, x; }";
    for (const SweepAxis axis : {one_by_one, side_by_side}) {
        int once = 0, each = 0;
        const Registry registry = with_count("each", each, with_count("once", once));
        Sweeping sweeping(text, some_values(7), registry);
        const auto swept = sweeping.swept({.tier = Tier::interpreted, .axis = axis});
        constexpr int runs = 2;
        EXPECT_EQ(once, runs * 5);
        EXPECT_EQ(each, runs * 7);
        EXPECT_EQ(swept, sweeping.single_runs());
        EXPECT_EQ(sweeping.found.axis, axis);
    }
}

TEST(ComposeSweep, ComputesOnceWhatLoopsComputeAgain) {
    const auto counted = [](const std::string& at_end) {
        int once = 0, each = 0;
        Sweeping sweeping(
            "program loops { input a: array f32[50]; input p: scalar f32; local x: array f32[50];"
            "local w: array f32[50]; local y: array f32[50]; local z: array f32[50];"
            "constant n = 3; local i: iteration i64; local j: iteration i64; x = copy(a);"
            "for i in n { y = multiply(a, a); for j in n { w = once(y); z = each(x);"
            "x = multiply(p, z); x = add(w, x); } " +
                at_end + " } return x; }",
            some_values(7), with_count("each", each, with_count("once", once)));
        const auto swept = sweeping.swept({.tier = Tier::interpreted, .axis = one_by_one});
        EXPECT_EQ(swept, sweeping.single_runs());
        constexpr int runs = 2;
        EXPECT_EQ(each, runs * 7 * 9 + 7 * 9);  // with the single runs
        return once - 7 * 9;
    };
    EXPECT_EQ(counted(""), 2);
    // Then w is not the same each time.
    EXPECT_EQ(counted("y = negate(x); w = once(y); x = add(w, x);"), 2 * 7 * 12 + 7 * 3);
}

TEST(ComposeSweep, LoopsKeepWhatIsNotWorthItsMemory) {
    const std::vector<std::string> parameters{"p"};
    const auto common = [&](const std::string& body) {
        const Program program = parse(
            "program loops { input a: array f32[50]; input p: scalar f32; local x: array f32[50];"
            "local w: array f32[50]; local y: array f32[50]; constant n = 3; local c: scalar bool;"
            "local i: iteration i64; number half: f32 = 0.5; x = copy(a); w = copy(a);"
            "c = less(p, half); for i in n {" +
            body + "x = multiply(p, x); x = add(x, w); } return x; }");
        return print(split(program, Registry(), parameters).common);
    };
    EXPECT_THAT(common("y = exp(a); x = add(x, y);"), HasSubstr("y = exp(a)"));
    EXPECT_THAT(common("y = negate(a); y = exp(y); x = add(x, y);"),
                testing::Not(HasSubstr("exp")));
    EXPECT_THAT(common("y = multiply(a, a); x = add(x, y);"), testing::Not(HasSubstr("multiply")));
    // The loop reads w as it was before.
    EXPECT_THAT(common("x = add(x, w); w = exp(a);"), testing::Not(HasSubstr("exp")));
    EXPECT_THAT(common("if c { y = exp(a); x = add(x, y); }"), testing::Not(HasSubstr("exp")));
}

TEST(ComposeSweep, ProgramsThatSetASymbolForAllAndForEachHaveTwoOfIt) {
    const Program program = parse(
        "program twice { input a: array f32[5]; input p: scalar f32; local x: array f32[5];"
        "local y: array f32[5]; x = negate(a); y = multiply(p, x); x = abs(a); x = multiply(x, a);"
        "y = add(y, x); x = add(y, y); return x, y; }");
    const std::vector<std::string> parameters{"p"};
    const SplitProgram programs = split(program, Registry(), parameters);
    const auto statements = [](const Program& part) {
        const std::string text = print(part);
        return std::regex_replace(text.substr(text.rfind("local")), std::regex("\\s+"), " ");
    };
    EXPECT_EQ(statements(programs.common),
              "local x_2: array f32[5]; x = negate(a); x_2 = abs(a); x_2 = multiply(x_2, a); "
              "return x, x_2; } ");
    EXPECT_EQ(statements(programs.members),
              "local x_3: array f32[5]; y = multiply(p, x); y = add(y, x_2); x_3 = add(y, y); "
              "return x_3, y; } ");
    EXPECT_TRUE(programs.is_similar);
}

}  // namespace
}  // namespace aperture::compose
