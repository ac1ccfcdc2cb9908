// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/sweep.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "libcompose/lane_steps.hpp"
#include "libcompose/memory.hpp"
#include "libcompose/search.hpp"
#include "libcompose/sweep_programs.hpp"
#include "tests/compose/program_memory.hpp"
#include "tests/compose/random_program.hpp"
#include "tests/compose/simt_executable.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::compose {
namespace {

using testing::HasSubstr;

/// y = x, and counts how often it is computed.
class Counted : public Operation {
  public:
    explicit Counted(int& count) : count_(count) {}
    Match match(const CallSite& site) const override {
        return {Level::device, {site.type(0)}, std::vector<Access>(1)};
    }
    std::unique_ptr<DeviceCall<core::Cpu>> prepare(core::Cpu&,
                                                   const CallSite& site) const override {
        return std::make_unique<Run>(count_, site.type(0).bytes());
    }

  private:
    class Run : public DeviceCall<core::Cpu> {
      public:
        Run(int& count, index_t bytes) : count_(count), bytes_(bytes) {}
        void run(core::Cpu&, std::span<const void* const> operands,
                 std::span<void* const> results) override {
#pragma omp atomic
            ++count_;
            std::memcpy(results[0], operands[0], static_cast<std::size_t>(bytes_));
        }

      private:
        int& count_;
        index_t bytes_;
    };
    int& count_;
};
Registry with_count(const char* name, int& count, Registry registry = {}) {
    registry.add(name, std::make_shared<Counted>(count));
    return registry;
}

constexpr Machine some_cpu{
    .bytes_a_second = 1e10, .flops_a_second = 1e11, .launch_seconds = 1e-7, .cache_bytes = 1 << 20};

/// A program, and its results for several values of a parameter; what is not reached is there as
/// often.
class Sweeping {
  public:
    Sweeping(const std::string& text, std::vector<float> values, Registry registry = {},
             const std::string& parameter = "p")
        : program_(parse(text)),
          registry_(std::move(registry)),
          values_(std::move(values)),
          parameters_{parameter},
          memory_(program_, 7) {}

    using Bits = std::vector<std::vector<std::byte>>;

    /// Value by value.
    Bits single_runs(int threads = 2) {
        core::Cpu cpu(threads);
        Executable<core::Cpu> executable(cpu, plan(program_, registry_, Fusion::thesis),
                                         Tier::interpreted);
        Bits all(returned(program_).size());
        for (float& value : values_) {
            ProgramMemory memory(program_, 7);
            Arguments arguments = memory.arguments();
            arguments[parameters_[0]].data = &value;
            executable.run(cpu, arguments, memory.results());
            for (std::size_t i = 0; i < all.size(); ++i) append(all[i], memory.results()[i]);
        }
        return all;
    }
    Bits swept(const SweepOptions& options) {
        core::Cpu cpu(2);
        return swept(cpu, options);
    }
    template <class Executor>
    Bits swept(Executor& executor, SweepOptions options) {
        using Bytes = core::Array<std::byte, 1, typename Executor::Space>;
        if (!options.machine) options.machine = some_cpu;
        Sweep<Executor> sweep(executor, program_, registry_, parameters_, options);
        Arguments arguments = memory_.arguments();
        std::vector<Bytes> arrays;
        for (auto& [name, argument] : arguments) {
            const index_t bytes = argument.type.bytes();
            if (argument.type.is_scalar()) continue;
            arrays.emplace_back(core::Extents<1>{bytes});
            copy_bytes(executor, argument.data, arrays.back().data(), bytes);
            argument.data = arrays.back().data();
        }
        arguments[parameters_[0]] = argument(values_.data(), {index_t(values_.size())});
        std::vector<Argument> results;
        for (std::size_t i = 0; i < sweep.reached().size(); ++i) {
            const Type& type = program_[returned(program_)[i]].type;
            arrays.emplace_back(core::Extents<1>{type.bytes() * times(sweep, i)});
            results.push_back({arrays.back().data(), type});
        }
        // Again, with what is kept.
        for (int run = 0; run < 2; ++run) found = sweep.run(executor, arguments, results);
        Bits all;
        for (std::size_t i = 0; i < results.size(); ++i) {
            const index_t bytes = results[i].type.bytes() * times(sweep, i);
            std::vector<std::byte> host(static_cast<std::size_t>(bytes));
            copy_bytes(executor, results[i].data, host.data(), bytes);
            executor.synchronize();
            all.emplace_back();
            for (std::size_t k = 0; k < values_.size() && (k == 0 || !sweep.reached()[i]); ++k) {
                all.back().insert(all.back().end(), host.begin(), host.end());
            }
        }
        return all;
    }

    Swept found;

  private:
    template <class Executor>
    index_t times(const Sweep<Executor>& sweep, std::size_t result) const {
        return sweep.reached()[result] ? static_cast<index_t>(values_.size()) : 1;
    }
    static void append(std::vector<std::byte>& bits, const Argument& result) {
        const auto* const from = static_cast<const std::byte*>(result.data);
        bits.insert(bits.end(), from, from + result.type.bytes());
    }

    Program program_;
    Registry registry_;
    std::vector<float> values_;
    std::vector<std::string> parameters_;
    ProgramMemory memory_;
};

std::vector<float> some_values(std::size_t count) {
    std::vector<float> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = 0.1F + 0.9F * float(i) / float(count);
    return all;
}

constexpr SweepAxis one_by_one = SweepAxis::one_by_one, side_by_side = SweepAxis::side_by_side;

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

/// Random programs that overwrite no argument.
std::string swept_random_program(unsigned seed) {
    static const std::regex in_place("inout ([a-z]): ([^;]*);");
    std::string text = RandomProgram(seed).text();
    text = std::regex_replace(text, in_place, "input $1_given: $2; local $1: $2;");
    return text.replace(text.find("t = copy(a);"), 0,
                        "y = copy(y_given); w = copy(w_given); p = copy(p_given);\n");
}

/// Of `count` seeds, those of programs whose scalar s reaches a result.
std::vector<unsigned> seeds_of_sweeps(unsigned count) {
    const std::vector<std::string> parameters{"s"};
    std::vector<unsigned> seeds;
    for (unsigned seed = 0; seed < count; ++seed) {
        try {
            split(parse(swept_random_program(seed)), Registry(), parameters);
            seeds.push_back(seed);
        } catch (const core::InvalidArgument& error) {
            EXPECT_THAT(error.what(), HasSubstr("no result depends on"));
        }
    }
    return seeds;
}

TEST(ComposeSweep, HasTheBitsOfSingleRuns) {
    const std::vector<unsigned> seeds = seeds_of_sweeps(60);
    ASSERT_GT(seeds.size(), 45U);
    for (const unsigned seed : seeds) {
        Sweeping sweeping(swept_random_program(seed), {0.25F, -0.5F, 0.75F}, Registry(), "s");
        const auto expected = sweeping.single_runs();
        for (const SweepAxis axis : {one_by_one, side_by_side}) {
            EXPECT_EQ(sweeping.swept({.tier = Tier::interpreted, .axis = axis}), expected) << seed;
        }
    }
}

constexpr const char* newton =
    "program newton { input p: scalar f32; input a: array f32[9]; number half: f32 = 0.5;"
    "number tiny: f32 = 0.01; number one: f32 = 1; local x: scalar f32; local q: scalar f32;"
    "local s: scalar f32; constant n = 6; local i: iteration i64; local big: scalar bool;"
    "local f: scalar f32;"
    "s = dot(a, a); x = copy(one); f = copy(one); for i in n { q = divide(p, x); x = add(x, q);"
    "x = multiply(x, half); f = multiply(f, half); } q = multiply(x, x); q = exp(q);"
    "x = multiply_add(x, s, f); big = less(x, tiny); x = select(big, q, x); return x, q, big, f, "
    "s; }";

TEST(ComposeSweep, RunsScalarsInLanes) {
    for (const std::size_t count : {1U, 2U, 33U, 1000U}) {
        for (const Tier tier : {Tier::interpreted, Tier::automatic}) {
            Sweeping sweeping(newton, some_values(count));
            const auto expected = sweeping.single_runs();
            Machine machine = some_cpu;
            machine.cache_bytes = 4000;  // The last lanes overlap those before.
            EXPECT_EQ(sweeping.swept({.tier = tier, .machine = machine}), expected) << count;
            EXPECT_EQ(sweeping.found.axis == SweepAxis::lanes, count > 1);
            EXPECT_EQ(sweeping.found.scheme.scheme == Scheme::interleaved, count > 1);
        }
    }
}

constexpr const char* loaded =
    "program loaded { input R: batch f32[3, 4, 4]; input I: batch f32[3, 4, 4];"
    "input p: scalar f32; input b: batch f32[3, 4]; local A: batch f32[3, 4, 4];"
    "local L: batch f32[3, 4, 4]; local x: batch f32[3, 4]; local q: batch f32[3, 1];"
    "local k: scalar f32; number two: f32 = 2; local S: batch f32[3, 4, 4];"
    "S = rank_k(R); k = sqrt(p); k = add(k, two); L = multiply(k, I); A = add(S, L);"
    "x = solve(A, b); q = dot(x, b); return x, q, k; }";

TEST(ComposeSweep, RunsBatchesAsALargerBatch) {
    for (const Tier tier : {Tier::interpreted, Tier::automatic}) {
        Sweeping sweeping(loaded, some_values(70));
        EXPECT_EQ(sweeping.swept({.tier = tier, .machine = some_cpu}), sweeping.single_runs());
        EXPECT_EQ(sweeping.found.axis, SweepAxis::lanes);
        Machine small = some_cpu;
        small.cache_bytes = 1;
        EXPECT_EQ(sweeping.swept({.tier = tier, .machine = small}), sweeping.single_runs());
    }
}

TEST(ComposeSweep, LanesRunOnDevicesWithTheSameBits) {
    const std::vector<std::string> parameters{"p"};
    for (const char* const text : {newton, loaded}) {
        const SplitProgram programs = split(parse(text), Registry(), parameters);
        const auto wide = widened(programs.members, Registry(), parameters, 40);
        ASSERT_TRUE(wide.has_value());
        ProgramMemory expected(wide->program, 3), found(wide->program, 3);
        for (const ProgramMemory* memory : {&expected, &found}) {
            // Roots of others are NaN, of which any bits are right.
            const Argument& p = memory->arguments().at("p");
            float* const numbers = static_cast<float*>(p.data);
            std::transform(numbers, numbers + p.type.size(), numbers,
                           [](float x) { return std::abs(x); });
        }
        core::Cpu cpu(1);
        Executable<core::Cpu>(cpu, plan(wide->program, Registry(), Fusion::thesis),
                              Tier::interpreted)
            .run(cpu, expected.arguments(), expected.results());
        SimtExecutable executable(plan(wide->program, Registry(), Fusion::thesis));
        ASSERT_EQ(executable.reason, "");
        core::Simt simt;
        executable.run(simt, found.arguments(), found.results());
        EXPECT_EQ(found.bits(), expected.bits());
    }
}

TEST(ComposeSweep, ExplainsHowItRuns) {
    core::Cpu cpu(2);
    const auto explained = [&](const std::string& text, const SweepOptions& options) {
        return Sweep<core::Cpu>(cpu, parse(text), Registry(), {"p"}, options).explain(cpu, 40);
    };
    const std::string text =
        "program scales { input p: scalar f32; input a: array f32[300]; local w: array f32[300];"
        "local x: array f32[300]; w = exp(a); x = multiply(p, w); return x; }";
    EXPECT_THAT(explained(text, {.machine = some_cpu}),
                testing::MatchesRegex("once:\n.*exp.*for 40 values, side by side, 2 at a time; a "
                                      "task is .* us alone:\n.*multiply.*"));
    EXPECT_THAT(explained(text, {.axis = one_by_one, .machine = some_cpu}),
                HasSubstr("for 40 values, one by one, 1 at a time; "));
    EXPECT_THAT(explained(newton, {.machine = some_cpu}),
                HasSubstr("for 40 values, lanes, 40 at a time; tasks access memory alike"));
}

TEST(ComposeSweep, HasNoLanesOfArrays) {
    const std::string text =
        "program arrays { input p: scalar f32; input a: array f32[3]; local x: array f32[3];"
        "x = multiply(p, a); return x; }";
    Sweeping sweeping(text, some_values(9));
    EXPECT_EQ(sweeping.swept({}), sweeping.single_runs());
    EXPECT_EQ(sweeping.found.axis, side_by_side);
    try {
        sweeping.swept({.axis = SweepAxis::lanes});
        FAIL();
    } catch (const core::InvalidArgument& error) {
        EXPECT_STREQ(error.what(), "sweep: arrays cannot have values in lanes");
    }
}

/// Random programs of numbers, with loops and branches in one another that depend on p and end.
class RandomNumbers {
  public:
    explicit RandomNumbers(unsigned seed) : generator_(seed) { block(3); }

    std::string text() const {
        return "program numbers { input p: scalar f32; input s: scalar f32; constant n = 4;"
               "number k: f32 = 0.7; number h: f32 = 0.25; local x: scalar f32;"
               "local y: scalar f32; local z: scalar f32; local c: scalar bool;"
               "local i: iteration i64; local j: iteration i64; local l: iteration i64;"
               "x = copy(p); y = copy(s); z = multiply(p, s);" +
               statements_ + "return x, y, z; }";
    }

  private:
    std::string one_of(const std::vector<std::string>& words) {
        return words[std::uniform_int_distribution<std::size_t>(0, words.size() - 1)(generator_)];
    }
    std::string value() { return one_of({"x", "y", "z", "p", "s", "k", "h"}); }
    void call() {
        const std::string to = one_of({"x", "y", "z"});
        statements_ += to + " = " + one_of({"add", "subtract", "multiply", "min", "max"}) + "(" +
                       value() + ", " + value() + "); " + to + " = multiply(" + to + ", k); ";
        if (inside_ > 0 && one_of({"", "", "counter"}) == "counter") {
            statements_ += to + " = convert<to = f32>(" + counter(inside_ - 1) + ");";
        }
    }
    void condition() { statements_ += "c = less(" + value() + ", " + value() + "); "; }
    static std::string counter(int depth) { return {"ijl"[depth]}; }
    void block(int depth) {
        for (int i = 0; i < 3; ++i) {
            call();
            if (depth == 0) continue;
            switch (std::uniform_int_distribution<int>(0, 2)(generator_)) {
                case 0:
                    statements_ += "for " + counter(inside_) + " in n { ";
                    ++inside_;
                    block(depth - 1);
                    if (one_of({"break", ""}) == "break") {
                        condition();
                        statements_ += "if c { break; } ";
                        call();
                    }
                    --inside_;
                    statements_ += "} ";
                    break;
                case 1:
                    condition();
                    statements_ += "if c { ";
                    block(depth - 1);
                    if (inside_ > 0 && one_of({"break", ""}) == "break") statements_ += "break; ";
                    statements_ += "} else { ";
                    block(depth - 1);
                    statements_ += "} ";
                    break;
                default:
                    condition();
                    statements_ += "while c limit 100 { ";
                    call();
                    statements_ +=
                        "x = multiply(x, h); y = multiply(y, h); z = add(h, k);"
                        "c = less(z, x); } ";
            }
        }
    }

    std::mt19937 generator_;
    std::string statements_;
    int inside_ = 0;  ///< counted loops
};

TEST(ComposeSweep, LanesOfValuesThatGoTheirOwnWaysHaveTheBitsOfSingleRuns) {
    std::vector<float> values = some_values(45);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= i % 2 == 0 ? 3.0F : -1.0F;
    for (unsigned seed = 0; seed < 40; ++seed) {
        const std::string text = RandomNumbers(seed).text();
        Sweeping sweeping(text, values);
        const Tier tier = seed < 1 ? Tier::automatic : Tier::interpreted;
        EXPECT_EQ(sweeping.swept({.tier = tier, .axis = SweepAxis::lanes}), sweeping.single_runs())
            << text;
    }
}

TEST(ComposeSweep, LanesOfBatchesMayGoTheirOwnWays) {
    const std::string text =
        "program steps { input A: batch f32[3, 2, 2]; input b: batch f32[3, 2];"
        "input p: scalar f32; local x: batch f32[3, 2]; local y: batch f32[3, 2];"
        "number tiny: f32 = 0.1; number half: f32 = 0.5; local q: scalar f32; local c: scalar bool;"
        "x = copy(b); q = copy(p); c = less(tiny, q); while c limit 50 {"
        "y = matrix_multiply(A, x); y = multiply(q, y); x = add(x, y); q = multiply(q, half);"
        "c = less(tiny, q); } return x, q; }";
    for (const Tier tier : {Tier::interpreted, Tier::automatic}) {
        Sweeping sweeping(text, {0.05F, 3, 0.7F, 100, 0.2F});
        EXPECT_EQ(sweeping.swept({.tier = tier, .axis = SweepAxis::lanes}), sweeping.single_runs());
    }
}

/// y = x of numbers, and counts them.
class CountedNumbers : public Operation {
  public:
    explicit CountedNumbers(std::atomic<index_t>& count) : count_(count) {}
    Match match(const CallSite& site) const override {
        return {Level::element, {site.type(0)}, std::vector<Access>(1)};
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        count_ += piece.count;
        std::memcpy(results[0], operands[0].here,
                    static_cast<std::size_t>(piece.count * bytes_of(site.type(0).dtype)));
    }

  private:
    std::atomic<index_t>& count_;
};

TEST(ComposeSweep, LanesStopOneByOne) {
    const std::string text =
        "program halving { input p: scalar f32; number half: f32 = 0.5; local x: scalar f32;"
        "local c: scalar bool; x = copy(half); c = less(p, x); while c limit 80 { x = each(x);"
        "x = multiply(x, half); c = less(p, x); } return x; }";
    std::vector<float> values;
    index_t steps = 0;
    for (int i = 0; i < 5000; ++i) {
        values.push_back(std::ldexp(1.0F, -1 - (i * i) % 61));
        steps += (i * i) % 61;
    }
    std::atomic<index_t> each = 0;
    Registry registry;
    registry.add("each", std::make_shared<CountedNumbers>(each));
    Sweeping sweeping(text, values, registry);
    const auto swept = sweeping.swept({.tier = Tier::interpreted});
    EXPECT_EQ(sweeping.found.axis, SweepAxis::lanes);
    EXPECT_FALSE(sweeping.found.scheme.reason.empty());
    constexpr index_t runs = 2;
    EXPECT_EQ(each, runs * steps);
    EXPECT_EQ(swept, sweeping.single_runs());
}

TEST(ComposeSweep, ALaneThatFailsLeavesTheOthers) {
    const std::string text =
        "program halving { input p: scalar f32; number half: f32 = 0.5; local x: scalar f32;"
        "local c: scalar bool; local w: scalar bool; x = copy(half); c = less(p, x);"
        "while c limit 6 { x = multiply(x, half); c = less(p, x); } w = less(x, half);"
        "while w limit 3 { w = less(half, x); } return x, w; }";
    Sweeping sweeping(text, {0.25F, 0, 0.125F, std::ldexp(1.0F, -9), 0.3F});
    const auto all = sweeping.swept({.tier = Tier::interpreted, .axis = SweepAxis::lanes});
    ASSERT_EQ(sweeping.found.failed.size(), 2U);
    EXPECT_EQ(sweeping.found.failed[0].number, 1);
    EXPECT_EQ(sweeping.found.failed[1].number, 3);
    EXPECT_EQ(sweeping.found.failed[1].message, "a loop did not end after 6 times");
    std::vector<float> x(5);
    std::memcpy(x.data(), all[0].data(), sizeof(float) * x.size());
    EXPECT_TRUE(std::isnan(x[1]) && std::isnan(x[3]));
    EXPECT_THAT((std::vector{x[0], x[2], x[4]}), testing::ElementsAre(0.25F, 0.125F, 0.25F));
}

/// Memory of values that the SIMT executor computes side by side, as LaneSteps sees it.
class SimtGrid {
  public:
    SimtGrid(const SimtExecutable& executable, std::deque<HostMemory>& memories)
        : executable_(executable), memories_(memories), flags_(memories.size()) {
        for (HostMemory& memory : memories) order_.push_back(&memory);
    }
    void run(const Kernel& kernel, index_t first, index_t end) {
        std::vector<void* const*> rows;
        for (index_t place = first; place < end; ++place) {
            HostMemory& memory = *order_[std::size_t(place)];
            if (kernel.exchanges) memory.exchange(kernel);
            rows.push_back(memory.symbols());
        }
        if (!kernel.exchanges) executable_.launch(simt_, kernel, rows);
    }
    void store(SymbolId variable, std::int64_t i, index_t first, index_t end) const {
        for (index_t place = first; place < end; ++place) {
            order_[std::size_t(place)]->store(variable, i);
        }
    }
    Flags flags(SymbolId condition, index_t first, index_t end) {
        for (index_t place = first; place < end; ++place) {
            const bool holds = order_[std::size_t(place)]->load<bool>(condition);
            flags_[std::size_t(place)] = std::byte{holds};
        }
        return {flags_.data(), 1};
    }
    void swap(std::span<const index_t> back, std::span<const index_t> front) {
        for (std::size_t i = 0; i < back.size(); ++i) {
            std::swap(order_[std::size_t(back[i])], order_[std::size_t(front[i])]);
        }
    }

  private:
    core::Simt simt_;
    const SimtExecutable& executable_;
    std::deque<HostMemory>& memories_;
    std::vector<HostMemory*> order_;
    std::vector<std::byte> flags_;
};

/// Runs of a program for several values, with the bits of the interpreter's.
void expect_single_runs_on_a_device(const Program& program, std::size_t values,
                                    const std::string& what) {
    const SimtExecutable executable(plan(program, Registry(), Fusion::thesis));
    ASSERT_EQ(executable.reason, "");
    std::deque<ProgramMemory> found, expected;
    std::deque<HostMemory> memories;
    core::Cpu cpu(1);
    Executable<core::Cpu> interpreted(cpu, plan(program, Registry(), Fusion::thesis),
                                      Tier::interpreted);
    for (unsigned seed = 0; seed < values; ++seed) {
        found.emplace_back(program, seed);
        memories.emplace_back(executable.plan());
        memories.back().bind(found.back().arguments(), found.back().results());
        expected.emplace_back(program, seed);
        interpreted.run(cpu, expected.back().arguments(), expected.back().results());
    }
    SimtGrid grid(executable, memories);
    LaneSteps steps(program, grid, index_t(values));
    steps.walk(executable.plan().steps, 0, index_t(values));
    for (std::size_t i = 0; i < values; ++i) {
        memories[i].finish(found[i].results());
        EXPECT_EQ(found[i].bits(), expected[i].bits()) << what << ", value " << i;
    }
}

TEST(ComposeSweep, ADeviceRunsValuesSideBySide) {
    const std::string images = swept_random_program(3);
    expect_single_runs_on_a_device(parse(images), 3, images);
    // Values go their own ways, by scalars, images and sums, with exchanges of memory.
    const std::string text = RandomNumbers(5).text();
    expect_single_runs_on_a_device(parse(text), kernels::most_values, text);
    expect_single_runs_on_a_device(
        parse("program shrinks { input a: array f32[9, 40]; input p: scalar f32;"
              "number half: f32 = 0.5; number tiny: f32 = 0.01; constant n = 5;"
              "local i: iteration i64; local x: array f32[9, 40]; local y: array f32[9, 40];"
              "local q: scalar f32; local c: scalar bool; local r: array f32[9];"
              "stencil S: f32 replicate {(0, -1): 0.4, (1, 0): 0.4};"
              "x = multiply(p, a); q = abs(p); c = less(tiny, q); while c limit 20 {"
              "y = stencil_product(S, x); q = multiply(q, half); x = copy(y); c = less(tiny, q); }"
              "for i in n { c = less(q, p); if c { y = stencil_product(S, x); x = copy(y); break; }"
              "y = add(x, a); x = copy(y); } q = sum(x); r = row_sums(x); return x, q, r; }"),
        5, "shrinks");
}

/// Halves x until it is less than p: -log2(p) steps.
std::string halving(int limit) {
    return "program halving { input a: array f32[3]; input p: scalar f32; number half: f32 = 0.5;"
           "local x: array f32[3]; local y: array f32[3]; local q: scalar f32;"
           "local c: scalar bool; x = once(a); x = subtract(x, x); x = add(x, half); q = "
           "largest(x); c = less(p, q);"
           "while c limit " +
           std::to_string(limit) +
           " { y = each(x); x = multiply(y, half); q = largest(x); c = less(p, q); } return x, q; "
           "}";
}

TEST(ComposeSweep, ValuesStopOneByOne) {
    std::vector<float> values;
    for (int i = 0; i < 64; ++i) values.push_back(std::ldexp(1.0F, -1 - (i * i) % 61));
    int steps = 0, most = 0;
    for (int i = 0; i < 64; ++i) {
        steps += (i * i) % 61;
        most = std::max(most, (i * i) % 61);
    }
    ASSERT_GT(64 * most, 2 * steps);
    for (const SweepAxis axis : {one_by_one, side_by_side}) {
        int once = 0, each = 0;
        Sweeping sweeping(halving(100), values, with_count("each", each, with_count("once", once)));
        const auto swept = sweeping.swept({.tier = Tier::interpreted, .axis = axis});
        // As many steps as all values need, not 64 times as many as that which needs most.
        constexpr int runs = 2;
        EXPECT_EQ(each, runs * steps);
        EXPECT_EQ(once, runs);
        EXPECT_EQ(swept, sweeping.single_runs());
    }
}

TEST(ComposeSweep, KeepsTheResultsOfOthersWhereAValueFails) {
    for (const SweepAxis axis : {one_by_one, side_by_side}) {
        int once = 0, each = 0;
        const Registry registry = with_count("each", each, with_count("once", once));
        // 0 has no end, 2^-9 too late a one.
        Sweeping sweeping(halving(6), {0.25F, 0, 0.125F, std::ldexp(1.0F, -9), 0.3F}, registry);
        const auto all = sweeping.swept({.tier = Tier::interpreted, .axis = axis});
        ASSERT_EQ(sweeping.found.failed.size(), 2);
        EXPECT_EQ(sweeping.found.failed[0].number, 1);
        EXPECT_EQ(sweeping.found.failed[1].number, 3);
        EXPECT_EQ(sweeping.found.failed[0].message, "a loop did not end after 6 times");
        Sweeping others(halving(6), {0.25F, 0.125F, 0.3F}, registry);
        const auto expected = others.single_runs();
        std::vector<float> q(5), expected_q(3);
        std::memcpy(q.data(), all[1].data(), 20);
        std::memcpy(expected_q.data(), expected[1].data(), 12);
        EXPECT_TRUE(std::isnan(q[1]) && std::isnan(q[3]));
        EXPECT_EQ((std::vector{q[0], q[2], q[4]}), expected_q);
    }
}

TEST(ComposeSweep, SweepsAMillionValues) {
    constexpr index_t count = 1000000;
    const Program line = parse(
        "program line { input p: scalar f32; input a: scalar f32; local y: scalar f32;"
        "y = multiply_add(p, p, a); return y; }");
    const std::vector<float> values = some_values(count);
    std::vector<float> y(count);
    const float a = 0.3F;
    core::Cpu cpu(2);
    Sweep<core::Cpu> sweep(cpu, line, Registry(), {"p"}, {.machine = some_cpu});
    const Swept swept =
        sweep.run(cpu, {{"p", argument(values.data(), {count})}, {"a", argument(&a, {})}},
                  std::vector<Argument>{argument(y.data(), {})});
    EXPECT_EQ(swept.axis, SweepAxis::lanes);
    for (std::size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(y[i], std::fma(values[i], values[i], a)) << i;
    }
}

/// The message of the error of a sweep over these parameters.
std::string error_of(const std::string& statements, const std::vector<std::string>& parameters,
                     index_t p_values = 3, index_t s_values = 3) {
    const Program program = parse(
        "program p { input a: array f32[3]; input p: scalar f32; input s: scalar f32;"
        "local x: array f32[3]; " +
        statements + "}");
    std::vector<float> a(3), values(9), memory(99);
    core::Cpu cpu(1);
    const std::vector<Argument> results{argument(memory.data(), {3})};
    try {
        Sweep<core::Cpu>(cpu, program, Registry(), parameters,
                         {.tier = Tier::interpreted, .machine = some_cpu})
            .run(cpu,
                 {{"a", argument(a.data(), {3})},
                  {"p", argument(values.data(), {p_values})},
                  {"s", argument(values.data(), {s_values})}},
                 results);
    } catch (const core::InvalidArgument& error) {
        return error.what();
    }
    return "nothing";
}

TEST(ComposeSweep, RefusesWhatIsNoSweep) {
    const std::string both = "x = multiply(p, a); x = add(x, s); return x;";
    EXPECT_EQ(error_of(both, {"p", "s"}), "nothing");
    EXPECT_EQ(error_of(both, {}), "sweep: there is no parameter");
    EXPECT_EQ(error_of(both, {"p", "t"}), "sweep: p has no input t");
    EXPECT_EQ(error_of(both, {"x"}), "sweep: p has no input x");
    EXPECT_EQ(error_of(both, {"a"}), "sweep: a is of type array f32[3]; expected a scalar");
    EXPECT_EQ(error_of(both, {"p", "p"}), "sweep: p occurs twice");
    EXPECT_EQ(error_of(both, {"p", "s"}, 0), "sweep: the list of p is empty");
    EXPECT_EQ(error_of(both, {"p", "s"}, 3, 4), "sweep: s has 4 values, p has 3");
    EXPECT_EQ(error_of("x = multiply(p, a); return x;", {"p", "s"}),
              "sweep: no result depends on s");
    EXPECT_EQ(error_of("x = negate(a); return x;", {"p"}),
              "sweep: no result depends on a parameter");
    EXPECT_EQ(error_of(both, {"p"}), "s is of type array f32[3], not a scalar f32");
    const Program in_place =
        parse("program q { input p: scalar f32; inout y: array f32[3]; y = add(y, p); return y; }");
    const std::vector<std::string> parameters{"p"};
    EXPECT_THAT([&] { split(in_place, Registry(), parameters); },
                testing::ThrowsMessage<core::InvalidArgument>(HasSubstr("y is overwritten")));
}

#if APERTURE_CUDA
using ComposeSweepGpu = tests::GpuTest;

TEST_F(ComposeSweepGpu, HasTheBitsOfSingleRunsOnACpu) {
    core::Gpu gpu;
    for (const char* const text : {newton, loaded}) {
        Sweeping sweeping(text, some_values(70));
        EXPECT_EQ(sweeping.swept(gpu, {.machine = h100}), sweeping.single_runs());
        EXPECT_EQ(sweeping.found.axis, SweepAxis::lanes);
        EXPECT_EQ(sweeping.swept(gpu, {.axis = one_by_one, .machine = h100}),
                  sweeping.single_runs());
    }
    for (const unsigned seed : seeds_of_sweeps(5)) {
        Sweeping sweeping(swept_random_program(seed), {0.25F, -0.5F, 0.75F}, Registry(), "s");
        for (const Fusion fusion : {Fusion::thesis, Fusion::none}) {
            const auto found = sweeping.swept(gpu, {.fusion = fusion, .machine = h100});
            EXPECT_EQ(found, sweeping.single_runs()) << seed;
            EXPECT_EQ(sweeping.found.axis, side_by_side);
        }
    }
}

TEST_F(ComposeSweepGpu, ValuesGoTheirOwnWays) {
    core::Gpu gpu;
    std::vector<float> values = some_values(45);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= i % 2 == 0 ? 3.0F : -1.0F;
    for (const unsigned seed : {0U, 1U, 2U}) {
        const std::string text = RandomNumbers(seed).text();
        Sweeping sweeping(text, values);
        const SweepOptions options{.axis = side_by_side, .machine = h100};
        EXPECT_EQ(sweeping.swept(gpu, options), sweeping.single_runs()) << text;
    }
}

TEST_F(ComposeSweepGpu, KeepsTheResultsOfOthersWhereAValueFails) {
    const std::string text = std::regex_replace(
        std::regex_replace(halving(6), std::regex("once"), "negate"), std::regex("each"), "copy");
    core::Gpu gpu;
    Sweeping sweeping(text, {0.25F, 0, 0.125F, 0.3F});
    for (const SweepAxis axis : {one_by_one, side_by_side}) {
        const auto all = sweeping.swept(gpu, {.axis = axis, .machine = h100});
        ASSERT_EQ(sweeping.found.failed.size(), 1U);
        EXPECT_EQ(sweeping.found.failed[0].number, 1);
        std::vector<float> q(4);
        std::memcpy(q.data(), all[1].data(), sizeof(float) * q.size());
        EXPECT_TRUE(std::isnan(q[1]));
        EXPECT_THAT((std::vector{q[0], q[2], q[3]}), testing::ElementsAre(0.25F, 0.125F, 0.25F));
    }
}
#endif

}  // namespace
}  // namespace aperture::compose
