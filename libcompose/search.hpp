// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aperture/compose/tune.hpp"
#include "aperture/core/array.hpp"
#include "aperture/core/error.hpp"
#include "libcompose/kernel_times.hpp"
#include "libcompose/memory.hpp"
#include "libcompose/wisdom.hpp"

namespace aperture::compose {

// What a search needs of an executor.

/// What a device has; rates are not set.
Machine limits_of(core::Cpu& cpu);
Machine limits_of(core::Gpu& gpu);
void measure_rates(core::Cpu& cpu, Machine& machine);
void measure_rates(core::Gpu& gpu, Machine& machine);

/// Makes the machine code of plans of one program, which executables take from this process then.
void compile(core::Cpu& cpu, std::span<const Plan> plans, Tier tier);
void compile(core::Gpu& gpu, std::span<const Plan> plans, Tier tier);

/// Between memory of the executor's space, or between it and the host's. Asynchronous on a GPU.
void copy_bytes(core::Cpu& cpu, const void* from, void* to, index_t bytes);
void copy_bytes(core::Gpu& gpu, const void* from, void* to, index_t bytes);

/// The machine of that name: as the process knows it, else as the wisdom file does, else as
/// `measure` finds it. Thread-safe.
Machine known_machine(const std::string& name, const Wisdom& wisdom,
                      const std::function<Machine()>& limits,
                      const std::function<void(Machine&)>& measure);

template <class Executor>
Machine known_machine(Executor& executor, const Wisdom& wisdom) {
    return known_machine(
        executor.name(), wisdom, [&] { return limits_of(executor); },
        [&](Machine& machine) { measure_rates(executor, machine); });
}

template <class Executor>
Machine measured_machine(Executor& executor) {
    return known_machine(executor, Wisdom(usual_wisdom_file()));
}

Tune tune_of(const Tuning& tuning);
Wisdom wisdom_of(const Tuning& tuning);

/// Of plans that are tried.
struct TrialLimits {
    std::size_t plans;
    double compile_seconds;  ///< roughly, of a thread, for the kernels that they have together
};
TrialLimits limits_of(const Tuning& tuning);

/// The plans that are worth a trial; the first one is the incumbent. `remembered` is taken if it is
/// a plan of the program, and alone unless the tuning is full.
std::vector<Plan> plans_to_try(const Program& program, const Registry& registry,
                               const Machine& machine, Tune tune,
                               const std::optional<Remembered>& remembered,
                               const TrialLimits& most);

struct Trials {
    std::size_t candidates = 0;  ///< that had time for a run that counts
    std::size_t best = 0;
    double seconds = 0;  ///< the least of the best; 0 if no run counts
};
/// Runs candidates in turn, by `seconds_of_run(i)`, as long as `most_seconds` of a clock last,
/// number 0 at least once. First runs do not count. Number 0 stays the best unless another one is 5
/// % faster.
Trials run_trials(std::size_t candidates, double most_seconds,
                  const std::function<double(std::size_t)>& seconds_of_run,
                  const std::function<double()>& clock);

/// Copies of the memory in place, with which every run begins. On a GPU they are on the one that
/// the thread used last.
template <class Executor>
class InPlace {
  public:
    InPlace(Executor& executor, const Program& program, const Arguments& arguments)
        : executor_(executor) {
        for (const Symbol& symbol : program.symbols) {
            if (symbol.source != Source::in_place || symbol.type.bytes() == 0) continue;
            void* const data = arguments.at(symbol.name).data;
            const index_t bytes = symbol.type.bytes();
            copies_.push_back({data, Bytes({bytes})});
            copy_bytes(executor_, data, copies_.back().bytes.data(), bytes);
        }
    }
    void restore() const {
        for (const Copy& copy : copies_) {
            copy_bytes(executor_, copy.bytes.data(), copy.of, copy.bytes.size());
        }
    }

  private:
    using Bytes = core::Array<std::byte, 1, typename Executor::Space>;
    struct Copy {
        void* of;
        Bytes bytes;
    };
    Executor& executor_;
    std::vector<Copy> copies_;
};

/// False if there is no memory for what `action` allocates.
template <class Action>
bool has_memory(const Action& action) {
    try {
        action();
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    } catch (const core::UnfitDevice&) {
        return false;
    }
}

template <class Executor>
Tuned<Executor> run_tuned(Executor& executor, const Program& program, const Registry& registry,
                          const Arguments& arguments, std::span<const Argument> results,
                          const Tuning& tuning) {
    const Tune tune = tune_of(tuning);
    const Wisdom wisdom = wisdom_of(tuning);
    const Machine machine = known_machine(executor, wisdom);
    const core::Stopwatch watch;
    const std::string device =
        executor.name() + (tuning.tier == Tier::interpreted ? ", interpreted" : "");
    const std::optional<Remembered> remembered =
        tune == Tune::off ? std::nullopt : wisdom.plan(device, program);
    std::vector<Plan> plans =
        plans_to_try(program, registry, machine, tune, remembered, limits_of(tuning));
    validate(program, arguments, results);

    if (plans.size() > 1) compile(executor, plans, tuning.tier);
    std::vector<Executable<Executor>> executables;
    executables.emplace_back(executor, plans.front(), tuning.tier);
    std::optional<InPlace<Executor>> in_place;
    const auto copy = [&] { in_place.emplace(executor, program, arguments); };
    if (plans.size() > 1 && !has_memory(copy)) plans.resize(1);
    for (std::size_t i = 1; i < plans.size(); ++i) {
        const auto add = [&] { executables.emplace_back(executor, plans[i], tuning.tier); };
        if (!has_memory(add)) break;
    }

    Trials trials;
    if (executables.size() > 1) {
        core::Timeline timeline;
        const auto seconds_of_run = [&](std::size_t i) {
            in_place->restore();
            return seconds_of(executor, timeline,
                              [&] { executables[i].run(executor, arguments, results); });
        };
        const auto now = [&] { return watch.seconds(); };
        try {
            trials =
                run_trials(executables.size(), tuning.most_seconds - now(), seconds_of_run, now);
        } catch (...) {
            try {
                in_place->restore();
            } catch (const core::DeviceError&) {  // The first error tells more.
            }
            throw;
        }
        in_place->restore();
    }
    Executable<Executor>& best = executables[trials.best];
    const CallsOfKernels kernels = calls_of_kernels(best.plan());
    const std::vector<int> loops = loop_kernels(best.plan());
    // Where compiling took all the time there is code for more trials at the next call.
    if (trials.candidates > 1 || trials.seconds > tuning.most_seconds / 3) {
        wisdom.keep(device, program,
                    {kernels, predicted_seconds(best.plan(), machine), trials.seconds, loops});
    } else if (trials.seconds == 0 && remembered && remembered->kernels == kernels &&
               remembered->loop_kernels == loops) {
        trials.seconds = remembered->measured_seconds;
    }
    best.run(executor, arguments, results);
    return {std::move(best), machine, trials.candidates, trials.seconds};
}

}  // namespace aperture::compose
