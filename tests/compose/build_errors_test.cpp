// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "aperture/compose/build.hpp"
#include "aperture/core/error.hpp"

namespace aperture::compose {
namespace {

using testing::HasSubstr;

TEST(ComposeBuild, ErrorsHaveTheLineOfTheCall) {
    Builder program("p");
    auto a = program.input<float>("a", {8, 8});
    auto v = program.input<float>("v", {8});
    const int line = __LINE__ + 3;
    const auto wrong = [&] {
        auto twice = 2 * a;
        v + twice;
    };
    const std::string place =
        core::text("build_errors_test.cpp:", line, ": add(v, a value of line ", line - 1,
                   "): add of array f32[8] and array f32[8, 8]");
    EXPECT_THAT(wrong, testing::ThrowsMessage<core::InvalidArgument>(HasSubstr(place)));
}

/// The program to which bad uses are added.
struct Symbols {
    explicit Symbols(Builder& p)
        : a(p.input<float>("a", {8, 8})),
          v(p.input<float>("v", {8})),
          d(p.input<double>("d", {8, 8})),
          s(p.input<float>("s")),
          n(p.input<std::int64_t>("n")),
          S(p.stencil<float>("S", Border::zero, {{{0, 1}, 1}})),
          y(p.in_place<float>("y", {8, 8})),
          c(p.local("c", s < 1)) {}
    Value a, v, d, s, n, S;
    Variable y, c;
};

/// What someone does, and what the message of the error contains. `spoils`: only the whole program
/// shows the error.
struct BadUse {
    std::string name;
    std::function<void(Builder& program, Symbols& of)> use;
    std::string message;
    bool spoils = false;
};

class BadUses : public testing::TestWithParam<BadUse> {};

TEST_P(BadUses, AreRefusedWhereTheyAreWritten) {
    Builder program("p");
    Symbols of(program);
    const auto use = [&] { GetParam().use(program, of); };
    EXPECT_THAT(use, testing::ThrowsMessage<core::InvalidArgument>(testing::AllOf(
                         HasSubstr("build_errors_test.cpp"), HasSubstr(GetParam().message))));
    // The program goes on without.
    if (GetParam().spoils) {
        EXPECT_THROW(program.returns(of.y), core::InvalidArgument);
    } else if (GetParam().message.find("has returned") == std::string::npos) {
        of.y = of.a + of.y;
        const std::string text = print(program.returns(of.y));
        EXPECT_EQ(print(parse(text)), text);
    }
}

void nest(Builder& program, const Variable& condition, int depth) {
    if (depth > 0) program.when(condition, [&] { nest(program, condition, depth - 1); });
}

INSTANTIATE_TEST_SUITE_P(
    Compose, BadUses,
    testing::Values(
        BadUse{"two_builders",
               [](auto&, auto& of) {
                   Builder q("q");
                   of.a + q.input<float>("x", {8, 8});
               },
               "add(a, x): operands of two programs, p and q"},
        BadUse{"assigned_from_another_builder",
               [](auto&, auto& of) {
                   Builder q("q");
                   of.y = q.input<float>("x", {8, 8});
               },
               "operands of two programs, p and q"},
        BadUse{"local_of_another_builder",
               [](auto& p, auto&) {
                   Builder q("q");
                   p.local("x", q.input<float>("x", {8, 8}));
               },
               "operands of two programs, p and q"},
        BadUse{"returned_of_another_builder",
               [](auto& p, auto& of) {
                   Builder q("q");
                   p.returns(of.y, q.input<float>("x", {8, 8}));
               },
               "operands of two programs, p and q"},
        BadUse{"named_of_another_builder",
               [](auto& p, auto&) {
                   Builder q("q");
                   p.name("x", q.input<float>("x") + 1);
               },
               "of another program cannot be named x"},
        BadUse{"extents", [](auto&, auto& of) { of.a + of.v; },
               "add(a, v): add of array f32[8, 8] and array f32[8]: their extents differ"},
        BadUse{"types", [](auto&, auto& of) { of.a* of.d; },
               "multiply(a, d): multiply of array f32[8, 8] and array f64[8, 8]"},
        BadUse{"integers_beside_reals", [](auto&, auto& of) { of.s + of.n; }, "different types"},
        BadUse{"stencil_arithmetic", [](auto&, auto& of) { of.S + of.a; }, "add of a stencil"},
        BadUse{"stencil_of_a_scalar", [](auto&, auto& of) { of.S* of.s; },
               "stencil_product(S, s): stencil_product of scalar f32"},
        BadUse{"stencil_of_a_number", [](auto&, auto& of) { of.S * 2.0; }, "stencil_product(S, 2)"},
        BadUse{"stencil_of_other_type", [](auto&, auto& of) { of.S* of.d; }, "different types"},
        BadUse{"assigned_extents", [](auto&, auto& of) { of.y = of.v; },
               "y is of type array f32[8, 8]; what is assigned is of type array f32[8]"},
        BadUse{"assigned_number", [](auto&, auto& of) { of.y = 0.0; },
               "what is assigned is of type scalar f32"},
        BadUse{"assigned_stencil", [](auto&, auto& of) { of.y = of.S; }, "copy of a stencil"},
        BadUse{"condition_number", [](auto& p, auto&) { p.when(1, [] {}); },
               "the condition of a branch is a number"},
        BadUse{"condition_real", [](auto& p, auto& of) { p.when(of.s, [] {}); },
               "is of type scalar f32, not a scalar bool"},
        BadUse{"condition_image",
               [](auto& p, auto& of) { p.loop(2, [&] { p.stop_if(of.a < 1); }); },
               "the condition of stop_if is of type array bool[8, 8]"},
        BadUse{"condition_of_while",
               [](auto& p, auto& of) { p.repeat_while(of.y, 3, [] {}); },
               "the condition of a loop is of type array"},
        BadUse{"stop_outside", [](auto& p, auto& of) { p.stop_if(of.c); },
               "stop_if outside of a loop"},
        BadUse{"stop_in_a_branch",
               [](auto& p, auto& of) { p.when(of.c, [&] { p.stop_if(of.c); }); },
               "stop_if outside of a loop"},
        BadUse{"stop_after_a_loop",
               [](auto& p, auto& of) {
                   p.loop(1, [] {});
                   p.stop_if(of.c);
               },
               "stop_if outside of a loop"},
        BadUse{"negative_count", [](auto& p, auto&) { p.loop(-1, [] {}); },
               "a loop cannot run -1 times"},
        BadUse{"real_count", [](auto& p, auto&) { p.loop(1.5, [] {}); }, "1.5 is not an integer"},
        BadUse{"count_that_is_no_constant", [](auto& p, auto& of) { p.loop(of.n, [] {}); },
               "a loop runs a constant number of times; n is of type scalar i64"},
        BadUse{"limit",
               [](auto& p, auto& of) { p.repeat_while(of.c, 0, [&] { of.c = !of.c; }); },
               "the limit of a loop is 0"},
        BadUse{"endless",
               [](auto& p, auto& of) {
                   p.repeat_while(of.c, 9, [&] { of.y = of.y + 1; });
                   p.returns(of.y);
               },
               "nothing in the loop sets c", true},
        BadUse{"returns_twice",
               [](auto& p, auto& of) {
                   p.returns(of.y);
                   p.returns(of.y);
               },
               "p has returned"},
        BadUse{"goes_on",
               [](auto& p, auto& of) {
                   p.returns(of.y);
                   of.y = of.a + 1;
               },
               "p has returned"},
        BadUse{"declares_after_the_end",
               [](Builder& p, auto& of) {
                   p.returns(of.y);
                   p.input<float>("x");
               },
               "p has returned"},
        BadUse{"returns_in_a_loop",
               [](auto& p, auto& of) { p.loop(2, [&] { p.returns(of.y); }); },
               "a program can return at its end only"},
        BadUse{"returns_a_number", [](auto& p, auto&) { p.returns(1.0); },
               "no operand says of which type"},
        BadUse{"program_name", [](auto&, auto&) { Builder("no name"); },
               "'no name' cannot be a name"},
        BadUse{"name", [](Builder& p, auto&) { p.input<float>("2x"); },
               "'2x' cannot be a name"},
        BadUse{"reserved_name", [](auto& p, auto& of) { p.local("for", of.a); },
               "'for' cannot be a name"},
        BadUse{"empty_name", [](auto& p, auto& of) { p.name("", of.a + 1); }, "'' cannot be a name"},
        BadUse{"name_taken", [](Builder& p, auto&) { p.in_place<float>("a"); },
               "there are two symbols a"},
        BadUse{"named_twice", [](auto& p, auto& of) { p.name("b", of.a); }, "a has a name already"},
        BadUse{"value_of_a_branch",
               [](auto& p, auto& of) {
                   std::vector<Value> inner;
                   p.when(of.c, [&] { inner.push_back(of.a + 1); });
                   of.y = inner[0];
                   p.returns(of.y);
               },
               "f1 has no value here", true},
        BadUse{"local_of_a_branch",
               [](auto& p, auto& of) {
                   p.when(of.c, [&] {
                       auto inner = p.local("t", of.a + 1);
                       of.y = inner * inner;
                   });
                   of.y = of.y + p.name("u", call("copy", {of.a}));
                   p.name("t", of.y + 1);
               },
               "there are two symbols t"},
        BadUse{"value_of_no_repetition",
               [](auto& p, auto& of) {
                   std::vector<Value> inner;
                   p.loop(0, [&] { inner.push_back(of.a + 1); });
                   of.y = inner[0];
                   p.returns(of.y);
               },
               "f1 has no value here", true},
        BadUse{"value_of_a_loop_that_stops",
               [](auto& p, auto& of) {
                   std::vector<Value> inner;
                   p.loop(9, [&] {
                       p.stop_if(of.c);
                       inner.push_back(of.a + 1);
                   });
                   of.y = inner[0];
                   p.returns(of.y);
               },
               "f1 has no value here", true},
        BadUse{"value_of_a_block_that_threw",
               [](auto& p, auto& of) {
                   std::vector<Value> inner;
                   try {
                       p.loop(2, [&] {
                           inner.push_back(of.a + 1);
                           of.a + of.v;
                       });
                   } catch (const core::InvalidArgument&) {
                   }
                   of.y = inner[0];
                   p.returns(of.y);
               },
               "f1 has no value here", true},
        BadUse{"numbers_alone", [](auto&, auto&) { call("add", {1, 2.5}); },
               "add of numbers alone"},
        BadUse{"local_number", [](auto& p, auto&) { p.local("q", 1.0); },
               "no operand says of which type a number is; builder.number<float>(...) does"},
        BadUse{"number_beside_a_condition", [](auto&, auto& of) { static_cast<void>(of.c == 1); },
               "equal(c, 1): no operand says of which type"},
        BadUse{"number_too_large", [](auto&, auto& of) { of.a + 1e39; },
               "the number 1e+39 is not finite as f32"},
        BadUse{"not_a_number",
               [](auto&, auto& of) { of.a + std::numeric_limits<double>::quiet_NaN(); },
               "is not finite as f32"},
        BadUse{"real_beside_integers", [](auto&, auto& of) { of.n + 0.5; },
               "0.5 is not an integer"},
        BadUse{"number_of_a_bool", [](Builder& p, auto&) { p.number<bool>(1); },
               "the number 1 cannot be of type bool"},
        BadUse{"number_of_a_symbol", [](Builder& p, auto& of) { p.number<float>(of.s); },
               "expected a number"},
        BadUse{"operation", [](auto&, auto& of) { call("ad", {of.a, of.a}); },
               "there is no operation ad; is it add"},
        BadUse{"results", [](auto&, auto& of) { call<2>("add", {of.a, of.a}); },
               "add has 1 results, not 2"},
        BadUse{"operands", [](auto&, auto& of) { call("add", {of.a}); },
               "add has 2 operands, not 1"},
        BadUse{"many_operands",
               [](auto&, auto& of) {
                   call("add", {of.a, of.a, of.a, of.a, of.a, of.a, of.a, of.a, of.a});
               },
               "more than 8 operands"},
        BadUse{"attribute_name",
               [](auto&, auto& of) { call("copy", {of.a}, {{"a b", 1.0}}); },
               "'a b' cannot be the name of an attribute"},
        BadUse{"attribute_word",
               [](auto&, auto& of) { call("copy", {of.a}, {{"how", std::string("a b")}}); },
               "the attribute how is neither a word nor a finite number"},
        BadUse{"attribute_number",
               [](auto&, auto& of) {
                   call("copy", {of.a}, {{"size", std::numeric_limits<double>::infinity()}});
               },
               "the attribute size is neither a word nor a finite number"},
        BadUse{"truncation", [](auto&, auto& of) { convert<std::int64_t>(of.a); },
               "convert of f32 to i64"},
        BadUse{"extents_of_an_input", [](Builder& p, auto&) { p.input<float>("x", {-1}); },
               "an extent of -1"},
        BadUse{"rank_of_an_input",
               [](Builder& p, auto&) { p.input<float>("x", {1, 2, 3, 4}); },
               "array with 4 extents"},
        BadUse{"empty_stencil",
               [](Builder& p, auto&) { p.stencil<float>("T", Border::zero, {}); },
               "the stencil T has no weights"},
        BadUse{"stencil_of_two_ranks",
               [](Builder& p, auto&) {
                   p.stencil<float>("T", Border::zero, {{{1}, 1}, {{0, 1}, 1}});
               },
               "the stencil T has offsets (1) and (0, 1), of arrays of different ranks"},
        BadUse{"stencil_of_a_volume",
               [](Builder& p, auto& of) {
                   p.stencil<float>("T", Border::zero, {{{0, 0, 1}, 1}}) * of.a;
               },
               "expected an array of rank 3"},
        BadUse{"stencil_weight",
               [](Builder& p, auto&) {
                   p.stencil<float>("T", Border::zero, {{{0, 0}, std::nan("")}});
               },
               "the stencil T has a weight of nan"},
        BadUse{"large_stencil_weight",
               [](Builder& p, auto&) {
                   p.stencil<float>("T", Border::zero, {{{0, 0}, 1e39}});
               },
               "the stencil T has a weight of 1e+39"},
        BadUse{"deep", [](auto& p, auto& of) { nest(p, of.c, 40); }, "nested too deeply"}),
    [](const auto& one) { return one.param.name; });

TEST(ComposeBuild, ErrorsWithoutALineNameTheCulprit) {
    // Assignments of one variable to another cannot tell their line.
    Builder program("p");
    auto x = program.in_place<float>("x", {2});
    auto y = program.in_place<double>("y", {2});
    EXPECT_THAT([&] { x = y; }, testing::ThrowsMessage<core::InvalidArgument>(
                                    HasSubstr("x is of type array f32[2]; what is assigned")));
    EXPECT_THROW(call("add", {}), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::compose
