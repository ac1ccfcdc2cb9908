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
#include <thread>

#include "aperture/core/choices.hpp"

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
                               const std::optional<Remembered>& remembered, std::size_t most) {
    // What is predicted to take longer than this times the best is not worth a trial.
    constexpr double worthwhile = 1.5;
    if (tune == Tune::off) return {plan(program, registry, Fusion::planned, machine)};
    std::vector<Plan> all;
    if (remembered) {
        try {
            all.push_back(plan(program, registry, remembered->kernels));
        } catch (const core::InvalidArgument&) {
            // Not of this program, although the text has the same hash, or not of these extents.
        }
        if (!all.empty() && tune == Tune::incremental) return all;
    }
    if (all.empty()) all.push_back(plan(program, registry, Fusion::thesis));
    double least = std::numeric_limits<double>::infinity();
    for (Plan& candidate : best_plans(program, registry, most, machine)) {
        const double seconds = predicted_seconds(candidate, machine);
        least = std::min(least, seconds);
        const CallsOfKernels kernels = calls_of_kernels(candidate);
        const bool is_new = std::none_of(all.begin(), all.end(), [&](const Plan& other) {
            return calls_of_kernels(other) == kernels;
        });
        if (is_new && all.size() < most && seconds <= worthwhile * least) {
            all.push_back(std::move(candidate));
        }
    }
    return all;
}

std::size_t compile_in_parallel(std::size_t count, double seconds,
                                const std::function<void(std::size_t)>& compile) {
    const core::Stopwatch watch;
    std::mutex mutex;
    std::size_t begun = 0;
    double longest = 0;
    const auto next = [&]() -> std::optional<std::size_t> {
        const std::scoped_lock lock(mutex);
        if (begun == count || (begun > 0 && watch.seconds() + longest >= seconds)) {
            return std::nullopt;
        }
        return begun++;
    };
    const auto work = [&] {
        while (const auto i = next()) {
            const core::Stopwatch of_this;
            try {
                compile(*i);
            } catch (const std::exception&) {
                // It is thrown again, on the caller's thread, by whoever makes the executable.
            }
            const std::scoped_lock lock(mutex);
            longest = std::max(longest, of_this.seconds());
        }
    };
    {
        std::vector<std::jthread> threads;
        const std::size_t most = std::max(std::thread::hardware_concurrency(), 1U);
        for (std::size_t i = 1; i < std::min(count, most); ++i) threads.emplace_back(work);
        work();
    }
    return begun;
}

Trials run_trials(std::size_t candidates, double most_seconds,
                  const std::function<double(std::size_t)>& seconds_of_run,
                  const std::function<double()>& clock) {
    // Short runs are repeated, for the least of many is not that of another program's pauses.
    constexpr int enough_rounds = 4, most_rounds = 32;
    constexpr double share_of_rounds = 0.1, share_of_first_runs = 1.0 / 3, gain = 0.05;
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
