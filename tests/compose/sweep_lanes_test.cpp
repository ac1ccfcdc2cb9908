// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "libcompose/sweep_programs.hpp"
#include "tests/compose/simt_executable.hpp"
#include "tests/compose/sweeping.hpp"
#include "tests/compose/swept_programs.hpp"

namespace aperture::compose {
namespace {

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

}  // namespace
}  // namespace aperture::compose
