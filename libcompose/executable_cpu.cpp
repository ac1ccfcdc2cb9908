// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "libcompose/host_compiler.hpp"
#include "libcompose/interpreter.hpp"
#include "libcompose/kernel_groups.hpp"
#include "libcompose/kernel_times.hpp"
#include "libcompose/lane_memory.hpp"
#include "libcompose/lane_runs.hpp"
#include "libcompose/library_call.hpp"
#include "libcompose/line_calls.hpp"
#include "libcompose/memory.hpp"
#include "libcompose/operations/text_operation.hpp"
#include "libcompose/search.hpp"
#include "libcompose/steps.hpp"

namespace aperture::compose {

namespace {

using StripFunction = void(const kernels::KernelArguments&, long long, long long);

/// A kernel of machine code.
class CompiledKernel {
  public:
    CompiledKernel(std::shared_ptr<const HostLibrary> library, const KernelPlace& place,
                   const Kernel& kernel)
        : library_(std::move(library)),
          strips_(library_->function<StripFunction>(place.group->functions[place.first])),
          finish_(library_->function<StripFunction>(place.group->functions[place.first + 1])),
          walk_(walk_over(kernel.elements)),
          of_rows_(is_of_rows(kernel)),
          work_(work_of(kernel)) {
        sums_.resize(static_cast<std::size_t>(sums_of(kernel, Target::cpu)));
    }

    void run(core::Cpu& cpu, void* const* symbols) { run(cpu, symbols, walk_); }
    /// The first elements, or problems, alone.
    void run(core::Cpu& cpu, void* const* symbols, const kernels::Walk& walk) {
        const kernels::KernelArguments arguments{symbols, walk, sums_.data(), nullptr};
        const int threads = threads_for(work_, cpu);
        const auto run_parts = [&](StripFunction* function, index_t count) {
            if (threads == 1 || count == 1) return function(arguments, 0, count);
#pragma omp parallel for schedule(static) num_threads(threads)
            for (int part = 0; part < threads; ++part) {
                function(arguments, count * part / threads, count * (part + 1) / threads);
            }
        };
        run_parts(strips_, of_rows_ ? walk.row_strips() : walk.strips());
        run_parts(finish_, of_rows_ ? std::max<index_t>(walk.pieces_of_row(), 1) : 1);
    }

  private:
    std::shared_ptr<const HostLibrary> library_;
    StripFunction *strips_, *finish_;
    kernels::Walk walk_;
    bool of_rows_;
    index_t work_;  ///< elements, or numbers of batches
    std::vector<kernels::SumNumber> sums_;
};

/// Machine code of the kernels of plans.
struct HostCode {
    std::vector<std::vector<KernelPlace>> places;
    std::map<const KernelGroup*, std::shared_ptr<const HostLibrary>> libraries;
    std::string reason;  ///< why there is none; empty if all is there
};
HostCode compiled(std::span<const Plan> plans) {
    const auto texts = included_texts(plans.front());
    HostCode code;
    std::mutex mutex;
    try {
        code.places = compile_groups(plans, Target::cpu, [&](const KernelGroup& group) {
            HostCompiled made = compile_on_host({group.text, group.functions, texts});
            const std::scoped_lock lock(mutex);
            if (!made.reason.empty()) code.reason = made.reason;
            code.libraries[&group] = made.loaded;
            return made.loaded != nullptr;
        });
    } catch (const core::CompileError& error) {
        refuse_text(plans.front(), error);
    }
    return code;
}

/// A kernel whose calls copy what nobody reads later needs none of these.
using RunnableKernel =
    std::variant<std::monostate, CompiledKernel, InterpretedKernel, LibraryCall<core::Cpu>>;

RunnableKernel runnable(core::Cpu& cpu, const Program& program, const HostCode& code,
                        const Kernel& kernel) {
    if (kernel.exchanges) return {};
    if (!is_generated(kernel)) return LibraryCall(cpu, program, kernel.calls.front());
    if (!code.reason.empty()) return InterpretedKernel(program, kernel);
    const KernelPlace& place = code.places.front()[static_cast<std::size_t>(kernel.number)];
    return CompiledKernel(code.libraries.at(place.group.get()), place, kernel);
}

}  // namespace

void compile(core::Cpu&, std::span<const Plan> plans, Tier tier) {
    if (tier != Tier::interpreted) compiled(plans);
}

template <>
struct Executable<core::Cpu>::State {
    State(core::Cpu& cpu, Plan of_plan, Tier tier) : plan(std::move(of_plan)), memory(plan) {
        HostCode code{.places = {}, .libraries = {}, .reason = "asked for"};
        if (tier != Tier::interpreted) code = compiled({&plan, 1});
        core::expects(tier != Tier::compiled || code.reason.empty(), code.reason);
        for (const Kernel* kernel : plan.kernels()) {
            kernels.push_back(runnable(cpu, *plan.program, code, *kernel));
        }
        reason = code.reason;
    }

    /// `around(kernel, action)` runs each kernel by `action`.
    template <class Around>
    void run(core::Cpu& cpu, const Arguments& arguments, std::span<const Argument> results,
             Around&& around) {
        validate(*plan.program, arguments, results);
        memory.bind(arguments, results);
        const auto run_kernel = [&](const Kernel& kernel) {
            cpu.checkpoint();
            around(kernel, [&] { run_now(cpu, kernel); });
        };
        Steps(*plan.program, memory, run_kernel).walk(plan.steps);
        memory.finish(results);
    }
    void run_now(core::Cpu& cpu, const Kernel& kernel) {
        std::visit(
            [&](auto& of_kind) {
                using Runnable = std::remove_reference_t<decltype(of_kind)>;
                if constexpr (std::is_same_v<Runnable, LibraryCall<core::Cpu>>) {
                    of_kind.run(cpu, [&](SymbolId id) { return memory.of(id); });
                } else if constexpr (!std::is_same_v<Runnable, std::monostate>) {
                    of_kind.run(cpu, memory.symbols());
                }
            },
            kernels[static_cast<std::size_t>(kernel.number)]);
    }

    Plan plan;
    HostMemory memory;
    std::string reason;
    std::vector<RunnableKernel> kernels;  // by their numbers
};

template <>
Executable<core::Cpu>::Executable(core::Cpu& cpu, Plan plan, Tier tier)
    : state_(std::make_unique<State>(cpu, std::move(plan), tier)) {}
template <>
Executable<core::Cpu>::~Executable() = default;
template <>
Executable<core::Cpu>::Executable(Executable&&) noexcept = default;
template <>
Executable<core::Cpu>& Executable<core::Cpu>::operator=(Executable&&) noexcept = default;

template <>
void Executable<core::Cpu>::run(core::Cpu& cpu, const Arguments& arguments,
                                std::span<const Argument> results) {
    state_->run(cpu, arguments, results, [](const Kernel&, const auto& action) { action(); });
}
template <>
std::vector<double> Executable<core::Cpu>::kernel_seconds(core::Cpu& cpu,
                                                          const Arguments& arguments,
                                                          std::span<const Argument> results) {
    KernelTimes<core::Cpu> times(cpu, state_->kernels.size());
    state_->run(cpu, arguments, results, times);
    return times.means();
}

template <>
const Plan& Executable<core::Cpu>::plan() const {
    return state_->plan;
}
template <>
const std::string& Executable<core::Cpu>::reason_of_interpretation() const {
    return state_->reason;
}

LaneRuns::LaneRuns(core::Cpu& cpu, Plan plan, index_t lanes, Tier tier)
    : executable_(cpu, std::move(plan), tier), lanes_(lanes) {}

LaneRuns::Run LaneRuns::run(core::Cpu& cpu, const Arguments& arguments,
                            std::span<const Argument> results, std::span<const std::string> own,
                            index_t count) {
    auto& state = *executable_.state_;
    HostMemory& memory = state.memory;
    const Program& program = *state.plan.program;
    validate(program, arguments, results);
    memory.bind(arguments, results);
    std::vector<index_t> bytes(program.symbols.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const Symbol& symbol = program.symbols[i];
        const bool is_own = symbol.source == Source::local ||
                            std::find(own.begin(), own.end(), symbol.name) != own.end();
        if (is_own && !symbol.type.is_scalar() && memory.of(SymbolId(i)) != nullptr) {
            bytes[i] = symbol.type.bytes() / lanes_;
        }
    }
    std::vector<void*> symbols(bytes.size());
    const auto run_kernel = [&](const Kernel& kernel, index_t first, index_t end) {
        cpu.checkpoint();
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            auto* const all = static_cast<std::byte*>(memory.of(SymbolId(i)));
            symbols[i] = all == nullptr ? nullptr : all + first * bytes[i];
        }
        Type elements = kernel.elements;
        if (elements.rank > 0) elements.extent[0] = elements.extent[0] / lanes_ * (end - first);
        std::visit(
            [&](auto& of_kind) {
                if constexpr (requires { of_kind.run(cpu, symbols.data(), walk_over(elements)); }) {
                    of_kind.run(cpu, symbols.data(), walk_over(elements));
                }
            },
            state.kernels[static_cast<std::size_t>(kernel.number)]);
    };
    LaneMemory lanes(program, memory, bytes, run_kernel);
    LaneSteps steps(program, lanes, count);
    steps.walk(state.plan.steps, 0, count);
    memory.finish(results);
    return {steps.values(), steps.failed()};
}

}  // namespace aperture::compose
