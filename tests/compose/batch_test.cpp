// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Operations on batches of small matrices and vectors.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "tests/compose/batch_values.hpp"
#include "tests/compose/refusal.hpp"
#include "tests/sanitized.hpp"

namespace aperture::compose {
namespace {

using testing::HasSubstr;

/// All operations of batches of matrices n x n and (n + 2) x n. The names of symbols end with
/// `suffix`.
class EveryOperation {
  public:
    EveryOperation(Dtype dtype, index_t order, index_t problems, std::string suffix = "")
        : dtype_(dtype), n_(order), problems_(problems), suffix_(std::move(suffix)) {
        const index_t m = n_ + 2;
        for (const char* name : {"A", "B", "S"}) declare("input", name, {n_, n_});
        declare("input", "C", {m, n_});
        for (const char* name : {"x", "y"}) declare("input", name, {n_});
        declare("input", "c", {m});
        call("AB = matrix_multiply(A, B)", {n_, n_});
        call("AtB = matrix_multiply<a = transposed>(A, B)", {n_, n_});
        call("AhB = matrix_multiply<a = adjoint>(A, B)", {n_, n_});
        call("ACt = matrix_multiply<b = transposed>(A, C)", {n_, m});
        call("AhCh = matrix_multiply<a = adjoint, b = adjoint>(A, C)", {n_, m});
        call("Ax = matrix_multiply(A, x)", {n_});
        call("Cx = matrix_multiply(C, x)", {m});
        call("CCh = rank_k(C)", {m, m});
        call("Ct = transposed(C)", {n_, m});
        call("Ch = adjoint(C)", {n_, m});
        call("d = dot(x, y)", {1});
        declare("local", "e", {1}, real_of(dtype_));
        statement("e = norm(C)");
        call("sum = add(A, B)", {n_, n_});
        call("difference = subtract(C, C)", {m, n_});
        call("scaled = multiply(C, d)", {m, n_});
        call("twice = multiply(d, d)", {1});
        call("L = cholesky(S)", {n_, n_});
        declare("local", "Lo", {n_, n_});
        declare("local", "Up", {n_, n_});
        statement("Lo, Up = lu(S)");
        declare("local", "PLo", {n_, n_});
        declare("local", "PUp", {n_, n_});
        declare("local", "rows", {n_}, real_of(dtype_));
        statement("PLo, PUp, rows = lu<pivots = true>(A)");
        declare("local", "R", {n_, n_});
        declare("local", "q", {n_});
        statement("R, q = qr(C, c)");
        call("R2 = qr(C)", {n_, n_});
        call("least = solve<matrix = upper>(R, q)", {n_});
        call("X = solve(A, B)", {n_, n_});
        call("w = solve(A, x)", {n_});
        call("Z = solve<matrix = positive_definite>(S, B)", {n_, n_});
        call("z = solve<matrix = positive_definite>(S, x)", {n_});
        call("V = solve<matrix = lower>(L, B)", {n_, n_});
        call("Ai = inverse(A)", {n_, n_});
        call("Si = inverse<matrix = positive_definite>(S)", {n_, n_});
        call("Li = inverse<matrix = lower>(L)", {n_, n_});
    }

    const std::string& declarations() const { return declarations_; }
    const std::string& statements() const { return statements_; }
    const std::string& returned() const { return returned_; }
    std::string text() const {
        return "program p {\n" + declarations_ + statements_ + "return " + returned_ + ";\n}\n";
    }

    /// Inputs where pivots are needed.
    Values inputs() const {
        Values all = inputs_of(parse(text()));
        Numbers& a = all.at("A" + suffix_);
        if (n_ > 1 && problems_ > 0) a.set(0, 0);
        return all;
    }

    /// Compares what a run without a suffix returned.
    void verify(const Values& inputs, const Values& results) const {
        const double eps = real_of(dtype_) == Dtype::f32 ? std::numeric_limits<float>::epsilon()
                                                         : std::numeric_limits<double>::epsilon();
        for (index_t p = 0; p < problems_; ++p) {
            const auto in = [&](const char* name) { return inputs.at(name).problem(p); };
            const auto out = [&](const char* name) { return results.at(name).problem(p); };
            const auto near = [&](const Oracle& a, const Oracle& b, double scale,
                                  const char* what) {
                EXPECT_LE((a - b).size(), 8.0 * double(n_ + 2) * eps * scale)
                    << what << " of order " << n_ << ", " << name_of(dtype_) << ", problem " << p;
            };
            const Oracle a = in("A"), b = in("B"), s = in("S"), c = in("C"), x = in("x"),
                         y = in("y"), rhs = in("c");
            near(out("AB"), a * b, a.size() * b.size(), "product");
            near(out("AtB"), transposed(a) * b, a.size() * b.size(), "transposed A");
            near(out("AhB"), adjoint(a) * b, a.size() * b.size(), "adjoint A");
            near(out("ACt"), a * transposed(c), a.size() * c.size(), "transposed B");
            near(out("AhCh"), adjoint(a) * adjoint(c), a.size() * c.size(), "adjoints");
            near(out("Ax"), a * x, a.size() * x.size(), "matrix and vector");
            near(out("Cx"), c * x, c.size() * x.size(), "tall matrix and vector");
            near(out("CCh"), c * adjoint(c), c.size() * c.size(), "rank-k");
            EXPECT_EQ(out("CCh").entries, adjoint(out("CCh")).entries);
            EXPECT_EQ(out("Ct").entries, transposed(c).entries);
            EXPECT_EQ(out("Ch").entries, adjoint(c).entries);
            near(out("d"), adjoint(x) * y, x.size() * y.size(), "dot");
            EXPECT_NEAR(out("e")(0, 0).real(), c.size(), 8 * eps * c.size());
            near(out("sum"), a + b, a.size() + b.size(), "sum");
            EXPECT_EQ(out("difference").size(), 0);
            const auto d = out("d")(0, 0);
            near(out("scaled"), d * c, std::abs(d) * c.size(), "multiple");
            near(out("twice"), d * out("d"), std::norm(d), "number times number");
            near(out("L") * adjoint(out("L")), s, s.size(), "Cholesky");
            near(out("Lo") * out("Up"), s, s.size() * double(n_), "LU");
            verify_pivots(a, out("PLo"), out("PUp"), out("rows"), 8.0 * double(n_ + 2) * eps);
            for (index_t i = 0; i < n_; ++i) {
                EXPECT_EQ(out("Lo")(i, i), 1.0);
                EXPECT_EQ(out("R")(i, i).imag(), 0);
                EXPECT_GT(out("R")(i, i).real(), 0);
                for (index_t j = 0; j < i; ++j) {
                    EXPECT_EQ(out("L")(j, i), 0.0);
                    EXPECT_EQ(out("Lo")(j, i), 0.0);
                    EXPECT_EQ(out("Up")(i, j), 0.0);
                    EXPECT_EQ(out("R")(i, j), 0.0);
                }
            }
            near(adjoint(out("R")) * out("R"), adjoint(c) * c, c.size() * c.size(), "QR");
            near(adjoint(out("R")) * out("q"), adjoint(c) * rhs, c.size() * rhs.size(), "Q^H c");
            EXPECT_EQ(out("R2").entries, out("R").entries);
            near(out("R") * out("least"), out("q"), out("R").size() * out("least").size(),
                 "triangle");
            near(a * out("X"), b, a.size() * out("X").size(), "solutions");
            near(a * out("w"), x, a.size() * out("w").size(), "solution");
            near(s * out("Z"), b, s.size() * out("Z").size(), "positive definite solutions");
            near(s * out("z"), x, s.size() * out("z").size(), "positive definite solution");
            near(out("L") * out("V"), b, out("L").size() * out("V").size(), "lower triangle");
            near(a * out("Ai"), identity(n_), a.size() * out("Ai").size(), "inverse");
            near(s * out("Si"), identity(n_), s.size() * out("Si").size(), "inverse of S");
            near(out("L") * out("Li"), identity(n_), out("L").size() * out("Li").size(),
                 "inverse of L");
        }
    }

  private:
    /// A's rows in the order of their numbers are L U, and no entry of L is larger than its pivot.
    void verify_pivots(const Oracle& a, const Oracle& l, const Oracle& u, const Oracle& rows,
                       double bound) const {
        Oracle permuted = a;
        std::set<double> met;
        for (index_t i = 0; i < n_; ++i) {
            const double row = rows(i, 0).real();
            ASSERT_TRUE(row >= 0 && row < double(n_) && met.insert(row).second);
            for (index_t j = 0; j < n_; ++j) {
                permuted(i, j) = a(index_t(row), j);
                EXPECT_LE(std::abs(l(i, j)), is_complex(dtype_) ? 1.415 : 1.0001);
                if (i != j) {
                    EXPECT_EQ(i < j ? l(i, j) : u(i, j), 0.0);
                }
            }
            EXPECT_EQ(l(i, i), 1.0);
        }
        EXPECT_LE((l * u - permuted).size(), bound * a.size() * double(n_));
    }
    void declare(const char* source, const std::string& name, std::vector<index_t> extents,
                 std::optional<Dtype> dtype = std::nullopt) {
        extents.insert(extents.begin(), problems_);
        declarations_ += core::text(source, " ", name, suffix_, ": ",
                                    text_of(batch(dtype.value_or(dtype_), extents)), ";\n");
        if (std::string(source) == "local") {
            returned_ += (returned_.empty() ? "" : ", ") + name + suffix_;
        }
    }
    /// Results and operands get the suffix, words of attributes do not.
    void statement(const std::string& words) {
        std::string name;
        bool attribute = false, is_operation = false;
        for (const char letter : words + ";\n") {
            if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_') {
                name += letter;
                continue;
            }
            if (!name.empty()) statements_ += name + (attribute || is_operation ? "" : suffix_);
            if (!name.empty()) is_operation = false;
            name.clear();
            if (letter == '=' && !attribute) is_operation = true;
            if (letter == '<') attribute = true;
            if (letter == '>') attribute = false;
            statements_ += letter;
        }
    }
    void call(const std::string& words, const std::vector<index_t>& extents) {
        declare("local", words.substr(0, words.find(' ')), extents);
        statement(words);
    }

    Dtype dtype_;
    index_t n_, problems_;
    std::string suffix_, declarations_, statements_, returned_;
};

constexpr std::array all_types{Dtype::f32, Dtype::f64, Dtype::c64, Dtype::c128};

TEST(ComposeBatch, EveryOperationIsAccurate) {
    for (const Dtype dtype : all_types) {
        for (const index_t order : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33}) {
            const EveryOperation all(dtype, order, 5);
            const Values inputs = all.inputs();
            all.verify(inputs, run(all.text(), inputs));
        }
    }
}

struct BitCase {
    Dtype dtype;
    index_t order;
};
class ComposeBatchBits : public testing::TestWithParam<BitCase> {};

/// Of sanitized kernels, one real and one complex type are enough.
std::vector<Dtype> compiled_types() {
    if (tests::sanitized) return {Dtype::f64, Dtype::c64};
    return {all_types.begin(), all_types.end()};
}

TEST_P(ComposeBatchBits, AreThoseOfEveryBackEnd) {
    const std::vector<Dtype> types = compiled_types();
    if (std::count(types.begin(), types.end(), GetParam().dtype) == 0) GTEST_SKIP();
    // All lanes of registers or warps, and some.
    const EveryOperation all(GetParam().dtype, GetParam().order, 35);
    const std::string text = all.text();
    const Values inputs = all.inputs();
    const Values expected = run(text, inputs, Fusion::none);
    expect_same_bits(run(text, inputs, Fusion::thesis), expected);
    expect_same_bits(run(text, inputs, Fusion::thesis, Tier::interpreted, 1), expected);
    expect_same_bits(run(text, inputs, Fusion::thesis, Tier::compiled), expected);
    expect_same_bits(run(text, inputs, Fusion::planned), expected);
    for (const auto order : {core::LaneOrder::forward, core::LaneOrder::random}) {
        expect_same_bits(run_on_simt(text, inputs, Fusion::thesis, order), expected);
    }
    if (tests::sanitized) return;
    expect_same_bits(run_on_simt(text, inputs, Fusion::none, core::LaneOrder::random), expected);
}
INSTANTIATE_TEST_SUITE_P(Types, ComposeBatchBits,
                         testing::Values(BitCase{Dtype::f32, 7}, BitCase{Dtype::f64, 3},
                                         BitCase{Dtype::c64, 4}, BitCase{Dtype::c128, 1}),
                         [](const auto& one) { return std::string(name_of(one.param.dtype)); });

/// Products, solutions with pivots, inverses and QR of orders `first` to `last`.
std::string calls_of_orders(Dtype dtype, int first, int last) {
    constexpr std::array counts{33, 1000, 32, 1, 31, 128, 129, 65};  // of problems, by orders
    std::string declarations, statements, returned;
    for (int n = first; n <= last; ++n) {
        const auto declare = [&](const char* source, const char* name, int rows, int columns) {
            declarations += core::text(
                source, " ", name, n, ": ",
                text_of(batch(dtype, {counts[std::size_t(n - 1)], rows, columns})), ";\n");
            if (std::string(source) == "local") {
                returned += core::text(returned.empty() ? "" : ", ", name, n);
            }
        };
        declare("input", "A", n, n);
        declare("input", "S", n, n);
        declare("input", "C", n + 1, n);
        declare("local", "P", n, n + 1);
        declare("local", "X", n, n);
        declare("local", "Z", n, n);
        declare("local", "R", n, n);
        statements += core::text("P", n, " = matrix_multiply<b = adjoint>(A", n, ", C", n, ");\nX",
                                 n, " = solve(A", n, ", S", n, ");\nZ", n,
                                 " = inverse<matrix = positive_definite>(S", n, ");\nR", n,
                                 " = qr(C", n, ");\n");
    }
    return "program p {\n" + declarations + statements + "return " + returned + ";\n}\n";
}

TEST(ComposeBatch, ThreadsHaveTheSameBitsForAllSizes) {
    for (const Dtype dtype : compiled_types()) {
        const int last = tests::sanitized ? 2 : is_complex(dtype) ? 5 : 8;
        for (int first = 1; first <= last; first += 4) {
            const std::string text = calls_of_orders(dtype, first, std::min(first + 3, last));
            const Values inputs = inputs_of(parse(text));
            // Without fusion each call has the registers of a thread for itself.
            expect_same_bits(run_on_simt(text, inputs, Fusion::none, core::LaneOrder::random),
                             run(text, inputs, Fusion::none));
        }
    }
}

TEST(ComposeBatch, OfNoProblemsIsNothing) {
    const std::string text =
        "program p { input A: batch f32[0, 3, 3]; input s: scalar f32; local q: scalar f32;"
        "local B: batch f32[0, 3, 3]; q = add(s, s); B = multiply(q, A); return B, q; }";
    const Values inputs = inputs_of(parse(text));
    for (const Values& results :
         {run(text, inputs), run(text, inputs, Fusion::thesis, Tier::compiled),
          run_on_simt(text, inputs, Fusion::thesis, core::LaneOrder::forward)}) {
        EXPECT_EQ(results.at("B").type().size(), 0);
        EXPECT_EQ(results.at("q").at(0), 2.0 * inputs.at("s").at(0));
    }
}

TEST(ComposeBatch, SingularMatricesHaveSolutionsThatAreNotFinite) {
    const std::string text =
        "program p { input A: batch f64[3, 2, 2]; input b: batch f64[3, 2];"
        "local x: batch f64[3, 2]; local z: batch f64[3, 2]; x = solve(A, b);"
        "z = solve<matrix = positive_definite>(A, b); return x, z; }";
    Values inputs = inputs_of(parse(text));
    Oracle zero(2, 2), indefinite(2, 2);
    indefinite(0, 1) = indefinite(1, 0) = 1;
    inputs.at("A").set_problem(0, zero);
    inputs.at("A").set_problem(1, indefinite);
    inputs.at("A").set_problem(2, identity(2));
    const auto is_finite = [](const Oracle& vector) {
        return std::isfinite(vector(0, 0).real()) && std::isfinite(vector(1, 0).real());
    };
    for (const Tier tier : {Tier::interpreted, Tier::compiled}) {
        const Values results = run(text, inputs, Fusion::thesis, tier);
        const Numbers &x = results.at("x"), &z = results.at("z");
        EXPECT_FALSE(is_finite(x.problem(0)));
        EXPECT_FALSE(is_finite(z.problem(0)));
        EXPECT_EQ(x.problem(1)(0, 0), inputs.at("b").problem(1)(1, 0));
        EXPECT_FALSE(is_finite(z.problem(1)));
        EXPECT_EQ(x.problem(2).entries, inputs.at("b").problem(2).entries);
        EXPECT_EQ(z.problem(2).entries, inputs.at("b").problem(2).entries);
    }
}

TEST(ComposeBatch, SelectsComparesAndConvertsEntries) {
    const std::string text =
        "program p { input A: batch f32[20, 2, 3]; input B: batch f32[20, 2, 3];"
        "input t: batch f32[20, 1]; number half: f32 = 0.5; local m: batch bool[20, 2, 3];"
        "local Y: batch f32[20, 2, 3]; local Z: batch f32[20, 2, 3]; local q: batch f32[20, 1];"
        "local D: batch f64[20, 2, 3]; m = less(A, t); Y = select(m, B, half); Z = min(A, B);"
        "q = convert<to = f32>(t); Z = max(Z, q); D = convert<to = f64>(A); return Y, Z, D; }";
    const Values inputs = inputs_of(parse(text));
    const Values results = run(text, inputs, Fusion::none);
    for (index_t i = 0; i < 120; ++i) {
        const auto in = [&](const char* name, index_t k) {
            return static_cast<float>(inputs.at(name).at(k).real());
        };
        const float a = in("A", i), b = in("B", i), t = in("t", i / 6);
        EXPECT_EQ(results.at("Y").at(i), std::complex<double>(a < t ? b : 0.5F));
        EXPECT_EQ(results.at("Z").at(i), std::complex<double>(std::max(std::min(a, b), t)));
        EXPECT_EQ(results.at("D").at(i), std::complex<double>(a));
    }
    expect_same_bits(run(text, inputs, Fusion::thesis, Tier::compiled), results);
}

TEST(ComposeBatch, EntriesAreThoseOfScalarArithmetic) {
    // In lanes, since all numbers of a kernel have one type.
    const std::string text =
        "program p { input A: batch f32[37, 2, 3]; input B: batch f32[37, 2, 3];"
        "input k: scalar f32; number half: f32 = 0.5; local c: scalar bool;"
        "local Y: batch f32[37, 2, 3]; local Z: batch f32[37, 2, 3];"
        "input C: batch c64[38, 2, 2]; input w: scalar c64; local D: batch c64[38, 2, 2];"
        "c = less(k, half); Y = divide(A, B); Y = multiply_add(Y, k, A); Z = abs(Y); Z = sqrt(Z);"
        "Z = rsqrt(Z);"
        "Z = min(Z, half); Y = max(Y, Z); Y = negate(Y); Y = select(c, A, Y); D = multiply(w, C);"
        "D = add(D, w); return Y, Z, D; }";
    Values inputs = inputs_of(parse(text));
    inputs.at("k").set(0, 0.75);
    const Values results = run(text, inputs, Fusion::none);
    for (index_t i = 0; i < 222; ++i) {
        const auto a = static_cast<float>(inputs.at("A").at(i).real());
        const auto b = static_cast<float>(inputs.at("B").at(i).real());
        const float y = std::fma(a / b, 0.75F, a);
        const float z = std::min(1 / std::sqrt(std::sqrt(std::abs(y))), 0.5F);
        EXPECT_EQ(results.at("Y").at(i), std::complex<double>(-std::max(y, z)));
        EXPECT_EQ(results.at("Z").at(i), std::complex<double>(z));
    }
    const auto w = inputs.at("w").at(0);
    for (index_t i = 0; i < 152; ++i) {
        EXPECT_LE(std::abs(results.at("D").at(i) - (w * inputs.at("C").at(i) + w)), 1e-6);
    }
    expect_same_bits(run(text, inputs), results);
    expect_same_bits(run(text, inputs, Fusion::thesis, Tier::compiled), results);
    expect_same_bits(run_on_simt(text, inputs, Fusion::thesis, core::LaneOrder::reverse), results);
}

/// The message of the error of a program with these statements.
std::string error_of(const std::string& statements) {
    const std::string text =
        "program p { input A: batch f32[9, 3, 3]; input C: batch f32[9, 4, 3];"
        "input x: batch f32[9, 3]; input B: batch f32[8, 3, 3]; input D: batch f64[9, 3, 3];"
        "input a: array f32[9, 3]; inout y: batch f32[9, 3]; local T: batch f32[9, 3, 3];" +
        statements + "return y; }";
    return refusal(text);
}

TEST(ComposeBatch, RefusesWhatDoesNotFit) {
    EXPECT_THAT(error_of("T = matrix_multiply(A, C);"), HasSubstr("their inner extents differ"));
    EXPECT_THAT(error_of("T = matrix_multiply(A, B);"), HasSubstr("their problems or types"));
    EXPECT_THAT(error_of("T = matrix_multiply(A, D);"), HasSubstr("types of numbers differ"));
    EXPECT_THAT(error_of("T = matrix_multiply(A);"), HasSubstr("has 2 operands, not 1"));
    EXPECT_THAT(error_of("T = matrix_multiply<a = turned>(A, A);"),
                HasSubstr("matrix_multiply: a turned: expected plain|transposed|adjoint"));
    EXPECT_THAT(error_of("T = matrix_multiply<c = plain>(A, A);"),
                HasSubstr("matrix_multiply has no attribute c"));
    EXPECT_THAT(error_of("y = matrix_multiply<b = adjoint>(A, x);"), HasSubstr("is a vector"));
    EXPECT_THAT(error_of("T = matrix_multiply(a, A);"),
                HasSubstr("array f32[9, 3]; expected a batch"));
    EXPECT_THAT(error_of("T = cholesky(C);"), HasSubstr("expected square matrices"));
    EXPECT_THAT(error_of("T = qr(x);"), HasSubstr("expected matrices"));
    EXPECT_THAT(error_of("y = add(x, a);"), HasSubstr("their extents differ"));
    EXPECT_THAT(error_of("y = solve(A, y);"), HasSubstr("reads other entries of y"));
    EXPECT_THAT(error_of("y = add(x, y);"), HasSubstr("nothing"));
    EXPECT_THAT(error_of("y = solve<matrix = 3>(A, x);"), HasSubstr("solve: matrix is a word"));
    EXPECT_THAT(error_of("T, y = lu<pivots = true>(A);"), HasSubstr("lu has 3 results, not 2"));
    EXPECT_THAT(error_of("T = lu<pivots = partial>(A);"),
                HasSubstr("lu: pivots partial: expected false|true"));
}

}  // namespace
}  // namespace aperture::compose
