// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "aperture/compose/sweep.hpp"
#include "aperture/core/error.hpp"

namespace aperture::compose {

/// What the run for a value is called with.
struct ValueRun {
    Arguments arguments;
    std::vector<Argument> results;
};

/// Runs a plan for several values at a time, each of which goes its own way. On a CPU each thread
/// runs a value. On a GPU the blocks of a grid with the same blockIdx.z compute a value.
template <class Executor>
class SideBySide {
  public:
    /// Throws InvalidArgument on a GPU for plans that cannot (may_be_side_by_side).
    SideBySide(Plan plan, Tier tier);
    ~SideBySide();

    /// At most `width` at a time, on a GPU kernels::most_values at most. Returns those that failed,
    /// whose results may be anything.
    std::vector<FailedValue> run(Executor& executor, index_t values, index_t width,
                                 const std::function<ValueRun(index_t)>& run_of);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Whether a GPU can run values side by side: the plan calls no functions of libraries, and symbols
/// exchange their memory in few ways.
bool may_be_side_by_side(const Plan& plan);

/// Deals tasks out to the first `count` of some threads, which call `action(thread, task, failed)`.
/// A thread has a Cpu `alone`. Returns the values that failed in their order.
template <class Threads, class Action>
std::vector<FailedValue> deal_out(core::Cpu& cpu, Threads& threads, int count, index_t tasks,
                                  const Action& action) {
    std::vector<FailedValue> all;
    threads.front().alone.set_checkpoint([&] { cpu.checkpoint(); });
    std::atomic<index_t> next = 0;
    std::exception_ptr stopped;
#pragma omp parallel for schedule(static, 1) num_threads(count)
    for (int number = 0; number < count; ++number) {
        std::vector<FailedValue> failed;
        try {
            for (index_t task = next++; task < tasks; task = next++) {
                action(threads[static_cast<std::size_t>(number)], task, failed);
            }
        } catch (...) {
            next = tasks;
#pragma omp critical(aperture_sweep)
            stopped = std::current_exception();
        }
#pragma omp critical(aperture_sweep)
        all.insert(all.end(), failed.begin(), failed.end());
    }
    threads.front().alone.set_checkpoint({});
    if (stopped) std::rethrow_exception(stopped);
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    return all;
}

/// Runs for a value, and adds it to `failed` if a loop does not end.
template <class Executor>
void run_value(Executor& executor, Executable<Executor>& executable, index_t value,
               const ValueRun& run, std::vector<FailedValue>& failed) {
    try {
        executable.run(executor, run.arguments, run.results);
    } catch (const core::InvalidArgument& error) {
        // Arguments are valid.
        failed.push_back({value, error.what()});
    }
}

}  // namespace aperture::compose
