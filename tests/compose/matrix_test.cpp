// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "libcompose/line_calls.hpp"
#include "tests/compose/blas_sequences.hpp"
#include "tests/compose/program_memory.hpp"
#include "tests/compose/refusal.hpp"
#include "tests/compose/simt_executable.hpp"
#include "tests/sanitized.hpp"

namespace aperture::compose {
namespace {

/// A program's memory after a run of a plan.
ProgramMemory after(
    Plan plan, Tier tier,
    const std::function<void(ProgramMemory&)>& prepare = [](ProgramMemory&) {}) {
    ProgramMemory memory(*plan.program, 3);
    prepare(memory);
    core::Cpu cpu(2);
    Executable<core::Cpu>(cpu, std::move(plan), tier)
        .run(cpu, memory.arguments(), memory.results());
    return memory;
}
/// The same, with the same bits on all back ends of this machine.
ProgramMemory after(const std::string& text, const std::function<void(ProgramMemory&)>& prepare) {
    const Program program = parse(text);
    const auto run = [&](Fusion fusion, Tier tier) {
        return after(plan(program, Registry(), fusion), tier, prepare);
    };
    ProgramMemory expected = run(Fusion::none, Tier::interpreted);
    for (const Tier tier : {Tier::interpreted, Tier::automatic}) {
        EXPECT_TRUE(run(Fusion::thesis, tier).bits() == expected.bits());
        EXPECT_TRUE(run(Fusion::planned, tier).bits() == expected.bits());
    }
    ProgramMemory memory(program, 3);
    prepare(memory);
    core::Simt simt(core::LaneOrder::random, 5);
    SimtExecutable executable(plan(program, Registry(), Fusion::thesis));
    if (executable.reason.empty()) {
        executable.run(simt, memory.arguments(), memory.results());
        EXPECT_TRUE(memory.bits() == expected.bits());
    }
    return expected;
}
void unchanged(ProgramMemory&) {}

const float* floats(const Argument& argument) { return static_cast<const float*>(argument.data); }

/// y = A x in double precision, A dense.
void expect_product(const std::vector<double>& a, const float* x, const float* y, std::size_t rows,
                    std::size_t columns) {
    for (std::size_t row = 0; row < rows; ++row) {
        double sum = 0, size = 0;
        for (std::size_t column = 0; column < columns; ++column) {
            sum += a[row * columns + column] * x[column];
            size += std::abs(a[row * columns + column] * x[column]);
        }
        ASSERT_NEAR(y[row], sum, 1e-6 * size + 1e-30) << row;
    }
}

TEST(ComposeMatrices, MultipliesMatricesAndVectors) {
    const ProgramMemory memory = after(
        "program p { input A: array f32[37, 45]; input x: array f32[45]; input b: array f32[37];"
        "local y: array f32[37]; local r: array f32[37]; local s: array f32[37]; local q: scalar "
        "f32;"
        "y = matrix_vector(A, x); r = subtract(b, y); q = dot(r, r); s = row_sums(A);"
        "return y, r, q, s; }",
        unchanged);
    const float* const a = floats(memory.arguments().at("A"));
    const std::vector<double> dense(a, a + 37 * 45);
    expect_product(dense, floats(memory.arguments().at("x")), floats(memory.results()[0]), 37, 45);
    const std::vector<float> ones(45, 1);
    expect_product(dense, ones.data(), floats(memory.results()[3]), 37, 45);
}

/// Statements on A and B [rows, columns], with x, y, s and t as A's rows and u, v, p and q as its
/// columns.
struct LineCase {
    std::string dtype;
    int rows, columns;
    std::string body, returned;
};
const std::vector<std::pair<std::string, std::string>> line_bodies{
    // BiCGK, ATAX and GEMVER's first pass.
    {"p = matrix_vector(A, x); s = transposed_matrix_vector(A, u);", "p, s"},
    {"p = matrix_vector(A, x); s = transposed_matrix_vector(A, p);", "p, s"},
    {"C = outer_product(u, x); A = add(A, C); C = outer_product(v, y); A = add(A, C);"
     "s = transposed_matrix_vector(A, u);",
     "s"},
    {"p = row_sums(A); q = matrix_vector(B, y); s = column_sums(B); t = column_sums(A);",
     "p, q, s, t"},
    // The second part reads what the first one made, in place too.
    {"A = multiply(A, B); p = row_sums(A); C = outer_product(p, y); A = subtract(A, C);"
     "s = column_sums(A); t = transposed_matrix_vector(B, p); q = row_sums(B);",
     "q, s, t"},
    // Vectors, before and after sums, along both sides, in place, and read by the second part.
    {"q = multiply(u, v); t = add(x, y); p = matrix_vector(A, x); s = column_sums(B);"
     "p = subtract(p, q); s = multiply(s, t); s = add(s, y); q = multiply(p, q);",
     "p, q, s"},
    {"p = matrix_vector(A, x); q = subtract(p, u); C = outer_product(q, x); p = multiply(p, q);"
     "s = transposed_matrix_vector(A, q); t = column_sums(C); s = multiply(s, t);",
     "p, s"},
};
LineCase line_case(const char* dtype, int rows, int columns, std::size_t body) {
    return {dtype, rows, columns, line_bodies[body].first, line_bodies[body].second};
}

/// A program of several, each with symbols of its own.
std::string line_program(const std::vector<LineCase>& cases) {
    std::string symbols, statements, returned;
    int number = 0;
    for (const auto& [dtype, rows, columns, body, results] : cases) {
        const std::string suffix = std::to_string(number++);
        const auto add = [&](const char* source, const char* names, const std::string& extents) {
            for (const char* name = names; *name != 0; ++name) {
                symbols += core::text(source, " ", *name, suffix, ": array ", dtype, extents, ";");
            }
        };
        const std::string image = core::text("[", rows, ", ", columns, "]");
        add("inout", "A", image);
        add("input", "B", image);
        add("local", "C", image);
        add("input", "uv", core::text("[", rows, "]"));
        add("local", "pq", core::text("[", rows, "]"));
        add("input", "xy", core::text("[", columns, "]"));
        add("local", "st", core::text("[", columns, "]"));
        symbols += core::text("input k", suffix, ": scalar ", dtype, ";");
        // Names of symbols are single letters. "$1" before a digit would be another group.
        const std::regex symbol("\\b([A-Ckp-vxy])\\b");
        statements += std::regex_replace(body, symbol, "$01" + suffix);
        returned +=
            (returned.empty() ? "" : ", ") + std::regex_replace(results, symbol, "$01" + suffix);
    }
    return "program p { " + symbols + statements + " return " + returned + "; }";
}

TEST(ComposeMatrices, SumsOfRowsAndColumnsHaveTheSameBits) {
    std::vector<LineCase> cases;
    for (std::size_t body = 0; body < line_bodies.size(); ++body) {
        cases.push_back(line_case("f32", 45, 300, body));
    }
    cases.push_back(line_case("f32", 1, 1, 1));
    cases.push_back(line_case("f32", 64, 256, 0));
    cases.push_back(line_case("f32", 5, 0, 0));
    cases.push_back(line_case("f32", 0, 5, 3));
    cases.push_back(line_case("f32", 40, 4500, 1));
    cases.push_back(line_case("f64", 45, 1300, 1));
    cases.push_back(line_case("c64", 35, 260, 4));
    cases.push_back(line_case("c128", 3, 270, 0));
    cases.push_back(line_case("f32", 600, 40, 0));
    cases.push_back(line_case("f32", 33, 512, 1));
    cases.push_back(line_case("f32", 260, 260, 5));
    cases.push_back(line_case("c64", 33, 257, 6));
    cases.push_back(line_case("f32", 0, 5, 5));
    cases.push_back(line_case("f32", 5, 0, 6));
    after(line_program(cases), unchanged);
}

TEST(ComposeMatrices, BlocksOfTwoStripsHaveTheSameBits) {
    std::vector<LineCase> cases;
    // The last block has a part of a strip, a whole one, one and a part, and both.
    for (const int rows : {20, 96, 100, 128}) cases.push_back(line_case("f32", rows, 300, 1));
    cases.push_back(line_case("f32", 96, 512, 6));
    cases.push_back(line_case("f64", 96, 256, 4));
    const Program program = parse(line_program(cases));
    const auto expected = after(plan(program, Registry(), Fusion::none), Tier::interpreted);
    SimtExecutable executable(plan(program, Registry(), Fusion::thesis), true);
    if (!executable.reason.empty()) GTEST_SKIP() << executable.reason;
    ProgramMemory memory(program, 3);
    core::Simt simt(core::LaneOrder::random, 5);
    executable.run(simt, memory.arguments(), memory.results());
    EXPECT_TRUE(memory.bits() == expected.bits());
}

/// Random calls on images and on the vectors along their sides. Values stay small.
LineCase random_lines(unsigned seed, int rows, int columns) {
    std::mt19937 generator(seed);
    const auto one_of = [&](const std::string& names) {
        return std::string(1, names[generator() % names.size()]);
    };
    const std::string operations[] = {"min", "max", "multiply", "subtract"};
    std::string of_rows = "uvpq", of_columns = "xyst";
    if (rows == columns) of_rows = of_columns = of_rows + of_columns;
    const auto combined = [&](const std::string& to, const std::string& a, const std::string& b) {
        return to + " = " + operations[generator() % 4] + "(" + a + ", " + b + "); ";
    };
    std::string body = "C = multiply(A, B); p = copy(u); q = copy(v); s = copy(x); t = copy(y); ";
    for (int call = 0; call < 9; ++call) {
        const std::string image = one_of("ABC"), to = one_of("AC");
        const std::string to_row = one_of("pq"), to_column = one_of("st");
        // No product overwrites its factor.
        std::string u = to_column, x = to_row;
        while (u == to_column) u = one_of(of_rows);
        while (x == to_row) x = one_of(of_columns);
        switch (generator() % 8) {
            case 0:
                body += combined(to, image, one_of("ABC"));
                break;
            case 1:
                body += to + " = outer_product(" + u + ", " + x + "); ";
                break;
            case 2:
            case 3:
                body += to_row + " = " +
                        (generator() % 2 == 0 ? "row_sums(" + image
                                              : "matrix_vector(" + image + ", " + x) +
                        "); " + to_row + " = min(" + to_row + ", " + u + "); " + to_row +
                        " = max(" + to_row + ", k); ";
                break;
            case 4:
            case 5:
                body += to_column + " = " +
                        (generator() % 2 == 0 ? "column_sums(" + image
                                              : "transposed_matrix_vector(" + image + ", " + u) +
                        "); " + to_column + " = min(" + to_column + ", k); " + to_column +
                        " = max(" + to_column + ", " + x + "); ";
                break;
            case 6:
                body += combined(to_row, u, one_of(of_rows + "k"));
                break;
            default:
                body += combined(to_column, one_of(of_columns + "k"), x);
        }
    }
    return {generator() % 4 == 0 ? "f64" : "f32", rows, columns, body, "C, p, q, s, t"};
}
/// Kernels that add up lines and have calls on vectors besides.
unsigned mixed_kernels(const Plan& plan) {
    unsigned count = 0;
    for (const Kernel* kernel : plan.kernels()) {
        if (!is_of_rows(*kernel)) continue;
        for (const PlannedCall& planned : kernel->calls) {
            if (!is_of_vectors(planned)) continue;
            ++count;
            break;
        }
    }
    return count;
}

TEST(ComposeMatrices, RandomCallsOnImagesAndVectorsHaveTheSameBits) {
    constexpr std::pair<int, int> extents[] = {{45, 300}, {64, 64}, {300, 20}, {5, 270}};
    std::vector<LineCase> cases;
    constexpr unsigned seeds = tests::sanitized ? 20 : 100;
    unsigned mixed = 0;
    for (unsigned seed = 0; seed < seeds; ++seed) {
        SCOPED_TRACE(seed);
        const auto [rows, columns] = extents[seed % 4];
        const LineCase one = random_lines(seed, rows, columns);
        if (seed < 4) cases.push_back(one);
        const Program program = parse(line_program({one}));
        const auto expected = after(plan(program, Registry(), Fusion::none), Tier::interpreted);
        std::vector<Plan> plans = best_plans(program, Registry(), 3);
        plans.push_back(plan(program, Registry(), Fusion::thesis));
        for (Plan& made : plans) {
            mixed += mixed_kernels(made);
            EXPECT_EQ(calls_of_kernels(plan(program, Registry(), calls_of_kernels(made))),
                      calls_of_kernels(made));
            EXPECT_TRUE(after(std::move(made), Tier::interpreted).bits() == expected.bits());
        }
    }
    EXPECT_GT(mixed, 4 * seeds);
    after(line_program(cases), unchanged);
}

TEST(ComposeMatrices, SequencesOfBlasCallsReadMatricesNoMoreOftenThanTheyMust) {
    constexpr index_t order = 300;
    constexpr double matrix = order * order * sizeof(float), vector = order * sizeof(float);
    for (const BlasSequence& sequence : blas_sequences) {
        SCOPED_TRACE(sequence.name);
        const std::string text = text_of(sequence, order);
        for (const Fusion fusion : {Fusion::thesis, Fusion::planned}) {
            const auto planned = plan(parse(text), Registry(), fusion);
            double bytes = 0;
            for (const Kernel* kernel : planned.kernels()) bytes += kernel->bytes;
            EXPECT_EQ(planned.kernels().size(), std::size_t(sequence.kernels));
            const double least =
                sequence.least_matrices * matrix +
                sequence.least_vectors * (is_of_vectors(sequence) ? matrix : vector);
            EXPECT_GE(bytes, least);
            // Vectors go through memory between kernels.
            EXPECT_LE(bytes, least + 6 * vector);
        }
        after(text, unchanged);
    }
}

TEST(ComposeMatrices, OnePassReadsAMatrixForItsProductAndThatOfItsTranspose) {
    const auto kernels = [](int columns, const std::string& body) {
        const Program program = parse(line_program({{"f32", 64, columns, body, "s"}}));
        return plan(program, Registry(), Fusion::thesis).kernels().size();
    };
    EXPECT_EQ(kernels(8192, line_bodies[0].first), 1U);
    EXPECT_EQ(kernels(20000, line_bodies[0].first), 1U);
    EXPECT_EQ(kernels(8192, line_bodies[1].first), 1U);
    // A row must fit on chip to be read twice.
    EXPECT_EQ(kernels(8193, line_bodies[1].first), 2U);
    EXPECT_EQ(kernels(8192, line_bodies[2].first), 1U);
    EXPECT_EQ(kernels(4096, line_bodies[4].first), 1U);
    EXPECT_EQ(kernels(8192, line_bodies[4].first), 2U);
    // Sums of all entries walk otherwise, and what a column's sum is nobody knows before the end.
    EXPECT_EQ(kernels(100, "s = column_sums(A); C = outer_product(u, s); A = add(A, C);"), 2U);
    // A vector lies along one side of the image.
    EXPECT_EQ(kernels(100, "p = matrix_vector(A, x); q = add(p, u); s = column_sums(A);"), 1U);
    EXPECT_EQ(kernels(100, line_bodies[5].first), 2U);
    EXPECT_EQ(kernels(100, line_bodies[6].first), 1U);
    EXPECT_EQ(kernels(64, "p = row_sums(A); s = column_sums(A); s = add(p, s);"), 2U);
    EXPECT_EQ(kernels(64, "s = add(u, x); p = row_sums(A); s = add(s, p); t = column_sums(A);"),
              1U);
    EXPECT_EQ(kernels(64,
                      "s = row_sums(A); q = add(u, v); t = column_sums(A); q = add(q, t);"
                      "s = add(q, s);"),
              2U);
    // Who reads a vector by rows or columns may not see it change.
    EXPECT_EQ(kernels(64, "p = matrix_vector(A, x); s = add(p, u); t = matrix_vector(A, s);"), 2U);
    EXPECT_EQ(kernels(64, "s = copy(x); p = matrix_vector(A, s); s = add(s, p);"), 3U);
}

TEST(ComposeMatrices, SumsOfRowsAndColumnsAreThoseOfDoublePrecision) {
    constexpr int rows = 70, columns = 900;
    const ProgramMemory memory =
        after(line_program({{"f32", rows, columns,
                             "p = matrix_vector(B, x); s = transposed_matrix_vector(B, p);"
                             "q = row_sums(B); t = column_sums(B);",
                             "p, s, q, t"}}),
              unchanged);
    const float* const b = floats(memory.arguments().at("B0"));
    const std::vector<double> dense(b, b + rows * columns);
    std::vector<double> transposed(rows * columns);
    for (int i = 0; i < rows * columns; ++i) {
        transposed[std::size_t(i % columns * rows + i / columns)] = b[i];
    }
    const std::vector<float> ones(columns, 1);
    const float* const p = floats(memory.results()[0]);
    expect_product(dense, floats(memory.arguments().at("x0")), p, rows, columns);
    expect_product(transposed, p, floats(memory.results()[1]), columns, rows);
    expect_product(dense, ones.data(), floats(memory.results()[2]), rows, columns);
    expect_product(transposed, ones.data(), floats(memory.results()[3]), columns, rows);
}

TEST(ComposeMatrices, MultipliesMatrices) {
    const ProgramMemory memory = after(
        "program p { input A: array f32[7, 45]; input B: array f32[45, 300]; input C: array f32[7, "
        "300]; local y: array f32[7, 300]; local z: array f32[7, 300]; local t: array f32[300, 7];"
        "y = matrix_matrix(A, B); z = add(y, C); t = transposed_image(y); return y, z, t; }",
        unchanged);
    const float *const a = floats(memory.arguments().at("A")), *const b = floats(
                                                                   memory.arguments().at("B"));
    for (int row = 0; row < 7; ++row) {
        const std::vector<double> of_row(a + row * 45, a + (row + 1) * 45);
        for (int column = 0; column < 300; ++column) {
            std::vector<float> x(45);
            for (std::size_t k = 0; k < 45; ++k) x[k] = b[int(k) * 300 + column];
            expect_product(of_row, x.data(), floats(memory.results()[0]) + row * 300 + column, 1,
                           45);
            EXPECT_EQ(floats(memory.results()[2])[column * 7 + row],
                      floats(memory.results()[0])[row * 300 + column]);
        }
    }
}

TEST(ComposeMatrices, TransposesImages) {
    const ProgramMemory memory = after(
        "program p { input x: array f32[3, 300]; local y: array f32[300, 3]; y = "
        "transposed_image(x); y = negate(y); return y; }",
        unchanged);
    const float *const x = floats(memory.arguments().at("x")), *const y =
                                                                   floats(memory.results()[0]);
    for (int i = 0; i < 900; ++i) ASSERT_EQ(y[i], -x[i % 3 * 300 + i / 3]);
}

TEST(ComposeMatrices, DiagonalsReachBeyondTheBorder) {
    constexpr int n = 5000;
    const std::vector<int> offsets{0, -1, 1, 70, -4999, 5000, -6000};
    const ProgramMemory memory = after(
        "program p { input D: diagonals f32[7, 5000] at {0, -1, 1, 70, -4999, 5000, -6000};"
        "input x: array f32[5000]; local y: array f32[5000]; local q: scalar f32;"
        "y = matrix_vector(D, x); q = dot(x, y); return y, q; }",
        [](ProgramMemory& one) {
            // What lies beyond the border does not count.
            auto* const numbers = static_cast<float*>(one.arguments().at("D").data);
            numbers[n] = numbers[5 * n] = std::numeric_limits<float>::quiet_NaN();
        });
    const float* const d = floats(memory.arguments().at("D"));
    const float* const x = floats(memory.arguments().at("x"));
    for (int row = 0; row < n; ++row) {
        float sum = 0;
        for (std::size_t k = 0; k < offsets.size(); ++k) {
            const int column = row + offsets[k];
            if (0 <= column && column < n) sum = std::fma(d[int(k) * n + row], x[column], sum);
        }
        ASSERT_EQ(floats(memory.results()[0])[row], sum) << row;
    }
}

TEST(ComposeMatrices, ImageDiagonalsAreStencilsWithWeightsInArrays) {
    // Offsets are those of the entries in C order: a row down is 300.
    constexpr int rows = 9, columns = 300;
    const std::vector<std::pair<int, int>> offsets{{0, 0}, {0, 1},   {0, -1},
                                                   {1, 0}, {-1, -2}, {9, 0}};
    const ProgramMemory memory = after(
        "program p { input D: image_diagonals f32[6, 9, 300] at {0, 1, -1, 300, -302, 2700};"
        "input x: array f32[9, 300]; local y: array f32[9, 300]; local z: array f32[9, 300];"
        "y = matrix_vector(D, x); z = subtract(x, y); return y, z; }",
        unchanged);
    const float* const d = floats(memory.arguments().at("D"));
    const float* const x = floats(memory.arguments().at("x"));
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
            float sum = 0;
            for (std::size_t k = 0; k < offsets.size(); ++k) {
                const int r = row + offsets[k].first, c = column + offsets[k].second;
                if (0 <= r && r < rows && 0 <= c && c < columns) {
                    sum = std::fma(d[(int(k) * rows + row) * columns + column], x[r * columns + c],
                                   sum);
                }
            }
            ASSERT_EQ(floats(memory.results()[0])[row * columns + column], sum)
                << row << ", " << column;
        }
    }
}

TEST(ComposeMatrices, CompressedRowsMayBeEmpty) {
    const std::vector<std::int64_t> starts{0, 0, 3, 3, 4, 6}, columns{2, 0, 3, 1, 3, 3};
    const std::string text =
        "program p { input v: array f32[6]; input s: array i64[6]; input c: array i64[6];"
        "input x: array f32[4]; local y: array f32[5]; local q: scalar f32;"
        "y = compressed_rows_vector(v, s, c, x); q = sum(y); return y, q; }";
    const auto with = [&](std::int64_t a_start, std::int64_t a_column) {
        return [&, a_start, a_column](ProgramMemory& memory) {
            auto* const to_starts = static_cast<std::int64_t*>(memory.arguments().at("s").data);
            auto* const to_columns = static_cast<std::int64_t*>(memory.arguments().at("c").data);
            std::copy(starts.begin(), starts.end(), to_starts);
            std::copy(columns.begin(), columns.end(), to_columns);
            to_starts[5] = a_start;
            to_columns[1] = a_column;
        };
    };
    const ProgramMemory memory = after(text, with(6, 0));
    const float* const v = floats(memory.arguments().at("v"));
    std::vector<double> dense(5 * 4);
    for (std::size_t row = 0; row < 5; ++row) {
        for (auto i = std::size_t(starts[row]); i < std::size_t(starts[row + 1]); ++i) {
            dense[row * 4 + std::size_t(columns[i])] += v[i];
        }
    }
    expect_product(dense, floats(memory.arguments().at("x")), floats(memory.results()[0]), 5, 4);

    // Indices that are out of range do not read other memory.
    const Program program = parse(text);
    for (const auto& [a_start, a_column] : {std::pair{7, 0}, {6, 4}, {6, -1}}) {
        ProgramMemory wrong(program, 3);
        with(a_start, a_column)(wrong);
        core::Cpu cpu(1);
        Executable<core::Cpu>(cpu, plan(program, Registry(), Fusion::thesis), Tier::interpreted)
            .run(cpu, wrong.arguments(), wrong.results());
        EXPECT_TRUE(std::isnan(floats(wrong.results()[0])[a_start == 7 ? 4 : 1]));
        EXPECT_EQ(floats(wrong.results()[0])[0], 0);
    }
}

TEST(ComposeMatrices, RefuseOtherOperands) {
    const auto refused = [](const std::string& call, const std::string& result) {
        return refusal(
            "program p { input A: array f32[3, 4]; input x: array f32[3]; input k: array "
            "i64[3]; input D: diagonals f32[1, 4] at {0}; input d: array f64[4]; local "
            "y: " +
            result + "; y = " + call + "; return y; }");
    };
    using testing::HasSubstr;
    EXPECT_THAT(refused("matrix_vector(A, x)", "array f32[3]"), HasSubstr("expected array f32[4]"));
    EXPECT_THAT(refused("matrix_vector(A, d)", "array f32[3]"), HasSubstr("expected array f32[4]"));
    EXPECT_THAT(refused("matrix_vector(D, x)", "array f32[4]"), HasSubstr("expected array f32[4]"));
    EXPECT_THAT(refused("matrix_vector(x, x)", "array f32[3]"),
                HasSubstr("expected an array of rank 2"));
    EXPECT_THAT(refused("matrix_vector(A)", "array f32[3]"), HasSubstr("a matrix and a vector"));
    EXPECT_THAT(refused("matrix_matrix(A, A)", "array f32[3, 3]"),
                HasSubstr("matrix_matrix of array f32[3, 4] and array f32[3, 4]"));
    EXPECT_THAT(refused("transposed_image(x)", "array f32[3]"), HasSubstr("rank 2"));
    EXPECT_THAT(refused("transposed_image(A)", "array f32[3, 4]"),
                HasSubstr("makes array f32[4, 3]"));
    EXPECT_THAT(refused("row_sums(k)", "array i64[3]"), HasSubstr("rank 2"));
    EXPECT_THAT(refused("compressed_rows_vector(x, x, k, x)", "array f32[2]"),
                HasSubstr("expected i64"));
    EXPECT_THAT(refused("compressed_rows_vector(x, k, k, d)", "array f32[2]"),
                HasSubstr("expected f32"));
    EXPECT_THAT(refused("add(D, D)", "array f32[3]"), HasSubstr("add of a diagonals"));
}

}  // namespace
}  // namespace aperture::compose
