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
    stencil along: f64 replicate {(-1): 0.5, (1): 0.5};
    stencil around: f32 zero {(0, 0, -1): 1, (2, 0, 3): -2};
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

TEST(ComposeText, LoopsMayBeNestedDeeply) {
    // Each is read again only after the loops inside of it.
    constexpr int depth = 30;
    std::string declarations, before, after;
    for (int k = 0; k < depth; ++k) {
        const std::string n = std::to_string(k);
        declarations += "local i" + n + ": iteration i64; local y" + n + ": scalar f32;";
        before += "y" + n + " = copy(a); for i" + n + " in n { z = add(z, y" + n + ");";
        after = "y" + n + " = copy(a); }" + after;
    }
    const Program program =
        parse("program p { input a: scalar f32; constant n = 1;" + declarations +
              "local z: scalar f32; z = copy(a);" + before + after + "return z; }");
    EXPECT_EQ(plan(program, Registry(), Fusion::thesis).kernels().size(), 61u);
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
                "reads other entries of y"},
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
        BadText{"not_ascii", "program p { input \xc3\xa4: scalar f32;",
                "column 19: expected a name"},
        BadText{"zero_byte", std::string("program p {\0 input x: scalar f32;", 33), "expected"},
        BadText{"digit_name", "program p { input 2x: scalar f32;", "expected a name, found '2'"},
        BadText{"no_semicolon", "program p { input x: scalar f32 return x; }",
                "expected ';', found 'return'"},
        BadText{"no_type", "program p { input x; return x; }", "expected ':', found ';'"},
        BadText{"no_dtype", "program p { input x: array [3];", "expected f32, f64, c64"},
        BadText{"unclosed_extents", "program p { input x: array f32[3; return x; }",
                "expected ']', found ';'"},
        BadText{"fractional_extent", "program p { input x: array f32[2.5];",
                "expected an integer, found '2.5'"},
        BadText{"scalar_with_extents", "program p { input x: scalar f32[3];",
                "scalar with 1 extents; expected 0"},
        BadText{"array_without_extents", "program p { input x: array f32;", "array with 0 extents"},
        BadText{"batch_rank", "program p { input x: batch f32[3];",
                "batch with 1 extents; expected 2"},
        BadText{"diagonals_rank", "program p { input x: diagonals f32[3] at {0, 1, 2};",
                "diagonals with 1 extents; expected 2"},
        BadText{"rows_rank", "program p { input x: image_diagonals f32[3, 3];",
                "image_diagonals with 2 extents; expected 3"},
        BadText{"few_diagonals", "program p { input x: diagonals f32[3, 9] at {0, 1}; return x; }",
                "x is of type diagonals f32[3, 9] at 2 offsets"},
        BadText{"no_diagonals", "program p {\ninput x: diagonals f32[3, 9];\nreturn x; }",
                "line 2, column 1: x is of type diagonals f32[3, 9] at 0 offsets"},
        BadText{"offsets_of_array", "program p { input x: array f32[3] at {0, 1, 2}; return x; }",
                "array f32[3] at 3 offsets"},
        BadText{"fractional_offset", "program p { input x: diagonals f32[1, 9] at {0.5};",
                "expected an integer"},
        BadText{"iteration_type", "program p { local i: iteration f32; return i; }",
                "i is of type iteration f32; expected a local iteration i64"},
        BadText{"iteration_input", "program p { input i: iteration i64; return i; }",
                "expected a local iteration i64"},
        BadText{"large_number", "program p { number x: f64 = 1e999;",
                "expected a number, found '1e999'"},
        BadText{"small_number", "program p { number x: f64 = 1e-999;",
                "expected a number, found '1e-999'"},
        BadText{"large_single",
                "program p {\nnumber x: f32 = 1e39; input y: scalar f32; return y; }",
                "line 2, column 1: x has a number that is not finite in f32"},
        BadText{"not_a_number", "program p { number x: f64 = nan;",
                "expected a number, found 'nan'"},
        BadText{"infinity", "program p { number x: f64 = -inf;", "expected a number, found '-'"},
        BadText{"infinity_alone", "program p { number x: f64 = inf;",
                "expected a number, found 'inf'"},
        BadText{"hexadecimal", "program p { number x: f64 = 0x10;", "expected ';', found 'x10'"},
        BadText{"no_digit", "program p { number x: f64 = .5;", "expected a number, found '.'"},
        BadText{"plus", "program p { number x: f64 = +5;", "expected a number, found '+'"},
        BadText{"large_constant", "program p { constant n = 9223372036854775808;",
                "expected an integer"},
        BadText{"fractional_constant", "program p { constant n = 1.5;",
                "expected an integer, found '1.5'"},
        BadText{"large_weight",
                "program p { stencil T: f32 zero {(0, 0): 1e39}; input y: scalar f32; return y; }",
                "T has a number that is not finite"},
        BadText{"no_border", "program p { stencil T: f32 {(0, 0): 1};",
                "expected replicate or zero"},
        BadText{"no_weights", "program p { stencil T: f32 zero {};", "expected '(', found '}'"},
        BadText{"far_offset", "program p { stencil T: f32 zero {(2147483648, 0): 1};",
                "expected an integer, found '2147483648'"},
        BadText{"farthest_offset",
                program_of("t = stencil_product(T, a); return t;",
                           "stencil T: f32 zero {(0, -2147483648): 1};"),
                "T has an offset of (0, -2147483648)"},
        BadText{
            "integer_stencil",
            program_of("t = stencil_product(T, a); return t;", "stencil T: i64 zero {(0, 0): 1};"),
            "different types"},
        BadText{"vector_stencil", program_of("t = stencil_product(S, v); return t;"),
                "stencil_product of array f32[8]; expected an array of rank 2, f32 or f64"},
        BadText{"stencil_of_rank_1",
                program_of("t = stencil_product(T, a); return t;", "stencil T: f32 zero {(1): 1};"),
                "stencil_product of array f32[8, 8]; expected an array of rank 1"},
        BadText{"stencil_of_rank_3",
                program_of("t = stencil_product(T, a); return t;",
                           "stencil T: f32 zero {(0, 0, 1): 1};"),
                "stencil_product of array f32[8, 8]; expected an array of rank 3"},
        BadText{
            "stencil_of_two_ranks",
            program_of("return y;", "stencil T: f32 zero {(0, 1): 1, (0, 0, 1): 1};"),
            "line 7, column 1: T has offsets (0, 1) and (0, 0, 1), of arrays of different ranks"},
        BadText{"stencil_of_scalar", program_of("t = stencil_product(S, s); return t;"),
                "stencil_product of scalar f32; expected an array of rank 2"},
        BadText{"stencil_without_offset", "program p { stencil T: f32 zero {(): 1};",
                "expected an integer, found ')'"},
        BadText{"stencil_of_rank_4", "program p { stencil T: f32 zero {(0, 0, 0, 1): 1};",
                "expected ')', found ','"},
        BadText{"farthest_plane",
                program_of("u = stencil_product(T, x); return u;",
                           "input x: array f32[2, 2, 2]; local u: array f32[2, 2, 2];"
                           "stencil T: f32 zero {(-2147483648, 0, 0): 1};"),
                "T has an offset of (-2147483648, 0, 0)"},
        BadText{"many_symbols",
                [] {
                    std::string all = "program p {\n";
                    for (int k = 0; k < 50000; ++k)
                        all += "input x" + std::to_string(k) + ": scalar f32;\n";
                    return all + "return x0; }";
                }(),
                "line 4098, column 1: a program with more than 4096 symbols"},
        BadText{"no_operation", program_of("t = (a); return t;"), "expected a name, found '('"},
        BadText{"no_results", program_of("= copy(a); return t;"), "expected a name, found '='"},
        BadText{"no_equals", program_of("t copy(a); return t;"), "expected '=', found 'copy'"},
        BadText{"expression", program_of("t = a + a; return t;"), "expected '(', found '+'"},
        BadText{"literal", program_of("t = add(a, 1); return t;"), "expected a name, found '1'"},
        BadText{"late_declaration", program_of("t = copy(a); input z: scalar f32; return t;"),
                "there is no symbol input"},
        BadText{"trailing_comma", program_of("t = add(a, ); return t;"),
                "expected a name, found ')'"},
        BadText{"attribute", program_of("t = add<size = 3>(a, a); return t;"),
                "line 9, column 1: add has no attribute size"},
        BadText{"attribute_of_sum",
                program_of("q = sum<size = 3>(a); return q;", "local q: scalar f32;"),
                "sum has no attribute size"},
        BadText{"attribute_twice", program_of("t = add<size = 3, size = 4>(a, a); return t;"),
                "line 9, column 19: there are two attributes size"},
        BadText{"attribute_value", program_of("t = add<size = >(a, a); return t;"),
                "expected a word or a number, found '>'"},
        BadText{"no_return_value", program_of("return ;"), "expected a name, found ';'"},
        BadText{"return_in_loop", program_of("for i in n { return y; } return y;"),
                "return must be the last"},
        BadText{"stencil_returned", program_of("return S;"), "S cannot be returned"},
        BadText{"constant_returned", program_of("return n;"), "n cannot be returned; copy it"},
        BadText{"counter_returned", program_of("for i in n { y = copy(a); } return i;"),
                "i cannot be returned"},
        BadText{"same_result_twice", program_of("t, t = add(a, a); return t;"),
                "add has 1 results, not 2"},
        BadText{"counter_of_two_loops",
                program_of("for i in n { for i in n { y = copy(a); } } return y;"),
                "i counts an outer loop, too"},
        BadText{"no_value_after_for",
                program_of("for i in zero_times { t = copy(a); } return t;",
                           "constant zero_times = 0;"),
                "t has no value here"},
        BadText{"no_value_after_if", program_of("c = less(s, s); if c { t = copy(a); } return t;"),
                "t has no value here"},
        BadText{"no_value_after_break",
                program_of("c = less(s, s); for i in n { if c { break; } t = copy(a); } return t;"),
                "t has no value here"},
        BadText{"condition_without_value", program_of("if c { y = copy(a); } return y;"),
                "c has no value here"},
        BadText{"array_condition",
                program_of("if m { y = copy(a); } return y;", "inout m: array bool[8, 8];"),
                "not a scalar bool"},
        BadText{"else_alone", program_of("else { y = copy(a); } return y;"),
                "there is no symbol else"},
        BadText{"complex_order",
                program_of("m = less(z, z); return m;",
                           "input z: array c64[4]; local m: array bool[4];"),
                "there is no less of c64"},
        BadText{
            "largest_of_complex",
            program_of("q = largest(z); return q;", "input z: array c64[4]; local q: scalar c64;"),
            "there is no largest of c64"},
        BadText{"count_of_numbers", program_of("k = count(a); return k;", "local k: scalar i64;"),
                "there is no count of f32"},
        BadText{"magnitude_type",
                program_of("q = largest_magnitude(z); return q;",
                           "input z: array c64[4]; local q: scalar c64;"),
                "largest_magnitude makes scalar f32"},
        BadText{"mixed_widths",
                program_of("w = add(v, w64); return w;",
                           "input w64: scalar f64; local w: array f64[8];"),
                "array f32[8] and scalar f64: their numbers have different types"},
        BadText{"select_condition", program_of("t = select(a, a, a); return t;"),
                "the condition of select is of type array f32"},
        BadText{"batch_arithmetic",
                program_of("b = add(k, a); return b;",
                           "input k: batch f32[4, 3, 3]; local b: batch f32[4, 3, 3];"),
                "add of "},
        BadText{"sum_overwrites_operand",
                program_of("x = sum(x); return x;", "inout x: array f32[1];"),
                "x is of type array f32[1]; sum makes scalar f32"},
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
