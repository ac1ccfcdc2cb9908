// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "libcompose/emit.hpp"
#include "libcompose/host_compiler.hpp"
#include "libcompose/interpreter.hpp"
#include "libcompose/memory.hpp"
#include "libcompose/steps.hpp"

namespace aperture::compose {

std::span<const core::KernelText> kernel_texts();

namespace {

/// Below this many elements threads cost more than they save.
constexpr index_t least_parallel = 16384;

/// A kernel of machine code.
class CompiledKernel {
  public:
    CompiledKernel(const HostLibrary& library, const Kernel& kernel)
        : strips_(library.function<Strips>(name("strips", kernel))),
          finish_(library.function<Finish>(name("finish", kernel))),
          walk_(walk_over(kernel.elements)) {
        const auto sums =
            std::count_if(kernel.calls.begin(), kernel.calls.end(),
                          [](const PlannedCall& call) { return call.match.level == Level::sum; });
        sums_.resize(static_cast<std::size_t>(sums * walk_.strips()));
    }

    static std::string name(const char* function, const Kernel& kernel) {
        return core::text("aperture::compose::generated::", function, "_", kernel.number);
    }

    void run(core::Cpu& cpu, void* const* symbols) {
        const kernels::KernelArguments arguments{symbols, walk_, sums_.data()};
        const index_t strips = walk_.strips();
        const int threads = walk_.count < least_parallel ? 1 : cpu.threads();
        if (threads == 1) {
            strips_(arguments, 0, strips);
        } else {
#pragma omp parallel for schedule(static) num_threads(threads)
            for (index_t strip = 0; strip < strips; ++strip) strips_(arguments, strip, strip + 1);
        }
        finish_(arguments);
    }

  private:
    using Strips = void(const kernels::KernelArguments&, long long, long long);
    using Finish = void(const kernels::KernelArguments&);
    Strips* strips_;
    Finish* finish_;
    kernels::Walk walk_;
    std::vector<double> sums_;
};

HostCompiled compiled(const Plan& plan) {
    HostSource source{kernel_text(plan, Target::cpu), {}, {core::kernel_texts(), kernel_texts()}};
    for (const Kernel* kernel : plan.kernels()) {
        if (kernel->exchanges) continue;
        source.functions.push_back(CompiledKernel::name("strips", *kernel));
        source.functions.push_back(CompiledKernel::name("finish", *kernel));
    }
    if (source.functions.empty()) return {};
    return compile_on_host(source);
}

}  // namespace

template <>
struct Executable<core::Cpu>::State {
    State(Plan of_plan, Tier tier) : plan(std::move(of_plan)), memory(plan) {
        if (tier != Tier::interpreted) {
            HostCompiled made = compiled(plan);
            library = made.library;
            reason = made.reason;
            core::expects(tier == Tier::automatic || reason.empty(), reason);
        } else {
            reason = "asked for";
        }
        for (const Kernel* kernel : plan.kernels()) {
            if (library != nullptr && !kernel->exchanges) {
                machine_code.emplace_back(std::in_place, *library, *kernel);
            } else {
                machine_code.emplace_back();
            }
            interpreted.emplace_back();
            if (library == nullptr && !kernel->exchanges) {
                interpreted.back().emplace(*plan.program, *kernel);
            }
        }
    }

    Plan plan;
    HostMemory memory;
    std::shared_ptr<const HostLibrary> library;
    std::string reason;
    // Of each kernel one of the two, or none if it exchanges memory.
    std::vector<std::optional<CompiledKernel>> machine_code;
    std::vector<std::optional<InterpretedKernel>> interpreted;
};

template <>
Executable<core::Cpu>::Executable(core::Cpu&, Plan plan, Tier tier)
    : state_(std::make_unique<State>(std::move(plan), tier)) {}
template <>
Executable<core::Cpu>::~Executable() = default;
template <>
Executable<core::Cpu>::Executable(Executable&&) noexcept = default;
template <>
Executable<core::Cpu>& Executable<core::Cpu>::operator=(Executable&&) noexcept = default;

template <>
void Executable<core::Cpu>::run(core::Cpu& cpu, const Arguments& arguments,
                                std::span<const Argument> results) {
    State& state = *state_;
    validate(*state.plan.program, arguments, results);
    state.memory.bind(arguments);
    const auto run = [&](const Kernel& kernel) {
        const auto number = static_cast<std::size_t>(kernel.number);
        cpu.checkpoint();
        if (state.machine_code[number]) {
            state.machine_code[number]->run(cpu, state.memory.symbols());
        } else {
            state.interpreted[number]->run(cpu, state.memory.symbols());
        }
    };
    Steps(*state.plan.program, state.memory, run).walk(state.plan.steps);
    state.memory.finish(results);
}

template <>
const Plan& Executable<core::Cpu>::plan() const {
    return state_->plan;
}
template <>
const std::string& Executable<core::Cpu>::reason_of_interpretation() const {
    return state_->reason;
}

}  // namespace aperture::compose
