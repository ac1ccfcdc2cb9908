// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "aperture/core/choices.hpp"
#include "libcompose/kernel_groups.hpp"
#include "libcompose/loops.hpp"

namespace aperture::compose {

Machine known_machine(const std::string& name, const Wisdom& wisdom,
                      const std::function<Machine()>& limits,
                      const std::function<void(Machine&)>& measure) {
    static std::mutex mutex;
    static std::map<std::string, Machine> known;
    const std::scoped_lock lock(mutex);
    const auto found = known.find(name);
    if (found != known.end()) return found->second;
    Machine machine = limits();
    if (!wisdom.rates(name, machine)) {
        measure(machine);
        wisdom.keep_rates(name, machine);
    }
    return known.emplace(name, machine).first->second;
}

namespace {

/// Roughly what a compiler takes for a kernel of a larger text. Loops over a problem's numbers are
/// unrolled.
double seconds_to_compile(const Kernel& kernel) {
    double seconds = 0.035;
    for (const PlannedCall& planned : kernel.calls) {
        seconds += planned.match.level == Level::block ? 0.06 : 0.004;
    }
    return seconds;
}

/// Adds what a plan has that others have not, by their calls; those of a loop in one kernel follow
/// a -1.
void add_kernels(std::map<std::vector<int>, double>& seconds, const Plan& plan) {
    const CallsOfKernels calls = calls_of_kernels(plan);
    const std::vector<const Kernel*> kernels = plan.kernels();
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        if (is_generated(*kernels[i])) seconds[calls[i]] = seconds_to_compile(*kernels[i]);
    }
    for (const Step* loop : loops_in_one_kernel(plan)) {
        std::vector<int> of_body{-1};
        double sum = 0;
        for_each_kernel(loop_of(*loop)->body, [&](const Kernel& kernel) {
            const std::vector<int>& its = calls[static_cast<std::size_t>(kernel.number)];
            of_body.insert(of_body.end(), its.begin(), its.end());
            sum += seconds_to_compile(kernel);
        });
        seconds[of_body] = sum;
    }
}

}  // namespace

TrialLimits limits_of(const Tuning& tuning) {
    core::expects(tuning.most_plans > 0, "most_plans is 0; expected at least 1");
    constexpr double seconds = 0.8;
    return {tuning.most_plans, seconds * static_cast<double>(processors())};
}

Tune tune_of(const Tuning& tuning) {
    constexpr core::Choices<Tune, 3> words{
        {{"off", Tune::off}, {"incremental", Tune::incremental}, {"full", Tune::full}}};
    if (tuning.tune) return *tuning.tune;
    const char* const variable = std::getenv("APERTURE_TUNE");
    if (variable == nullptr || *variable == '\0') return Tune::incremental;
    return core::parse_choice("APERTURE_TUNE", words, variable);
}

Wisdom wisdom_of(const Tuning& tuning) {
    return Wisdom(tuning.wisdom.empty() ? usual_wisdom_file() : tuning.wisdom, tuning.read_only);
}

std::vector<Plan> plans_to_try(const Program& program, const Registry& registry,
                               const Machine& machine, Tune tune,
                               const std::optional<Remembered>& remembered,
                               const TrialLimits& most) {
    // What is predicted to take longer than this times the best is not worth a trial.
    constexpr double worthwhile = 1.5;
    if (tune == Tune::off) return {plan(program, registry, Fusion::planned, machine)};
    std::vector<Plan> all;
    if (remembered) {
        try {
            all.push_back(with_loop_kernels(plan(program, registry, remembered->kernels),
                                            remembered->loop_kernels));
        } catch (const core::InvalidArgument&) {
            // Not of this program, although the text has the same hash, or not of these extents.
        }
        if (!all.empty() && tune == Tune::incremental) return all;
    }
    if (all.empty()) all.push_back(plan(program, registry, Fusion::thesis));
    const auto key_of = [](const Plan& plan) {
        return std::pair(calls_of_kernels(plan), loop_kernels(plan));
    };
    std::set chosen{key_of(all.front())};
    std::map<std::vector<int>, double> to_compile;
    add_kernels(to_compile, all.front());
    std::vector<Plan> candidates = best_plans(program, registry, most.plans, machine);
    if (machine.multiprocessors > 0) {
        // The best one, with no loop as one kernel, and with all that can be.
        for (const auto& loops : {std::vector<int>(), possible_loop_kernels(candidates.front())}) {
            candidates.insert(candidates.begin() + 1, with_loop_kernels(candidates.front(), loops));
        }
    }
    double least = std::numeric_limits<double>::infinity();
    for (Plan& candidate : candidates) {
        const double seconds = predicted_seconds(candidate, machine);
        least = std::min(least, seconds);
        if (all.size() == most.plans || seconds > worthwhile * least) continue;
        std::map<std::vector<int>, double> with_its = to_compile;
        add_kernels(with_its, candidate);
        double compiling = 0;
        for (const auto& [calls, of_kernel] : with_its) compiling += of_kernel;
        // The best is always tried.
        if (all.size() > 1 && compiling > most.compile_seconds) continue;
        if (!chosen.insert(key_of(candidate)).second) continue;
        to_compile = std::move(with_its);
        all.push_back(std::move(candidate));
    }
    return all;
}

Trials run_trials(std::size_t candidates, double most_seconds,
                  const std::function<double(std::size_t)>& seconds_of_run,
                  const std::function<double()>& clock) {
    // Short runs are repeated, for the least of many is not that of another program's pauses.
    constexpr int enough_rounds = 4, most_rounds = 32;
    constexpr double share_of_rounds = 0.05, share_of_first_runs = 1.0 / 3, gain = 0.05;
    const double begin = clock();
    const auto elapsed = [&] { return clock() - begin; };

    std::size_t warm = 0;
    do {
        seconds_of_run(warm++);
    } while (warm < candidates && elapsed() < share_of_first_runs * most_seconds);
    std::vector<double> least(warm, std::numeric_limits<double>::infinity());
    for (int round = 0; round < most_rounds && elapsed() < most_seconds; ++round) {
        if (round >= enough_rounds && elapsed() >= share_of_rounds * most_seconds) break;
        for (std::size_t i = 0; i < warm && elapsed() < most_seconds; ++i) {
            least[i] = std::min(least[i], seconds_of_run(i));
        }
    }
    Trials trials;
    for (const double seconds : least) {
        if (std::isfinite(seconds)) ++trials.candidates;
    }
    if (trials.candidates == 0) return trials;
    const auto fastest = std::min_element(least.begin(), least.end());
    if (*fastest < (1 - gain) * least.front()) {
        trials.best = static_cast<std::size_t>(fastest - least.begin());
    }
    trials.seconds = least[trials.best];
    return trials;
}

void copy_bytes(core::Cpu&, const void* from, void* to, index_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

template Machine measured_machine(core::Cpu&);
template Tuned<core::Cpu> run_tuned(core::Cpu&, const Program&, const Registry&, const Arguments&,
                                    std::span<const Argument>, const Tuning&);

}  // namespace aperture::compose
