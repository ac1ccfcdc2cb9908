// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "libcompose/emit.hpp"
#include "libcompose/gpu/graph.hpp"
#include "libcompose/kernel_times.hpp"
#include "libcompose/library_call.hpp"
#include "libcompose/loops.hpp"
#include "libcompose/memory.hpp"
#include "libcompose/steps.hpp"
#include "libcore/gpu/cuda_check.hpp"

namespace aperture::compose {
namespace {

bool calls_libraries(const Plan& plan) {
    const auto kernels = plan.kernels();
    return std::any_of(kernels.begin(), kernels.end(), [](const Kernel* kernel) {
        return !kernel->exchanges && !is_generated(*kernel);
    });
}

bool has_while(const std::vector<Step>& steps) {
    bool some = false;
    for_each_loop(steps, [&](const Step& step, const LoopStep&) {
        some = some || std::holds_alternative<RepeatWhile>(step.what);
        return !some;
    });
    return some;
}

template <class T>
T value_on_host(core::Gpu& gpu, const void* device) {
    T value{};
    APERTURE_CUDA_TRY(
        cudaMemcpyAsync(&value, device, sizeof(value), cudaMemcpyDeviceToHost, gpu.stream()));
    gpu.synchronize();
    return value;
}

/// Memory of a run that the host walks through, as Steps sees it.
class SteppedMemory {
  public:
    SteppedMemory(core::Gpu& gpu, const DeviceMemory& memory, Placement home)
        : gpu_(gpu), memory_(memory), now_(std::move(home)) {
        memory_.reset_changing_row(gpu.stream());
    }

    template <class T>
    T load(SymbolId id) const {
        return value_on_host<T>(gpu_, memory_.scalar(id));
    }
    void store(SymbolId id, std::int64_t value) const {
        control::set(gpu_.stream(), memory_.scalar<long long>(id), value);
    }
    void exchange(const Kernel& kernel) {
        compose::exchange(now_, kernel);
        for (const PlannedCall& planned : kernel.calls) {
            control::exchange(gpu_.stream(), memory_.changing_row(), planned.call->results[0],
                              planned.call->operands[0]);
        }
    }
    /// Runs a loop that is one kernel, and finds out where it left the symbols.
    void run(const GpuKernels& kernels, const LoopStep& loop) {
        int* const unended = memory_.unended();
        APERTURE_CUDA_TRY(cudaMemsetAsync(unended, 0, sizeof(int), gpu_.stream()));
        kernels.launch(gpu_.stream(), loop, memory_.changing_row(), unended);
        std::vector<void*> row(now_.size());
        APERTURE_CUDA_TRY(cudaMemcpyAsync(row.data(), memory_.changing_row(),
                                          row.size() * sizeof(void*), cudaMemcpyDeviceToHost,
                                          gpu_.stream()));
        core::expects(value_on_host<int>(gpu_, unended) == 0,
                      "a loop did not end within its limit");
        const auto symbols = static_cast<int>(row.size());
        for (int i = 0; i < symbols; ++i) {
            SymbolId& home = now_[static_cast<std::size_t>(i)] = i;
            for (int others = 0; memory_.home(home) != row[static_cast<std::size_t>(i)]; ++others) {
                core::expects(others < symbols, "a loop left a value where no symbol has one");
                home = (home + 1) % symbols;
            }
        }
    }
    void* of(SymbolId id) const { return memory_.home(now_[static_cast<std::size_t>(id)]); }
    const Placement& now() const { return now_; }

  private:
    core::Gpu& gpu_;
    const DeviceMemory& memory_;
    Placement now_;
};

}  // namespace

template <>
struct Executable<core::Gpu>::State {
    State(core::Gpu& gpu, Plan of_plan)
        : plan(std::move(of_plan)),
          kernels(gpu, plan),
          placements(known_placements(plan)),
          memory(gpu, plan, placements, count_loops(plan.steps)),
          may_not_end(has_while(plan.steps)) {
        if (!calls_libraries(plan)) graph.emplace(plan, kernels, memory, placements);
        for (const Kernel* kernel : plan.kernels()) {
            libraries.emplace_back();
            if (kernel->exchanges || is_generated(*kernel)) continue;
            libraries.back().emplace(gpu, *plan.program, kernel->calls.front());
        }
    }

    /// `around(kernel, action)` submits each kernel by `action`; of loops that are one kernel only
    /// if `inside`.
    template <class Around>
    void walk(core::Gpu& gpu, bool inside, Around&& around) {
        SteppedMemory stepped(gpu, memory, placements.front());
        const auto submit = [&](const Kernel& kernel) {
            auto& library = libraries[static_cast<std::size_t>(kernel.number)];
            if (!library) {
                kernels.launch(gpu.stream(), kernel, memory.changing_row());
                return;
            }
            library->run(gpu, [&](SymbolId id) { return stepped.of(id); });
        };
        const auto run = [&](const Kernel& kernel) { around(kernel, [&] { submit(kernel); }); };
        const auto run_loop = [&](const LoopStep& loop) {
            if (inside || !kernels.has(loop)) return false;
            stepped.run(kernels, loop);
            return true;
        };
        Steps(*plan.program, stepped, Overloaded{run, run_loop}).walk(plan.steps);
        memory.finish(gpu.stream(), memory.changing_row(), &stepped.now());
    }

    Plan plan;
    GpuKernels kernels;
    std::vector<Placement> placements;
    DeviceMemory memory;
    bool may_not_end;
    std::optional<Graph> graph;
    std::vector<std::optional<LibraryCall<core::Gpu>>> libraries;  // by kernels' numbers
    std::string reason;
};

template <>
Executable<core::Gpu>::Executable(core::Gpu& gpu, Plan plan, Tier tier) {
    core::expects(tier != Tier::interpreted, "a GPU runs compiled kernels only");
    state_ = std::make_unique<State>(gpu, std::move(plan));
}
template <>
Executable<core::Gpu>::~Executable() = default;
template <>
Executable<core::Gpu>::Executable(Executable&&) noexcept = default;
template <>
Executable<core::Gpu>& Executable<core::Gpu>::operator=(Executable&&) noexcept = default;

template <>
void Executable<core::Gpu>::run(core::Gpu& gpu, const Arguments& arguments,
                                std::span<const Argument> results) {
    State& state = *state_;
    validate(*state.plan.program, arguments, results);
    state.memory.bind(gpu, arguments, results);
    if (!state.graph) {
        state.walk(gpu, false, [](const Kernel&, const auto& action) { action(); });
        return;
    }
    state.graph->launch(gpu.stream());
    if (!state.may_not_end) return;
    core::expects(value_on_host<int>(gpu, state.memory.unended()) == 0,
                  "a loop did not end within its limit");
}

template <>
std::vector<double> Executable<core::Gpu>::kernel_seconds(core::Gpu& gpu,
                                                          const Arguments& arguments,
                                                          std::span<const Argument> results) {
    State& state = *state_;
    validate(*state.plan.program, arguments, results);
    state.memory.bind(gpu, arguments, results);
    KernelTimes<core::Gpu> times(gpu, state.libraries.size());
    state.walk(gpu, true, times);
    gpu.synchronize();
    return times.means();
}

template <>
const Plan& Executable<core::Gpu>::plan() const {
    return state_->plan;
}
template <>
const std::string& Executable<core::Gpu>::reason_of_interpretation() const {
    return state_->reason;
}

}  // namespace aperture::compose
