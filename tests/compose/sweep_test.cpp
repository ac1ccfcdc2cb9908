// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/sweep.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <regex>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "tests/compose/sweeping.hpp"
#include "tests/compose/swept_programs.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::compose {
namespace {

using testing::HasSubstr;

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
