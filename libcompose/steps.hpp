// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <type_traits>

#include "aperture/compose/plan.hpp"
#include "aperture/core/error.hpp"

namespace aperture::compose {

/// Several functions as one.
template <class... Functions>
struct Overloaded : Functions... {
    using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

/// Walks through a plan's steps on the host: `run(kernel)` computes a kernel. `run(loop)`, if it
/// has that, computes a loop that is one kernel, or returns false. Memory is HostMemory or one like
/// it.
template <class Memory, class RunKernel>
class Steps {
  public:
    Steps(const Program& program, Memory& memory, const RunKernel& run)
        : program_(program), memory_(memory), run_(run) {}

    /// False after a break.
    bool walk(const std::vector<Step>& steps) const {
        return std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
            return std::visit([&](const auto& what) { return walk(what); }, step.what);
        });
    }

  private:
    bool walk(const Kernel& kernel) const {
        if (kernel.exchanges) {
            memory_.exchange(kernel);
        } else {
            run_(kernel);
        }
        return true;
    }
    bool runs(const LoopStep& loop) const {
        if constexpr (std::is_invocable_v<const RunKernel&, const LoopStep&>) {
            return loop.in_one_kernel && run_(loop);
        }
        return false;
    }
    bool walk(const Repeat& repeat) const {
        if (runs(repeat)) return true;
        const std::int64_t count = program_[repeat.loop->count].value;
        for (std::int64_t i = 0; i < count; ++i) {
            memory_.store(repeat.loop->variable, i);
            if (!walk(repeat.body)) break;
        }
        return true;
    }
    bool walk(const RepeatWhile& repeat) const {
        if (runs(repeat)) return true;
        std::int64_t times = 0;
        while (memory_.template load<bool>(repeat.loop->condition)) {
            core::expects(times++ < repeat.loop->limit, "a loop did not end after ",
                          repeat.loop->limit, " times");
            if (!walk(repeat.body)) break;
        }
        return true;
    }
    bool walk(const Branch& branch) const {
        return walk(memory_.template load<bool>(branch.branch->condition) ? branch.body
                                                                          : branch.otherwise);
    }
    bool walk(const Break&) const { return false; }

    const Program& program_;
    Memory& memory_;
    const RunKernel& run_;
};

}  // namespace aperture::compose
