// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "libcompose/emit.hpp"

/// Loops as one kernel of a device each, whose blocks wait for each other between the kernels of
/// the body (kernels/loops.cuh).
namespace aperture::compose {

/// Null unless the step is a loop.
template <class AnyStep>
auto loop_of(AnyStep& step) {
    std::conditional_t<std::is_const_v<AnyStep>, const LoopStep*, LoopStep*> loop =
        std::get_if<Repeat>(&step.what);
    return loop != nullptr ? loop : std::get_if<RepeatWhile>(&step.what);
}

/// Calls action(kernel) for each kernel.
template <class Steps, class Action>
void for_each_kernel(Steps& steps, const Action& action) {
    for (auto& step : steps) {
        if (auto* const kernel = std::get_if<Kernel>(&step.what)) {
            action(*kernel);
        } else if (auto* const loop = loop_of(step)) {
            for_each_kernel(loop->body, action);
        } else if (auto* const branch = std::get_if<Branch>(&step.what)) {
            for_each_kernel(branch->body, action);
            for_each_kernel(branch->otherwise, action);
        }
    }
}

/// Calls action(step, loop) for each loop, outer ones first. Goes into the body if `action` is
/// true.
template <class Steps, class Action>
void for_each_loop(Steps& steps, const Action& action) {
    for (auto& step : steps) {
        if (auto* const loop = loop_of(step)) {
            if (action(step, *loop)) for_each_loop(loop->body, action);
        } else if (auto* const branch = std::get_if<Branch>(&step.what)) {
            for_each_loop(branch->body, action);
            for_each_loop(branch->otherwise, action);
        }
    }
}

/// Numbers of the outermost loops that are such.
template <class IsSuch>
std::vector<int> outermost_loops(const Plan& plan, const IsSuch& is_such) {
    std::vector<int> all;
    for_each_loop(plan.steps, [&](const Step&, const LoopStep& loop) {
        const bool found = is_such(loop);
        if (found) all.push_back(loop.number);
        return !found;
    });
    return all;
}

/// Whether steps are so few launches, and none that a condition decides on, that a graph of them
/// needs no loops. A loop that is one kernel decides which memory symbols have.
bool is_unrolled(const Program& program, const std::vector<Step>& steps);

/// Whether the kernels of the body, of which there are some, can be parts of one. Those of batches,
/// and those that add up rows or columns, cannot: their blocks have other threads.
bool may_be_one_kernel(const LoopStep& loop);

/// Numbers of the loops that are predicted to be faster as one kernel each, of those whose arrays
/// stay in the cache.
std::vector<int> best_loop_kernels(const Plan& plan, const Machine& machine);

/// The loops that are a kernel of their own.
std::vector<const Step*> loops_in_one_kernel(const Plan& plan);

/// The text of a device's function `loop`: one of these, with the structs of its kernels.
GeneratedKernel generate(const Program& program, const Step& loop);
/// Its threads and shared memory, and as many blocks as have work. It runs with any number of
/// blocks that are resident together.
LaunchShape launch_of(const Program& program, const LoopStep& loop);
/// Numbers of LoopArguments::sums.
index_t sums_of(const LoopStep& loop);

}  // namespace aperture::compose
