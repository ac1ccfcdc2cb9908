// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "aperture/compose/plan.hpp"
#include "aperture/core/error.hpp"

namespace aperture::compose {
namespace {

TEST(ComposeText, OfAProgramIsParsedBack) {
    const std::string text = R"(program everything {
    input x: array f32[3, 4];
    inout y: array f64[7];
    input b: batch c64[10, 3, 3];
    input d: diagonals f64[3, 100] at {-1, 0, 1};
    constant n = 12;
    number half: f32 = 0.5;
    stencil s: f32 zero {(-1, 0): 0.25, (0, 2): -1e-30};
    local i: iteration i64;
    local again: scalar bool;
    local t: array f32[3, 4];
    for i in n {
        t = stencil_product(s, x);
        t, again = something<how = fast, size = 5>(t, x);
        if again {
            t = add(t, x);
        } else {
            break;
        }
    }
    while again limit 100 {
        again = not(again);
    }
    return t, y;
}
)";
    EXPECT_EQ(print(parse(text)), text);
}

TEST(ComposeText, CommentsAndBlanksAreLeftOut) {
    const Program program = parse("program p{# a comment\n input x :scalar f32;\n\treturn x ;}#");
    EXPECT_EQ(print(program), "program p {\n    input x: scalar f32;\n    return x;\n}\n");
}

/// A text, and what the message of its error contains.
struct BadText {
    std::string name;
    std::string text;
    std::string message;
};

class BadTexts : public testing::TestWithParam<BadText> {};

TEST_P(BadTexts, AreRefusedWithTheirPlace) {
    try {
        const Program program = parse(GetParam().text);
        plan(program, Registry(), Fusion::none);
        FAIL() << "not refused";
    } catch (const core::InvalidArgument& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr(GetParam().message));
    }
}

/// A program with these declarations, from line 2 on, and statements, from line 9 on.
std::string program_of(const std::string& statements, const std::string& declarations = "") {
    return "program p {\n"
           "input a: array f32[8, 8]; input v: array f32[8];\n"
           "input d: array f64[8, 8]; input s: scalar f32;\n"
           "inout y: array f32[8, 8]; constant n = 3; local i: iteration i64;\n"
           "stencil S: f32 zero {(0, 1): 1};\n"
           "local t: array f32[8, 8]; local c: scalar bool;\n" +
           declarations + "\n\n" + statements + "\n}\n";
}

INSTANTIATE_TEST_SUITE_P(
    Compose, BadTexts,
    testing::Values(
        BadText{"empty", "", "line 1, column 1: expected 'program', found 'the end'"},
        BadText{"no_name", "program {", "line 1, column 9: expected a name, found '{'"},
        BadText{"unclosed", "program p { input x: scalar f32;", "expected a name, found 'the end'"},
        BadText{"behind", "program p { input x: scalar f32; return x; } more", "found 'more'"},
        BadText{"reserved_name", "program p { input for: scalar f32; return for; }",
                "column 19: expected a name, found 'for'"},
        BadText{"long_name", "program p { input " + std::string(65, 'x') + ": scalar f32;",
                "expected a name"},
        BadText{"twice", "program p { input x: scalar f32;\ninput x: scalar f32;",
                "line 2, column 1: there are two symbols x"},
        BadText{"dtype", "program p { input x: scalar float;", "found 'float'"},
        BadText{"kind", "program p { input x: matrix f32[2, 2];", "found 'matrix'"},
        BadText{"rank", "program p { input x: array f32[1, 2, 3, 4];",
                "array with 4 extents; expected 1 to 3"},
        BadText{"negative", "program p { input x: array f32[-1];", "an extent of -1"},
        BadText{"huge", "program p { input x: array f32[99999999, 99999999, 9];", "more than 2^40"},
        BadText{"overflow", "program p { input x: array f32[99999999999999999999];",
                "expected an integer"},
        BadText{"number_type", "program p { number x: i64 = 5;",
                "expected f32 or f64, found 'i64'"},
        BadText{"number", "program p { number x: f32 = 1.2.3;", "expected a number, found '1.2.3'"},
        BadText{"no_return", program_of("t = copy(a);"), "must end with return"},
        BadText{"early_return", program_of("return a; return a;"),
                "line 9, column 1: return must be the last"},
        BadText{"unknown_symbol", program_of("t = copy(b); return t;"),
                "line 9, column 10: there is no symbol b"},
        BadText{"unknown_operation", program_of("t = ad(a, a); return t;"),
                "there is no operation ad; is it add"},
        BadText{"operands", program_of("t = add(a); return t;"), "add has 2 operands, not 1"},
        BadText{"many_operands", program_of("t = add(a, a, a, a, a, a, a, a, a); return t;"),
                "add has more than 8 operands"},
        BadText{"results", program_of("t, y = add(a, a); return t;"), "add has 1 results, not 2"},
        BadText{"extents", program_of("t = add(a, v); return t;"),
                "array f32[8, 8] and array f32[8]: their extents differ"},
        BadText{"types", program_of("t = add(a, d); return t;"), "different types"},
        BadText{"result_type", program_of("t = less(a, a); return t;"),
                "t is of type array f32[8, 8]; less makes array bool[8, 8]"},
        BadText{"no_such_type", program_of("t = and(a, a); return t;"), "there is no and of f32"},
        BadText{"input_written", program_of("a = copy(y); return a;"), "a cannot be overwritten"},
        BadText{"known_written", program_of("n = copy(n); return n;"), "n cannot be overwritten"},
        BadText{"counter_written", program_of("for i in n { i = copy(i); } return y;"),
                "i is of type iteration i64; copy makes scalar i64"},
        BadText{"neighbours_overwritten", program_of("y = stencil_product(S, y); return y;"),
                "reads neighbours of y"},
        BadText{"stencil_type", program_of("t = stencil_product(S, d); return t;"),
                "different types"},
        BadText{"stencil_operand", program_of("t = stencil_product(a, a); return t;"),
                "has a stencil and an array"},
        BadText{"stencil_arithmetic", program_of("t = add(S, a); return t;"), "add of a stencil"},
        BadText{"conversion", program_of("t = convert(a); return t;"),
                "convert has one attribute, to = f32, f64 or i64"},
        BadText{"conversion_more", program_of("t = convert<to = f32, by = 2>(a); return t;"),
                "convert has one attribute"},
        BadText{"conversion_to_number", program_of("t = convert<to = 32>(a); return t;"),
                "convert has one attribute"},
        BadText{"conversion_to_bool", program_of("t = convert<to = bool>(a); return t;"),
                "convert to bool; expected f32, f64 or i64"},
        BadText{"conversion_to_no_type", program_of("t = convert<to = f16>(a); return t;"),
                "convert to f16; expected"},
        BadText{"truncation", program_of("t = convert<to = i64>(a); return t;"),
                "convert of f32 to i64: numbers out of range would have no value"},
        BadText{"conversion_of_complex",
                program_of("t = convert<to = f32>(z); return t;", "input z: array c64[8, 8];"),
                "there is no convert of c64"},
        BadText{"conversion_operands", program_of("t = convert<to = i64>(a, a); return t;"),
                "convert has 1 operand, not 2"},
        BadText{"no_value", program_of("y = copy(t); return y;"), "t has no value here"},
        BadText{
            "no_value_after_while",
            program_of("c = less(s, s); while c limit 3 { c = not(c); t = copy(a); } return t;"),
            "t has no value here"},
        BadText{"condition", program_of("if s { y = copy(a); } return y;"), "not a scalar bool"},
        BadText{"endless", program_of("c = less(s, s); while c limit 9 { y = copy(a); } return y;"),
                "nothing in the loop sets c"},
        BadText{"no_limit", program_of("c = less(s, s); while c limit 0 { c = not(c); } return y;"),
                "the limit of a loop is 0"},
        BadText{"break", program_of("break; return y;"), "break outside of a loop"},
        BadText{"count", program_of("for i in s { y = copy(a); } return y;"),
                "s is of type scalar"},
        BadText{"counter", program_of("for t in n { y = copy(a); } return y;"),
                "t must be an iteration"},
        BadText{"negative_count",
                program_of("for i in m { y = copy(a); } return y;", "constant m = -1;"), "m is -1"},
        BadText{"sum_of_scalar", program_of("s2 = sum(s); return y;", "local s2: scalar f32;"),
                "expected an array"},
        BadText{"sums_type", program_of("s2 = dot(a, d); return y;", "local s2: scalar f32;"),
                "dot of array f32[8, 8] and array f64[8, 8]"},
        BadText{"deep",
                "program p { input c: scalar bool; " +
                    [] {
                        std::string all;
                        for (int k = 0; k < 100000; ++k) all += "if c {";
                        return all;
                    }(),
                "nested too deeply"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aperture::compose
