// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/problem_groups.hpp"

#include <algorithm>

#include "libcompose/kernels/arguments.hpp"

namespace aperture::compose {
namespace {

constexpr int most_threads = 128;

bool contains(const std::vector<SymbolId>& ids, SymbolId id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

index_t bytes_of_problem(const Type& type) {
    return type.numbers_of_problem() * bytes_of(type.dtype);
}

/// As the compiler lays out kernels::BlockProblems::Numbers.
index_t shared_bytes(const Kernel& kernel, int threads, int problems) {
    index_t bytes = 0;
    for (const OnChip& one : kernel.on_chip) {
        if (threads == 1 && !is_moved(kernel, one)) continue;
        const index_t size = bytes_of(one.type.dtype);
        const index_t numbers = one.type.numbers_of_problem();
        const index_t stride =
            problems == 1 ? numbers : kernels::stride_of_problems(threads, numbers, size);
        bytes += (problems * stride * size + 15) / 16 * 16;
    }
    return bytes;
}

/// Of a problem's numbers that are live in the kernel alone: the most at any call.
index_t register_bytes(const Kernel& kernel) {
    std::vector<index_t> bytes;  // at each call
    for (const PlannedCall& planned : kernel.calls) {
        const Type& work = planned.match.workspace;
        bytes.push_back(work.kind == Kind::batch ? bytes_of_problem(work) : 0);
    }
    for (const OnChip& one : kernel.on_chip) {
        if (one.id < 0 || is_moved(kernel, one)) continue;
        std::size_t first = bytes.size(), last = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            const Call& call = *kernel.calls[i].call;
            if (!contains(call.operands, one.id) && !contains(call.results, one.id)) continue;
            first = std::min(first, i);
            last = i;
        }
        for (std::size_t i = first; i <= last; ++i) bytes[i] += bytes_of_problem(one.type);
    }
    return *std::max_element(bytes.begin(), bytes.end());
}

/// As many threads as fit the bytes, at least a warp.
ProblemGroups one_thread_each(const Kernel& kernel) {
    constexpr index_t most_bytes = 24 << 10;
    int problems = most_threads;
    while (problems > kernels::lanes && shared_bytes(kernel, 1, problems) > most_bytes) {
        problems /= 2;
    }
    return {1, problems, shared_bytes(kernel, 1, problems)};
}

/// As many groups as 128 threads and the bytes on chip allow, at least one group and one warp.
ProblemGroups several_threads_each(const Kernel& kernel) {
    constexpr index_t most_of_eight = 36, most_of_warp = 400;
    index_t most = 0;
    for (const PlannedCall& planned : kernel.calls) {
        for (const Type& type : planned.match.results) {
            if (type.kind == Kind::batch) most = std::max(most, type.numbers_of_problem());
        }
    }
    int threads = most <= most_of_eight ? 8 : most <= most_of_warp ? kernels::lanes : most_threads;
    int problems = most_threads / threads;
    while (problems > 1 && shared_bytes(kernel, threads, problems) > most_bytes_on_chip) {
        problems /= 2;
    }
    threads = std::max(threads, kernels::lanes / problems);
    return {threads, problems, shared_bytes(kernel, threads, problems)};
}

}  // namespace

bool is_moved(const Kernel& kernel, const OnChip& numbers) {
    return contains(kernel.loads, numbers.id) || contains(kernel.stores, numbers.id);
}

ProblemGroups problem_groups(const Kernel& kernel) {
    // Measured: a few spilled registers and five warps a multiprocessor are faster than groups.
    constexpr index_t most_in_registers = 1100, most_of_warp = 40 << 10;
    return register_bytes(kernel) <= most_in_registers &&
                   shared_bytes(kernel, 1, kernels::lanes) <= most_of_warp
               ? one_thread_each(kernel)
               : several_threads_each(kernel);
}

}  // namespace aperture::compose
