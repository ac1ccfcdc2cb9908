// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/build.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "aperture/core/error.hpp"

namespace aperture::compose {
namespace {

using testing::HasSubstr;

// Inputs, numbers and results never change, and no second name means a variable's memory.
static_assert(!std::is_assignable_v<Value&, Value>);
static_assert(!std::is_copy_constructible_v<Variable>);

TEST(ComposeBuild, OfJacobiIsTheProgramOneWrites) {
    Builder jacobi("jacobi");
    auto b = jacobi.input<float>("b", {128, 100});
    auto x = jacobi.in_place<float>("x", {128, 100});
    auto d = jacobi.input<float>("D");
    auto neighbours = jacobi.stencil<float>(
        "R", Border::replicate, {{{0, -1}, 0.1}, {{-1, 0}, 0.3}, {{1, 0}, 0.3}, {{0, 1}, 0.1}});
    auto num_iter = jacobi.name("num_iter", jacobi.number<std::int64_t>(10));
    jacobi.loop(num_iter, [&] {
        auto r = jacobi.name("r", b - neighbours * x);
        x = d * r;
    });
    const Program program = jacobi.returns(x);
    const std::string text = R"(program jacobi {
    input b: array f32[128, 100];
    inout x: array f32[128, 100];
    input D: scalar f32;
    stencil R: f32 replicate {(0, -1): 0.1, (-1, 0): 0.3, (1, 0): 0.3, (0, 1): 0.1};
    constant num_iter = 10;
    local r: array f32[128, 100];
    local i1: iteration i64;
    local f1: array f32[128, 100];
    local f2: array f32[128, 100];
    for i1 in num_iter {
        f1 = stencil_product(R, x);
        r = subtract(b, f1);
        f2 = multiply(D, r);
        x = copy(f2);
    }
    return x;
}
)";
    EXPECT_EQ(print(program), text);
    EXPECT_EQ(print(parse(print(program))), text);
    const auto& loop = std::get<Loop>(program.statements.front().what);
    EXPECT_EQ(loop.body[1].where.line - loop.body[0].where.line, 0);
    EXPECT_EQ(loop.body[2].where.line - loop.body[1].where.line, 1);
}

/// Runs a program on arrays of f64 by name; returns what it returns, one array after the other.
std::vector<double> run(const Program& program,
                        const std::map<std::string, std::vector<double>>& arrays,
                        Fusion fusion = Fusion::thesis) {
    std::map<std::string, std::vector<double>> memory = arrays;
    const Registry registry;
    Plan planned = plan(program, registry, fusion);
    Arguments arguments;
    for (auto& [name, array] : memory) {
        arguments[name] = {array.data(), program[program.find(name)].type};
    }
    std::vector<double> values;
    std::vector<Argument> results;
    const auto& returned = std::get<Return>(program.statements.back().what).values;
    index_t size = 0;
    for (const SymbolId id : returned) size += program[id].type.size();
    values.resize(static_cast<std::size_t>(size));
    double* to = values.data();
    for (const SymbolId id : returned) {
        results.push_back({to, program[id].type});
        to += program[id].type.size();
    }
    core::Cpu cpu(1);
    Executable<core::Cpu>(cpu, std::move(planned), Tier::interpreted).run(cpu, arguments, results);
    return values;
}

TEST(ComposeBuild, OperatorsAndFunctionsAreOperations) {
    const std::vector<std::pair<std::function<Value(const Value&, const Value&)>, std::string>>
        expressions{
            {[](auto& a, auto& b) { return a + b; }, "f1 = add(a, b);"},
            {[](auto& a, auto& b) { return a - b; }, "f1 = subtract(a, b);"},
            {[](auto& a, auto& b) { return a * b; }, "f1 = multiply(a, b);"},
            {[](auto& a, auto& b) { return a / b; }, "f1 = divide(a, b);"},
            {[](auto& a, auto&) { return -a; }, "f1 = negate(a);"},
            {[](auto& a, auto& b) { return a < b; }, "f1 = less(a, b);"},
            {[](auto& a, auto& b) { return a <= b; }, "f1 = less_equal(a, b);"},
            {[](auto& a, auto& b) { return a > b; }, "f1 = less(b, a);"},
            {[](auto& a, auto& b) { return a >= b; }, "f1 = less_equal(b, a);"},
            {[](auto& a, auto& b) { return a == b; }, "f1 = equal(a, b);"},
            {[](auto& a, auto& b) { return a != b; }, "f1 = not_equal(a, b);"},
            {[](auto& a, auto& b) { return a < b && a == b; }, "f3 = and(f1, f2);"},
            {[](auto& a, auto& b) { return a < b || a == b; }, "f3 = or(f1, f2);"},
            {[](auto& a, auto& b) { return !(a < b); }, "f2 = not(f1);"},
            {[](auto& a, auto& b) { return min(a, b); }, "f1 = min(a, b);"},
            {[](auto& a, auto& b) { return max(a, b); }, "f1 = max(a, b);"},
            {[](auto& a, auto&) { return abs(a); }, "f1 = abs(a);"},
            {[](auto& a, auto&) { return sqrt(a); }, "f1 = sqrt(a);"},
            {[](auto& a, auto& b) { return multiply_add(a, b, a); }, "f1 = multiply_add(a, b, a);"},
            {[](auto& a, auto& b) { return select(a < b, a, 0.5); }, "f2 = select(f1, a, c1);"},
            {[](auto& a, auto&) { return sum(a); }, "f1 = sum(a);"},
            {[](auto& a, auto& b) { return dot(a, b); }, "f1 = dot(a, b);"},
            {[](auto& a, auto&) { return red(a); }, "f1 = red(a);"},
            {[](auto& a, auto&) { return black(a); }, "f1 = black(a);"},
            {[](auto& a, auto&) { return copy(a); }, "f1 = copy(a);"},
            {[](auto& a, auto&) { return convert<float>(a); }, "f1 = convert<to = f32>(a);"},
            {[](auto& a, auto&) { return 2 - a; }, "f1 = subtract(c1, a);"},
            {[](auto& a, auto&) { return a < 0.5f; }, "f1 = less(a, c1);"},
        };
    for (const auto& [expression, line] : expressions) {
        Builder program("p");
        auto a = program.input<double>("a", {3, 4});
        auto b = program.input<double>("b", {3, 4});
        const std::string text = print(program.returns(expression(a, b)));
        EXPECT_THAT(text, HasSubstr("    " + line + "\n"));
        EXPECT_EQ(print(parse(text)), text);
    }
}

/// The statements of a program as text, on one line.
std::string statements(const Program& program) {
    std::string all;
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
        const std::string text = print(program);
        end = text.find('\n', begin);
        const std::string line = text.substr(begin, end - begin);
        const std::size_t first = line.find_first_not_of(' ');
        if (first == std::string::npos || line.rfind("program", 0) == 0) continue;
        if (line.find(": ") != std::string::npos || line.find("constant ") != std::string::npos) {
            continue;
        }
        all += (all.empty() ? "" : " ") + line.substr(first);
    }
    return all;
}

TEST(ComposeBuild, CallsAreInTheOrderOfOperands) {
    Builder program("p");
    auto a = program.input<float>("a", {5});
    auto b = program.input<float>("b", {5});
    EXPECT_EQ(statements(program.returns(min(a + b, a - b) * ((a * b) / (b * a)))),
              "f1 = add(a, b); f2 = subtract(a, b); f3 = min(f1, f2); f4 = multiply(a, b); "
              "f5 = multiply(b, a); f6 = divide(f4, f5); f7 = multiply(f3, f6); return f7; }");
}

TEST(ComposeBuild, ResultsAreMadeInTheVariableIfNobodyReadsItsNeighbours) {
    Builder program("p");
    auto a = program.input<float>("a", {4, 4});
    auto x = program.in_place<float>("x", {4, 4});
    auto y = program.in_place<float>("y", {4, 4});
    auto next = program.stencil<float>("R", Border::zero, {{{0, 1}, 1}});
    x = x + a;
    y = next * x;  // Nobody reads neighbours of y, but next * x those of x.
    x = y;
    auto kept = y * a;
    y = kept;  // Read again: y is a copy.
    y = kept - y;
    EXPECT_EQ(statements(program.returns(x, y)),
              "f1 = add(x, a); x = copy(f1); y = stencil_product(R, x); x = copy(y); "
              "f2 = multiply(y, a); y = copy(f2); y = subtract(f2, y); return x, y; }");
}

TEST(ComposeBuild, StencilsHaveTheRankOfTheirArrays) {
    Builder program("p");
    auto v = program.input<float>("v", {7});
    auto a = program.input<double>("a", {4, 4});
    auto x = program.input<float>("x", {3, 4, 5});
    auto L = program.stencil<float>("L", Border::zero, {{{-1}, 0.5}, {{1}, 0.5}});
    auto M = program.stencil<double>("M", Border::replicate, {{{0, 2}, 1}});
    auto N = program.stencil<float>("N", Border::zero, {{{-1, 0, 2}, 1}});
    auto f1 = L * v;
    auto f2 = M * a;
    auto f3 = N * x;
    const std::string text = print(program.returns(f1, f2, f3));
    for (const char* line :
         {"stencil L: f32 zero {(-1): 0.5, (1): 0.5};", "stencil M: f64 replicate {(0, 2): 1};",
          "stencil N: f32 zero {(-1, 0, 2): 1};", "local f1: array f32[7];",
          "local f3: array f32[3, 4, 5];", "f3 = stencil_product(N, x);"}) {
        EXPECT_THAT(text, testing::HasSubstr(line));
    }
}

TEST(ComposeBuild, ValuesRemainWhenTheirOperandsAreOverwritten) {
    for (const Fusion fusion : {Fusion::none, Fusion::thesis}) {
        Builder program("p");
        auto x = program.in_place<double>("x", {2});
        auto y = program.local("y", 2 * x);
        auto twice = x + y - y;  // x
        auto before = copy(y);   // 2 x
        x = 10 * x;
        y = twice + x;            // 11 x
        auto again = y * before;  // 22 x^2
        y = y - y;
        program.loop(3, [&] { y = y + x; });  // 30 x
        const auto values =
            run(program.returns(twice, before, again, x, y), {{"x", {1, 3}}}, fusion);
        EXPECT_THAT(values, testing::ElementsAre(1, 3, 2, 6, 22, 198, 10, 30, 30, 90));
    }
}

TEST(ComposeBuild, NumbersAreSymbolsOfTheTypeBesideThem) {
    Builder program("p");
    auto x = program.in_place<float>("x", {2});
    auto d = program.in_place<double>("d");
    auto n = program.in_place<std::int64_t>("n");
    x = 0.1 * x + 0.1f;  // The same bits in f32.
    x = x * 2 + 0.0 - (-0.0);
    d = 0.1 * d + 0.1f;  // Not in f64.
    d = 2 * d;
    n = 2 * n + 2 - 9007199254740993;
    x = program.number<float>(7) * x + 7;
    const Program built = program.returns(x, d, n);
    std::vector<std::string> numbers;
    for (const Symbol& symbol : built.symbols) {
        if (symbol.source != Source::known) continue;
        numbers.push_back(
            core::text(name_of(symbol.type.dtype), " ", symbol.number, " ", symbol.value));
    }
    EXPECT_THAT(numbers,
                testing::UnorderedElementsAre("f32 0.1 0", "f32 2 0", "f32 0 0", "f32 -0 0",
                                              "f64 0.1 0", "f64 0.1 0", "f64 2 0", "i64 0 2",
                                              "i64 0 9007199254740993", "f32 7 0"));
    EXPECT_EQ(print(parse(print(built))), print(built));
}

TEST(ComposeBuild, LoopsBranchAndStop) {
    // The root of a by Newton's iteration, and how many steps it took.
    Builder program("root");
    auto a = program.input<double>("a");
    auto x = program.local("x", a);
    auto taken = program.local("taken", program.number<double>(-1));
    program.loop(100, [&](Value i) {
        auto next = 0.5 * (x + a / x);
        auto step = abs(x - next);
        x = next;
        taken = convert<double>(i + 1);
        program.stop_if(step < 1e-12);
    });
    auto sign = program.local("sign", program.number<double>(0));
    program.when(
        x > 1.0, [&] { sign = 1; }, [&] { sign = -1; });
    program.when(x > 100.0, [&] { sign = sign * 2; });
    const Program built = program.returns(x, taken, sign);
    const auto expected = [](double of, double its_sign) {
        double root = of, before = 0;
        int steps = 0;
        do {
            before = root;
            root = 0.5 * (root + of / root);
            ++steps;
        } while (std::abs(before - root) >= 1e-12);
        return std::vector<double>{root, double(steps), its_sign};
    };
    EXPECT_EQ(run(built, {{"a", {2}}}), expected(2, 1));
    EXPECT_EQ(run(built, {{"a", {0.25}}}), expected(0.25, -1));
    EXPECT_EQ(run(built, {{"a", {40000}}}), expected(40000, 2));
}

TEST(ComposeBuild, RepeatsWhileAConditionHolds) {
    Builder program("halving");
    auto x = program.in_place<double>("x");
    auto again = program.local("again", x > 1.0);
    program.repeat_while(again, 20, [&] {
        x = x * 0.5;
        again = x > 1.0 && !(x == 4.0);
    });
    const Program built = program.returns(x);
    EXPECT_EQ(run(built, {{"x", {1000}}}), std::vector<double>{1000.0 / 1024});
    EXPECT_EQ(run(built, {{"x", {64}}}), std::vector<double>{4});
    EXPECT_THROW(run(built, {{"x", {1e30}}}), core::InvalidArgument);
}

/// sum_and_difference(a, b)
class SumAndDifference : public Operation {
  public:
    Match match(const CallSite& site) const override {
        core::expects(site.operands() == 2, "sum_and_difference has two operands");
        return {Level::element, {site.type(0), site.type(0)}, {{}, {}}, 2};
    }
    void compute(const CallSite&, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        for (int i = 0; i < piece.count; ++i) {
            const double a = static_cast<const double*>(operands[0].here)[i];
            const double b = static_cast<const double*>(operands[1].here)[i];
            static_cast<double*>(results[0])[i] = a + b;
            static_cast<double*>(results[1])[i] = a - b;
        }
    }
};

TEST(ComposeBuild, CallsOperationsOfTheCallersWithSeveralResults) {
    Registry registry;
    registry.add("sum_and_difference", std::make_shared<SumAndDifference>());
    Builder program("p", registry);
    auto a = program.input<double>("a", {2});
    auto x = program.in_place<double>("x", {2});
    auto [both, difference] = call<2>("sum_and_difference", {a, x}, {{"scale", 2.0}});
    x = both;
    const Program built = program.returns(x, difference);
    EXPECT_EQ(statements(built), "x, f1 = sum_and_difference<scale = 2>(a, x); return x, f1; }");
    std::vector<double> in{1, 2}, out{3, 5}, difference_out(2);
    core::Cpu cpu(1);
    Executable<core::Cpu>(cpu, plan(built, registry, Fusion::thesis), Tier::interpreted)
        .run(cpu, {{"a", argument(in.data(), {2})}, {"x", argument(out.data(), {2})}},
             std::array{argument(out.data(), {2}), argument(difference_out.data(), {2})});
    EXPECT_EQ(out, (std::vector<double>{4, 7}));
    EXPECT_EQ(difference_out, (std::vector<double>{-2, -3}));
}

TEST(ComposeBuild, NamesThatItMakesLeaveThoseOfTheCaller) {
    Builder program("p");
    auto a = program.input<float>("f1", {2});
    auto sum = a + 1;
    auto b = program.name("f2", sum * 3);
    auto c = program.input<float>("c1", {2});
    EXPECT_EQ(statements(program.returns(b - c)),
              "f3 = add(f1, c2); f2 = multiply(f3, c3); f4 = subtract(f2, c1); return f4; }");
    // f32 and c64 are types.
    Builder many("many");
    auto x = many.in_place<float>("x", {2});
    for (int i = 0; i < 70; ++i) x = x * (x + i);
    const std::string text = print(many.returns(x));
    EXPECT_EQ(text.find(" f32:"), std::string::npos);
    EXPECT_EQ(text.find(" c64:"), std::string::npos);
    EXPECT_EQ(print(parse(text)), text);
}

TEST(ComposeBuild, LongExpressionsAreBuilt) {
    Builder program("p");
    auto x = program.in_place<double>("x", {1});
    std::vector<Value> values{x + 1};
    for (int i = 0; i < 20000; ++i) values.push_back(values.back() + 1);
    x = values.back();
    EXPECT_EQ(run(program.returns(x), {{"x", {0}}}), std::vector<double>{20001});
}

TEST(ComposeBuild, AThrowingBodyLeavesNothing) {
    Builder program("p");
    auto x = program.in_place<double>("x");
    for (int i = 0; i < 2; ++i) {
        EXPECT_THROW(program.loop(3,
                                  [&] {
                                      x = 2 * x;
                                      program.when(x > 1.0, [] { throw std::runtime_error("no"); });
                                  }),
                     std::runtime_error);
    }
    EXPECT_THROW(program.stop_if(x > 1.0), core::InvalidArgument);  // The loops are closed.
    x = x + 1;
    const Program built = program.returns(x);
    EXPECT_EQ(run(built, {{"x", {1}}}), std::vector<double>{2});
    EXPECT_THAT(print(built), testing::Not(HasSubstr("for")));
}

}  // namespace
}  // namespace aperture::compose
