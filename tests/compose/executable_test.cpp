// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/executable.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "tests/compose/program_memory.hpp"
#include "tests/compose/random_program.hpp"

namespace aperture::compose {
namespace {

template <class T>
std::vector<T> random_numbers(index_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<T> uniform(-1, 1);
    std::vector<T> all(static_cast<std::size_t>(count));
    for (T& number : all) number = uniform(generator);
    return all;
}

/// Runs a program that returns one value of type T, `size` numbers.
template <class T>
std::vector<T> run(const std::string& text, const Arguments& arguments, const Type& type,
                   Fusion fusion = Fusion::thesis, int threads = 2) {
    core::Cpu cpu(threads);
    std::vector<T> values(static_cast<std::size_t>(type.size()));
    const std::vector<Argument> results{{values.data(), type}};
    Executable<core::Cpu>(cpu, plan(parse(text), Registry(), fusion), Tier::interpreted)
        .run(cpu, arguments, results);
    return values;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST(ComposeExecutable, ComputesEveryPointwiseOperation) {
    constexpr index_t count = 1000;
    const auto a = random_numbers<double>(count, 1), b = random_numbers<double>(count, 2);
    const std::vector<std::pair<std::string, double (*)(double, double)>> operations{
        {"y = add(a, b);", [](double x, double y) { return x + y; }},
        {"y = subtract(a, b);", [](double x, double y) { return x - y; }},
        {"y = multiply(a, b);", [](double x, double y) { return x * y; }},
        {"y = divide(a, b);", [](double x, double y) { return x / y; }},
        {"y = negate(a);", [](double x, double) { return -x; }},
        {"y = min(a, b);", [](double x, double y) { return std::min(x, y); }},
        {"y = max(a, b);", [](double x, double y) { return std::max(x, y); }},
        {"y = abs(a);", [](double x, double) { return std::abs(x); }},
        {"y = abs(a); y = sqrt(y);", [](double x, double) { return std::sqrt(std::abs(x)); }},
        {"y = multiply_add(a, b, a);", [](double x, double y) { return std::fma(x, y, x); }},
        {"y = add(a, half);", [](double x, double) { return x + 0.5; }},
        {"c = less(a, b); y = select(c, half, a);",
         [](double x, double y) { return x < y ? 0.5 : x; }},
        {"c = less_equal(b, a); y = select(c, b, a);",
         [](double x, double y) { return y <= x ? y : x; }},
        {"c = less(a, b); d = less(a, half); c = and(c, d); y = select(c, b, a);",
         [](double x, double y) { return x < y && x < 0.5 ? y : x; }},
        {"c = less(a, b); d = less(half, a); c = or(c, d); d = not(c); y = select(d, b, a);",
         [](double x, double y) { return x < y || 0.5 < x ? x : y; }},
        {"c = equal(a, a); y = select(c, b, a);", [](double, double y) { return y; }},
        {"c = not_equal(a, a); y = select(c, b, a);", [](double x, double) { return x; }},
    };
    for (const auto& [statements, expected] : operations) {
        const auto values = run<double>(
            "program p { input a: array f64[1000]; input b: array f64[1000]; number half: f64 = "
            "0.5;"
            "local y: array f64[1000]; local c: array bool[1000]; local d: array bool[1000];" +
                statements + "return y; }",
            {{"a", argument(a.data(), {count})}, {"b", argument(b.data(), {count})}},
            array(Dtype::f64, {count}));
        for (std::size_t i = 0; i < values.size(); ++i) {
            ASSERT_EQ(values[i], expected(a[i], b[i])) << statements;
        }
    }
}

TEST(ComposeExecutable, MultipliesComplexNumbers) {
    using C = std::complex<float>;
    const std::vector<C> a{{1, 2}, {-3, 0.5}}, b{{4, -1}, {0, 1}};
    const auto values = run<C>(
        "program p { input a: array c64[2]; input b: array c64[2];"
        "local y: array c64[2]; y = multiply(a, b); return y; }",
        {{"a", argument(a.data(), {2})}, {"b", argument(b.data(), {2})}}, array(Dtype::c64, {2}));
    EXPECT_EQ(values, (std::vector<C>{{6, 7}, {-0.5, -3}}));
}

TEST(ComposeExecutable, TakesComplexNumbersApart) {
    using C = std::complex<float>;
    const std::vector<C> a{{3, 4}, {-1, 0.5}}, b{{1, 1}, {0, 2}};
    const Arguments arguments{{"a", argument(a.data(), {2})}, {"b", argument(b.data(), {2})}};
    const std::string head =
        "program p { input a: array c64[2]; input b: array c64[2]; local z: array c64[2];"
        "local r: array f32[2]; local i: array f32[2];";
    const Type reals = array(Dtype::f32, {2}), complex = array(Dtype::c64, {2});
    EXPECT_EQ(run<float>(head + "r = real(a); return r; }", arguments, reals),
              (std::vector<float>{3, -1}));
    EXPECT_EQ(run<float>(head + "r = imag(a); return r; }", arguments, reals),
              (std::vector<float>{4, 0.5f}));
    EXPECT_EQ(run<float>(head + "r = magnitude(a); return r; }", arguments, reals),
              (std::vector<float>{5, std::sqrt(1.25f)}));
    EXPECT_EQ(run<C>(head + "z = conj(a); return z; }", arguments, complex),
              (std::vector<C>{{3, -4}, {-1, -0.5f}}));
    EXPECT_EQ(run<C>(head + "r = real(a); i = imag(a); z = complex(i, r); return z; }", arguments,
                     complex),
              (std::vector<C>{{4, 3}, {0.5f, -1}}));
    EXPECT_EQ(run<C>(head + "z = divide(a, b); return z; }", arguments, complex),
              (std::vector<C>{{3.5f, 0.5f}, {0.25f, 0.5f}}));
}

/// A stencil product as it is defined, element by element.
std::vector<float> stencil_product(const Stencil& stencil, const std::vector<index_t>& extents,
                                   const std::vector<float>& x) {
    std::array<index_t, 3> all{1, 1, 1};
    std::copy(extents.begin(), extents.end(), all.end() - std::ptrdiff_t(extents.size()));
    std::vector<float> products;
    for (index_t i = 0; i < index_t(x.size()); ++i) {
        const std::array<index_t, 3> place{i / (all[1] * all[2]), i / all[2] % all[1], i % all[2]};
        float sum = 0;
        for (std::size_t k = 0; k < stencil.offsets.size(); ++k) {
            const Offset& by = stencil.offsets[k];
            const std::array<index_t, 3> steps{by.plane, by.row, by.column};
            index_t from = 0;
            bool beyond = false;
            for (std::size_t d = 0; d < 3; ++d) {
                const index_t to = place[d] + steps[d];
                const index_t inside = std::clamp<index_t>(to, 0, all[d] - 1);
                beyond = beyond || (stencil.border == Border::zero && inside != to);
                from = from * all[d] + inside;
            }
            const float value = beyond ? 0 : x[std::size_t(from)];
            const auto weight = static_cast<float>(stencil.weights[k]);
            sum = k == 0 ? weight * value : std::fma(weight, value, sum);
        }
        products.push_back(sum);
    }
    return products;
}

TEST(ComposeExecutable, StencilsHaveTheirBorders) {
    struct Case {
        std::vector<index_t> extents;
        std::vector<Offset> offsets;
    };
    // Rows longer than a piece, vectors longer than a row, and offsets that reach beyond both ends.
    const std::vector<Case> cases{
        {{600}, {-2, -300, 1, 0, 700}},
        {{9001}, {-1, 4097, -5000, 0, 3}},
        {{1}, {-1, 0, 1, 2, 3}},
        {{3, 600}, {{-2, 0}, {0, -3}, {1, 300}, {0, 0}, {2, -1}}},
        {{4, 3, 300}, {{-1, 0, 0}, {0, -2, 0}, {2, 1, 280}, {0, 0, 0}, {3, 2, -1}}},
        {{2, 5, 7}, {{0, 0, -1}, {1, 0, 0}, {0, 1, 0}, {-2, 0, 9}, {-1, -1, -1}}},
        {{9, 1, 1}, {{1, 0, 0}, {-8, 0, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 0}}}};
    // One program, which is compiled once.
    std::string declarations, statements, returned;
    Arguments arguments;
    std::vector<std::vector<float>> inputs, expected;
    for (const auto& [extents, offsets] : cases) {
        const Type type = array(Dtype::f32, extents);
        inputs.push_back(random_numbers<float>(type.size(), 3));
        const std::string x = core::text("x", inputs.size());
        declarations += "input " + x + ": " + text_of(type) + ";\n";
        for (const Border border : {Border::replicate, Border::zero}) {
            const Stencil stencil{border, offsets, {0.5, 0.25, 2, -1, 3}};
            expected.push_back(stencil_product(stencil, extents, inputs.back()));
            const std::string number = std::to_string(expected.size());
            declarations += "local y" + number + ": " + text_of(type) + ";\nstencil S" + number +
                            (border == Border::zero ? ": f32 zero {" : ": f32 replicate {");
            for (std::size_t k = 0; k < offsets.size(); ++k) {
                declarations +=
                    core::text(k > 0 ? ", " : "", text_of(offsets[k]), ": ", stencil.weights[k]);
            }
            declarations += "};\n";
            statements += "y" + number + " = stencil_product(S" + number + ", " + x + ");\n";
            returned += (returned.empty() ? "y" : ", y") + number;
        }
    }
    for (std::size_t i = 0; i < cases.size(); ++i) {
        arguments[core::text("x", i + 1)] = argument(inputs[i].data(), cases[i].extents);
    }
    const Program program =
        parse("program p {\n" + declarations + statements + "return " + returned + "; }");
    for (const Tier tier : {Tier::interpreted, Tier::automatic}) {
        std::vector<std::vector<float>> values;
        std::vector<Argument> results;
        for (std::size_t k = 0; k < expected.size(); ++k) {
            values.emplace_back(expected[k].size());
            results.push_back(argument(values.back().data(), cases[k / 2].extents));
        }
        core::Cpu cpu(2);
        Executable<core::Cpu>(cpu, plan(program, Registry(), Fusion::thesis), tier)
            .run(cpu, arguments, results);
        for (std::size_t k = 0; k < expected.size(); ++k) {
            EXPECT_TRUE(same_bits(values[k], expected[k])) << "y" << k + 1 << print(program);
        }
    }
}

TEST(ComposeExecutable, RedAndBlackShareAnImage) {
    const auto x = random_numbers<float>(15, 4);
    const auto values = run<float>(
        "program p { input x: array f32[3, 5]; local r: array f32[3, 5]; local b: array f32[3, 5];"
        "r = red(x); b = black(x); b = negate(b); r = add(r, b); return r; }",
        {{"x", argument(x.data(), {3, 5})}}, array(Dtype::f32, {3, 5}));
    for (std::size_t i = 0; i < 15; ++i) {
        EXPECT_EQ(values[i], (i / 5 + i % 5) % 2 == 0 ? x[i] : -x[i]);
    }
}

class ComposeSums : public testing::TestWithParam<std::vector<index_t>> {};

TEST_P(ComposeSums, AreAccurateAndTheSameForAllThreads) {
    const Type type = array(Dtype::f32, GetParam());
    const auto x = random_numbers<float>(type.size(), 5), y = random_numbers<float>(type.size(), 6);
    double exact = 0, largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        exact += double(x[i]) * y[i];
        largest += std::abs(double(x[i]) * y[i]);
    }
    const std::string of = text_of(type);
    const std::string text = "program p { input x: " + of + "; input y: " + of +
                             "; local q: scalar f32; q = dot(x, y); return q; }";
    const Arguments arguments{{"x", argument(x.data(), GetParam())},
                              {"y", argument(y.data(), GetParam())}};
    const auto one = run<float>(text, arguments, scalar(Dtype::f32), Fusion::thesis, 1);
    EXPECT_NEAR(one[0], exact, 1e-6 * largest);
    for (const int threads : {2, 3}) {
        EXPECT_TRUE(same_bits(
            one, run<float>(text, arguments, scalar(Dtype::f32), Fusion::thesis, threads)));
    }
}
INSTANTIATE_TEST_SUITE_P(Extents, ComposeSums,
                         testing::Values(std::vector<index_t>{0}, std::vector<index_t>{1},
                                         std::vector<index_t>{10001}, std::vector<index_t>{300000},
                                         std::vector<index_t>{70, 300}, std::vector<index_t>{1, 7},
                                         std::vector<index_t>{0, 5},
                                         std::vector<index_t>{5, 33, 31}));

TEST(ComposeExecutable, FindsExtremesAndCounts) {
    constexpr index_t count = 5000;
    auto x = random_numbers<double>(count, 7);
    const auto found = [&](const std::string& operation) {
        return run<double>("program p { input x: array f64[5000]; local q: scalar f64; q = " +
                               operation + "(x); return q; }",
                           {{"x", argument(x.data(), {count})}}, scalar(Dtype::f64))[0];
    };
    x[4321] = -3;
    x[17] = 2;
    EXPECT_EQ(found("largest"), 2);
    EXPECT_EQ(found("smallest"), -3);
    EXPECT_EQ(found("largest_magnitude"), 3);
    x[99] = std::nan("");
    for (const char* operation : {"largest", "smallest", "largest_magnitude", "sum"}) {
        EXPECT_TRUE(std::isnan(found(operation))) << operation;
    }

    const std::vector<std::int64_t> i{5, std::numeric_limits<std::int64_t>::min(), 7};
    const std::unique_ptr<bool[]> b(new bool[3]{true, false, true});
    const std::vector<std::complex<float>> c{{3, 4}, {1, -1}, {0, 2}}, d{{1, 1}, {2, 0}, {0, 1}};
    const Arguments arguments{{"i", argument(i.data(), {3})},
                              {"b", argument(b.get(), {3})},
                              {"c", argument(c.data(), {3})},
                              {"d", argument(d.data(), {3})}};
    const std::string inputs =
        "program p { input i: array i64[3]; input b: array bool[3]; input c: array c64[3]; input "
        "d: array c64[3];";
    EXPECT_EQ(run<std::int64_t>(inputs + "local q: scalar i64; q = smallest(i); return q; }",
                                arguments, scalar(Dtype::i64))[0],
              i[1]);
    EXPECT_EQ(run<std::int64_t>(inputs + "local q: scalar i64; q = count(b); return q; }",
                                arguments, scalar(Dtype::i64))[0],
              2);
    EXPECT_EQ(run<float>(inputs + "local q: scalar f32; q = largest_magnitude(c); return q; }",
                         arguments, scalar(Dtype::f32))[0],
              5);
    std::complex<float> expected = 0;
    for (std::size_t k = 0; k < 3; ++k) expected += std::conj(c[k]) * d[k];
    EXPECT_EQ(run<std::complex<float>>(inputs + "local q: scalar c64; q = dot(c, d); return q; }",
                                       arguments, scalar(Dtype::c64))[0],
              expected);
}

TEST(ComposeExecutable, SumsOfNothing) {
    const auto of_none = [](const std::string& operation) {
        return run<float>("program p { input x: array f32[0]; local q: scalar f32; q = " +
                              operation + "(x); return q; }",
                          {{"x", argument<float>(nullptr, {0})}}, scalar(Dtype::f32))[0];
    };
    EXPECT_EQ(of_none("sum"), 0);
    EXPECT_EQ(of_none("largest"), -std::numeric_limits<float>::infinity());
    EXPECT_EQ(of_none("smallest"), std::numeric_limits<float>::infinity());
}

TEST(ComposeExecutable, LoopsCountAndBreak) {
    // Newton's iteration for a root of 2, until steps are small.
    const std::string text = R"(program root {
        number two: f64 = 2; number half: f64 = 0.5; number eps: f64 = 1e-12;
        constant most = 100; local i: iteration i64; local taken: scalar i64;
        local x: scalar f64; local q: scalar f64; local next: scalar f64; local step: scalar f64;
        local done: scalar bool;
        x = copy(two);
        taken = copy(most);
        for i in most {
            q = divide(two, x);
            q = add(x, q);
            next = multiply(half, q);
            step = subtract(x, next);
            x = copy(next);
            taken = copy(i);
            done = less(step, eps);
            if done { break; }
        }
        return x, taken;
    })";
    core::Cpu cpu(1);
    double x = 0;
    std::int64_t taken = 0;
    const std::vector<Argument> results{argument(&x, {}), argument(&taken, {})};
    Executable<core::Cpu>(cpu, plan(parse(text), Registry(), Fusion::thesis), Tier::interpreted)
        .run(cpu, {}, results);
    EXPECT_NEAR(x, std::sqrt(2.0), 1e-15);
    EXPECT_EQ(taken, 5);
}

std::string halving(int limit) {
    return "program p { inout x: scalar f64; number half: f64 = 0.5; number one: f64 = 1;"
           "local c: scalar bool; c = less(one, x); while c limit " +
           std::to_string(limit) + "{ x = multiply(x, half); c = less(one, x); } return x; }";
}

TEST(ComposeExecutable, WhileEndsByItsConditionOrItsLimit) {
    double x = 1000;
    EXPECT_EQ(run<double>(halving(100), {{"x", argument(&x, {})}}, scalar(Dtype::f64))[0],
              1000.0 / 1024);
    x = 1000;
    EXPECT_THROW(run<double>(halving(9), {{"x", argument(&x, {})}}, scalar(Dtype::f64)),
                 core::InvalidArgument);
}

TEST(ComposeExecutable, RefusesMissingAndWrongArguments) {
    const std::string text = "program p { input x: array f32[4]; return x; }";
    std::vector<float> x(5);
    EXPECT_THROW(run<float>(text, {}, array(Dtype::f32, {4})), core::InvalidArgument);
    EXPECT_THROW(run<float>(text, {{"x", argument(x.data(), {5})}}, array(Dtype::f32, {4})),
                 core::InvalidArgument);
    EXPECT_THROW(run<float>(text, {{"x", argument<float>(nullptr, {4})}}, array(Dtype::f32, {4})),
                 core::InvalidArgument);
    EXPECT_THROW(run<float>(text, {{"x", argument(x.data(), {4})}}, array(Dtype::f32, {5})),
                 core::InvalidArgument);
}

TEST(ComposeExecutable, DoesNotWriteConstantMemory) {
    const std::string text = "program p { inout x: array f32[4]; x = add(x, x); return x; }";
    std::vector<float> x(4, 1), y(4);
    const std::vector<float>& constant = x;
    const auto run_on = [&](const Argument& argument, const Argument& result) {
        core::Cpu cpu(1);
        Executable<core::Cpu>(cpu, plan(parse(text), Registry(), Fusion::thesis), Tier::interpreted)
            .run(cpu, {{"x", argument}}, std::span(&result, 1));
    };
    const Argument to = argument(y.data(), {4});
    const auto refuses = [](const char* message) {
        return testing::ThrowsMessage<core::InvalidArgument>(testing::HasSubstr(message));
    };
    const char* const constant_x = "x is written, but its memory is constant";
    EXPECT_THAT([&] { run_on(argument(constant.data(), {4}), to); }, refuses(constant_x));
    EXPECT_THAT([&] { run_on(argument(y.data(), {4}), argument(constant.data(), {4})); },
                refuses(constant_x));
    EXPECT_THAT([&] { run_on(argument(y.data(), {4}), argument<float>(nullptr, {4})); },
                refuses("x has no memory"));
    EXPECT_THAT(x, testing::Each(1));
    run_on(argument(x.data(), {4}), to);
    EXPECT_THAT(y, testing::Each(2));
}

/// What `convert<to = ...>` makes of numbers.
template <class To, class From>
std::vector<To> converted(const std::vector<From>& numbers) {
    const index_t size = static_cast<index_t>(numbers.size());
    // std::vector<bool> has no array.
    const std::unique_ptr<From[]> from(new From[numbers.size()]);
    std::copy(numbers.begin(), numbers.end(), from.get());
    const Type type = array(dtype_of<To>(), {size});
    const std::string to(name_of(dtype_of<To>()));
    return run<To>("program p { input x: " + text_of(array(dtype_of<From>(), {size})) +
                       "; local y: " + text_of(type) + "; y = convert<to = " + to +
                       ">(x); return y; }",
                   {{"x", argument(from.get(), {size})}}, type);
}

TEST(ComposeExecutable, ConvertsNumbers) {
    using Floats = std::vector<float>;
    using Doubles = std::vector<double>;
    using Integers = std::vector<std::int64_t>;
    const float infinity = std::numeric_limits<float>::infinity();
    const Doubles doubles{0.1, -2.5, 16777217, 1e300, -1e300, 1e-60};
    EXPECT_EQ((converted<float>(doubles)), (Floats{0.1f, -2.5f, 16777216, infinity, -infinity, 0}));
    EXPECT_EQ((converted<double>(doubles)), doubles);
    EXPECT_EQ((converted<double>(Floats{0.1f, 3, infinity})),
              (Doubles{double(0.1f), 3, double(infinity)}));
    const Integers integers{-3, 0, 16777217, 9007199254740993};
    EXPECT_EQ((converted<float>(integers)), (Floats{-3, 0, 16777216, 9007199254740992}));
    EXPECT_EQ((converted<double>(integers)), (Doubles{-3, 0, 16777217, 9007199254740992}));
    EXPECT_EQ((converted<std::int64_t>(integers)), integers);
    const std::vector<bool> conditions{false, true, true};
    EXPECT_EQ((converted<float>(conditions)), (Floats{0, 1, 1}));
    EXPECT_EQ((converted<double>(conditions)), (Doubles{0, 1, 1}));
    EXPECT_EQ((converted<std::int64_t>(conditions)), (Integers{0, 1, 1}));
    // Of scalars: the index of a loop.
    EXPECT_EQ(run<float>("program p { constant n = 4; local i: iteration i64; local x: scalar f32;"
                         "x = convert<to = f32>(n); for i in n { x = convert<to = f32>(i); }"
                         "return x; }",
                         {}, scalar(Dtype::f32)),
              Floats{3});
}

TEST(ComposeExecutable, RefusesArgumentsThatShareWrittenMemory) {
    const Program program = parse(
        "program p { input a: array f32[8]; input b: array f32[8]; inout c: array f32[8];"
        "c = add(a, b); return a, c; }");
    core::Cpu cpu(1);
    Executable<core::Cpu> executable(cpu, plan(program, Registry(), Fusion::thesis),
                                     Tier::interpreted);
    std::vector<float> memory(64);
    const auto at = [&](index_t first) { return argument(memory.data() + first, {8}); };
    struct Case {
        index_t a, b, c, first, second;
        const char* message;  // null where they may share
    };
    for (const Case& one :
         {Case{0, 8, 16, 24, 32, nullptr}, Case{0, 0, 16, 24, 32, nullptr},
          Case{0, 4, 16, 24, 32, nullptr}, Case{0, 8, 0, 24, 32, "a and c share memory"},
          Case{0, 8, 15, 24, 32, "b and c share memory"},
          Case{0, 8, 16, 23, 32, "c and the result a share memory"},
          Case{0, 8, 16, 0, 32, "a and the result a share memory"}, Case{0, 8, 24, 32, 24, nullptr},
          Case{0, 8, 16, 32, 33, "the result a and the result c share memory"}}) {
        const std::vector<Argument> results{at(one.first), at(one.second)};
        try {
            executable.run(cpu, {{"a", at(one.a)}, {"b", at(one.b)}, {"c", at(one.c)}}, results);
            EXPECT_EQ(one.message, nullptr);
        } catch (const core::InvalidArgument& error) {
            ASSERT_NE(one.message, nullptr) << error.what();
            EXPECT_THAT(error.what(), testing::HasSubstr(one.message));
        }
    }
}

TEST(ComposeExecutable, NamesMayBeWordsOfCpp) {
    const std::string text =
        "program int { input new: array f32[3]; input at: scalar f32; local v0_new_0: array f32[3];"
        "local a__b: array f32[3]; local __: array f32[3]; local NULL: scalar f32;"
        "v0_new_0 = add(new, at); a__b = negate(v0_new_0); __ = add(a__b, new); NULL = sum(__);"
        "a__b = multiply(NULL, __); return a__b; }";
    core::Cpu cpu(1);
    const std::vector<float> x{1, 2, 4};
    const float two = 2;
    std::vector<float> values(3);
    const std::vector<Argument> results{argument(values.data(), {3})};
    Executable<core::Cpu>(cpu, plan(parse(text), Registry(), Fusion::thesis))
        .run(cpu, {{"new", argument(x.data(), {3})}, {"at", argument(&two, {})}}, results);
    EXPECT_EQ(values, (std::vector<float>{12, 12, 12}));
}

TEST(ComposeExecutable, ArraysMayBeEmpty) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"[0, 5]", "(3, -3)"},       {"[5, 0]", "(3, -3)"},
        {"[0, 0]", "(3, -3)"},       {"[0]", "(3)"},
        {"[0, 5, 5]", "(1, 3, -3)"}, {"[5, 0, 5]", "(1, 3, -3)"},
        {"[5, 5, 0]", "(1, 3, -3)"},
    };
    for (const auto& [extents, offset] : cases) {
        const std::string type = "array f32" + extents;
        const Program program =
            parse("program p { input x: " + type + "; stencil S: f32 replicate {" + offset +
                  ": 1}; local y: " + type + "; local q: scalar f32; y = stencil_product(S, x);" +
                  (offset == "(3, -3)" ? "y = red(y);" : "") + "q = sum(y); return y, q; }");
        for (const Tier tier : {Tier::interpreted, Tier::automatic}) {
            core::Cpu cpu(1);
            ProgramMemory memory(program, 1);
            Executable<core::Cpu>(cpu, plan(program, Registry(), Fusion::thesis), tier)
                .run(cpu, memory.arguments(), memory.results());
            EXPECT_EQ(*static_cast<const float*>(memory.results()[1].data), 0);
        }
    }
}

/// All bits of arguments and results after an interpreted run.
std::vector<std::vector<std::byte>> bits_after(Plan plan, unsigned seed) {
    core::Cpu cpu(1);
    ProgramMemory memory(*plan.program, seed);
    Executable<core::Cpu> executable(cpu, std::move(plan), Tier::interpreted);
    executable.run(cpu, memory.arguments(), memory.results());
    return memory.bits();
}

TEST(ComposeExecutable, FusionDoesNotChangeBits) {
    const Registry registry;
    int with_tiles = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        const Program program = parse(RandomProgram(seed).text());
        const Plan one_by_one = plan(program, registry, Fusion::none);
        const auto expected = bits_after(one_by_one, seed);
        std::vector<Plan> others = best_plans(program, registry, 3, small_caches);
        others.push_back(plan(program, registry, Fusion::thesis));
        for (const Plan& other : others) {
            EXPECT_LT(other.kernels().size(), one_by_one.kernels().size());
            for (const Kernel* kernel : other.kernels())
                with_tiles += kernel->parts.empty() ? 0 : 1;
            ASSERT_EQ(bits_after(other, seed), expected) << "seed " << seed << "\n"
                                                         << print(program) << explain(other);
        }
    }
    EXPECT_GT(with_tiles, 100);
}

}  // namespace
}  // namespace aperture::compose
