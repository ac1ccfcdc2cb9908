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
    return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
        if (const auto* repeat = std::get_if<Repeat>(&step.what)) return has_while(repeat->body);
        if (const auto* branch = std::get_if<Branch>(&step.what)) {
            return has_while(branch->body) || has_while(branch->otherwise);
        }
        return std::holds_alternative<RepeatWhile>(step.what);
    });
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

    /// `around(kernel, action)` submits each kernel by `action`.
    template <class Around>
    void walk(core::Gpu& gpu, Around&& around) {
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
        Steps(*plan.program, stepped, run).walk(plan.steps);
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
        state.walk(gpu, [](const Kernel&, const auto& action) { action(); });
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
    state.walk(gpu, times);
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
