// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/search.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/compose/program_memory.hpp"
#include "tests/compose/random_program.hpp"
#include "tests/compose/run_on_gpu.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::compose {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// Trials of candidates that take a known time, by a clock that only they move.
class FakeTrials {
  public:
    explicit FakeTrials(std::vector<double> seconds, std::vector<double> first = {})
        : seconds_(std::move(seconds)), first_(std::move(first)) {}

    Trials run(double most_seconds) {
        return run_trials(
            seconds_.size(), most_seconds,
            [this](std::size_t i) {
                const bool is_first = order.size() == i && i < first_.size();
                const double taken = is_first ? first_[i] : seconds_[i];
                now_ += taken;
                order.push_back(i);
                return taken;
            },
            [this] { return now_; });
    }

    std::vector<std::size_t> order;

  private:
    std::vector<double> seconds_, first_;
    double now_ = 1000;
};

TEST(ComposeTrials, TheIncumbentStaysUnlessAnotherIsClearlyFaster) {
    EXPECT_EQ(FakeTrials({1.00, 0.96, 2}).run(100).best, 0U);
    EXPECT_EQ(FakeTrials({1.00, 1.00}).run(100).best, 0U);
    EXPECT_EQ(FakeTrials({1.00, 0.94, 2}).run(100).best, 1U);
    EXPECT_EQ(FakeTrials({1.00, 0.94, 0.93}).run(100).best, 2U);
    const Trials trials = FakeTrials({1.00, 0.96, 0.5}).run(100);
    EXPECT_EQ(trials.best, 2U);
    EXPECT_EQ(trials.seconds, 0.5);
    EXPECT_EQ(trials.candidates, 3U);
    EXPECT_EQ(FakeTrials({1.00, 0.96}).run(100).seconds, 1);
}

TEST(ComposeTrials, FirstRunsDoNotCount) {
    EXPECT_EQ(FakeTrials({1, 1}, {3, 0.1}).run(100).best, 0U);
    EXPECT_EQ(FakeTrials({1, 0.9}, {0.1, 3}).run(100).best, 1U);
}

TEST(ComposeTrials, TakeTurns) {
    FakeTrials trials({1, 2});
    trials.run(2000);
    EXPECT_EQ(trials.order.size(), 2 * 33U);
    for (std::size_t i = 0; i < trials.order.size(); ++i) EXPECT_EQ(trials.order[i], i % 2);
    // Long ones are repeated less.
    FakeTrials of_length({10, 10});
    of_length.run(200);
    EXPECT_EQ(of_length.order.size(), 2 * 5U);
}

TEST(ComposeTrials, EndInTime) {
    // First runs may take a third of the time, and a run that has begun ends.
    FakeTrials slow({1, 1, 1, 1, 0.1});
    const Trials trials = slow.run(5);
    EXPECT_THAT(slow.order, ElementsAre(0, 1, 0, 1, 0));
    EXPECT_EQ(trials.candidates, 2U);
    EXPECT_EQ(trials.best, 0U);
    FakeTrials slower({6, 1});
    EXPECT_EQ(slower.run(5).candidates, 0U);
    EXPECT_THAT(slower.order, ElementsAre(0));
    FakeTrials without_time({1, 0.1});
    const Trials none = without_time.run(-1);
    EXPECT_EQ(none.best, 0U);
    EXPECT_EQ(none.seconds, 0);
    EXPECT_THAT(without_time.order, ElementsAre(0));
}

/// Has a file for wisdom of its own, and no variable that says how to tune.
class ComposeTuning : public testing::Test {
  protected:
    ComposeTuning() {
        setenv("APERTURE_WISDOM", file_.c_str(), 1);
        unsetenv("APERTURE_TUNE");
        // Which plans are predicted to be worth a trial must not depend on what else runs here.
        Wisdom(file_).keep_rates(cpu_.name(), rates);
        EXPECT_EQ(measured_machine(cpu_).bytes_a_second, rates.bytes_a_second);
    }
    ~ComposeTuning() override {
        unsetenv("APERTURE_TUNE");
        unsetenv("APERTURE_WISDOM");
    }

    std::string wisdom() const {
        std::ifstream stream(file_);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    std::size_t plans_kept() const {
        std::size_t all = 0;
        const std::string text = wisdom();
        for (std::size_t at = 0; (at = text.find("\"kernels\"", at)) != std::string::npos; ++at) {
            ++all;
        }
        return all;
    }

    /// Without a compiler; with time for two first runs on a slow and busy machine.
    static Tuning quick(std::optional<Tune> tune = {}) {
        return {.tune = tune, .most_seconds = 10, .tier = Tier::interpreted};
    }
    Tuned<core::Cpu> run(const ProgramMemory& memory, const Tuning& tuning) {
        return run_tuned(cpu_, program_, Registry(), memory.arguments(), memory.results(), tuning);
    }

    static constexpr Machine rates{.bytes_a_second = 1e10,
                                   .flops_a_second = 1e11,
                                   .double_flops_a_second = 5e10,
                                   .launch_seconds = 5e-6};

    const tests::TemporaryFolder folder_;
    const fs::path file_ = folder_ / "plans.jsonl";
    core::Cpu cpu_{2};
    const Program program_ = parse(RandomProgram(3).text());
};

TEST_F(ComposeTuning, RunsOnceForTheCaller) {
    for (unsigned seed = 0; seed < 12; ++seed) {
        const Program program = parse(RandomProgram(seed).text());
        ProgramMemory once(program, seed), tuned(program, seed);
        Executable<core::Cpu> plain(cpu_, plan(program, Registry(), Fusion::none),
                                    Tier::interpreted);
        plain.run(cpu_, once.arguments(), once.results());
        auto made = run_tuned(cpu_, program, Registry(), tuned.arguments(), tuned.results(),
                              quick(Tune::full));
        EXPECT_GT(made.plans_tried, 1U) << "seed " << seed;
        EXPECT_GT(made.measured_seconds, 0) << "seed " << seed;
        EXPECT_EQ(tuned.bits(), once.bits()) << "seed " << seed;
        // And again, with what is in place.
        plain.run(cpu_, once.arguments(), once.results());
        made.executable.run(cpu_, tuned.arguments(), tuned.results());
        EXPECT_EQ(tuned.bits(), once.bits()) << "seed " << seed;
    }
}

TEST_F(ComposeTuning, RemembersPlans) {
    const ProgramMemory memory(program_, 1);
    const auto first = run(memory, quick());
    EXPECT_GT(first.plans_tried, 1U);
    EXPECT_LE(first.plans_tried, 8U);
    EXPECT_EQ(plans_kept(), 1U);
    const CallsOfKernels kernels = calls_of_kernels(first.executable.plan());

    const auto second = run(memory, quick());
    EXPECT_EQ(second.plans_tried, 0U);
    EXPECT_EQ(second.measured_seconds, first.measured_seconds);
    EXPECT_EQ(calls_of_kernels(second.executable.plan()), kernels);
    EXPECT_EQ(plans_kept(), 1U);

    EXPECT_GT(run(memory, quick(Tune::full)).plans_tried, 1U);
    EXPECT_EQ(plans_kept(), 2U);
}

TEST_F(ComposeTuning, TiersRememberTheirOwnPlans) {
    const Program program = parse(
        "program p { input a: array f32[1024, 1024]; local y: array f32[1024, 1024];"
        "local z: array f32[1024, 1024]; y = add(a, a); z = multiply(a, a); return y, z; }");
    ProgramMemory compiled(program, 1), interpreted(program, 1);
    Tuning tuning{.tune = {}, .most_plans = 2, .most_seconds = 60};
    const auto tried = [&](const ProgramMemory& memory) {
        return run_tuned(cpu_, program, Registry(), memory.arguments(), memory.results(), tuning)
            .plans_tried;
    };
    EXPECT_EQ(tried(compiled), 2U);
    EXPECT_EQ(tried(compiled), 0U);
    tuning.tier = Tier::interpreted;
    EXPECT_EQ(tried(interpreted), 2U);
    EXPECT_EQ(compiled.bits(), interpreted.bits());
}

TEST_F(ComposeTuning, TheRememberedPlanIsTheIncumbent) {
    const Machine machine = measured_machine(cpu_);
    const CallsOfKernels none = calls_of_kernels(plan(program_, Registry(), Fusion::none));
    TrialLimits limits{5, 100};
    const auto plans = [&](Tune tune, const CallsOfKernels& kernels) {
        std::vector<CallsOfKernels> all;
        for (const Plan& made :
             plans_to_try(program_, Registry(), machine, tune, Remembered{kernels, 1, 1}, limits)) {
            all.push_back(calls_of_kernels(made));
        }
        return all;
    };
    EXPECT_THAT(plans(Tune::incremental, none), ElementsAre(none));
    const auto tried = plans(Tune::full, none);
    EXPECT_EQ(tried.size(), 5U);
    EXPECT_EQ(tried.front(), none);
    EXPECT_EQ(std::set(tried.begin(), tried.end()).size(), tried.size());
    const auto thesis = calls_of_kernels(plan(program_, Registry(), Fusion::thesis));
    EXPECT_EQ(plans(Tune::incremental, {{0, 1}}).front(), thesis) << "an impossible one";
    EXPECT_EQ(plans(Tune::incremental, {{0, 1}}).size(), 5U);
    const auto best = calls_of_kernels(plan(program_, Registry(), Fusion::planned, machine));
    EXPECT_THAT(plans(Tune::off, none), ElementsAre(best));

    // The best is tried however long compilers take.
    limits.compile_seconds = 0;
    const Plan first = best_plans(program_, Registry(), limits.plans, machine).front();
    EXPECT_THAT(plans(Tune::full, none), ElementsAre(none, calls_of_kernels(first)));
}

TEST_F(ComposeTuning, LoopsAreTriedAsOneKernelAndAsSeveral) {
    const Program program = parse(
        "program p { inout x: array f32[388, 592]; constant n = 100; local i: iteration i64;"
        "number half: f32 = 0.5; local s: scalar f32; local c: scalar bool;"
        "for i in n { x = multiply(x, half); s = sum(x); c = less(s, half); if c { break; } }"
        "return x; }");
    using Loops = std::vector<int>;
    const auto tried = [&](const Machine& machine, const std::optional<Remembered>& remembered) {
        std::vector<Loops> all;
        for (const Plan& made : plans_to_try(program, Registry(), machine, Tune::incremental,
                                             remembered, {.plans = 5, .compile_seconds = 10})) {
            all.push_back(loop_kernels(made));
        }
        return all;
    };
    EXPECT_THAT(tried(h100, {}),
                testing::AllOf(testing::Contains(Loops{}), testing::Contains(Loops{0})));
    Machine slow = h100;
    slow.barrier_seconds = 25e-6;
    EXPECT_THAT(loop_kernels(plan(program, Registry(), Fusion::planned, slow)), ElementsAre());
    EXPECT_THAT(tried(slow, {}), testing::Contains(Loops{0}));
    EXPECT_THAT(tried(measured_machine(cpu_), {}), testing::Each(Loops{}));

    const CallsOfKernels kernels = calls_of_kernels(plan(program, Registry(), Fusion::thesis));
    EXPECT_THAT(tried(h100, Remembered{kernels, 1, 1, {0}}), ElementsAre(Loops{0}));
    EXPECT_THAT(tried(h100, Remembered{kernels, 1, 1}), ElementsAre(Loops{}));
    EXPECT_GT(tried(h100, Remembered{kernels, 1, 1, {1}}).size(), 1U) << "an impossible one";
}

TEST_F(ComposeTuning, ImpossiblePlansAreSoughtAgain) {
    const ProgramMemory memory(program_, 1);
    const std::string device = cpu_.name() + ", interpreted";
    Wisdom(file_).keep(device, program_, {{{0, 1, 2, 3, 4, 5, 6}}, 1, 1});
    EXPECT_GT(run(memory, quick()).plans_tried, 1U);
    EXPECT_EQ(plans_kept(), 2U);
    EXPECT_EQ(run(memory, quick()).plans_tried, 0U);
}

TEST_F(ComposeTuning, WithoutSearchThePredictedPlanRuns) {
    const ProgramMemory memory(program_, 1);
    setenv("APERTURE_TUNE", "off", 1);
    const auto made = run(memory, quick());
    EXPECT_EQ(made.plans_tried, 0U);
    EXPECT_EQ(made.measured_seconds, 0);
    EXPECT_EQ(plans_kept(), 0U);
    EXPECT_EQ(calls_of_kernels(made.executable.plan()),
              calls_of_kernels(plan(program_, Registry(), Fusion::planned, made.machine)));
    setenv("APERTURE_TUNE", "full", 1);
    EXPECT_GT(run(memory, quick()).plans_tried, 1U);
    EXPECT_EQ(run(memory, quick(Tune::off)).plans_tried, 0U) << "callers know better";
    setenv("APERTURE_TUNE", "much", 1);
    try {
        run(memory, quick());
        FAIL();
    } catch (const core::InvalidArgument& error) {
        EXPECT_STREQ(error.what(), "APERTURE_TUNE much: expected off|incremental|full");
    }
}

TEST_F(ComposeTuning, MayLeaveTheFileAlone) {
    const ProgramMemory memory(program_, 1);
    Tuning tuning = quick();
    tuning.read_only = true;
    EXPECT_GT(run(memory, tuning).plans_tried, 1U);
    EXPECT_EQ(plans_kept(), 0U);
    tuning.read_only = false;
    tuning.wisdom = folder_ / "other.jsonl";
    run(memory, tuning);
    EXPECT_EQ(plans_kept(), 0U);
    EXPECT_EQ(run(memory, tuning).plans_tried, 0U);
}

TEST_F(ComposeTuning, NeedsAPlan) {
    const ProgramMemory memory(program_, 1);
    Tuning tuning = quick();
    tuning.most_plans = 0;
    EXPECT_THROW(run(memory, tuning), core::InvalidArgument);
}

TEST_F(ComposeTuning, MemoryInPlaceIsRestoredAfterErrors) {
    // The loop does not end.
    const Program program = parse(
        "program p { inout x: array f32[9, 30]; inout c: scalar bool; stencil S: f32 zero {(0, 1): "
        "0.5};"
        "local y: array f32[9, 30]; local z: array f32[9, 30]; y = stencil_product(S, x);"
        "z = stencil_product(S, y); x = add(y, z); c = not(c);"
        "while c limit 3 { x = add(x, x); y = copy(x); c = or(c, c); } return y; }");
    const ProgramMemory memory(program, 1), before(program, 1);
    for (const ProgramMemory* of : {&memory, &before}) {
        *static_cast<bool*>(of->arguments().at("c").data) = false;
    }
    EXPECT_THROW(run_tuned(cpu_, program, Registry(), memory.arguments(), memory.results(),
                           quick(Tune::full)),
                 core::InvalidArgument);
    EXPECT_EQ(memory.bits()[0], before.bits()[0]);
    EXPECT_EQ(memory.bits()[1], before.bits()[1]);
    EXPECT_EQ(plans_kept(), 0U);

    Arguments arguments = memory.arguments();
    arguments.erase("x");
    EXPECT_THROW(run_tuned(cpu_, program, Registry(), arguments, memory.results(), quick()),
                 core::InvalidArgument);
}

TEST_F(ComposeTuning, MachinesAreMeasuredOnce) {
    const Wisdom wisdom(file_);
    int measured = 0;
    const auto machine = [&](const std::string& name) {
        return known_machine(
            name, wisdom, [] { return Machine{.multiprocessors = 3}; },
            [&](Machine& it) {
                ++measured;
                it = h100;
            });
    };
    const std::string name = core::text("a device of process ", getpid());
    EXPECT_EQ(machine(name).multiprocessors, 132);
    machine(name);
    EXPECT_EQ(measured, 1);
    Wisdom(file_).keep_rates(name + " before", h100);
    EXPECT_EQ(machine(name + " before").bytes_a_second, h100.bytes_a_second);
    EXPECT_EQ(machine(name + " before").multiprocessors, 3);
    EXPECT_EQ(measured, 1);
}

TEST_F(ComposeTuning, CpusHaveRates) {
    Machine machine = limits_of(cpu_);
    EXPECT_EQ(machine.multiprocessors, 0);
    measure_rates(cpu_, machine);
    EXPECT_GT(machine.bytes_a_second, 1e8);
    EXPECT_LT(machine.bytes_a_second, 1e13);
    EXPECT_GT(machine.flops_a_second, 1e8);
    EXPECT_GT(machine.flops_a_second, machine.double_flops_a_second);
    EXPECT_LT(machine.flops_a_second, 1e14);
    EXPECT_LT(machine.launch_seconds, 0.1);
    RecordProperty("gigabytes_a_second", std::to_string(1e-9 * machine.bytes_a_second));
}

TEST_F(ComposeTuning, KernelsAreTimed) {
    const ProgramMemory memory(program_, 1), other(program_, 1);
    Executable<core::Cpu> executable(cpu_, plan(program_, Registry(), Fusion::thesis),
                                     Tier::interpreted);
    executable.run(cpu_, other.arguments(), other.results());
    const auto seconds = executable.kernel_seconds(cpu_, memory.arguments(), memory.results());
    EXPECT_EQ(memory.bits(), other.bits());
    const auto kernels = executable.plan().kernels();
    ASSERT_EQ(seconds.size(), kernels.size());
    EXPECT_GT(seconds.front(), 0);
    for (const double of_kernel : seconds) {
        EXPECT_GE(of_kernel, 0);
        EXPECT_LT(of_kernel, 1);
    }
    EXPECT_THAT(explain(executable.plan(), h100, seconds), HasSubstr(" us measured"));
}

#if APERTURE_CUDA
using ComposeTuningGpu = tests::GpuTest;

TEST_F(ComposeTuningGpu, RunsOnceForTheCaller) {
    core::Gpu gpu;
    core::Cpu cpu;
    for (unsigned seed = 0; seed < 4; ++seed) {
        const Program program = parse(RandomProgram(seed).text());
        ProgramMemory once(program, seed), tuned(program, seed);
        Executable<core::Cpu>(cpu, plan(program, Registry(), Fusion::none), Tier::interpreted)
            .run(cpu, once.arguments(), once.results());
        run_on(gpu, program, tuned,
               [&](const Arguments& arguments, std::span<const Argument> results) {
                   auto made = run_tuned(gpu, program, Registry(), arguments, results,
                                         {.tune = Tune::full, .read_only = true});
                   EXPECT_GT(made.plans_tried, 1U);
                   RecordProperty(core::text("plans_", seed), int(made.plans_tried));
               });
        EXPECT_EQ(tuned.bits(), once.bits()) << "seed " << seed;
    }
}

TEST_F(ComposeTuningGpu, KernelsAreTimed) {
    core::Gpu gpu;
    const Program program = parse(RandomProgram(1).text());
    ProgramMemory together(program, 1), one_by_one(program, 1);
    Executable<core::Gpu> executable(gpu, plan(program, Registry(), Fusion::planned));
    run_on(gpu, executable, together);
    std::vector<double> seconds;
    run_on(gpu, program, one_by_one,
           [&](const Arguments& arguments, std::span<const Argument> results) {
               seconds = executable.kernel_seconds(gpu, arguments, results);
           });
    EXPECT_EQ(one_by_one.bits(), together.bits());
    ASSERT_EQ(seconds.size(), executable.plan().kernels().size());
    EXPECT_GT(seconds.front(), 0);
}

TEST_F(ComposeTuningGpu, HasRates) {
    core::Gpu gpu;
    Machine machine = limits_of(gpu);
    measure_rates(gpu, machine);
    const bool is_h100 = gpu.name().find("H100") != std::string::npos;
    const auto expect_near = [&](double value, double of_h100) {
        EXPECT_GT(value, of_h100 / (is_h100 ? 1.5 : 100));
        EXPECT_LT(value, of_h100 * (is_h100 ? 1.5 : 100));
    };
    expect_near(machine.bytes_a_second, h100.bytes_a_second);
    expect_near(machine.flops_a_second, h100.flops_a_second);
    expect_near(machine.double_flops_a_second, h100.double_flops_a_second);
    expect_near(machine.latency_seconds, 1.3 * h100.latency_seconds);
    expect_near(machine.launch_seconds, h100.launch_seconds);
    if (is_h100) {
        EXPECT_EQ(machine.multiprocessors, h100.multiprocessors);
        EXPECT_EQ(machine.registers, h100.registers);
        EXPECT_EQ(machine.shared_bytes, h100.shared_bytes);
        EXPECT_EQ(machine.warps, h100.warps);
        EXPECT_EQ(machine.blocks, h100.blocks);
    }
}
#endif

}  // namespace
}  // namespace aperture::compose
