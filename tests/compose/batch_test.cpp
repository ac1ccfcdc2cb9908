// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Operations on batches of small matrices and vectors.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "libcompose/problem_groups.hpp"
#include "tests/compose/listing1.hpp"
#include "tests/compose/simt_executable.hpp"

namespace aperture::compose {
namespace {

using testing::HasSubstr;

/// A matrix of one problem in double precision: the oracle's.
struct Oracle {
    index_t rows = 0, columns = 0;
    std::vector<std::complex<double>> entries{};

    Oracle() = default;
    Oracle(index_t r, index_t c) : rows(r), columns(c), entries(std::size_t(r * c)) {}
    std::complex<double>& operator()(index_t r, index_t c) {
        return entries[std::size_t(r * columns + c)];
    }
    std::complex<double> operator()(index_t r, index_t c) const {
        return entries[std::size_t(r * columns + c)];
    }
    double size() const {
        double sum = 0;
        for (const auto& entry : entries) sum += std::norm(entry);
        return std::sqrt(sum);
    }
};
Oracle operator*(const Oracle& a, const Oracle& b) {
    Oracle c(a.rows, b.columns);
    for (index_t i = 0; i < a.rows; ++i) {
        for (index_t j = 0; j < b.columns; ++j) {
            for (index_t k = 0; k < a.columns; ++k) c(i, j) += a(i, k) * b(k, j);
        }
    }
    return c;
}
Oracle operator*(std::complex<double> factor, Oracle a) {
    for (auto& entry : a.entries) entry *= factor;
    return a;
}
Oracle operator+(Oracle a, const Oracle& b) {
    for (std::size_t i = 0; i < a.entries.size(); ++i) a.entries[i] += b.entries[i];
    return a;
}
Oracle operator-(const Oracle& a, const Oracle& b) { return a + -1.0 * b; }
Oracle transposed(const Oracle& a) {
    Oracle t(a.columns, a.rows);
    for (index_t i = 0; i < a.rows; ++i) {
        for (index_t j = 0; j < a.columns; ++j) t(j, i) = a(i, j);
    }
    return t;
}
Oracle adjoint(const Oracle& a) {
    Oracle t = transposed(a);
    for (auto& entry : t.entries) entry = std::conj(entry);
    return t;
}
Oracle identity(index_t order) {
    Oracle one(order, order);
    for (index_t i = 0; i < order; ++i) one(i, i) = 1;
    return one;
}

/// Numbers of symbols of any type.
class Numbers {
  public:
    Numbers() = default;
    explicit Numbers(const Type& of) : type_(of), bytes_(std::size_t(of.bytes())) {}

    const Type& type() const { return type_; }
    Argument argument() { return {bytes_.data(), type_}; }
    std::complex<double> at(index_t i) const {
        switch (type_.dtype) {
            case Dtype::f32:
                return entry<float>(i);
            case Dtype::f64:
                return entry<double>(i);
            case Dtype::c64:
                return entry<std::complex<float>>(i);
            default:
                return entry<std::complex<double>>(i);
        }
    }
    void set(index_t i, std::complex<double> value) {
        switch (type_.dtype) {
            case Dtype::f32:
                return set_entry(i, static_cast<float>(value.real()));
            case Dtype::f64:
                return set_entry(i, value.real());
            case Dtype::c64:
                return set_entry(i, std::complex<float>(value));
            default:
                return set_entry(i, value);
        }
    }
    Oracle problem(index_t p) const {
        Oracle all(type_.rows(), type_.columns());
        for (index_t i = 0; i < type_.numbers_of_problem(); ++i) {
            all.entries[std::size_t(i)] = at(p * type_.numbers_of_problem() + i);
        }
        return all;
    }
    void set_problem(index_t p, const Oracle& all) {
        for (index_t i = 0; i < type_.numbers_of_problem(); ++i) {
            set(p * type_.numbers_of_problem() + i, all.entries[std::size_t(i)]);
        }
    }
    friend bool operator==(const Numbers&, const Numbers&) = default;

  private:
    template <class T>
    T entry(index_t i) const {
        T value;
        std::memcpy(&value, bytes_.data() + std::size_t(i) * sizeof(T), sizeof(T));
        return value;
    }
    template <class T>
    void set_entry(index_t i, T value) {
        std::memcpy(bytes_.data() + std::size_t(i) * sizeof(T), &value, sizeof(T));
    }
    Type type_;
    std::vector<unsigned char> bytes_;
};
using Values = std::map<std::string, Numbers>;

void expect_same_bits(const Values& values, const Values& expected) {
    for (const auto& [name, numbers] : expected) {
        const Numbers& others = values.at(name);
        if (others == numbers) continue;
        for (index_t i = 0; i < numbers.type().size(); ++i) {
            EXPECT_EQ(others.at(i), numbers.at(i)) << name << ", number " << i;
        }
        ADD_FAILURE() << "other bits of " << name;
    }
}

/// Random inputs: symbols S... are positive definite.
Values inputs_of(const Program& program) {
    std::mt19937 generator(11);
    std::uniform_real_distribution<double> uniform(-1, 1);
    Values all;
    for (const Symbol& symbol : program.symbols) {
        if (symbol.source != Source::input && symbol.source != Source::in_place) continue;
        Numbers numbers(symbol.type);
        for (index_t i = 0; i < symbol.type.size(); ++i) {
            const double re = uniform(generator), im = uniform(generator);
            numbers.set(i, {re, im});
        }
        for (index_t p = 0; symbol.name[0] == 'S' && p < symbol.type.extent[0]; ++p) {
            const Oracle a = numbers.problem(p);
            numbers.set_problem(p, a * adjoint(a) + identity(a.rows));
        }
        all.emplace(symbol.name, std::move(numbers));
    }
    return all;
}

struct Memory {
    Memory(const Program& program, Values& inputs) {
        for (auto& [name, numbers] : inputs) arguments[name] = numbers.argument();
        for (const SymbolId id : returned(program)) {
            values.emplace_back(program[id].type);
            results.push_back(values.back().argument());
        }
    }
    Values named(const Program& program) const {
        Values all;
        for (std::size_t i = 0; i < values.size(); ++i) {
            all.emplace(program[returned(program)[i]].name, values[i]);
        }
        return all;
    }
    Arguments arguments;
    std::vector<Numbers> values;
    std::vector<Argument> results;
};

/// The values that a program returns.
Values run(const std::string& text, Values inputs, Fusion fusion = Fusion::thesis,
           Tier tier = Tier::interpreted, int threads = 2) {
    const Program program = parse(text);
    Memory memory(program, inputs);
    core::Cpu cpu(threads);
    Executable<core::Cpu>(cpu, plan(program, Registry(), fusion), tier)
        .run(cpu, memory.arguments, memory.results);
    return memory.named(program);
}
Values run_on_simt(const std::string& text, Values inputs, Fusion fusion, core::LaneOrder order) {
    const Program program = parse(text);
    Memory memory(program, inputs);
    core::Simt simt(order);
    SimtExecutable executable(plan(program, Registry(), fusion));
    core::expects(executable.reason.empty(), executable.reason);
    executable.run(simt, memory.arguments, memory.results);
    return memory.named(program);
}

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

/// The compiler takes too long for many sanitized kernels.
#if defined(APERTURE_SANITIZE)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

struct BitCase {
    Dtype dtype;
    index_t order;
};
class ComposeBatchBits : public testing::TestWithParam<BitCase> {};

/// Of sanitized kernels, one real and one complex type are enough.
std::vector<Dtype> compiled_types() {
    if (sanitized) return {Dtype::f64, Dtype::c64};
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
    if (sanitized) return;
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
        const int last = sanitized ? 2 : is_complex(dtype) ? 5 : 8;
        for (int first = 1; first <= last; first += 4) {
            const std::string text = calls_of_orders(dtype, first, std::min(first + 3, last));
            const Values inputs = inputs_of(parse(text));
            // Without fusion each call has the registers of a thread for itself.
            expect_same_bits(run_on_simt(text, inputs, Fusion::none, core::LaneOrder::random),
                             run(text, inputs, Fusion::none));
        }
    }
}

TEST(ComposeBatch, BlocksComputeAllProblemsOfAnyMemory) {
    // Rows of 9 numbers are copied in pieces of 16 bytes where they are aligned.
    const std::string text =
        "program p { input A: batch f32[1000, 3, 3]; input B: batch f32[1000, 3, 3];"
        "local C: batch f32[1000, 3, 3]; C = matrix_multiply(A, B); return C; }";
    const Program program = parse(text);
    const Values inputs = inputs_of(program);
    const Values expected = run(text, inputs);
    for (const std::size_t offset : {0, 1, 2}) {
        std::vector<float> memory[3];
        const auto argument = [&](int i, const Numbers* numbers) {
            memory[i].resize(9000 + offset);
            if (numbers != nullptr) {
                for (index_t k = 0; k < 9000; ++k) {
                    memory[i][std::size_t(k) + offset] = static_cast<float>(numbers->at(k).real());
                }
            }
            return Argument{memory[i].data() + offset, batch(Dtype::f32, {1000, 3, 3})};
        };
        const Arguments arguments{{"A", argument(0, &inputs.at("A"))},
                                  {"B", argument(1, &inputs.at("B"))}};
        const std::vector<Argument> results{argument(2, nullptr)};
        core::Simt simt(core::LaneOrder::random);
        SimtExecutable executable(plan(program, Registry(), Fusion::thesis));
        executable.most_blocks = 3;
        executable.run(simt, arguments, results);
        for (index_t k = 0; k < 9000; ++k) {
            ASSERT_EQ(memory[2][std::size_t(k) + offset], expected.at("C").at(k).real())
                << "number " << k << ", offset " << offset;
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

/// Kernels of a program's thesis plan, by their operations.
std::vector<std::vector<std::string>> kernels_of(const std::string& text) {
    std::vector<std::vector<std::string>> all;
    const Plan made = plan(parse(text), Registry(), Fusion::thesis);
    for (const Kernel* kernel : made.kernels()) {
        auto& operations = all.emplace_back();
        for (const PlannedCall& planned : kernel->calls) {
            operations.push_back(planned.call->operation);
        }
    }
    return all;
}
using Kernels = std::vector<std::vector<std::string>>;

TEST(ComposeBatch, CallsOfAsManyProblemsAreOneKernel) {
    const auto of = [](const std::string& statements) {
        return kernels_of(
            "program p { input A: batch f32[9, 3, 3]; input x: batch f32[9, 3];"
            "input B: batch f32[8, 3, 3]; input a: array f32[9]; input s: scalar f32;"
            "input H: batch f64[9, 60, 60]; local y: batch f32[9, 3]; local z: batch f32[9, 3];"
            "local C: batch f32[8, 3, 3]; local b: array f32[9]; local q: scalar f32;"
            "local d: batch f32[9, 1]; local G: batch f64[9, 60, 60];"
            "local F: batch f64[9, 60, 60];" +
            statements + "return y; }");
    };
    EXPECT_EQ(of("y = matrix_multiply(A, x); d = norm(y); y = multiply(y, d);"),
              (Kernels{{"matrix_multiply", "norm", "multiply"}}));
    EXPECT_EQ(of("q = add(s, s); z = multiply(q, x); y = solve(A, z);"),
              (Kernels{{"add", "multiply", "solve"}}));
    // Others numbers of problems, or elements of arrays.
    EXPECT_EQ(of("y = copy(x); C = transposed(B); b = add(a, a); y = add(y, x);"),
              (Kernels{{"copy"}, {"transposed"}, {"add"}, {"add"}}));
    // More than 48 KB.
    EXPECT_EQ(of("G = transposed(H); F = transposed(G); y = copy(x);"),
              (Kernels{{"transposed"}, {"transposed"}, {"copy"}}));
}

/// Threads that a device gives a problem of a program of one kernel.
int threads_of(const std::string& text) {
    const Plan made = plan(parse(text), Registry(), Fusion::thesis);
    return problem_groups(*made.kernels().at(0)).threads;
}

TEST(ComposeBatch, SmallProblemsHaveAThreadEach) {
    const auto product = [](const char* type, int order) {
        const std::string matrices = core::text("batch ", type, "[9, ", order, ", ", order, "]");
        return core::text("program p { input A: ", matrices, "; local B: ", matrices,
                          "; B = matrix_multiply(A, A); return B; }");
    };
    EXPECT_EQ(threads_of(product("f32", 8)), 1);
    EXPECT_EQ(threads_of(product("c64", 5)), 1);
    EXPECT_EQ(threads_of(product("f32", 16)), 32);
    EXPECT_EQ(threads_of(product("c128", 21)), 128);
    // Their workspaces would not fit registers, small results as they are.
    EXPECT_EQ(threads_of("program p { input A: batch f64[9, 12, 12]; input b: batch f64[9, 12];"
                         "local x: batch f64[9, 12]; x = solve(A, b); return x; }"),
              8);
}

TEST(ComposeBatch, Listing1IsOneKernel) {
    EXPECT_EQ(threads_of(listing1), 1);
    EXPECT_EQ(
        explain(plan(parse(listing1), Registry(), Fusion::thesis)),
        R"(kernel 1, 1001 problems: matrix_multiply matrix_multiply norm matrix_multiply add multiply
    loads A B c D E
    stores F
    on chip M1 v1 s1 M2 M3
    384 bytes and 378 operations a problem, of 636 bytes on chip
)");
    const Values inputs = inputs_of(parse(listing1));
    const Values results = run(listing1, inputs, Fusion::none);
    for (index_t p = 0; p < 1001; ++p) {
        const auto in = [&](const char* name) { return inputs.at(name).problem(p); };
        const double s = (in("A") * in("B") * in("c")).size();
        const Oracle expected = s * (in("D") * in("E") + in("D"));
        EXPECT_LE((results.at("F").problem(p) - expected).size(),
                  1e-6 * in("A").size() * in("B").size() * in("c").size() *
                      (in("D").size() * in("E").size() + in("D").size()));
    }
    expect_same_bits(run(listing1, inputs), results);
    expect_same_bits(run(listing1, inputs, Fusion::thesis, Tier::compiled), results);
    expect_same_bits(run_on_simt(listing1, inputs, Fusion::thesis, core::LaneOrder::reverse),
                     results);
}

TEST(ComposeBatch, AllPlansOfListing1HaveTheSameBits) {
    const Program program = parse(listing1);
    Values inputs = inputs_of(program);
    const Values expected = run(listing1, inputs, Fusion::none);
    std::vector<Plan> plans = best_plans(program, Registry(), 86);
    std::set<std::string> explained;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        Plan& planned = plans[rank];
        explained.insert(explain(planned));
        const Tier tier = rank % 40 == 3 ? Tier::compiled : Tier::interpreted;
        Memory memory(program, inputs);
        core::Cpu cpu(2);
        Executable<core::Cpu>(cpu, std::move(planned), tier)
            .run(cpu, memory.arguments, memory.results);
        expect_same_bits(memory.named(program), expected);
    }
    EXPECT_EQ(explained.size(), 86U);
}

/// A step of Kalman's filter: state x of covariance S, measurement z = H x + noise of covariance
/// S_R.
const char* const kalman = R"(program kalman {
    inout x: batch f64[77, 5];
    inout S: batch f64[77, 5, 5];
    input F: batch f64[77, 5, 5];
    input S_Q: batch f64[77, 5, 5];
    input H: batch f64[77, 2, 5];
    input S_R: batch f64[77, 2, 2];
    input z: batch f64[77, 2];
    local xp: batch f64[77, 5];
    local FS: batch f64[77, 5, 5];
    local P: batch f64[77, 5, 5];
    local HP: batch f64[77, 2, 5];
    local I: batch f64[77, 2, 2];
    local Kt: batch f64[77, 2, 5];
    local y: batch f64[77, 2];
    local Ky: batch f64[77, 5];
    local KHP: batch f64[77, 5, 5];
    xp = matrix_multiply(F, x);
    FS = matrix_multiply(F, S);
    P = matrix_multiply<b = transposed>(FS, F);
    P = add(P, S_Q);
    HP = matrix_multiply(H, P);
    I = matrix_multiply<b = transposed>(HP, H);
    I = add(I, S_R);
    Kt = solve<matrix = positive_definite>(I, HP);
    y = matrix_multiply(H, xp);
    y = subtract(z, y);
    Ky = matrix_multiply<a = transposed>(Kt, y);
    x = add(xp, Ky);
    KHP = matrix_multiply<a = transposed>(Kt, HP);
    S = subtract(P, KHP);
    return x, S;
}
)";

TEST(ComposeBatch, AStepOfKalmansFilterIsOneKernel) {
    EXPECT_EQ(kernels_of(kalman).size(), 1U);
    EXPECT_EQ(threads_of(kalman), 1);
    const Values inputs = inputs_of(parse(kalman));
    const Values results = run(kalman, inputs, Fusion::none);
    for (index_t p = 0; p < 77; ++p) {
        const auto in = [&](const char* name) { return inputs.at(name).problem(p); };
        const Oracle f = in("F"), h = in("H");
        const Oracle xp = f * in("x");
        const Oracle cov = f * in("S") * transposed(f) + in("S_Q");
        // The innovation's covariance is 2 x 2: its inverse is known.
        const Oracle innovation = h * cov * transposed(h) + in("S_R");
        const auto determinant =
            innovation(0, 0) * innovation(1, 1) - innovation(0, 1) * innovation(1, 0);
        Oracle inverse(2, 2);
        inverse(0, 0) = innovation(1, 1) / determinant;
        inverse(1, 1) = innovation(0, 0) / determinant;
        inverse(0, 1) = -innovation(0, 1) / determinant;
        inverse(1, 0) = -innovation(1, 0) / determinant;
        const Oracle gain = cov * transposed(h) * inverse;
        const Oracle x = xp + gain * (in("z") - h * xp), s = cov - gain * h * cov;
        EXPECT_LE((results.at("x").problem(p) - x).size(), 1e-12 * (1 + x.size()));
        EXPECT_LE((results.at("S").problem(p) - s).size(), 1e-12 * cov.size());
    }
    expect_same_bits(run(kalman, inputs), results);
    expect_same_bits(run(kalman, inputs, Fusion::thesis, Tier::compiled), results);
    expect_same_bits(run_on_simt(kalman, inputs, Fusion::thesis, core::LaneOrder::random), results);
}

TEST(ComposeBatch, LargeProblemsHaveTheSameBits) {
    // A block of threads a problem on a device; on a CPU a warp's worth of lanes does not fit.
    const std::string text =
        "program p { input S: batch f64[18, 40, 40]; input b: batch f64[18, 40];"
        "local x: batch f64[18, 40]; local L: batch f64[18, 40, 40];"
        "local P: batch f64[18, 40, 40]; x = solve(S, b); L = cholesky(S);"
        "P = matrix_multiply(S, S); return x, L, P; }";
    const Values inputs = inputs_of(parse(text));
    const Values expected = run(text, inputs, Fusion::none);
    expect_same_bits(run(text, inputs, Fusion::thesis, Tier::compiled), expected);
    expect_same_bits(run_on_simt(text, inputs, Fusion::thesis, core::LaneOrder::random), expected);
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
    try {
        plan(parse(text), Registry(), Fusion::thesis);
    } catch (const core::InvalidArgument& error) {
        return error.what();
    }
    return "no error";
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
    EXPECT_THAT(error_of("y = add(x, y);"), HasSubstr("no error"));
    EXPECT_THAT(error_of("y = solve<matrix = 3>(A, x);"), HasSubstr("solve: matrix is a word"));
    EXPECT_THAT(error_of("T, y = lu<pivots = true>(A);"), HasSubstr("lu has 3 results, not 2"));
    EXPECT_THAT(error_of("T = lu<pivots = partial>(A);"),
                HasSubstr("lu: pivots partial: expected false|true"));
}

}  // namespace
}  // namespace aperture::compose
