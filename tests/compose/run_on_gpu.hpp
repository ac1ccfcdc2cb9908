// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if APERTURE_CUDA

#include <deque>
#include <utility>
#include <vector>

#include "tests/compose/program_memory.hpp"

namespace aperture::compose {

/// Calls `run(arguments, results)` with copies on the device, but for scalars that are inputs.
template <class Run>
void run_on(core::Gpu& gpu, const Program& program, const ProgramMemory& memory, const Run& run) {
    using Bytes = core::Array<std::byte, 1, core::Device>;
    std::deque<Bytes> arrays;
    std::vector<std::pair<const Bytes*, std::byte*>> back;
    const auto on_device = [&](const Argument& host) {
        const index_t bytes = host.type.bytes();
        const Bytes& array = arrays.emplace_back(core::Extents<1>{bytes});
        auto* const data = static_cast<std::byte*>(host.data);
        if (bytes > 0) {
            core::copy(gpu, core::View<const std::byte, 1, core::Host>(data, {bytes}),
                       arrays.back().view());
        }
        back.emplace_back(&array, data);
        return Argument{arrays.back().data(), host.type};
    };
    Arguments there;
    for (const auto& [name, host] : memory.arguments()) {
        const bool input = program[program.find(name)].source == Source::input;
        there[name] = input && host.type.is_scalar() ? host : on_device(host);
    }
    std::vector<Argument> values;
    for (const Argument& host : memory.results()) values.push_back(on_device(host));
    run(there, values);
    for (const auto& [array, to] : back) {
        if (array->size() == 0) continue;
        core::copy(gpu, array->view(), core::View<std::byte, 1, core::Host>(to, {array->size()}));
    }
    gpu.synchronize();
}
inline void run_on(core::Gpu& gpu, Executable<core::Gpu>& executable, const ProgramMemory& memory) {
    run_on(gpu, *executable.plan().program, memory,
           [&](const Arguments& arguments, std::span<const Argument> results) {
               executable.run(gpu, arguments, results);
           });
}

}  // namespace aperture::compose

#endif
