// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/side_by_side.hpp"

#include <utility>

namespace aperture::compose {

template <>
struct SideBySide<core::Cpu>::State {
    struct Thread {
        Thread(const Plan& plan, Tier tier) : alone(1), executable(alone, plan, tier) {}
        core::Cpu alone;
        Executable<core::Cpu> executable;
    };
    Plan plan;
    Tier tier;
    std::deque<Thread> threads{};
};

template <>
SideBySide<core::Cpu>::SideBySide(Plan plan, Tier tier)
    : state_(std::make_unique<State>(State{std::move(plan), tier})) {}
template <>
SideBySide<core::Cpu>::~SideBySide() = default;

template <>
std::vector<FailedValue> SideBySide<core::Cpu>::run(
    core::Cpu& cpu, index_t values, index_t width, const std::function<ValueRun(index_t)>& run_of) {
    auto& [plan, tier, threads] = *state_;
    const auto count = static_cast<int>(std::min(width, values));
    while (static_cast<int>(threads.size()) < count) threads.emplace_back(plan, tier);
    return deal_out(cpu, threads, count, values,
                    [&](State::Thread& thread, index_t value, auto& failed) {
                        run_value(thread.alone, thread.executable, value, run_of(value), failed);
                    });
}

}  // namespace aperture::compose
